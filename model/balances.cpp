#include "model/balances.hpp"

#include <algorithm>
#include <string>

#include "model/numbers.hpp"

namespace fairwater::inline model {
namespace {

constexpr Wide kSecond_ms = 1000;
constexpr Wide kHour_ms = 3'600'000;
constexpr Wide kMillicores = 1000;

/// What is written stands for `times / divisor` of the ledger's balances. No divisor: for nothing.
struct Scale {
  Wide times = 1;
  Wide divisor = 0;
};

Scale scale_of(std::string_view unit, const LedgerMeasure& measure) {
  if (measure.accounting == Accounting::units) return {1, unit.empty() ? 1 : 0};
  if (unit == "unit_ms") return {1, 1};
  const bool has_cores = measure.millicores_per_unit > 0;
  const Wide per_unit = has_cores ? measure.millicores_per_unit : 1;
  const Wide cores = has_cores ? kMillicores : 1;
  if (unit == (has_cores ? "core-s" : "unit-s")) return {kSecond_ms * cores, per_unit};
  if (unit == (has_cores ? "core-h" : "unit-h")) return {kHour_ms * cores, per_unit};
  return {};
}

std::string_view what_is_right(const LedgerMeasure& measure) {
  if (measure.accounting == Accounting::units)
    return "this ledger counts units; write a whole number above 0, e.g. 12";
  if (measure.millicores_per_unit > 0)
    return "this ledger counts time; write core-seconds or core-hours, e.g. 8core-s or 1.5core-h";
  return "this ledger counts time; write units' seconds or hours, e.g. 8unit-s or 1.5unit-h";
}

}  // namespace

Expected<Units> parse_balance(std::string_view text, const LedgerMeasure& measure,
                              const char* field) {
  const auto refuse = [&] {
    return make_error(ErrorCode::invalid_input,
                      "'" + std::string(text.substr(0, 64)) +
                          "' is no balance: " + std::string(what_is_right(measure)),
                      field);
  };
  const auto number = read_number(text);
  if (!number) return refuse();
  std::string_view unit = number->suffix;
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  const Scale scale = scale_of(unit, measure);
  if (scale.divisor == 0) return refuse();
  if (measure.accounting == Accounting::units && number->nano % kNano != 0) return refuse();
  const Wide divisor = kNano * scale.divisor;
  const Wide balance = (number->nano * scale.times + divisor / 2) / divisor;
  if (balance < 1 || balance > kUnlimited) return refuse();
  return static_cast<Units>(balance);
}

Expected<DebtCap> parse_cap(const std::string& text, const LedgerMeasure& measure,
                            const char* field) {
  if (text.empty()) return DebtCap{};
  const auto duration_ms = parse_duration_ms(text);
  if (duration_ms && *duration_ms > 0) return DebtCap{*duration_ms, 0};
  const auto balance = parse_balance(text, measure, field);
  if (balance) return DebtCap{0, *balance};
  return make_error(ErrorCode::invalid_input,
                    "'" + text.substr(0, 64) +
                        "' is neither how long of a tenant's own part, e.g. 24h, nor how much, "
                        "e.g. 500core-h",
                    field);
}

Expected<DebtTerms> terms_of(const DebtSettings& settings, const LedgerMeasure& measure) {
  const auto cap = parse_cap(settings.cap, measure, "debts.cap");
  if (!cap) return cap.error();
  return DebtTerms{.cap_part_ms = cap->part_ms,
                   .cap_unit_ms = cap->unit_ms,
                   .half_life_ms = settings.half_life_ms};
}

Expected<Units> unit_ms_of(const BalanceConversion& conversion, const LedgerMeasure& measure) {
  const std::string& rate = conversion.core_seconds_per_unit;
  if (rate.empty()) return Units{0};
  const auto refuse = [&](const std::string& right) {
    return make_error(ErrorCode::invalid_input, "'" + rate.substr(0, 64) + "' " + right,
                      "convert_balances.core_seconds_per_unit");
  };
  if (measure.millicores_per_unit <= 0)
    return refuse(
        "cannot be a unit's core-seconds: a unit is less than a millicore; write "
        "convert_balances: forgive");
  const auto number = read_number(rate);
  const Wide divisor = kNano * measure.millicores_per_unit;
  const Wide product = number ? number->nano * kSecond_ms * kMillicores : 0;
  if (!number || !number->suffix.empty() || product <= 0 || product % divisor != 0 ||
      product / divisor > kUnlimited)
    return refuse(
        "is no rate that can be kept exactly: write a number of core-seconds that is a "
        "multiple of " +
        millionths_text(measure.millicores_per_unit) + ", e.g. 60");
  return static_cast<Units>(product / divisor);
}

}  // namespace fairwater::inline model
