#include "model/journal.hpp"

#include <algorithm>

namespace fairwater {
namespace {

struct Kind {
  std::string_view operator()(const ClusterCreated&) const { return "cluster_created"; }
  std::string_view operator()(const CoordinatorStarted&) const { return "coordinator_started"; }
  std::string_view operator()(const TenantsChanged&) const { return "tenants_changed"; }
  std::string_view operator()(const TenantRemoved&) const { return "tenant_removed"; }
  std::string_view operator()(const TokenIssued&) const { return "token_issued"; }
  std::string_view operator()(const TokenRevoked&) const { return "token_revoked"; }
  std::string_view operator()(const JobSubmitted&) const { return "job_submitted"; }
  std::string_view operator()(const JobCancelled&) const { return "job_cancelled"; }
  std::string_view operator()(const NodeChanged&) const { return "node_changed"; }
  std::string_view operator()(const NodeRemoved&) const { return "node_removed"; }
  std::string_view operator()(const TasksFinished&) const { return "tasks_finished"; }
  std::string_view operator()(const TasksRequeued&) const { return "tasks_requeued"; }
  std::string_view operator()(const Cycle&) const { return "cycle"; }
  std::string_view operator()(const LaunchesFailed&) const { return "launches_failed"; }
  std::string_view operator()(const LedgerTrusted&) const { return "ledger_trusted"; }
};

struct ApproximateBytes {
  std::size_t operator()(const JobSubmitted& submitted) const { return spec_bytes(submitted.spec); }
  std::size_t operator()(const TasksFinished& finished) const {
    std::size_t bytes = 0;
    for (const auto& result : finished.results) bytes += kResultBytes + result.message.size();
    return bytes;
  }
  std::size_t operator()(const LaunchesFailed& failed) const {
    std::size_t bytes = 0;
    for (const auto& launch : failed.launches)
      bytes += kResultBytes + launch.result.message.size() + launch.returned.size() * kKeyBytes;
    return bytes;
  }
  std::size_t operator()(const TasksRequeued& requeued) const {
    return requeued.tasks.size() * kKeyBytes;
  }
  std::size_t operator()(const Cycle& cycle) const {
    std::size_t bytes = 0;
    for (const auto& deal : cycle.deals) bytes += deal.entries() * kDealEntryBytes;
    return bytes;
  }
  template <class Small>
  std::size_t operator()(const Small&) const {
    return kSmallRecordBytes;
  }

  static constexpr std::size_t kResultBytes = 128;
  static constexpr std::size_t kKeyBytes = 24;
  static constexpr std::size_t kDealEntryBytes = 256;
  static constexpr std::size_t kSmallRecordBytes = 512;
};

}  // namespace

std::size_t approximate_bytes(const JournalBody& body) {
  return std::visit(ApproximateBytes{}, body);
}

std::int64_t longest_lease_left_ms(const LeaseTerms& previous, WallTime now) {
  const std::int64_t older_ms = (previous.older_until.microseconds - now.microseconds) / 1000;
  return std::max(previous.lease_ms + previous.grace_ms, older_ms);
}

std::string_view to_string(Role role) {
  switch (role) {
    case Role::operator_role:
      return "operator";
    case Role::tenant:
      return "tenant";
    case Role::join:
      break;
  }
  return "join";
}

std::string_view kind_of(const JournalBody& body) { return std::visit(Kind{}, body); }

}  // namespace fairwater
