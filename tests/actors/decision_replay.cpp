#include "tests/actors/decision_replay.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "model/job.hpp"
#include "schema/codec.hpp"
#include "sim/schedulers/sequence.hpp"

namespace fairwater {
namespace {

ResourceCatalog catalog_of_runs() { return *ResourceCatalog::make(resource_kinds()); }

/// The jobs that the coordinator took, in its order, with the time that each task took.
sim::Workload simulated_workload(const std::vector<JournalRecord>& journal) {
  const ResourceCatalog catalog = catalog_of_runs();
  sim::Workload workload;
  for (const auto& record : journal) {
    if (const auto* finished = std::get_if<TasksFinished>(&record.body))
      for (const TaskResult& result : finished->results)
        workload.jobs[result.task.job.value - 1].task_run_ms[result.task.index] =
            std::max<sim::TimeMs>(1, milliseconds_between(result.started_at, result.finished_at));
    const auto* submitted = std::get_if<JobSubmitted>(&record.body);
    if (submitted == nullptr) continue;
    const JobSpec& spec = submitted->spec;
    sim::Job job;
    job.submit_ms = milliseconds_between(kBegan, record.time);
    job.tenant = submitted->tenant.value - 1;
    job.tasks = spec.tasks_max;
    job.task_run_ms.resize(job.tasks);
    job.estimate_ms = spec.time_limit_ms;
    job.demand = *catalog.to_vector(spec.resources, "");
    job.placement = spec.placement;
    job.is_gang = spec.gang;
    job.is_service = spec.kind == JobKind::service;
    if (is_elastic(spec)) job.least_tasks = spec.tasks_min;
    job.rule = *placement_of(spec);
    job.user = spec.user;
    job.preemption = {
        .priority = spec.priority, .preempts = spec.preempt, .is_preemptible = spec.preemptible};
    workload.jobs.push_back(std::move(job));
  }
  return workload;
}

std::vector<JobSpec> specs_of(const std::vector<JournalRecord>& journal) {
  std::vector<JobSpec> specs;
  for (const auto& record : journal)
    if (const auto* submitted = std::get_if<JobSubmitted>(&record.body))
      specs.push_back(submitted->spec);
  return specs;
}

/// Growth comes behind the other deals of the same event. It keeps no accounts; whether it comes
/// before or after one that only tells for whom room is kept is up to whose message is faster.
std::string bytes_of(std::vector<Deal> deals, std::vector<Reclaim> reclaims) {
  std::stable_partition(deals.begin(), deals.end(),
                        [](const Deal& deal) { return deal.keeps_accounts; });
  JournalRecord dealt, told;
  dealt.body = Cycle{std::move(deals)};
  told.body = TasksReclaimed{std::move(reclaims)};
  return to_bytes(dealt) + to_bytes(told);
}

/// A line for each deal and each task that is told to end.
std::string text_of(const std::vector<Deal>& deals, const std::vector<Reclaim>& reclaims) {
  std::string text;
  for (const Deal& deal : deals) {
    text += fmt::format("\n  node {} of {} units, {} lines:", deal.node.value, deal.free_units,
                        deal.lines.size());
    for (const Grant& grant : deal.grants)
      text += fmt::format(" {} to {} ({})", text_of(grant.task), grant.tenant.value,
                          to_string(grant.step));
    if (deal.reservation) text += fmt::format(" kept for {}", deal.reservation->tenant.value);
  }
  for (const Reclaim& reclaim : reclaims)
    text += fmt::format("\n  told to end: {} of {} for {}{}", text_of(reclaim.task),
                        reclaim.tenant.value, reclaim.claimant.value,
                        reclaim.preempted ? ", preempted" : "");
  return text;
}

/// Gives the journal's events to the simulator, and compares what follows from each of them.
class Replay {
 public:
  Replay(const sim::Cluster& cluster, const sim::Workload& workload,
         const sim::PolicyOptions& options, bool in_seconds)
      : workload_(workload),
        tenants_(cluster.tenants.size()),
        in_seconds_(in_seconds),
        scheduler_(options, cluster, workload) {}

