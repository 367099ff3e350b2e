#include "policy/ledger/credits.hpp"

#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline ledger {
namespace {

/// `whole * before / all`, rounded down, where whole * times of it is asked for.
Wide share_of(Wide whole, Wide times, Wide before, Wide all) {
  const Wide product = whole * before;
  return product / all * times + product % all * times / all;
}

}  // namespace

void settle_credits(CreditSettlement& settlement) {
  const std::int64_t period_ms = settlement.period_ms;
  FAIRWATER_CHECK(period_ms > 0 && period_ms <= kMaxCreditPeriod_ms, "a period of credits");
  Wide extras = 0;
  Wide unused = 0;
  for (const CreditLine& line : settlement.lines) {
    FAIRWATER_CHECK(line.extras >= 0 && line.extras <= kMaxCreditExtras && line.unused >= 0,
                    "a line of credits is within bounds");
    extras += line.extras;
    unused += line.unused;
  }
  Wide before = 0;
  for (CreditLine& line : settlement.lines) {
    line.change = 0;
    if (unused == 0) continue;
    const Wide after = before + line.unused;
    const Wide earned =
        share_of(extras, period_ms, after, unused) - share_of(extras, period_ms, before, unused);
    line.change = static_cast<Units>(earned - Wide{line.extras} * period_ms);
    before = after;
  }
}

std::vector<Units> credit_parts(Units credit, const std::vector<Weight>& weights) {
  Wide all = 0;
  for (const Weight weight : weights) all += weight;
  std::vector<Units> parts;
  Wide before = 0;
  for (const Weight weight : weights) {
    const Wide after = before + weight;
    parts.push_back(static_cast<Units>(Wide{credit} * after / all - Wide{credit} * before / all));
    before = after;
  }
  return parts;
}

}  // namespace fairwater::inline policy::inline ledger
