// Reading YAML mappings strictly: every key is known, given once and of the right type, or the
// refusal names the key and its line.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "model/errors.hpp"
#include "model/resources.hpp"

namespace fairwater {

/// Larger files are refused before they are parsed.
inline constexpr std::size_t kMaxYamlBytes = 4 * 1024 * 1024;

/// What a document without any key is: a mistake, or one that leaves everything at its default.
enum class IfNoKeys : std::uint8_t { refuse, accept };

/// The first thing found wrong in a document, and where its keys stand.
class YamlDocument {
 public:
  /// Parses `text`; `name` is how errors call it. What is no YAML, or not one mapping, is in
  /// error().
  YamlDocument(std::string_view text, std::string name, IfNoKeys if_no_keys = IfNoKeys::refuse);

  [[nodiscard]] const YAML::Node& root() const { return root_; }
  [[nodiscard]] const caf::error& error() const { return error_; }
  /// Keeps the first refusal; later ones are dropped.
  void refuse(const std::string& field, int line, const std::string& message);
  /// With the line of the field that the error names.
  void refuse(const caf::error& error);
  void remember_line(const std::string& field, int line) { lines_.emplace(field, line); }
  /// The same error with the line of the key that it names, as far as that stands in the document.
  [[nodiscard]] caf::error locate(const caf::error& error) const;

 private:
  std::string name_;
  YAML::Node root_;
  caf::error error_;
  std::map<std::string, int> lines_;
};

/// One mapping of a document. Each reader leaves its target alone when the key is missing, and
/// refuses in the document when the value is not of its type.
class YamlFields {
 public:
  /// `path` stands in front of the keys in errors, as in `tenants[2].`.
  YamlFields(YamlDocument& document, const YAML::Node& node, std::string path = {});

  void text(const char* key, std::string& target);
  void texts(const char* key, std::vector<std::string>& target);
  void text_map(const char* key, std::map<std::string, std::string>& target);
  void boolean(const char* key, bool& target);
  void amounts(const char* key, NamedAmounts& target);
  /// A text that `parse` turns into an Expected value of the target's type, with its reason for a
  /// refusal; `what` is what a list or a mapping is not.
  template <class Parse, class Target>
  void parsed(const char* key, Parse parse, Target& target, const char* what = "text") {
    if (const auto node = take(key)) parse_node(key, *node, parse, target, what);
  }
  void duration_ms(const char* key, std::int64_t& target);
  /// A decimal in [0, 1000] with at most six digits after the point, in millionths.
  void millionths(const char* key, std::uint32_t& target);

  template <class Integer>
  void integer(const char* key, Integer& target,
               std::int64_t least = std::numeric_limits<Integer>::min(),
               std::int64_t most = std::numeric_limits<Integer>::max()) {
    if (const auto value = read_integer(key, least, most)) target = static_cast<Integer>(*value);
  }
  void integers(const char* key, std::vector<std::uint64_t>& target);

  /// The value itself, for shapes of its own; none when the key is missing.
  [[nodiscard]] std::optional<YAML::Node> take(const char* key);
  [[nodiscard]] bool has(const char* key) const { return values_.contains(key); }
  void refuse(const char* key, const YAML::Node& at, const std::string& message);
  [[nodiscard]] std::string path_of(std::string_view key) const { return path_ + std::string{key}; }
  /// Refuses keys that nobody asked for. To be called last.
  void finish();

 private:
  /// What was written, or none and a refusal for lists, mappings and nothing.
  std::optional<std::string> written(const char* key, const YAML::Node& node, const char* what);
  template <class Parse, class Target>
  void parse_node(const char* key, const YAML::Node& node, Parse parse, Target& target,
                  const char* what) {
    const auto text = written(key, node, what);
    if (!text) return;
    if (const auto value = parse(*text))
      target = *value;
    else
      refuse(key, node, details(value.error()).message);
  }
  std::optional<std::int64_t> read_integer(const char* key, std::int64_t least, std::int64_t most);
  void each_text(const char* key, const YAML::Node& list,
                 const std::function<void(const YAML::Node&, const std::string&)>& use);

  YamlDocument* document_;
  std::string path_;
  std::map<std::string, YAML::Node> values_;
  std::map<std::string, int> lines_;
  std::set<std::string> known_;
};

}  // namespace fairwater