  Comparison run(const std::vector<JournalRecord>& journal) {
    for (const auto& record : journal) {
      if (!same_in_seconds_before(record)) return result_;
      if (const auto* cycle = std::get_if<Cycle>(&record.body))
        decided_.insert(decided_.end(), cycle->deals.begin(), cycle->deals.end());
      if (const auto* told = std::get_if<TasksReclaimed>(&record.body))
        told_.insert(told_.end(), told->tasks.begin(), told->tasks.end());
      if (!is_event(record)) continue;
      if (!same()) return result_;
      pass_to(record);
      tell(record);
      event_ = record.number;
      event_text_ = fmt::format("{} at {} ms", kind_of(record.body), now_ms_);
    }
    (void)same();
    pass_to(journal.back());
    for (sim::TenantIndex i = 0; i < tenants_; ++i) {
      const sim::Account account = scheduler_.account(i);
      result_.nets[sim::tenant_id(i)] = account.net;
      result_.credits[sim::tenant_id(i)] = static_cast<Units>(std::llround(account.credit * 1000));
    }
    return result_;
  }

 private:
  static sim::JobIndex index_of(JobId job) { return static_cast<sim::JobIndex>(job.value - 1); }
  static bool is_event(const JournalRecord& record) {
    // The plan itself is the simulator's from the beginning.
    if (const auto* drained = std::get_if<NodeDrained>(&record.body)) return !drained->begins;
    return std::holds_alternative<JobSubmitted>(record.body) ||
           std::holds_alternative<TasksFinished>(record.body) ||
           std::holds_alternative<JobCancelled>(record.body);
  }

  /// The seconds that were over before the record.
  bool same_in_seconds_before(const JournalRecord& record) {
    constexpr sim::TimeMs kSecond_ms = 1000;
    const sim::TimeMs until = milliseconds_between(kBegan, record.time);
    for (sim::TimeMs next = now_ms_ + kSecond_ms; in_seconds_ && next <= until;
         next += kSecond_ms) {
      if (!same()) return false;
      now_ms_ = next;
      scheduler_.pass_to(now_ms_);
      event_ = record.number;
      event_text_ = fmt::format("a second is over at {} ms", now_ms_);
    }
    return true;
  }

  void pass_to(const JournalRecord& record) {
    now_ms_ = milliseconds_between(kBegan, record.time);
    scheduler_.pass_to(now_ms_);
  }

  void tell(const JournalRecord& event) {
    if (const auto* submitted = std::get_if<JobSubmitted>(&event.body))
      scheduler_.submit(index_of(submitted->id));
    if (const auto* finished = std::get_if<TasksFinished>(&event.body))
      for (const auto& result : finished->results) end(result, finished->node);
    if (const auto* cancelled = std::get_if<JobCancelled>(&event.body))
      scheduler_.done(index_of(cancelled->id));
  }

  void end(const TaskResult& result, NodeId node) {
    const sim::TaskId task{index_of(result.task.job), result.task.index};
    scheduler_.end(task, node.value - 1);
    if (!workload_.jobs[task.job].is_gang) return;
    Gang& gang = gangs_[task.job];
    if (result.reason == EndReason::cancelled)
      ++gang.told;
    else
      gang.done.push_back(task);
    if (gang.told + gang.done.size() < workload_.jobs[task.job].tasks) return;
    if (gang.told > 0)
      for (const sim::TaskId& done : gang.done) scheduler_.start_over(done);
    gang = {};
  }

  /// Whether both decided the same after the last event.
  bool same() {
    const std::uint64_t event = std::exchange(event_, 0);
    if (event == 0) return true;
    (void)scheduler_.cycle(now_ms_);
    ++result_.events;
    result_.deals += decided_.size();
    for (const auto& deal : decided_) {
      result_.grants += deal.grants.size();
      for (const Grant& grant : deal.grants) ++result_.by_step[grant.step];
      result_.loans += deal.loans.size();
      result_.repayments += deal.repayments.size();
    }
    result_.reclaims += told_.size();
    for (const Reclaim& told : told_) result_.preempted += told.preempted ? 1 : 0;
    if (bytes_of(scheduler_.deals(), scheduler_.reclaims()) != bytes_of(decided_, told_)) {
      result_.difference = event;
      result_.event = event_text_;
      result_.by_coordinator = text_of(decided_, told_);
      result_.by_simulator = text_of(scheduler_.deals(), scheduler_.reclaims());
    }
    decided_.clear();
    told_.clear();
    return result_.difference == 0;
  }

