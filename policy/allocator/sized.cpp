#include "policy/allocator/sized.hpp"

#include <algorithm>
#include <numeric>

#include "policy/allocator/deal_steps.hpp"
#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline allocator {

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

/// Who may: whose next task is within what is left of its allowance. Who first: who has used the
/// smallest part of it.
struct SizedDeal::Fill {
  SizedDeal& deal;
  Heartbeat& heartbeat;
  std::vector<Units> allowances;  ///< by rank
  static constexpr bool kAllMoveUp = false;

  [[nodiscard]] bool is_over() const { return heartbeat.free == 0; }
  [[nodiscard]] std::optional<Turn> who_first(std::size_t rank) const {
    if (allowances[rank] == 0) return std::nullopt;
    return Turn{.second = heartbeat.lines[deal.ranked_[rank]].placed, .per = allowances[rank]};
  }
  [[nodiscard]] std::optional<std::size_t> who_may(std::size_t rank) const {
    const Queue& queue = deal.queues_[deal.ranked_[rank]];
    const Units left = allowances[rank] - heartbeat.lines[deal.ranked_[rank]].placed;
    if (!queue.waits() || queue.costs[queue.head] > std::min(left, heartbeat.free))
      return std::nullopt;
    return queue.head;
  }
  void place(std::size_t rank, std::size_t task) const {
    deal.place(heartbeat, deal.ranked_[rank], task);
  }
};

/// Who may: who has a task that fits. Who first: the largest task.
struct SizedDeal::Backfill {
  SizedDeal& deal;
  Heartbeat& heartbeat;
  static constexpr bool kAllMoveUp = true;

  [[nodiscard]] bool is_over() const { return heartbeat.free == 0; }
  [[nodiscard]] std::optional<Turn> who_first(std::size_t rank) const {
    const auto task = who_may(rank);
    if (!task) return std::nullopt;
    return Turn{.first = -deal.queues_[deal.ranked_[rank]].costs[*task]};
  }
  [[nodiscard]] std::optional<std::size_t> who_may(std::size_t rank) const {
    const Queue& queue = deal.queues_[deal.ranked_[rank]];
    const std::size_t end =
        queue.head + std::min<std::size_t>(deal.settings_.backups, queue.costs.size() - queue.head);
    std::optional<std::size_t> largest;
    for (std::size_t task = queue.head; task < end; ++task)
      if (queue.costs[task] <= heartbeat.free &&
          (!largest || queue.costs[task] > queue.costs[*largest]))
        largest = task;
    return largest;
  }
  void place(std::size_t rank, std::size_t task) const {
    deal.place(heartbeat, deal.ranked_[rank], task);
  }
};

void SizedDeal::pool_and_fill(Heartbeat& heartbeat) {
  std::vector<PoolMember> members;
  for (const std::size_t i : ranked_)
    members.push_back({.weight = queues_[i].weight,
                       .allowance = heartbeat.lines[i].allowance,
                       .demand = queues_[i].demand});
  Fill fill{*this, heartbeat, pool_changes(members, filler_)};
  for (std::size_t rank = 0; rank < ranked_.size(); ++rank)
    fill.allowances[rank] += members[rank].allowance;
  run_phase(fill, ranked_.size(), turns_);
}

void SizedDeal::backfill(Heartbeat& heartbeat) {
  Backfill backfill{*this, heartbeat};
  run_phase(backfill, ranked_.size(), turns_);
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

}  // namespace fairwater::inline policy::inline allocator
