// What a caller may see of what was read, whoever reads it: the frontend, or one that follows.
// Pure.
#pragma once

#include "model/calls.hpp"

namespace fairwater::inline actors::inline coordinator {

[[nodiscard]] inline bool may_see(const Caller& caller, TenantId tenant) {
  return caller.role == Role::operator_role || caller.tenant == tenant;
}

/// `not_permitted` for an operator's call by somebody else.
template <class Request>
[[nodiscard]] caf::error check_role(const Request& request) {
  if (!kForOperators<Request> || request.caller.role == Role::operator_role) return {};
  return make_error(ErrorCode::not_permitted, "only the operator may do this");
}

/// Tasks of one job in one answer. With messages of kMaxResultMessageBytes they fit one message;
/// the gateway cuts what is larger.
inline constexpr std::uint32_t kMaxTasksInAnswer = 1'000;

/// Somebody else's job is as good as none: whether it exists is nobody else's business.
[[nodiscard]] caf::error no_such_job(JobId id);

/// A tenant's own IOUs and net, with the names of those that it trades with.
[[nodiscard]] LedgerView visible_part(const Caller& caller, LedgerView view);

/// Of a node's deal a tenant's own grants and line, and what moved between it and others: with
/// whom it trades it may know.
[[nodiscard]] Deal visible_part(const Caller& caller, Deal deal);

/// `not_permitted` where a tenant names another one, `invalid_input` for days in the wrong order.
[[nodiscard]] caf::error check_listing(const Caller& caller, const JobQuery& query);
[[nodiscard]] caf::error check_usage(const Caller& caller, const UsageQuery& query);

}  // namespace fairwater::inline actors::inline coordinator