  /// What of a gang has ended since it started.
  struct Gang {
    std::size_t told = 0;
    std::vector<sim::TaskId> done;
  };
  std::map<sim::JobIndex, Gang> gangs_;
  const sim::Workload& workload_;
  const std::size_t tenants_;
  const bool in_seconds_;
  sim::SequenceScheduler scheduler_;
  sim::TimeMs now_ms_ = 0;
  std::uint64_t event_ = 0;  ///< 0: nothing has happened since both were compared
  std::string event_text_;
  std::vector<Deal> decided_;  ///< by the coordinator, since the event
  std::vector<Reclaim> told_;  ///< likewise
  Comparison result_;
};

}  // namespace

sim::Cluster simulated_cluster(const Scenario& scenario) {
  const ResourceCatalog catalog = catalog_of_runs();
  sim::Cluster cluster;
  for (const ResourceKind& kind : catalog.kinds()) cluster.settings.resources.push_back(kind.name);
  cluster.settings.granules = catalog.granules();
  cluster.settings.units = catalog.units();
  std::map<std::string, GroupId> numbers{{"", {}}};
  for (const auto& group : scenario.groups) {
    numbers.emplace(group.name, GroupId{static_cast<std::uint32_t>(numbers.size())});
    const TenantTerms terms = *terms_of(group, catalog);
    QuotaPlace place = place_of(terms);
    place.group = numbers.at(group.parent);
    cluster.groups.push_back({.place = place, .max = terms.max});
  }
  for (const auto& tenant : scenario.tenants) {
    auto terms = *terms_of(tenant, catalog);
    if (!tenant.parent.empty()) {
      terms.place = place_of(terms);
      terms.place->group = numbers.at(tenant.parent);
    }
    cluster.tenants.push_back({tenant.name, terms, 0, tenant.placement, tenant.queue});
  }
  sim::weigh_by_tree(cluster);
  for (const auto& node : scenario.nodes)
    cluster.nodes.push_back({node.traits, *catalog.to_vector(node.capacity, "")});
  for (const auto& [place, drain_ms] : scenario.drains_ms)
    cluster.nodes[place].drain = sim::DrainWindow{.at_ms = drain_ms};
  return cluster;
}

std::size_t Comparison::grown() const {
  const auto found = by_step.find(GrantStep::growth);
  return found == by_step.end() ? 0 : found->second;
}

Comparison& Comparison::operator+=(const Comparison& other) {
  events += other.events;
  deals += other.deals;
  grants += other.grants;
  for (const auto& [step, count] : other.by_step) by_step[step] += count;
  loans += other.loans;
  repayments += other.repayments;
  reclaims += other.reclaims;
  preempted += other.preempted;
  return *this;
}

Comparison replay(const sim::Cluster& cluster, const std::vector<JournalRecord>& journal,
                  sim::PolicyOptions options) {
  const auto workload = simulated_workload(journal);
  options.preempts_for_min = lives_in_seconds(specs_of(journal));
  return Replay{cluster, workload, options, options.preempts_for_min}.run(journal);
}

void check_same(const Comparison& found, ActorRun& actors) {
  CAPTURE(found.events, found.event, found.by_coordinator, found.by_simulator);
  CHECK(found.difference == 0);
  if (found.difference != 0) return;
  const auto nets = actors.nets(), credits = actors.credits();
  for (const auto& [tenant, net] : found.nets) {
    CAPTURE(tenant.value);
    CHECK(nets.at(tenant) == net);
    CHECK(credits.at(tenant) == found.credits.at(tenant));
  }
}

std::size_t gangs_on_several_nodes(const std::vector<JournalRecord>& journal) {
  std::set<JobId> gangs;
  std::map<JobId, std::set<NodeId>> nodes;
  for (const auto& record : journal) {
    const auto* submitted = std::get_if<JobSubmitted>(&record.body);
    if (submitted != nullptr && submitted->spec.gang) gangs.insert(submitted->id);
    if (const auto* cycle = std::get_if<Cycle>(&record.body))
      for (const Deal& deal : cycle->deals)
        for (const Grant& grant : deal.grants)
          if (gangs.contains(grant.task.job)) nodes[grant.task.job].insert(deal.node);
  }
  return static_cast<std::size_t>(std::count_if(
      nodes.begin(), nodes.end(), [](const auto& gang) { return gang.second.size() > 1; }));
}

}  // namespace fairwater
