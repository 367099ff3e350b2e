// Makes a Document's tree of what a parser finds, in the order in which it stands there. Throws
// InputError for what no reader could make sense of.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "input/document.hpp"

namespace fairwater::inline input {

class DocumentBuilder {
 public:
  explicit DocumentBuilder(Document& document) : document_(&document) {}

  /// A value within the innermost open list or mapping, where keys and values take turns.
  const InputValue* add(InputValue::Kind kind, std::string written, int line);
  /// A list or a mapping, until close().
  const InputValue* open(InputValue::Kind kind, int line);
  void close() { open_.pop_back(); }
  /// A value that is part of the document already.
  void add_alias(const InputValue* value, int line);
  [[noreturn]] void fail(const std::string& reason, int line) const;

 private:
  struct Open {
    InputValue* value;
    std::set<std::string_view> keys;
  };
  void place(const InputValue* value, int line);
  void check_key(Open& mapping, const InputValue& key, int line) const;
  /// Of what comes next.
  [[nodiscard]] std::string path() const;

  Document* document_;
  std::vector<Open> open_;
};

}  // namespace fairwater::inline input
