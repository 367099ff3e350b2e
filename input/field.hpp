// Strict reading of what a document holds: every value has a path (`tenants[2].weight`), and what
// is wrong with it is one InputError that names the path, the value and what would be right. A
// reader looks at types alone; ranges of what has a validate() of its own are told there.
//
//   FieldMap job = field.object();
//   job.read("name", spec.name);  // left alone when the key is missing
//   const auto weight = job.at("weight").integer(1, 1'000'000'000);
//   job.done();  // a key that nobody asked for is an error
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/errors.hpp"
#include "model/resources.hpp"

namespace fairwater::inline input {

/// One value as it was written. What it may stand for is the reader's to say.
struct InputValue {
  enum class Kind : std::uint8_t {
    nothing,
    plain,  ///< YAML without quotes: a text, a number or a boolean
    text,
    number,   ///< of JSON
    boolean,  ///< of JSON
    list,
    mapping,
  };
  Kind kind = Kind::nothing;
  int line = 0;                          ///< 0: unknown
  std::string written;                   ///< not of lists and mappings
  std::vector<const InputValue*> inner;  ///< items; of a mapping each key, then its value
};

/// A value as a refusal quotes it: short, on one line.
[[nodiscard]] std::string shown(const InputValue& value);
/// A key as a path has it: short, on one line.
[[nodiscard]] std::string path_step(std::string_view key);

/// Input that its author must change. Reading is full of places that may refuse, so it is thrown;
/// Document::read() makes a caf::error of it, and nobody else catches it.
class InputError : public std::runtime_error {
 public:
  InputError(std::string path, const std::string& reason, int line = 0,
             ErrorCode code = ErrorCode::invalid_input)
      : std::runtime_error(reason), path_(std::move(path)), line_(line), code_(code) {}
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int line() const { return line_; }  ///< 0: that of the path
  [[nodiscard]] ErrorCode code() const { return code_; }

 private:
  std::string path_;
  int line_;
  ErrorCode code_;
};

class FieldMap;

/// One value and where it stands. Borrows the document. Every reader throws InputError.
class Field {
 public:
  Field(const InputValue& value, std::string path) : value_(&value), path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool is(InputValue::Kind kind) const { return value_->kind == kind; }

  [[nodiscard]] std::string text() const;
  /// A text that is not empty and has no control characters.
  [[nodiscard]] std::string name() const;
  [[nodiscard]] bool boolean() const;
  /// A whole number in [low, high].
  [[nodiscard]] std::int64_t integer(std::int64_t low, std::int64_t high) const;
  /// A whole number that the type can hold.
  template <std::integral Integer>
  [[nodiscard]] Integer whole() const {
    using Limits = std::numeric_limits<Integer>;
    constexpr auto kMost = std::min<Wide>(Limits::max(), INT64_MAX);
    return static_cast<Integer>(whole_within(Limits::min(), static_cast<std::int64_t>(kMost)));
  }
  /// A whole number from 0 to 2^62.
  [[nodiscard]] std::int64_t count() const;
  /// A number in [low, high].
  [[nodiscard]] double number(double low, double high) const;
  /// A decimal in [0, 1000) with at most six digits after the point, in millionths.
  [[nodiscard]] std::uint32_t millionths() const;
  [[nodiscard]] std::int64_t duration_ms() const;
  [[nodiscard]] Amount amount(std::string_view resource) const;
  /// A text that `parse` makes an Expected value of; `what` is what a list is not.
  template <class Parse>
  [[nodiscard]] auto parsed(Parse parse, std::string_view what = "text") const {
    auto value = parse(text_for(what));
    if (!value) fail(details(value.error()).message);
    return std::move(*value);
  }
  /// One of `choices`; returns its index, or its value.
  [[nodiscard]] std::size_t choice(const std::vector<std::string_view>& choices) const;
  template <class Value>
  [[nodiscard]] Value choice(const std::vector<std::pair<std::string_view, Value>>& choices) const {
    std::vector<std::string_view> names;
    for (const auto& named : choices) names.push_back(named.first);
    return choices[choice(names)].second;
  }

  [[nodiscard]] std::vector<Field> list() const;
  [[nodiscard]] FieldMap object() const;
  /// The members of a mapping whose keys are the author's own, in the order written.
  [[nodiscard]] std::vector<std::pair<std::string, Field>> entries() const;
  [[nodiscard]] std::vector<std::string> texts() const;
  /// Amounts by resource, as in {cpu: 1, memory: 512MiB}.
  [[nodiscard]] NamedAmounts amounts() const;

  void to(std::string& target) const { target = text(); }
  void to(bool& target) const { target = boolean(); }
  void to(std::vector<std::string>& target) const { target = texts(); }
  void to(NamedAmounts& target) const { target = amounts(); }
  void to(std::map<std::string, std::string>& target) const;
  template <std::integral Integer>
  void to(Integer& target) const {
    target = whole<Integer>();
  }

  [[noreturn]] void fail(const std::string& reason) const { throw InputError(path_, reason); }
  /// With what was said against a value that was made of this one, whose field lies within it.
  [[noreturn]] void fail(const caf::error& error) const;

 private:
  /// Fails with "VALUE is not WHAT".
  [[noreturn]] void mismatch(std::string_view what) const;
  [[nodiscard]] const std::string& text_for(std::string_view what) const;
  [[nodiscard]] std::int64_t whole_within(std::int64_t low, std::int64_t high) const;

  const InputValue* value_;
  std::string path_;
};

/// A mapping whose keys have fixed names.
class FieldMap {
 public:
  FieldMap(const InputValue& mapping, std::string path)
      : mapping_(&mapping), path_(std::move(path)) {}

  [[nodiscard]] bool has(std::string_view name) const { return find(name).has_value(); }
  [[nodiscard]] std::optional<Field> find(std::string_view name) const;
  /// Throws InputError when it is missing.
  [[nodiscard]] Field at(std::string_view name) const;
  /// Leaves the target alone when the key is missing. The value is read as the target's type is, or
  /// by `reader`, as in `read("lease", lease_ms, &Field::duration_ms)` and `read("seeds", seeds,
  /// integer_from(1, 10))`.
  template <class Target>
  void read(std::string_view name, Target& target) const {
    if (const auto field = find(name)) field->to(target);
  }
  template <class Target, class Reader>
  void read(std::string_view name, Target& target, Reader&& reader) const {
    if (const auto field = find(name)) target = static_cast<Target>(std::invoke(reader, *field));
  }
  /// Fails when there is a key for which nobody asked.
  void done() const;
  [[noreturn]] void fail(const std::string& reason) const { throw InputError(path_, reason); }
  /// As Field::fail().
  [[noreturn]] void fail(const caf::error& error) const { Field{*mapping_, path_}.fail(error); }
  [[nodiscard]] std::string path_of(std::string_view name) const;

 private:
  const InputValue* mapping_;
  std::string path_;
  mutable std::set<std::string, std::less<>> known_;
};

[[nodiscard]] inline auto integer_from(std::int64_t low, std::int64_t high) {
  return [=](const Field& field) { return field.integer(low, high); };
}
[[nodiscard]] inline auto number_from(double low, double high) {
  return [=](const Field& field) { return field.number(low, high); };
}

/// Finds names that must be unique, such as tenants; fails on the second of the same name.
class UniqueNames {
 public:
  /// Returns the name, or fails at `field`.
  const std::string& add(const Field& field) { return add(field.name(), field); }
  const std::string& add(std::string name, const Field& field);

 private:
  std::set<std::string, std::less<>> seen_;
};

}  // namespace fairwater::inline input
