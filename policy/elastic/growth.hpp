// By which rule the elastic jobs of a live cluster grow into idle room and give it back: the order
// and the bounds of the policies that rounds follow (policy/elastic/qrea.hpp, rebalance.hpp,
// baselines.hpp), of tenants whose tasks come and go one by one. The jobs' order is the same for
// all: of one tenant the oldest job grows first, and the newest gives back first.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline elastic {

enum class GrowthRule : std::uint8_t {
  qrea = 0,            ///< by credit: the largest grows first, the smallest gives back first
  qrea_rebalance = 1,  ///< the same, with a line below which nobody goes on taking
  crea = 2,            ///< by extras: who has fewest grows first, who has most gives back first
  bra = 3,             ///< nothing grows
};
inline constexpr GrowthRule kLastGrowthRule = GrowthRule::bra;
/// `qrea`, `qrea-rebalance`, `crea`, `bra`.
[[nodiscard]] std::string_view to_string(GrowthRule rule);
/// None for another name.
[[nodiscard]] std::optional<GrowthRule> growth_rule_from(std::string_view name);

/// How long it may take to owe all that belongs to one: ten of a round's periods, a second each.
inline constexpr std::int64_t kDebtLine_ms = 10'000;

/// Where a tenant stands.
struct GrowthStanding {
  Units credit = 0;       ///< unit-milliseconds
  Units extras = 0;       ///< units that its elastic jobs hold beyond what they started with
  MicroUnits part = 0;    ///< what belongs to it, busy or not
  MicroUnits unused = 0;  ///< of that
};
/// What a credit says of the quota (Liu et al. 2018): one that grows, that the tenant leaves more
/// unused than it grows by; one that falls, that it lives on others' room.
enum class CreditAdvice : std::uint8_t { none = 0, quota_too_large = 1, quota_too_small = 2 };
inline constexpr CreditAdvice kLastCreditAdvice = CreditAdvice::quota_too_small;
/// `quota_too_large`, `quota_too_small`; empty: none.
[[nodiscard]] std::string_view to_string(CreditAdvice advice);
/// Credits always move. One that has come to ten minutes of all that belongs to the tenant does so
/// for a reason.
inline constexpr std::int64_t kTellingCredit_ms = 600'000;
[[nodiscard]] CreditAdvice credit_advice(const GrowthStanding& standing);

/// Of all tenants together.
struct GrowthTotals {
  Units extras = 0;
  Wide unused = 0;
};

/// Smaller grows first, and gives back last.
[[nodiscard]] Units growth_order(GrowthRule rule, const GrowthStanding& standing);
/// The most extras that it may have; none: any.
[[nodiscard]] std::optional<Units> most_extras(GrowthRule rule, const GrowthStanding& standing,
                                               const GrowthTotals& totals);

}  // namespace fairwater::inline policy::inline elastic
