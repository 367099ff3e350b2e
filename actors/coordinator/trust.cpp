// Whether the ledger may be dealt from: what the nodes say, and what an operator decides.
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/coordinator/state.hpp"
#include "model/text.hpp"

namespace fairwater::inline actors::inline coordinator::coordination {
namespace {

std::string name_of(const CoordinatorState& state, NodeId node) {
  const auto known = state.nodes.find(node);
  return known == state.nodes.end() ? "" : known->second.record.spec.traits.name;
}

/// Marking the directory blocks: it gets a thread of its own.
void tell_trusted(CoordinatorSelf self) {
  const auto& settings = self->state.context->settings;
  if (!settings.copied || !settings.on_trusted) return;
  self->spawn<caf::detached>([on_trusted = settings.on_trusted] { on_trusted(); });
}

}  // namespace

void watch_trust(CoordinatorSelf self) {
  auto& state = self->state;
  std::set<NodeId> known;
  std::set<NodeId> lost;
  for (const auto& [id, node] : state.nodes) (node.record.lost ? lost : known).insert(id);
  const bool copied = state.context->settings.copied;
  // Somebody who knew the ledger must speak for a copy of it, if there is anybody.
  if (copied && known.empty()) known = lost;
  change_trust(self, [&] {
    state.trust = LedgerTrust(known, copied);
    if (state.context->settings.restored) state.trust.vouch();
  });
  // Also of jobs that a life of the ledger had which was lost: how long their leases were is not
  // known, but for the bound.
  const auto& context = *state.context;
  const std::int64_t longest_ms = context.leases.silence_of(context.leases.longest_ms);
  self->delayed_send(self,
                     std::chrono::milliseconds(std::max(context.older_leases.longest_ms,
                                                        longest_ms + context.settings.grace_ms)),
                     LeasesOver{});
  if (!state.trust.holds()) spdlog::info("nothing is granted yet: {}", state.trust.why_not());
}

void change_trust(CoordinatorSelf self, const std::function<void()>& change) {
  auto& trust = self->state.trust;
  const bool held = trust.holds();
  change();
  if (held || !trust.holds()) return;
  spdlog::info("the ledger is taken for the newest: granting");
  tell_trusted(self);
  consider_all_nodes(self);
}

bool may_grant(const CoordinatorState& state) {
  return !state.beginning_anew && !state.vouching && state.trust.holds();
}

caf::error refuse_untrusted(const CoordinatorState& state) {
  if (state.trust.holds()) return {};
  return make_error(ErrorCode::unavailable, "nothing is taken in yet: " + state.trust.why_not(),
                    std::string(kLedgerField));
}

caf::result<LedgerStanding> answer(CoordinatorSelf self, const ShowStanding&) {
  const auto& state = self->state;
  const auto& trust = state.trust;
  LedgerStanding standing;
  standing.trusted = trust.holds();
  standing.why = trust.why_not();
  standing.end = state.context->ledger_end().mark;
  standing.copied = trust.copied() && !trust.holds();
  if (!trust.holds())
    for (const auto& node : trust.awaited()) standing.awaited.push_back(name_of(state, node));
  for (const auto& [node, doubt] : trust.doubts())
    standing.doubts.push_back({name_of(state, node), doubt.seen, doubt.reason, doubt.since});
  return standing;
}

caf::result<Done> answer(CoordinatorSelf self, const TrustLedger& request) {
  auto& state = self->state;
  if (request.reason.empty())
    return make_error(ErrorCode::invalid_input, "say why this ledger is to be trusted", "reason");
  if (auto wrong = validate_reason(request.reason)) return wrong;
  const bool is_vouched_for = state.trust.is_cleaning_up() && state.trust.doubts().empty();
  if (state.trust.holds() || state.vouching || is_vouched_for)
    return make_error(ErrorCode::wrong_state, "nobody doubts this ledger");
  if (state.changing_tenants)
    return make_error(ErrorCode::unavailable, "tenants are just being changed");
  state.vouching = true;
  const auto record = state.trust.vouching(state.context->ledger_end().mark, request.reason);
  state.next_tenant += record.skipped_tenants;
  state.next_node += record.skipped_nodes;
  auto promise = self->make_response_promise<Done>();
  self->request(state.context->ledger, caf::infinite, Commit{{record}, 0})
      .then(
          [self, promise, record](const Committed&) mutable {
            auto& state = self->state;
            spdlog::warn(
                "an operator vouches for the ledger ({}): incarnation {}, {} job ids are "
                "left out",
                one_line(record.reason, kMaxReasonBytes), record.incarnation, record.skipped_jobs);
            state.vouching = false;
            state.allocation->set_incarnation(record.incarnation);
            change_trust(self, [&] { state.trust.vouch(); });
            promise.deliver(Done{});
          },
          [self, promise](caf::error& error) mutable {
            self->state.vouching = false;
            promise.deliver(std::move(error));
          });
  return promise;
}

}  // namespace fairwater::inline actors::inline coordinator::coordination
