#include "policy/elastic/growth.hpp"

#include <array>
#include <cstddef>

namespace fairwater::inline policy::inline elastic {
namespace {

constexpr std::array<std::string_view, 4> kNames{"qrea", "qrea-rebalance", "crea", "bra"};
static_assert(kNames.size() == static_cast<std::size_t>(kLastGrowthRule) + 1);

}  // namespace

std::string_view to_string(GrowthRule rule) { return kNames[static_cast<std::size_t>(rule)]; }

std::optional<GrowthRule> growth_rule_from(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<GrowthRule>(i);
  return std::nullopt;
}

std::string_view to_string(CreditAdvice advice) {
  switch (advice) {
    case CreditAdvice::quota_too_large:
      return "quota_too_large";
    case CreditAdvice::quota_too_small:
      return "quota_too_small";
    case CreditAdvice::none:
      break;
  }
  return "";
}

CreditAdvice credit_advice(const GrowthStanding& standing) {
  const Wide telling = Wide{standing.part} * kTellingCredit_ms / kMicroUnitsPerUnit;
  if (standing.credit > telling) return CreditAdvice::quota_too_large;
  return standing.credit < -telling ? CreditAdvice::quota_too_small : CreditAdvice::none;
}

Units growth_order(GrowthRule rule, const GrowthStanding& standing) {
  return rule == GrowthRule::crea ? standing.extras : -standing.credit;
}

std::optional<Units> most_extras(GrowthRule rule, const GrowthStanding& standing,
                                 const GrowthTotals& totals) {
  if (rule == GrowthRule::bra) return 0;
  if (rule != GrowthRule::qrea_rebalance) return std::nullopt;
  const Wide line = Wide{standing.part} * kDebtLine_ms / kMicroUnitsPerUnit;
  if (standing.credit >= -line) return std::nullopt;
  if (totals.unused == 0) return 0;
  return static_cast<Units>(Wide{totals.extras} * standing.unused / totals.unused);
}

}  // namespace fairwater::inline policy::inline elastic
