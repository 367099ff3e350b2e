#include "cli/policy/resource_input.hpp"

#include <algorithm>
#include <charconv>

namespace fairwater::inline cli::inline policy_cli {
namespace {

constexpr double kMaxNumber = 1e18;

/// `digits * 10^exponent`, the shortest such that reads back as the same double; no trailing zeros.
struct Decimal {
  std::uint64_t digits = 0;
  int exponent = 0;
};

Decimal to_decimal(double number) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number, std::chars_format::scientific);
  const char* const exponent_mark = std::find(text, end.ptr, 'e');
  Decimal decimal;
  for (const char* c = text; c != exponent_mark; ++c) {
    if (*c == '.') continue;
    decimal.digits = decimal.digits * 10 + static_cast<std::uint64_t>(*c - '0');
    --decimal.exponent;
  }
  ++decimal.exponent;  // the digit before the point
  const char* const exponent = exponent_mark + (exponent_mark[1] == '+' ? 2 : 1);
  int shift = 0;
  std::from_chars(exponent, end.ptr, shift);
  decimal.exponent += shift;
  while (decimal.digits > 0 && decimal.digits % 10 == 0) {
    decimal.digits /= 10;
    ++decimal.exponent;
  }
  return decimal;
}

}  // namespace

void DecimalScale::add(const Field& field) {
  const double number = field.number(0, kMaxNumber);
  if (number == 0) return;
  const int places = -to_decimal(number).exponent;
  if (places > kMaxPlaces)
    field.fail("must have at most " + std::to_string(kMaxPlaces) + " decimal places, not " +
               Json(number).dump());
  places_ = std::max(places_, places);
}

Amount DecimalScale::to_steps(const Field& field, Amount max) const {
  const Decimal decimal = to_decimal(field.number(0, kMaxNumber));
  Wide steps = decimal.digits;
  for (int i = 0; i < decimal.exponent + places_ && steps <= max; ++i) steps *= 10;
  if (steps > max)
    field.fail("must be at most " + Json(to_units(max)).dump() +
               (places_ == 0 ? ""
                             : " with numbers of " + std::to_string(places_) +
                                   " decimal places in the input"));
  return static_cast<Amount>(steps);
}

Amount DecimalScale::steps_of_one() const {
  Amount steps = 1;
  for (int i = 0; i < places_; ++i) steps *= 10;
  return steps;
}

double DecimalScale::to_units(Amount steps) const {
  return static_cast<double>(steps) / static_cast<double>(steps_of_one());
}

Json DecimalScale::to_json(Amount steps) const {
  return places_ == 0 ? Json(steps) : Json(to_units(steps));
}

std::optional<std::size_t> ResourceInput::find(const std::string& name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names_.begin());
}

ResourceInput::Amounts ResourceInput::declare(const Field& object) {
  Amounts amounts;
  for (const auto& [name, amount] : object.entries()) {
    std::optional<std::size_t> resource = find(name);
    if (!resource) {
      if (names_.size() == kMaxResources)
        amount.fail("is one resource too many: there may be " + std::to_string(kMaxResources));
      resource = names_.size();
      names_.push_back(name);
    }
    scale_.add(amount);
    amounts.emplace_back(*resource, amount);
  }
  if (amounts.empty()) object.fail("must have a resource");
  return amounts;
}

ResourceInput::Amounts ResourceInput::demand(const Field& object) {
  Amounts amounts;
  bool any = false;
  for (const auto& [name, amount] : object.entries()) {
    const std::optional<std::size_t> resource = find(name);
    if (!resource) amount.fail("is a resource without a capacity");
    scale_.add(amount);
    any |= amount.number(0, kMaxNumber) > 0;
    amounts.emplace_back(*resource, amount);
  }
  if (!any) object.fail("must ask for more than 0 of a resource");
  return amounts;
}

ResourceVector ResourceInput::to_vector(const Amounts& amounts, Amount max) const {
  ResourceVector vector;
  for (const auto& [resource, amount] : amounts) vector[resource] = scale_.to_steps(amount, max);
  return vector;
}

std::optional<std::uint64_t> read_task_limit(const FieldMap& user) {
  if (!user.has("tasks") || user.at("tasks").is(InputValue::Kind::nothing)) return std::nullopt;
  return static_cast<std::uint64_t>(user.at("tasks").count());
}

}  // namespace fairwater::inline cli::inline policy_cli
