// Strict reading of JSON input: every value has a path (`tenants[2].weight`), and whatever is wrong
// with it is one InputError that names the path, the value and what would be right.
//
//   Fields input(document);
//   const auto weight = input.at("weight").integer(1, 1'000'000'000);
//   const auto units = input.has("units") ? input.at("units").amount() : 0;
//   input.done();  // a field that nobody asked for is an error
#pragma once

#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "input/json.hpp"

namespace fairwater {

/// Input that the caller must change. `what()` is "path: reason", on one line.
class InputError : public std::runtime_error {
 public:
  InputError(std::string path, const std::string& reason)
      : std::runtime_error((path.empty() ? std::string("input") : path) + ": " + reason),
        path_(std::move(path)) {}
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Parses one JSON text of at most `kMaxNesting` levels. A name twice in one object is an error, as
/// is anything after the value. Throws InputError.
inline constexpr int kMaxNesting = 64;
[[nodiscard]] Json parse_json(std::string_view text);

class Fields;

/// One value and where it stands. Borrows the document. Every reader throws InputError.
class Field {
 public:
  Field(const Json& value, std::string path) : value_(&value), path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool is_null() const { return value_->is_null(); }

  /// A whole number in [low, high].
  [[nodiscard]] std::int64_t integer(std::int64_t low, std::int64_t high) const;
  /// A whole number from 0 to 2^62: an amount, or a count.
  [[nodiscard]] std::int64_t amount() const;
  /// A finite number in [low, high].
  [[nodiscard]] double number(double low, double high) const;
  [[nodiscard]] std::string text() const;
  /// A text that is not empty and has no control characters.
  [[nodiscard]] std::string name() const;
  /// One of `choices`; returns its index.
  [[nodiscard]] std::size_t choice(const std::vector<std::string_view>& choices) const;
  [[nodiscard]] std::vector<Field> list() const;
  [[nodiscard]] Fields object() const;
  /// The members of an object whose names are the user's own, in the input's order.
  [[nodiscard]] std::vector<std::pair<std::string, Field>> entries() const;

  [[noreturn]] void fail(const std::string& reason) const;

 private:
  /// Fails with "must be <what>, not <value>".
  [[noreturn]] void mismatch(const std::string& what) const;

  const Json* value_;
  std::string path_;
};

/// An object whose fields have fixed names.
class Fields {
 public:
  explicit Fields(const Json& object, std::string path = {});

  [[nodiscard]] bool has(std::string_view name) const;
  /// Throws InputError when it is missing.
  [[nodiscard]] Field at(std::string_view name);
  /// Fails when a field was never asked for by has() or at().
  void done() const;
  [[noreturn]] void fail(const std::string& reason) const;

 private:
  [[nodiscard]] std::string path_of(std::string_view name) const;

  const Json* object_;
  std::string path_;
  mutable std::set<std::string, std::less<>> known_;
};

/// Finds names that must be unique, such as tenants; fails on the second of the same name.
class UniqueNames {
 public:
  /// Returns the name, or fails at `field`.
  std::string add(const Field& field);

 private:
  std::set<std::string, std::less<>> seen_;
};

}  // namespace fairwater
