#include "input/document.hpp"

#include <charconv>

namespace fairwater::inline input {
namespace {

using Kind = InputValue::Kind;

std::string with_line(const std::string& message, int line, const std::string& name) {
  if (name.empty()) return message;
  const std::string where = line > 0 ? "line " + std::to_string(line) + " of " : "in ";
  return message + " (" + where + name + ")";
}

/// The member whose key `path` begins with, as the place of the key within `inner`. Keys may have
/// dots in them, so the longest wins.
std::size_t find_member(const InputValue& mapping, std::string_view path) {
  std::size_t found = mapping.inner.size();
  std::size_t longest = 0;
  for (std::size_t i = 0; i < mapping.inner.size(); i += 2) {
    const std::string step = path_step(mapping.inner[i]->written);
    const bool is_step =
        path.starts_with(step) &&
        (path.size() == step.size() || path[step.size()] == '.' || path[step.size()] == '[');
    if (!is_step || step.size() < longest) continue;
    found = i;
    longest = step.size();
  }
  return found;
}

/// `[3]` at the beginning of a path; beyond every list for anything else.
std::size_t read_index(std::string_view path) {
  std::size_t index = 0;
  if (!path.starts_with('[')) return SIZE_MAX;
  const auto [end, code] = std::from_chars(path.data() + 1, path.data() + path.size(), index);
  return code == std::errc{} ? index : SIZE_MAX;
}

}  // namespace

int Document::line_of(std::string_view path) const {
  int line = 0;
  for (const InputValue* at = root_; !path.empty();) {
    if (at->kind == Kind::mapping) {
      const std::size_t member = find_member(*at, path);
      if (member == at->inner.size()) break;
      line = at->inner[member]->line;
      path.remove_prefix(path_step(at->inner[member]->written).size());
      at = at->inner[member + 1];
    } else {
      const std::size_t index = read_index(path);
      if (at->kind != Kind::list || index >= at->inner.size()) break;
      at = at->inner[index];
      // What is not there is marked at the next thing that is.
      if (at->kind != Kind::nothing) line = at->line;
      path.remove_prefix(path.find(']') + 1);
    }
    if (path.starts_with('.')) path.remove_prefix(1);
  }
  return line;
}

caf::error Document::locate(const caf::error& error) const {
  if (!error) return error;
  const ErrorDetails said = details(error);
  const int line = line_of(said.field);
  if (line == 0) return error;
  return make_error(said.code, with_line(said.message, line, name_), said.field);
}

caf::error Document::refusal(const InputError& error) const {
  int line = error.line() > 0 ? error.line() : line_of(error.path());
  if (line == 0 && error.path().empty() && root_->kind != Kind::nothing) line = root_->line;
  return make_error(error.code(), with_line(error.what(), line, name_), error.path());
}

}  // namespace fairwater::inline input
