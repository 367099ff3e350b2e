#include "model/journal.hpp"

namespace fairwater {
namespace {

struct Kind {
  std::string_view operator()(const ClusterCreated&) const { return "cluster_created"; }
  std::string_view operator()(const CoordinatorStarted&) const { return "coordinator_started"; }
  std::string_view operator()(const TenantsChanged&) const { return "tenants_changed"; }
  std::string_view operator()(const TenantRemoved&) const { return "tenant_removed"; }
  std::string_view operator()(const TokenIssued&) const { return "token_issued"; }
  std::string_view operator()(const JobSubmitted&) const { return "job_submitted"; }
  std::string_view operator()(const JobCancelled&) const { return "job_cancelled"; }
  std::string_view operator()(const NodeChanged&) const { return "node_changed"; }
  std::string_view operator()(const TasksFinished&) const { return "tasks_finished"; }
  std::string_view operator()(const TasksRequeued&) const { return "tasks_requeued"; }
  std::string_view operator()(const Cycle&) const { return "cycle"; }
};

}  // namespace

std::string_view kind_of(const JournalBody& body) { return std::visit(Kind{}, body); }

}  // namespace fairwater
