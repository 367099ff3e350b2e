#include "cli/cluster/measure_text.hpp"

#include <cmath>

#include <fmt/format.h>

namespace fairwater::inline cli::inline cluster {
namespace {

bool has_cores(const LedgerMeasure& measure) { return measure.millicores_per_unit > 0; }

double cores_per_unit(const LedgerMeasure& measure) {
  return has_cores(measure) ? static_cast<double>(measure.millicores_per_unit) / 1000 : 1;
}

}  // namespace

std::string balance_text(Units balance, const LedgerMeasure& measure) {
  if (measure.accounting == Accounting::units) return std::to_string(balance);
  constexpr double kHours = 3600;
  constexpr double kLeastShown = 0.05;
  double seconds = static_cast<double>(balance) / 1000 * cores_per_unit(measure);
  if (std::abs(seconds) < kLeastShown) seconds = 0;  // not -0.0
  const char* what = has_cores(measure) ? "core" : "unit";
  if (std::abs(seconds) < kHours) return fmt::format("{:.1f} {}-s", seconds, what);
  return fmt::format("{:.1f} {}-h", seconds / kHours, what);
}

std::string signed_balance_text(Units balance, const LedgerMeasure& measure) {
  return (balance < 0 ? "" : "+") + balance_text(balance, measure);
}

double cores_of(MicroUnits held, const LedgerMeasure& measure) {
  return static_cast<double>(held) / kMicroUnitsPerUnit * cores_per_unit(measure);
}

const char* cores_name(const LedgerMeasure& measure, std::string_view resource) {
  if (!has_cores(measure)) return "units";
  return resource == "cpu" ? "cores" : "cores' worth";
}

void put_measure(Json& json, const LedgerMeasure& measure) {
  json["accounting"] = to_string(measure.accounting);
  json["currency"] = measure.accounting == Accounting::time ? "unit_ms" : "units";
  if (measure.millicores_per_unit > 0) json["millicores_per_unit"] = measure.millicores_per_unit;
}

}  // namespace fairwater::inline cli::inline cluster
