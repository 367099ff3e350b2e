#include "input/field.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace fairwater::inline input {
namespace {

using Kind = InputValue::Kind;

constexpr std::int64_t kLargestCount = std::int64_t{1} << 62;

bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

/// The text on one line, cut where it is long, but not within a character.
std::string one_line(std::string_view text) {
  constexpr std::size_t kMaxShown = 100;
  std::size_t length = std::min(text.size(), kMaxShown);
  while (length < text.size() && length > 0 && (text[length] & 0xC0) == 0x80) --length;
  std::string line;
  for (const char c : text.substr(0, length)) {
    if (!is_control(c)) {
      line += c;
    } else if (c == '\n') {
      line += "\\n";
    } else {
      constexpr std::string_view kDigits{"0123456789abcdef"};
      const auto byte = static_cast<unsigned char>(c);
      line += {'\\', 'x', kDigits[byte / 16], kDigits[byte % 16]};
    }
  }
  return length < text.size() ? line + ".." : line;
}

/// All of the text as a number.
template <class Number>
std::errc read_all(std::string_view text, Number& number) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return end == text.data() + text.size() ? code : std::errc::invalid_argument;
}

bool may_be_number(const InputValue& value) {
  return value.kind == Kind::plain || value.kind == Kind::number;
}

/// One beyond the range of 64 bits stands for all that are; none for what is no whole number.
std::optional<Wide> whole_number(const InputValue& value) {
  if (!may_be_number(value)) return std::nullopt;
  std::int64_t number = 0;
  const std::errc code = read_all(value.written, number);
  if (code == std::errc{}) return number;
  if (code == std::errc::result_out_of_range)
    return value.written.front() == '-' ? Wide{INT64_MIN} - 1 : Wide{INT64_MAX} + 1;
  constexpr double kExactBelow = 9007199254740992.0;  // 2^53: whole numbers below are exact
  double decimal = 0;
  if (value.kind != Kind::number || read_all(value.written, decimal) != std::errc{} ||
      !(std::fabs(decimal) < kExactBelow) || decimal != std::floor(decimal))
    return std::nullopt;
  return static_cast<std::int64_t>(decimal);
}

/// In the fewest digits that mean the same.
std::string text_of(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

}  // namespace

std::string shown(const InputValue& value) {
  switch (value.kind) {
    case Kind::nothing:
      return value.written.empty() ? "nothing" : value.written;
    case Kind::text:
      return "the text '" + one_line(value.written) + "'";
    case Kind::list:
      return "a list";
    case Kind::mapping:
      return "a mapping";
    default:
      return "'" + one_line(value.written) + "'";
  }
}

std::string path_step(std::string_view key) { return one_line(key); }

void Field::fail(const caf::error& error) const {
  const ErrorDetails said = details(error);
  const bool dot = !path_.empty() && !said.field.empty();
  throw InputError(path_ + (dot ? "." : "") + said.field, said.message, 0, said.code);
}

void Field::mismatch(std::string_view what) const {
  fail(shown(*value_) + " is not " + std::string(what));
}

const std::string& Field::text_for(std::string_view what) const {
  if (!is(Kind::text) && !is(Kind::plain)) mismatch(what);
  return value_->written;
}

std::string Field::text() const { return text_for("text"); }

std::string Field::name() const {
  constexpr std::string_view kWhat = "a name without control characters";
  std::string name = text_for(kWhat);
  if (name.empty() || std::any_of(name.begin(), name.end(), is_control)) mismatch(kWhat);
  return name;
}

bool Field::boolean() const {
  const bool may_be = is(Kind::plain) || is(Kind::boolean);
  if (!may_be || (value_->written != "true" && value_->written != "false"))
    mismatch("true or false");
  return value_->written == "true";
}

