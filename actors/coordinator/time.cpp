// The ledger's time, where it counts time: it passes with the actors' clock, and what was held goes
// into the accounts each second. So do credits for growth, wherever something has grown.
#include <chrono>
#include <utility>

#include "actors/coordinator/state.hpp"

namespace fairwater::inline actors::inline coordinator::coordination {
namespace {

constexpr auto kSettlementPeriod = std::chrono::seconds(1);

bool counts_time(const CoordinatorState& state) {
  return state.context->measure.accounting == Accounting::time;
}

}  // namespace

void begin_time(CoordinatorSelf self, LedgerMs ledger_ms) {
  auto& state = self->state;
  state.ledger_began_ms = ledger_ms;
  state.began = self->clock().now();
  if (counts_time(state)) self->delayed_send(self, kSettlementPeriod, SettleTime{});
}

void pass_time(CoordinatorSelf self) { self->state.allocation->pass_to(clock_ms(self)); }

LedgerMs clock_ms(CoordinatorSelf self) {
  const auto& state = self->state;
  const auto passed =
      std::chrono::duration_cast<std::chrono::milliseconds>(self->clock().now() - state.began);
  return state.ledger_began_ms + passed.count();
}

void settle_time(CoordinatorSelf self) {
  auto& state = self->state;
  pass_time(self);
  auto settlement = state.allocation->settle_time();
  if (state.allocation->is_due()) schedule_cycle(self);
  consider_leavers(self);
  if (!settlement) return;
  state.settling = true;
  commit_chained(
      self, TimeSettled{std::move(*settlement)},
      [self](const Committed&) { self->state.settling = false; },
      [self](const caf::error&) { self->state.settling = false; });
}

void settle_on_time(CoordinatorSelf self) {
  const auto& state = self->state;
  if (may_grant(state) && !state.beginning_anew && !state.settling) settle_time(self);
  self->delayed_send(self, kSettlementPeriod, SettleTime{});
}

void count_credits(CoordinatorSelf self) {
  auto& state = self->state;
  if (state.credits_since || !state.allocation->may_reclaim()) return;
  state.credits_since = self->clock().now();
  self->delayed_send(self, kSettlementPeriod, SettleCredits{});
}

void settle_credits(CoordinatorSelf self) {
  auto& state = self->state;
  // While the ledger waits for a majority one settlement waits there, not one more each second.
  if (state.settling_credits) {
    self->delayed_send(self, kSettlementPeriod, SettleCredits{});
    return;
  }
  const auto since = *std::exchange(state.credits_since, std::nullopt);
  const auto now = self->clock().now();
  const auto period = std::chrono::duration_cast<std::chrono::milliseconds>(now - since);
  std::optional<CreditSettlement> settlement;
  if (may_grant(state) && !state.beginning_anew)
    settlement = state.allocation->settle_credits(period.count());
  pass_time(self);
  if (settlement || state.allocation->may_reclaim()) {
    state.credits_since = now;
    self->delayed_send(self, kSettlementPeriod, SettleCredits{});
  }
  if (state.allocation->is_due()) schedule_cycle(self);
  if (!settlement) return;
  state.settling_credits = true;
  commit_chained(
      self, CreditsSettled{std::move(*settlement)},
      [self](const Committed&) { self->state.settling_credits = false; },
      [self](const caf::error&) { self->state.settling_credits = false; });
}

}  // namespace fairwater::inline actors::inline coordinator::coordination
