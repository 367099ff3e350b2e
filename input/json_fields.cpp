#include "input/json_fields.hpp"

#include <algorithm>
#include <cmath>

namespace fairwater {
namespace {

constexpr std::int64_t kLargestAmount = std::int64_t{1} << 62;

/// A value as an error message quotes it: short, on one line.
std::string quoted(const Json& value) {
  constexpr std::size_t kMaxQuoted = 60;
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kMaxQuoted) text = text.substr(0, kMaxQuoted) + "..";
  return text;
}

bool is_printable(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
}

/// A field's name within a path: a path stays on one line.
std::string step_of_path(std::string_view name) {
  return is_printable(name) ? std::string(name) : quoted(Json(std::string(name)));
}

/// The parser's message without its own prefix and line breaks.
std::string plain_reason(const std::string& message) {
  const std::size_t start = message.rfind("; last read");
  std::string text = message.substr(0, start);
  const std::size_t prefix = text.find("] ");
  if (prefix != std::string::npos) text = text.substr(prefix + 2);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return text;
}

}  // namespace

Json parse_json(std::string_view text) {
  std::vector<std::set<std::string, std::less<>>> names;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kMaxNesting) throw InputError("", "is nested too deeply");
    if (event == Json::parse_event_t::object_start) names.emplace_back();
    if (event == Json::parse_event_t::object_end) names.pop_back();
    if (event == Json::parse_event_t::key && !names.back().insert(parsed.get<std::string>()).second)
      throw InputError("", "has the field " + quoted(parsed) + " twice in one object");
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), watch);
  } catch (const Json::exception& error) {
    throw InputError("", "is not valid JSON: " + plain_reason(error.what()));
  }
}

void Field::fail(const std::string& reason) const { throw InputError(path_, reason); }

void Field::mismatch(const std::string& what) const {
  fail("must be " + what + ", not " + quoted(*value_));
}

std::int64_t Field::integer(std::int64_t low, std::int64_t high) const {
  const std::string what =
      "a whole number from " + std::to_string(low) + " to " + std::to_string(high);
  std::int64_t number = 0;
  if (value_->is_number_unsigned()) {
    const auto raw = value_->get<std::uint64_t>();
    if (raw > static_cast<std::uint64_t>(INT64_MAX)) mismatch(what);
    number = static_cast<std::int64_t>(raw);
  } else if (value_->is_number_integer()) {
    number = value_->get<std::int64_t>();
  } else if (value_->is_number_float()) {
    constexpr double kExactBelow = 9007199254740992.0;  // 2^53: whole numbers below are exact
    const auto raw = value_->get<double>();
    if (!(std::fabs(raw) < kExactBelow) || raw != std::floor(raw)) mismatch(what);
    number = static_cast<std::int64_t>(raw);
  } else {
    mismatch(what);
  }
  if (number < low || number > high) mismatch(what);
  return number;
}

std::int64_t Field::amount() const { return integer(0, kLargestAmount); }

double Field::number(double low, double high) const {
  if (!value_->is_number()) mismatch("a number");
  const auto number = value_->get<double>();
  if (!std::isfinite(number) || number < low || number > high)
    mismatch("a number from " + Json(low).dump() + " to " + Json(high).dump());
  return number;
}

std::string Field::text() const {
  if (!value_->is_string()) mismatch("a text");
  return value_->get<std::string>();
}

std::string Field::name() const {
  std::string name = text();
  if (name.empty() || !is_printable(name)) mismatch("a name without control characters");
  return name;
}

std::size_t Field::choice(const std::vector<std::string_view>& choices) const {
  if (value_->is_string()) {
    const auto found = std::find(choices.begin(), choices.end(), value_->get<std::string>());
    if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  }
  std::string what = "one of";
  for (const std::string_view choice : choices)
    what += (choice == choices.front() ? " " : ", ") + std::string(choice);
  mismatch(what);
}

std::vector<Field> Field::list() const {
  if (!value_->is_array()) mismatch("a list");
  std::vector<Field> items;
  items.reserve(value_->size());
  for (std::size_t i = 0; i < value_->size(); ++i)
    items.emplace_back((*value_)[i], path_ + "[" + std::to_string(i) + "]");
  return items;
}

Fields Field::object() const {
  if (!value_->is_object()) mismatch("an object");
  return Fields(*value_, path_);
}

std::vector<std::pair<std::string, Field>> Field::entries() const {
  if (!value_->is_object()) mismatch("an object");
  std::vector<std::pair<std::string, Field>> entries;
  for (const auto& [name, value] : value_->items())
    entries.emplace_back(
        name, Field(value, path_.empty() ? step_of_path(name) : path_ + "." + step_of_path(name)));
  return entries;
}

Fields::Fields(const Json& object, std::string path) : object_(&object), path_(std::move(path)) {
  if (!object.is_object()) fail("must be an object, not " + quoted(object));
}

bool Fields::has(std::string_view name) const {
  known_.emplace(name);
  return object_->contains(name);
}

Field Fields::at(std::string_view name) {
  if (!has(name)) throw InputError(path_of(name), "is missing");
  return {*object_->find(name), path_of(name)};
}

void Fields::done() const {
  for (const auto& [name, value] : object_->items()) {
    if (known_.contains(name)) continue;
    std::string fields;
    for (const std::string& field : known_) fields += (fields.empty() ? "" : ", ") + field;
    throw InputError(path_of(name), "is not a known field; known here: " + fields);
  }
}

void Fields::fail(const std::string& reason) const { throw InputError(path_, reason); }

std::string Fields::path_of(std::string_view name) const {
  return path_.empty() ? step_of_path(name) : path_ + "." + step_of_path(name);
}

std::string UniqueNames::add(const Field& field) {
  std::string name = field.name();
  if (!seen_.insert(name).second) field.fail("must be unique, but \"" + name + "\" is there twice");
  return name;
}

}  // namespace fairwater
