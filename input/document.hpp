// What was written, as a tree of values, whatever it was written in: YAML, of which every refusal
// names the line, or JSON.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "input/field.hpp"
#include "model/errors.hpp"

namespace fairwater::inline input {

/// Larger YAML files are refused before they are parsed.
inline constexpr std::size_t kMaxYamlBytes = 4 * 1024 * 1024;
/// Of lists and mappings within each other.
inline constexpr std::size_t kMaxNesting = 64;

template <class Result>
struct ExpectedOf {
  using type = Expected<Result>;
};
template <class Result>
struct ExpectedOf<Expected<Result>> {
  using type = Expected<Result>;
};

/// One parsed input. No key stands twice in a mapping, and none holds itself by an alias.
class Document {
 public:
  /// `name` is how errors call it; without one they do not.
  explicit Document(std::string name) : name_(std::move(name)) {}
  Document(Document&&) = default;
  Document& operator=(Document&&) = default;
  Document(const Document&) = delete;  // values point at each other
  Document& operator=(const Document&) = delete;
  ~Document() = default;

  [[nodiscard]] Field root() const { return {*root_, ""}; }
  /// What `read(root)` returns, or what it refuses by throwing, with its line.
  template <class Read>
  [[nodiscard]] auto read(Read&& read) const ->
      typename ExpectedOf<std::invoke_result_t<Read, Field>>::type {
    try {
      return read(root());
    } catch (const InputError& error) {
      return refusal(error);
    }
  }
  /// The same error with the line of the key that it names, as far as that stands in the document.
  [[nodiscard]] caf::error locate(const caf::error& error) const;
  [[nodiscard]] caf::error refusal(const InputError& error) const;

 private:
  friend class DocumentBuilder;
  /// Of the value at `path` or the innermost one around it; 0: of none but the root.
  [[nodiscard]] int line_of(std::string_view path) const;

  std::string name_;
  std::deque<InputValue> values_;  ///< stay where they are
  const InputValue* root_ = &values_.emplace_back();
};

/// What a document without any key is: a mistake, or one that leaves everything at its default.
enum class IfNoKeys : std::uint8_t { refuse, accept };

/// One YAML document of at most kMaxYamlBytes.
[[nodiscard]] Expected<Document> parse_yaml(std::string_view text, const std::string& name,
                                            IfNoKeys if_no_keys = IfNoKeys::refuse);
/// One JSON value and nothing after it.
[[nodiscard]] Expected<Document> parse_json(std::string_view text);

}  // namespace fairwater::inline input
