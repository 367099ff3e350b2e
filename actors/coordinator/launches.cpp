// Grants that came to nothing: what they cost and what others advanced for them is taken back.
#include <algorithm>
#include <utility>

#include "actors/coordinator/state.hpp"

namespace fairwater::inline actors::inline coordinator::coordination {
namespace {

std::vector<TaskKey> keys_of(const std::vector<TaskResult>& results) {
  std::vector<TaskKey> keys;
  keys.reserve(results.size());
  for (const auto& result : results) keys.push_back(result.task);
  return keys;
}

/// A task that does not run there any more has had its advances returned: the ledger passes over
/// it. Where the ledger counts time nothing was advanced: what was held was held.
LaunchesFailed take_back(Allocation& allocation, const SettleFailedLaunches& request,
                         const TracedGrants& traced, bool counts_units) {
  LaunchesFailed body{request.node, {}};
  for (const auto& result : request.results) {
    FailedLaunch launch{result, {}};
    const auto found =
        std::find_if(traced.grants.begin(), traced.grants.end(),
                     [&](const TracedGrant& grant) { return grant.task == result.task; });
    if (found != traced.grants.end() && counts_units) {
      allocation.take_back(found->tenant, found->advances);
      launch.returned = found->advances;
    }
    body.launches.push_back(std::move(launch));
  }
  return body;
}

std::int64_t longest_backoff_ms(const TracedGrants& traced) {
  std::int64_t longest_ms = 0;
  for (const auto& grant : traced.grants)
    longest_ms = std::max(longest_ms, backoff_ms(grant.troubles_before + 1));
  return longest_ms;
}

using SettledPromise = caf::typed_response_promise<FailedLaunchesSettled>;

/// In the allocator and to the ledger in one turn, so that both apply the returns in one order.
void settle(CoordinatorSelf self, const SettleFailedLaunches& request, const TracedGrants& traced,
            SettledPromise promise) {
  auto& state = self->state;
  if (state.beginning_anew) {
    promise.deliver(make_error(ErrorCode::unavailable, "the coordinator begins anew"));
    return;
  }
  commit_chained(
      self,
      take_back(*state.allocation, request, traced,
                state.context->measure.accounting == Accounting::units),
      [promise, pause_ms = longest_backoff_ms(traced)](const Committed& committed) mutable {
        promise.deliver(FailedLaunchesSettled{pause_ms, committed.receipts.front().time});
      },
      [promise](const caf::error& error) mutable { promise.deliver(error); });
}

}  // namespace

/// The advances are read from the journal, where they cannot change any more. Where it is damaged
/// they stay: that costs the tenants' nets their correction and nothing else.
caf::result<FailedLaunchesSettled> settle_failed_launches(CoordinatorSelf self,
                                                          const SettleFailedLaunches& request) {
  auto promise = self->make_response_promise<FailedLaunchesSettled>();
  self->request(self->state.context->reader, caf::infinite,
                TraceGrants{request.node, keys_of(request.results)})
      .then([self, request,
             promise](const TracedGrants& traced) { settle(self, request, traced, promise); },
            [self, request, promise](const caf::error& error) mutable {
              if (details(error).code == ErrorCode::storage_damaged)
                settle(self, request, {}, promise);
              else
                promise.deliver(error);
            });
  return promise;
}

}  // namespace fairwater::inline actors::inline coordinator::coordination
