// The life of a cycle: what gathered is dealt, committed, and only then granted.
#include <chrono>
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/coordinator/state.hpp"
#include "policy/allocator/deal_cycle.hpp"
#include "policy/core/check.hpp"

namespace fairwater::inline actors::inline coordinator::coordination {
namespace {

constexpr auto kRetryAfterFailure = std::chrono::seconds(1);

/// Of a cycle, what its tenants hear once it is durable; the rest goes to the ledger uncopied.
struct CycleGrants {
  std::vector<std::pair<NodeId, std::vector<Grant>>> by_node;
  std::uint64_t last_deal = 0;
};

CycleGrants grants_of(const Cycle& cycle, std::uint64_t last_deal) {
  CycleGrants grants{{}, last_deal};
  for (const Deal& deal : cycle.deals)
    if (!deal.grants.empty()) grants.by_node.emplace_back(deal.node, deal.grants);
  return grants;
}

void send_grants(CoordinatorSelf self, const CycleGrants& granted_now, Moment moment) {
  auto& state = self->state;
  std::map<TenantId, Granted> by_tenant;
  for (const auto& [id, grants] : granted_now.by_node) {
    const auto& node = state.nodes.at(id);
    for (const Grant& grant : grants)
      by_tenant[grant.tenant].grants.push_back({grant, node.actor, id});
  }
  for (auto& [tenant, granted] : by_tenant) {
    granted.deal = granted_now.last_deal;
    granted.moment = moment;
    self->send(state.tenants.at(tenant).actor, std::move(granted));
  }
}

/// Their tenants tell them to end.
void send_reclaims(CoordinatorSelf self, const std::vector<Reclaim>& reclaims) {
  std::map<TenantId, Reclaimed> by_tenant;
  for (const Reclaim& reclaim : reclaims) by_tenant[reclaim.tenant].tasks.push_back(reclaim.task);
  for (auto& [tenant, reclaimed] : by_tenant)
    self->send(self->state.tenants.at(tenant).actor, std::move(reclaimed));
}

/// The next windows tell what waits now; an empty grant asks for one.
void ask_for_windows(CoordinatorSelf self) {
  for (auto& [id, tenant] : self->state.tenants)
    if (self->state.nesting.is_leaf(id))
      self->send(tenant.actor, Granted{self->state.allocation->last_deal(), {}, {}});
}

void commit_failed(CoordinatorSelf self, const caf::error& error) {
  auto& state = self->state;
  if (state.why_not_granting != details(error).message)
    spdlog::error("granting nothing: {}", details(error).message);
  state.why_not_granting = details(error).message;
  if (std::exchange(state.beginning_anew, true)) return;
  ++state.generation;
  self->delayed_send(self, kRetryAfterFailure, BeginAnew{});
}

void note_cycle_ended(CoordinatorState& state) {
  FAIRWATER_CHECK(state.cycles_in_flight > 0, "a cycle that is in flight ends once");
  --state.cycles_in_flight;
}

}  // namespace

void schedule_cycle(CoordinatorSelf self) {
  if (!std::exchange(self->state.cycle_due, true)) self->send(self, RunCycle{});
}

void consider_all_nodes(CoordinatorSelf self) {
  self->state.allocation->consider_all_nodes();
  if (self->state.allocation->is_due()) schedule_cycle(self);
}

void run_cycle(CoordinatorSelf self) {
  auto& state = self->state;
  state.cycle_due = false;
  if (!may_grant(state) || state.cycles_in_flight >= kMaxCyclesInFlight) return;
  pass_time(self);
  Cycle cycle{state.allocation->run(kMaxDealsPerCycle, kMaxDealEntriesPerCycle)};
  auto reclaims = state.allocation->take_reclaims();
  if (state.allocation->is_due()) schedule_cycle(self);
  count_credits(self);
  consider_leavers(self);
  if (cycle.deals.empty() && reclaims.empty()) return;
  ++state.cycles_in_flight;
  auto grants = grants_of(cycle, state.allocation->last_deal());
  Commit commit{{}, state.generation};
  if (!cycle.deals.empty()) commit.bodies.emplace_back(std::move(cycle));
  if (!reclaims.empty()) commit.bodies.emplace_back(TasksReclaimed{reclaims});
  self->request(state.context->ledger, caf::infinite, std::move(commit))
      .then(
          [self, grants = std::move(grants),
           reclaims = std::move(reclaims)](const Committed& committed) {
            note_cycle_ended(self->state);
            if (!self->state.why_not_granting.empty()) spdlog::info("granting again");
            self->state.why_not_granting.clear();
            const Receipt& receipt = committed.receipts.front();
            send_grants(self, grants, {receipt.number, receipt.time});
            send_reclaims(self, reclaims);
            if (self->state.allocation->is_due()) schedule_cycle(self);
          },
          [self](const caf::error& error) {
            note_cycle_ended(self->state);
            commit_failed(self, error);
          });
}

void commit_chained(CoordinatorSelf self, JournalBody body,
                    std::function<void(const Committed&)> then,
                    std::function<void(const caf::error&)> failed) {
  self->request(self->state.context->ledger, caf::infinite,
                Commit{{std::move(body)}, self->state.generation})
      .then([then = std::move(then)](const Committed& committed) { then(committed); },
            [self, failed = std::move(failed)](const caf::error& error) {
              commit_failed(self, error);
              failed(error);
            });
}

/// What starts on the node from now on has to end before a drain that is planned.
void close_before_drain(CoordinatorSelf self, const NodeEntry& node) {
  auto& state = self->state;
  const WallTime begins = node.record.planned_drain.begins;
  const std::int64_t left_us = begins.microseconds - state.context->wall_clock().microseconds;
  state.allocation->close_node_from(
      node.record.id, begins ? std::optional(clock_ms(self) + left_us / 1000) : std::nullopt);
}

// -- beginning anew -------------------------------------------------------------------------------

/// The policy by which this cluster deals.
std::unique_ptr<Allocation> make_allocation(const AllocatorSettings& settings,
                                            const ClusterSnapshot& snapshot) {
  return std::make_unique<DealCycle>(restore(settings, snapshot));
}

void rebuild(CoordinatorState& state, ClusterSnapshot snapshot, std::uint64_t last_deal) {
  const auto& context = *state.context;
  AllocatorSettings settings;
  settings.granules = context.catalog.granules();
  settings.units = context.catalog.units();
  for (const ResourceKind& kind : context.catalog.kinds()) settings.resources.push_back(kind.name);
  settings.mode = context.mode;
  settings.accounting = context.measure.accounting;
  settings.debts = context.settings.debts;
  settings.predict = context.settings.predict;
  settings.allocation = context.settings.allocation;
  settings.growth = context.settings.growth;
  settings.preempt_after_ms = context.settings.preempt_after_ms;
  settings.preempts_for_min = context.settings.preempts_for_min;
  settings.incarnation = context.ledger_end().mark.incarnation;
  snapshot.last_deal = last_deal;
  // Nodes register while the ledger is being read: what is durable of them is here first.
  snapshot.nodes.clear();
  for (const auto& [id, node] : state.nodes) {
    snapshot.nodes.push_back(node_of(node.record, context.catalog));
    snapshot.nodes.back().accepts = node.accepts;
  }
  state.allocation = make_allocation(settings, snapshot);
  state.nesting = nesting_of(state);
}

/// The fence makes sure that every result that was sent to the ledger before is in the snapshot;
/// tasks released later are released again, and likewise those told to end.
void begin_anew(CoordinatorSelf self) {
  self->state.told_to_end_meanwhile.clear();
  self->state.released_meanwhile.clear();
  auto retry = [self](const caf::error&) {
    self->delayed_send(self, kRetryAfterFailure, BeginAnew{});
  };
  self->request(self->state.context->ledger, caf::infinite, Commit{{}, 0})
      .then(
          [self, retry](const Committed&) {
            self->request(self->state.context->scanner, caf::infinite, ReadSnapshot{})
                .then(
                    [self](const SnapshotRead& read) {
                      auto& state = self->state;
                      take_back_leaver(self);
                      take_back_leaving_nodes(self);
                      ClusterSnapshot snapshot = *read.snapshot;
                      snapshot.clock_ms = clock_ms(self);
                      rebuild(state, std::move(snapshot), state.allocation->last_deal());
                      for (const auto& [id, node] : state.nodes) close_before_drain(self, node);
                      for (const auto& task : state.told_to_end_meanwhile)
                        state.allocation->note_told_to_end(task);
                      for (const auto& task : state.released_meanwhile)
                        state.allocation->release(task);
                      state.beginning_anew = false;
                      ask_for_windows(self);
                      consider_all_nodes(self);
                    },
                    retry);
          },
          retry);
}

// -- events ---------------------------------------------------------------------------------------

void expect_node(CoordinatorState& state, const NodeEntry& node, int change) {
  if (node.record.lost) return;
  state.nodes_expected += static_cast<std::uint32_t>(change);
  state.context->pace->set_nodes(state.nodes_expected);
}

void set_node(CoordinatorSelf self, const NodeEntry& node) {
  auto& state = self->state;
  auto capacity = state.context->catalog.to_vector(node.record.spec.capacity, "capacity");
  FAIRWATER_CHECK(capacity.engaged(), "a registered node's capacity");
  state.allocation->set_node(node.record.id, node.record.spec.traits, *capacity, node.accepts);
  close_before_drain(self, node);
  state.node_totals.reset();
}

void take_beat(CoordinatorSelf self, const NodeBeat& beat) {
  auto& state = self->state;
  const auto found = state.nodes.find(beat.node);
  if (found == state.nodes.end()) return;  // it was removed meanwhile
  auto& node = found->second;
  if (std::exchange(node.state, beat.state) != beat.state) state.node_totals.reset();
  node.last_heartbeat = beat.last_heartbeat;
  if (node.record.lost != beat.lost) {
    expect_node(state, node, -1);
    node.record.lost = beat.lost;
    expect_node(state, node, 1);
  }
  node.record.draining = beat.draining;
  node.record.drain_reason = beat.drain_reason;
  node.record.drain_deadline = beat.drain_deadline;
  node.problem = beat.problem;
  pass_time(self);
  if (beat.lost) change_trust(self, [&] { state.trust.lose(beat.node); });
  if (state.trust.is_cleaning_up())
    change_trust(self, [&] { state.trust.clean_up(beat.node, beat.runs_lost_life); });
  for (const auto& task : beat.told_to_end) {
    state.allocation->note_told_to_end(task);
    if (state.beginning_anew) state.told_to_end_meanwhile.push_back(task);
  }
  for (const auto& task : beat.unheard) state.allocation->release_unheard(task);
  for (const auto& task : beat.released) state.allocation->release(task);
  if (state.beginning_anew)
    for (const auto* ended : {&beat.unheard, &beat.released})
      state.released_meanwhile.insert(state.released_meanwhile.end(), ended->begin(), ended->end());
  if (!beat.unheard.empty() || !beat.released.empty()) consider_leavers(self);
  const bool is_planned_otherwise = node.record.planned_drain != beat.planned_drain;
  node.record.planned_drain = beat.planned_drain;
  if (std::exchange(node.accepts, beat.accepts) != beat.accepts || is_planned_otherwise)
    set_node(self, node);
  if (!node.accepts) return;
  state.allocation->beat(beat.node);
  if (state.allocation->is_due()) schedule_cycle(self);
}

void take_window(CoordinatorSelf self, DemandWindow& window) {
  auto& state = self->state;
  if (!state.nesting.is_leaf(window.tenant)) return;  // it was removed or divided meanwhile
  pass_time(self);  // it tells from now on how long tasks may yet wait
  const TenantId tenant = window.tenant;
  state.allocation->take_window(std::move(window));
  if (state.allocation->is_due()) schedule_cycle(self);
  consider_leaver(self, tenant);
}

caf::result<Done> withdraw(CoordinatorSelf self, const Withdraw& request) {
  if (!self->state.nesting.is_leaf(request.tenant))
    return make_error(ErrorCode::not_found, "the tenant is being removed or divided", "tenant");
  self->state.allocation->withdraw(request.tenant, request.job);
  auto promise = self->make_response_promise<Done>();
  self->request(self->state.context->ledger, caf::infinite, Commit{{request.why}, 0})
      .then([promise](const Committed&) mutable { promise.deliver(Done{}); },
            [promise](const caf::error& error) mutable { promise.deliver(error); });
  return promise;
}

}  // namespace fairwater::inline actors::inline coordinator::coordination