std::int64_t Field::integer(std::int64_t low, std::int64_t high) const {
  const auto number = whole_number(*value_);
  if (!number || *number < low || *number > high)
    mismatch("a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  return static_cast<std::int64_t>(*number);
}

std::int64_t Field::whole_within(std::int64_t low, std::int64_t high) const {
  const auto number = whole_number(*value_);
  if (!number) mismatch("a whole number");
  if (*number < low && low == 0) mismatch("a whole number, 0 or more");
  if (*number < low) fail(shown(*value_) + " is less than " + std::to_string(low));
  if (*number > high) fail(shown(*value_) + " is more than " + std::to_string(high));
  return static_cast<std::int64_t>(*number);
}

std::int64_t Field::count() const { return integer(0, kLargestCount); }

double Field::number(double low, double high) const {
  double number = 0;
  if (!may_be_number(*value_) || read_all(value_->written, number) != std::errc{} ||
      !(number >= low) || !(number <= high))
    mismatch("a number from " + text_of(low) + " to " + text_of(high));
  return number;
}

std::uint32_t Field::millionths() const {
  constexpr std::string_view kWhat = "a number such as 0.5, with at most six decimals";
  if (!may_be_number(*value_)) mismatch(kWhat);
  const std::string& written = value_->written;
  const auto point = written.find('.');
  const std::string whole = written.substr(0, point);
  std::string fraction = point == std::string::npos ? "0" : written.substr(point + 1);
  const auto is_digits = [](const std::string& digits) {
    return !digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos;
  };
  if (!is_digits(whole) || !is_digits(fraction) || whole.size() > 3 || fraction.size() > 6)
    mismatch(kWhat);
  fraction.resize(6, '0');
  return static_cast<std::uint32_t>(std::stoul(whole) * 1'000'000 + std::stoul(fraction));
}

std::int64_t Field::duration_ms() const { return parsed(parse_duration_ms, "a duration"); }

Amount Field::amount(std::string_view resource) const {
  return parsed([&](const std::string& text) { return parse_amount(resource, text); }, "an amount");
}

std::size_t Field::choice(const std::vector<std::string_view>& choices) const {
  std::string what = "one of";
  for (const std::string_view choice : choices)
    what += (choice == choices.front() ? " " : ", ") + std::string(choice);
  const std::string& text = text_for(what);
  const auto found = std::find(choices.begin(), choices.end(), text);
  if (found == choices.end()) fail("'" + one_line(text) + "' is not " + what);
  return static_cast<std::size_t>(found - choices.begin());
}

std::vector<Field> Field::list() const {
  if (!is(Kind::list)) mismatch("a list");
  std::vector<Field> items;
  items.reserve(value_->inner.size());
  for (const InputValue* item : value_->inner)
    items.emplace_back(*item, path_ + "[" + std::to_string(items.size()) + "]");
  return items;
}

FieldMap Field::object() const {
  if (!is(Kind::mapping)) mismatch("a mapping of keys to values");
  return {*value_, path_};
}

std::vector<std::pair<std::string, Field>> Field::entries() const {
  const FieldMap fields = object();
  std::vector<std::pair<std::string, Field>> entries;
  for (std::size_t i = 0; i < value_->inner.size(); i += 2) {
    const std::string& name = value_->inner[i]->written;
    entries.emplace_back(name, Field(*value_->inner[i + 1], fields.path_of(name)));
  }
  return entries;
}

std::vector<std::string> Field::texts() const {
  std::vector<std::string> texts;
  for (const Field& item : list()) texts.push_back(item.text());
  return texts;
}

NamedAmounts Field::amounts() const {
  if (!is(Kind::mapping)) mismatch("a mapping, as in {cpu: 1, memory: 512MiB}");
  NamedAmounts amounts;
  for (const auto& [resource, field] : entries()) amounts[resource] = field.amount(resource);
  return amounts;
}

void Field::to(std::map<std::string, std::string>& target) const {
  target.clear();
  for (const auto& [name, field] : entries()) target[name] = field.text();
}

std::optional<Field> FieldMap::find(std::string_view name) const {
  known_.emplace(name);
  const auto& inner = mapping_->inner;
  for (std::size_t i = 0; i < inner.size(); i += 2)
    if (inner[i]->written == name) return Field(*inner[i + 1], path_of(name));
  return std::nullopt;
}

Field FieldMap::at(std::string_view name) const {
  auto field = find(name);
  if (!field) throw InputError(path_of(name), "is missing");
  return *std::move(field);
}

void FieldMap::done() const {
  for (std::size_t i = 0; i < mapping_->inner.size(); i += 2) {
    const std::string& key = mapping_->inner[i]->written;
    if (known_.contains(key)) continue;
    std::string names;
    for (const std::string& name : known_) names += (names.empty() ? "" : ", ") + name;
    throw InputError(path_of(key), "is not a key here; the keys are " + names);
  }
}

std::string FieldMap::path_of(std::string_view name) const {
  return path_.empty() ? path_step(name) : path_ + "." + path_step(name);
}

const std::string& UniqueNames::add(std::string name, const Field& field) {
  const auto [added, is_new] = seen_.insert(std::move(name));
  if (!is_new) field.fail("'" + one_line(*added) + "' is given twice");
  return *added;
}

}  // namespace fairwater::inline input
