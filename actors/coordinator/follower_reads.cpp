#include "actors/coordinator/follower_reads.hpp"

namespace fairwater::inline actors::inline coordinator {
namespace {

void add(NamedAmounts& sum, const NamedAmounts& amounts, Amount times) {
  for (const auto& [resource, amount] : amounts) sum[resource] += amount * times;
}

/// Tasks of one job may hold different amounts of memory: those are read.
void add_used(const Ledger& ledger, const JobRecord& job, NamedAmounts& used) {
  if (job.spec.profiled.memory_steps.empty())
    return add(used, job.spec.resources, static_cast<Amount>(job.tasks.running));
  for (const auto& task : ledger.tasks(job.id))
    if (task.record.state == TaskState::running)
      add(used, amounts_at(job.spec, task.record.memory_step), 1);
}

}  // namespace

ClusterStatus read_status(const Ledger& ledger) {
  ClusterStatus status;
  const ClusterCreated cluster = ledger.cluster();
  status.cluster_id = cluster.cluster_id;
  status.epoch = ledger.epoch();
  status.cycle = ledger.last_number();
  status.position = ledger.position();
  status.history = ledger.history();
  status.tenants = static_cast<std::uint32_t>(ledger.tenants().size());
  for (const NodeRecord& node : ledger.nodes()) {
    ++status.nodes;
    if (node.lost) continue;
    ++status.nodes_up;
    add(status.capacity, node.spec.capacity, 1);
  }
  for (const JobId id : ledger.live_jobs()) {
    const auto job = ledger.job(id);
    if (!job) continue;  // it has ended meanwhile, and is archived
    status.tasks_running += job->tasks.running;
    if (!job->cancelled && !job->winding_down) status.tasks_pending += job->tasks.pending();
    if (job->tasks.running > 0) add_used(ledger, *job, status.used);
  }
  return status;
}

NameTable read_names(const Ledger& ledger) {
  NameTable names;
  for (const auto& kind : ledger.cluster().resources) names.resources.push_back(kind.name);
  for (const TenantRecord& tenant : ledger.tenants()) names.tenants[tenant.id] = tenant.spec.name;
  for (const NodeRecord& node : ledger.nodes()) names.nodes[node.id] = node.spec.traits.name;
  return names;
}

std::optional<TenantId> find_tenant(const Ledger& ledger, const std::string& name) {
  for (const TenantRecord& tenant : ledger.tenants())
    if (tenant.spec.name == name) return tenant.id;
  return std::nullopt;
}

}  // namespace fairwater::inline actors::inline coordinator
