#include "policy/allocator/sized.hpp"

#include <algorithm>
#include <numeric>

#include "policy/allocator/deal_steps.hpp"
#include "policy/core/check.hpp"

namespace fairwater {

SizedDeal::SizedDeal(const SizedSettings& settings, const std::vector<SizedTenant>& tenants)
    : settings_(settings) {
  FAIRWATER_CHECK(settings.granule > 0, "a granule is positive");
  Weight divisor = 0;
  for (const SizedTenant& tenant : tenants) {
    sequence_.join(static_cast<Sequence::Member>(queues_.size()), tenant.weight);
    divisor = std::gcd(divisor, tenant.weight);
    Queue& queue = queues_.emplace_back();
    queue.weight = tenant.weight;
    for (const Amount size : tenant.tasks) {
      FAIRWATER_CHECK(size > 0, "a task's size is positive");
      queue.costs.push_back((size - 1) / settings.granule + 1);
      queue.demand += queue.costs.back();
    }
  }
  // <mC1, .., mCn> is m times <C1, .., Cn>.
  if (divisor > 0) period_ = sequence_.cycle() / static_cast<std::uint64_t>(divisor);
  for (const Sequence::Member member : sequence_.ranked()) ranked_.push_back(member);
}

SizedHeartbeat SizedDeal::heartbeat(Units units) {
  Heartbeat state{.free = units,
                  .lines = std::vector<TenantLine>(queues_.size()),
                  .placed = std::vector<std::vector<Units>>(queues_.size())};
  if (!queues_.empty())
    for (const Sequence::Count& count : deal_slots(sequence_, units))
      state.lines[count.member].granted = static_cast<Units>(count.slots);
  settle_debts(state);
  pool_and_fill(state);
  backfill(state);
  close(state);

  SizedHeartbeat result{.units = units,
                        .unused = state.free,
                        .position = sequence_.position() % period_,
                        .lines = {}};
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    const TenantLine& line = state.lines[i];
    result.lines.push_back({.granted = line.granted,
                            .allowance = line.allowance,
                            .placed = std::move(state.placed[i]),
                            .entitled = line.allowance - line.rolled_back,
                            .balance = closing_balance(line),
                            .total = queues_[i].total});
  }
  return result;
}

void SizedDeal::settle_debts(Heartbeat& heartbeat) {
  std::vector<TenantId> creditors;
  for (const std::size_t i : ranked_)
    if (queues_[i].waits() && book_.net(static_cast<std::uint32_t>(i)) > 0)
      creditors.push_back(TenantId{static_cast<std::uint32_t>(i)});
  std::vector<Repayment> repayments;
  for (const std::size_t i : ranked_) {
    const TenantId debtor{static_cast<std::uint32_t>(i)};
    const RepaymentBudget budget = repayment_budget(heartbeat.lines[i].granted,
                                                    settings_.repay_millionths, queues_[i].waits());
    for (const Repayment& repayment : settle(book_, debtor, budget.units, creditors)) {
      heartbeat.lines[i].paid += repayment.units;
      heartbeat.lines[repayment.creditor.value].received += repayment.units;
      repayments.push_back(repayment);
    }
  }
  for (const Repayment& repayment : repayments) {
    const bool owed =
        book_.repay(repayment.debtor.value, repayment.creditor.value, repayment.units);
    FAIRWATER_CHECK(owed, "a settlement pays only what is owed");
  }
  for (TenantLine& line : heartbeat.lines)
    line.allowance = line.granted + line.received - line.paid;
}

void SizedDeal::pool_and_fill(Heartbeat& heartbeat) {
  std::vector<PoolMember> members;
  for (const std::size_t i : ranked_)
    members.push_back({.weight = queues_[i].weight,
                       .allowance = heartbeat.lines[i].allowance,
                       .demand = queues_[i].demand});
  const std::vector<Units> changes = pool_changes(members, filler_);
  std::vector<Filler> fillers;
  for (std::size_t rank = 0; rank < ranked_.size(); ++rank)
    fillers.push_back({.allowance = members[rank].allowance + changes[rank]});
  fill_allowances(
      fillers,
      [&](std::size_t rank) -> std::optional<Units> {
        const Queue& queue = queues_[ranked_[rank]];
        if (!queue.waits() || queue.costs[queue.head] > heartbeat.free) return std::nullopt;
        return queue.costs[queue.head];
      },
      [&](std::size_t rank) { place(heartbeat, ranked_[rank], queues_[ranked_[rank]].head); });
}

void SizedDeal::backfill(Heartbeat& heartbeat) {
  while (heartbeat.free > 0) {
    BackfillCandidate best;
    std::size_t best_task = 0;
    for (std::size_t rank = 0; rank < ranked_.size(); ++rank) {
      const Queue& queue = queues_[ranked_[rank]];
      const std::size_t end =
          queue.head + std::min<std::size_t>(settings_.backups, queue.costs.size() - queue.head);
      for (std::size_t task = queue.head; task < end; ++task) {
        const BackfillCandidate candidate{.cost = queue.costs[task], .hand = 0, .rank = rank};
        if (candidate.cost > heartbeat.free || !backfills_before(candidate, best)) continue;
        best = candidate;
        best_task = task;
      }
    }
    if (best.cost == 0) return;
    place(heartbeat, ranked_[best.rank], best_task);
  }
}

void SizedDeal::place(Heartbeat& heartbeat, std::size_t tenant, std::size_t task) {
  Queue& queue = queues_[tenant];
  const Units cost = queue.costs[task];
  // The tasks that were looked past keep their order and move up by one place.
  std::rotate(queue.costs.begin() + static_cast<std::ptrdiff_t>(queue.head),
              queue.costs.begin() + static_cast<std::ptrdiff_t>(task),
              queue.costs.begin() + static_cast<std::ptrdiff_t>(task) + 1);
  ++queue.head;
  queue.demand -= cost;
  queue.total += cost;
  heartbeat.lines[tenant].placed += cost;
  heartbeat.placed[tenant].push_back(cost);
  heartbeat.free -= cost;
}

void SizedDeal::close(Heartbeat& heartbeat) {
  if (!queues_.empty())
    for (const Sequence::Count& count :
         sequence_.rollback(static_cast<std::uint64_t>(heartbeat.free)))
      heartbeat.lines[count.member].rolled_back = static_cast<Units>(count.slots);
  std::vector<Position> positions;
  for (const std::size_t i : ranked_)
    positions.push_back(
        {TenantId{static_cast<std::uint32_t>(i)}, closing_balance(heartbeat.lines[i])});
  for (const Loan& loan : match_loans(positions))
    book_.lend(loan.lender.value, loan.borrower.value, loan.units);
}

}  // namespace fairwater
