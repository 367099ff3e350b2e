#include "input/builder.hpp"

#include <algorithm>

namespace fairwater::inline input {
namespace {

using Kind = InputValue::Kind;

bool awaits_key(const InputValue& value) {
  return value.kind == Kind::mapping && value.inner.size() % 2 == 0;
}

}  // namespace

const InputValue* DocumentBuilder::add(Kind kind, std::string written, int line) {
  const auto* value =
      &document_->values_.emplace_back(InputValue{kind, line, std::move(written), {}});
  place(value, line);
  return value;
}

const InputValue* DocumentBuilder::open(Kind kind, int line) {
  if (open_.size() == kMaxNesting)
    throw InputError("", "is nested deeper than " + std::to_string(kMaxNesting), line);
  InputValue* value = &document_->values_.emplace_back(InputValue{kind, line, {}, {}});
  place(value, line);
  open_.push_back({value, {}});
  return value;
}

void DocumentBuilder::add_alias(const InputValue* value, int line) {
  if (std::any_of(open_.begin(), open_.end(),
                  [&](const Open& open) { return open.value == value; }))
    fail("an alias of what it stands in", line);
  place(value, line);
}

void DocumentBuilder::place(const InputValue* value, int line) {
  if (open_.empty()) {
    document_->root_ = value;
    return;
  }
  Open& parent = open_.back();
  if (awaits_key(*parent.value)) check_key(parent, *value, line);
  parent.value->inner.push_back(value);
}

void DocumentBuilder::check_key(Open& mapping, const InputValue& key, int line) const {
  if (key.kind != Kind::plain && key.kind != Kind::text)
    fail("a key must be a name, not " + shown(key), line);
  if (mapping.keys.insert(key.written).second) return;
  const std::string outside = path();
  throw InputError((outside.empty() ? "" : outside + ".") + path_step(key.written), "given twice",
                   line);
}

void DocumentBuilder::fail(const std::string& reason, int line) const {
  throw InputError(path(), reason, line);
}

std::string DocumentBuilder::path() const {
  std::string path;
  for (const Open& open : open_) {
    const auto& inner = open.value->inner;
    // What is open itself has its place in the one around it already.
    const std::size_t next = inner.size() - (&open == &open_.back() ? 0 : 1);
    if (open.value->kind == Kind::list)
      path += "[" + std::to_string(next) + "]";
    else if (next % 2 == 1)
      path += (path.empty() ? "" : ".") + path_step(inner[next - 1]->written);
  }
  return path;
}

}  // namespace fairwater::inline input
