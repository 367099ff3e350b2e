#include "sim/schedulers/elastic.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "policy/core/check.hpp"

namespace fairwater::sim::inline schedulers {
namespace {

/// Tasks and the policy's jobs, one to one; no id is 0.
JobId id_of(TaskId task) { return {(std::uint64_t{task.job} << 32 | task.index) + 1}; }
TaskId task_of(JobId id) {
  return {static_cast<JobIndex>((id.value - 1) >> 32), static_cast<std::uint32_t>(id.value - 1)};
}

Units unit_cost(const Cluster& cluster, const Job& job) {
  return cost_in_units(job.demand, cluster.settings.granules, cluster.settings.units);
}

/// So that what costs no more than this fits the node in every resource that it has.
Units units_of_node(const AllocatorSettings& settings, const ResourceVector& capacity) {
  Wide units = kMaxElasticUnits;
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (settings.granules[r] > 0 && capacity[r] > 0)
      units = std::min(units, Wide{capacity[r]} * settings.units[r] / settings.granules[r]);
  return static_cast<Units>(units);
}

std::vector<Units> quotas_of(const Cluster& cluster, Units units) {
  std::vector<Weight> weights;
  for (const SimTenant& tenant : cluster.tenants) weights.push_back(tenant.terms.weight);
  std::vector<Units> quotas = share_by_weight(units, weights);
  for (std::size_t i = 0; i < quotas.size(); ++i)
    if (cluster.tenants[i].quota != 0) quotas[i] = cluster.tenants[i].quota;
  return quotas;
}

}  // namespace

std::vector<Units> share_by_weight(Units units, const std::vector<Weight>& weights) {
  const Wide sum = std::accumulate(weights.begin(), weights.end(), Wide{0});
  FAIRWATER_CHECK(weights.empty() || sum > 0, "a weight is 1 or more");
  std::vector<Units> shares;
  std::vector<Wide> remainders;
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Units left = units;
  for (const Weight weight : weights) {
    shares.push_back(static_cast<Units>(Wide{units} * weight / sum));
    remainders.push_back(Wide{units} * weight % sum);
    left -= shares.back();
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  for (std::size_t i = 0; i < order.size() && left > 0; ++i, --left) ++shares[order[i]];
  return shares;
}

Expected<std::unique_ptr<Scheduler>> ElasticScheduler::make(const ElasticOptions& options,
                                                            const Cluster& cluster,
                                                            const Workload& workload) {
  const auto refuse = [](std::string message, std::string field) {
    return make_error(ErrorCode::invalid_input, std::move(message), std::move(field));
  };
  std::unique_ptr<ElasticPolicy> policy = options.policy == "qrea-rebalance"
                                              ? std::make_unique<QreaRebalance>(options.rebalance)
                                              : make_elastic_policy(options.policy);
  if (policy == nullptr)
    return refuse(fmt::format("there is no elastic policy '{}'", options.policy), "policy");
  if (options.credit_period_ms < 0) return refuse("a period is not negative", "credit_period_ms");
  if (cluster.nodes.size() != 1) return refuse("elastic policies take one node, a pool", "nodes");
  const Units units = units_of_node(cluster.settings, cluster.nodes[0].capacity);
  const std::vector<Units> quotas = quotas_of(cluster, units);
  for (std::size_t j = 0; j < workload.jobs.size(); ++j) {
    const Job& job = workload.jobs[j];
    const Units cost = unit_cost(cluster, job);
    const Units room = options.policy == "fair" ? units : std::min(units, quotas[job.tenant]);
    const std::string field = fmt::format("jobs[{}]", j);
    if (job.min_units < job.max_units && cost != 1)
      return refuse(fmt::format("a unit of this elastic job costs {} units of the ledger, and has "
                                "to cost one under policy {}",
                                cost, options.policy),
                    field);
    if (!job.demand.fits(cluster.nodes[0].capacity))
      return refuse("asks for a resource that the pool does not have", field);
    if (Wide{job.min_units} * cost > room)
      return refuse(fmt::format("needs more than the {} units that it may ever have", room), field);
  }
  return std::unique_ptr<Scheduler>(
      new ElasticScheduler(options, cluster, workload, std::move(policy), units));
}

ElasticScheduler::ElasticScheduler(const ElasticOptions& options, const Cluster& cluster,
                                   const Workload& workload, std::unique_ptr<ElasticPolicy> policy,
                                   Units units)
    : workload_(workload),
      policy_(std::move(policy)),
      within_quota_(options.policy != "fair"),
      credit_period_ms_(options.credit_period_ms),
      tenants_(cluster.tenants.size()) {
  cluster_.units = units;
  for (const Units quota : quotas_of(cluster, units)) cluster_.users.emplace_back().quota = quota;
  for (const Job& job : workload.jobs) cost_.push_back(unit_cost(cluster, job));
}

Units ElasticScheduler::min_of(TaskId task) const {
  return workload_.jobs[task.job].min_units * cost_[task.job];
}
Units ElasticScheduler::max_of(TaskId task) const {
  return workload_.jobs[task.job].max_units * cost_[task.job];
}
std::vector<RunningJob>& ElasticScheduler::running_beside(TaskId task) {
  return cluster_.users[workload_.jobs[task.job].tenant].running;
}

void ElasticScheduler::submit(JobIndex job) {
  for (std::uint32_t index = 0; index < workload_.jobs[job].tasks; ++index) {
    const TaskId task{job, index};
    tenant_of(task).queue[min_of(task)].push_back({next_place_++, task});
  }
}

void ElasticScheduler::end(TaskId task, NodeIndex /*node*/) { stop(task); }

/// Never less than what jobs of this tenant could start with in this cycle.
Units ElasticScheduler::room_for_starts(TenantIndex tenant) const {
  Units room = cluster_.units;  // less what can neither be taken back nor killed
  for (std::size_t i = 0; i < tenants_.size(); ++i)
    room -= within_quota_ ? tenants_[i].used : std::min(tenants_[i].held, cluster_.users[i].quota);
  return within_quota_ ? std::min(room, cluster_.users[tenant].quota - tenants_[tenant].used)
                       : room;
}

/// The tenant's next jobs in order. Of those with the same `min` one more is looked at than fit
/// together: it cannot start, and none behind it will.
std::vector<QueuedJob> ElasticScheduler::window_of(TenantIndex tenant) const {
  const Units room = room_for_starts(tenant);
  std::vector<Waiting> next;
  for (const auto& [min, waiting] : tenants_[tenant].queue) {
    const auto count = std::min(waiting.size(), static_cast<std::size_t>(room / min + 1));
    next.insert(next.end(), waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(count));
  }
  std::sort(next.begin(), next.end(),
            [](const Waiting& a, const Waiting& b) { return a.place < b.place; });
  std::vector<QueuedJob> window;
  window.reserve(next.size());
  for (const Waiting& waiting : next)
    window.push_back({id_of(waiting.task), min_of(waiting.task), max_of(waiting.task)});
  return window;
}

/// What the last round's gains come to until now. Laid end to end before they are rounded, so that
/// the credits sum to what they summed to.
void ElasticScheduler::earn(TimeMs now) {
  if (credit_period_ms_ == 0) return;
  const Wide elapsed_ms = now - last_round_ms_;
  Wide before = 0;
  for (std::size_t i = 0; i < tenants_.size(); ++i) {
    const Wide after = before + tenants_[i].gain.picounits;
    cluster_.users[i].credit.picounits +=
        after * elapsed_ms / credit_period_ms_ - before * elapsed_ms / credit_period_ms_;
    before = after;
  }
}

void ElasticScheduler::settle(const std::vector<Credit>& credits) {
  for (std::size_t i = 0; i < tenants_.size(); ++i) {
    Credit& credit = cluster_.users[i].credit;
    tenants_[i].gain.picounits = credits[i].picounits - credit.picounits;
    if (credit_period_ms_ == 0) credit = credits[i];
  }
}

Actions ElasticScheduler::cycle(TimeMs now) {
  earn(now);
  for (std::size_t i = 0; i < tenants_.size(); ++i)
    cluster_.users[i].queued = window_of(static_cast<TenantIndex>(i));
  const ElasticRound round = policy_->round(cluster_);
  settle(round.credit);
  last_round_ms_ = now;

  Actions actions;
  for (const JobUnits& job : round.limit) actions.shrink.push_back(resize(job, -1));
  for (const JobId id : round.kill) {  // a tenant's newest comes first
    const TaskId task = task_of(id);
    stop(task);
    tenant_of(task).queue[min_of(task)].push_front({--first_place_, task});
    actions.kill.push_back(task);
  }
  for (const JobUnits& job : round.start) actions.start.push_back(start(job));
  for (const JobUnits& job : round.grow) actions.grow.push_back(resize(job, 1));
  return actions;
}

Resize ElasticScheduler::resize(const JobUnits& job, Units sign) {
  const TaskId task = task_of(job.id);
  auto& running = running_beside(task);
  const auto found = std::find_if(running.begin(), running.end(),
                                  [&job](const RunningJob& entry) { return entry.id == job.id; });
  FAIRWATER_CHECK(found != running.end(), "a job that is resized runs");
  found->now += sign * job.units;
  tenant_of(task).held += sign * job.units;
  return {task, found->now};  // a unit of an elastic job costs 1
}

Start ElasticScheduler::start(const JobUnits& job) {
  const TaskId task = task_of(job.id);
  Tenant& tenant = tenant_of(task);
  auto& waiting = tenant.queue[job.units];
  const auto found = std::find_if(waiting.begin(), waiting.end(),  // among the first, mostly
                                  [task](const Waiting& entry) { return entry.task == task; });
  FAIRWATER_CHECK(found != waiting.end(), "a job that starts waits");
  waiting.erase(found);
  if (waiting.empty()) tenant.queue.erase(job.units);
  running_beside(task).push_back({job.id, job.units, max_of(task), job.units});
  tenant.used += job.units;
  tenant.held += job.units;
  return {task, 0, workload_.jobs[task.job].min_units};
}

void ElasticScheduler::stop(TaskId task) {
  auto& running = running_beside(task);
  const auto found = std::find_if(running.begin(), running.end(), [task](const RunningJob& entry) {
    return entry.id == id_of(task);
  });
  FAIRWATER_CHECK(found != running.end(), "a job that stops runs");
  tenant_of(task).used -= found->min;
  tenant_of(task).held -= found->now;
  running.erase(found);
}

Account ElasticScheduler::account(TenantIndex tenant) const {
  return {.credit = static_cast<double>(cluster_.users[tenant].credit.picounits) /
                    static_cast<double>(kPicounitsPerUnit)};
}

}  // namespace fairwater::sim::inline schedulers
