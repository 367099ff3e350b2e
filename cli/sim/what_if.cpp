#include "cli/sim/what_if.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "cli/sim/what_if_proposal.hpp"
#include "cli/sim/what_if_runs.hpp"
#include "state/elastic.hpp"
#include "state/gang.hpp"
#include "storage/families.hpp"
#include "storage/fold.hpp"

namespace fairwater::inline cli::inline sim_cli {
namespace {

/// Builds the question piece by piece, in the order of `build`.
class QuestionBuilder {
 public:
  QuestionBuilder(const State& state, ResourceCatalog catalog, const WhatIfRules& rules)
      : state_(state),
        catalog_(std::move(catalog)),
        rules_(rules),
        dealing_(rules.dealing.value_or(DealingRules{})),
        jobs_(state.jobs.all()),
        live_(state.live.all()),
        runs_(state, jobs_, live_, {rules.now, rules.horizon_ms}) {}

  Expected<WhatIfQuestion> build(const std::vector<NodeInfo>& nodes,
                                 const std::vector<TenantSpec>& proposal) {
    what_if().horizon_ms = rules_.horizon_ms;
    take_settings();
    if (auto error = take_tenants()) return error;
    if (auto error = take_nodes(nodes)) return error;
    if (auto error = take_present()) return error;
    close_nodes();
    if (rules_.arrivals)
      if (auto error = take_past()) return error;
    if (auto error = take_proposal(proposal)) return error;
    write_notes();
    return std::move(question_);
  }

 private:
  sim::WhatIf& what_if() { return question_.what_if; }

  void take_settings() {
    auto& cluster = what_if().cluster;
    for (const auto& kind : catalog_.kinds()) cluster.resources.push_back(kind.name);
    cluster.settings.resources = cluster.resources;
    cluster.settings.granules = catalog_.granules();
    cluster.settings.units = catalog_.units();
    cluster.settings.mode = state_.meta.cluster.mode;
    cluster.settings.accounting = state_.meta.cluster.accounting;
    cluster.settings.debts = state_.meta.debts;
    cluster.settings.allocation = dealing_.allocation;
    cluster.settings.growth = dealing_.elastic;
    cluster.settings.preempt_after_ms = dealing_.preempt_after_ms;
    cluster.settings.preempts_for_min = dealing_.preempts_for_min;
  }

  /// By id: the order in which they joined.
  caf::error take_tenants() {
    const TenantNesting nesting = state_.nesting();
    const auto tree = nesting.tree(catalog_);
    if (!tree) return tree.error();
    sim::Cluster& cluster = what_if().cluster;
    for (const auto& [id, terms] : tree->groups) add_group(id, terms, cluster.groups);
    for (auto [id, terms] : tree->tenants) {
      if (terms.place) renumber(*terms.place);
      tenant_index_[id] = static_cast<sim::TenantIndex>(cluster.tenants.size());
      const TenantSpec& spec = nesting.spec(id);
      cluster.tenants.push_back({spec.name, terms, 0, spec.placement, spec.queue});
    }
    take_served();
    what_if().state.accounts = state_.accounts.snapshot();
    auto& accounts = what_if().state.accounts;
    const auto numbered = [&](TenantId id) { return sim::tenant_id(tenant_index_.at(id)); };
    for (auto& account : accounts.tenants) account.tenant = numbered(account.tenant);
    for (auto& account : accounts.time.accounts) account.tenant = numbered(account.tenant);
    for (auto& iou : accounts.ious) {
      iou.debtor = numbered(TenantId{iou.debtor}).value;
      iou.creditor = numbered(TenantId{iou.creditor}).value;
    }
    for (auto& [node, reservation] : accounts.reservations)
      reservation.tenant = numbered(reservation.tenant);
    return {};
  }

  /// A tenant that has got tenants of its own has no jobs any more, and none of its users a turn.
  void take_served() {
    for (const auto& [key, user] : state_.users.all()) {
      const TenantId tenant{from_big_endian<std::uint32_t>(key)};
      if (const auto index = tenant_index_.find(tenant); index != tenant_index_.end())
        what_if().state.served[index->second].emplace(key.substr(key_of(tenant).size()),
                                                      user.served);
    }
  }

  /// By id: the order in which a cycle deals. The journal says which nodes there are, `nodes` how
  /// they are now.
  caf::error take_nodes(const std::vector<NodeInfo>& nodes) {
    std::map<std::string, const NodeInfo*> info;
    for (const auto& node : nodes) info[node.record.spec.traits.name] = &node;
    for (const auto& [key, node] : state_.nodes.all()) {
      const auto found = info.find(node.spec.traits.name);
      const bool is_up = found != info.end() && found->second->state == NodeState::up;
      const auto capacity =
          catalog_.to_vector(is_up ? found->second->capacity : node.spec.capacity, "capacity");
      if (!capacity) return capacity.error();
      const auto index = static_cast<sim::NodeIndex>(what_if().cluster.nodes.size());
      node_index_[node.id] = index;
      if (!is_up) what_if().state.closed.push_back(index);
      what_if().cluster.nodes.push_back(
          {node.spec.traits, *capacity, is_up ? drain_of(node) : std::nullopt});
    }
    std::map<NodeId, Reservation> reservations;
    for (const auto& [node, reservation] : what_if().state.accounts.reservations)
      reservations.emplace(sim::node_id(node_index_.at(node)), reservation);
    what_if().state.accounts.reservations = std::move(reservations);
    return {};
  }

  [[nodiscard]] std::optional<sim::DrainWindow> drain_of(const NodeRecord& node) const {
    if (!node.planned_drain.begins) return std::nullopt;
    return sim::DrainWindow{
        .at_ms = std::max<sim::TimeMs>(1, since_ms(rules_.now, node.planned_drain.begins))};
  }

  [[nodiscard]] Expected<sim::Job> simulated(const JobRecord& job) {
    const auto demand = catalog_.to_vector(job.spec.resources, "resources");
    if (!demand) return demand.error();
    const auto rule = placement_of(job.spec);
    if (!rule) return rule.error();
    sim::Job result;
    result.tenant = tenant_index_.at(job.tenant);
    result.demand = *demand;
    result.rule = *rule;
    result.placement = job.spec.placement;
    result.user = job.spec.user;
    result.is_gang = job.spec.gang;
    result.is_service = job.spec.kind == JobKind::service && !job.cancelled;
    result.grace_ms = job.spec.grace_ms;
    result.preemption = {.priority = job.spec.priority,
                         .preempts = job.spec.preempt,
                         .is_preemptible = job.spec.preemptible};
    return result;
  }

  /// Jobs come in the order of their ids also where the clock went back.
  void add(sim::Job job, std::int64_t submit_ms) {
    auto& jobs = what_if().workload.jobs;
    job.submit_ms = jobs.empty() ? submit_ms : std::max(submit_ms, jobs.back().submit_ms);
    jobs.push_back(std::move(job));
  }

  void add_job(sim::Job job, std::vector<sim::TimeMs> runs_ms, std::int64_t submit_ms) {
    job.tasks = static_cast<std::uint32_t>(runs_ms.size());
    job.run_ms = job.estimate_ms = *std::max_element(runs_ms.begin(), runs_ms.end());
    const bool are_alike = std::all_of(runs_ms.begin(), runs_ms.end(),
                                       [&](auto run_ms) { return run_ms == job.run_ms; });
    if (!are_alike) job.task_run_ms = std::move(runs_ms);
    add(std::move(job), submit_ms);
  }

  /// An elastic job with so much work left; its tasks are the last `running` of all that run. By
  /// dominant shares it keeps its least.
  void add_elastic(sim::Job job, const JobRecord& record, std::int64_t work_ms, std::size_t running,
                   std::int64_t submit_ms) {
    const bool grows = dealing_.allocation == AllocationRule::sequence;
    const std::uint32_t least = record.spec.tasks_min;
    const std::uint32_t most = grows ? most_tasks(record) : least;
    job.tasks = std::max({least, most, static_cast<std::uint32_t>(running)});
    job.least_tasks = grows ? least : 0;
    job.is_gang = !grows && least > 1 && running == 0;
    const std::int64_t shared_by = grows ? least : job.tasks;
    job.run_ms = job.estimate_ms = std::max<std::int64_t>(1, (work_ms + shared_by - 1) / shared_by);
    auto& all_running = what_if().state.running;
    std::for_each(all_running.end() - static_cast<std::ptrdiff_t>(running), all_running.end(),
                  [&](sim::RunningTask& task) { task.left_ms = job.run_ms; });
    add(std::move(job), submit_ms);
  }

  [[nodiscard]] bool waits_for_others(const JobRecord& job) const {
    return std::any_of(job.spec.after.begin(), job.spec.after.end(),
                       [&](JobId other) { return live_.contains(key_of(other)); });
  }

  caf::error take_present() {
    for (const auto& [key, live] : live_) {
      const JobRecord& record = jobs_.at(key);
      auto job = simulated(record);
      if (!job) return job.error();
      // Of a gang that breaks what runs is about to end, and all of it runs again.
      const bool breaks = is_breaking(record) && !has_failed_as_gang(record);
      std::vector<sim::TimeMs> runs_ms;
      if (!breaks) runs_ms = take_running(record);
      const std::size_t running = runs_ms.size();
      const std::uint32_t waiting = waiting_tasks(record);
      if (record.spec.kind == JobKind::service && !record.cancelled) ++services_now_;
      auto& facts = question_.facts;
      facts.running_tasks += record.tasks.running;
      facts.waiting_tasks += waiting;
      if (waiting > 0) ++facts.waiting_jobs;
      if (waiting > 0 && waits_for_others(record)) ++jobs_after_others_;
      runs_ms.resize(breaks ? record.tasks.total : running + waiting, runs_.expected(record));
      const std::int64_t submit_ms = -since_ms(record.submitted_at, rules_.now);
      if (runs_ms.empty()) continue;
      if (goes_on_elastic(record))
        add_elastic(*std::move(job), record, sum_of(runs_ms), running, submit_ms);
      else
        add_job(*std::move(job), std::move(runs_ms), submit_ms);
    }
    return {};
  }

  /// How long each is expected to run on.
  std::vector<sim::TimeMs> take_running(const JobRecord& record) {
    const auto index = static_cast<sim::JobIndex>(what_if().workload.jobs.size());
    std::vector<sim::TimeMs> rests_ms;
    runs_.visit_tasks(record, [&](std::uint32_t, const TaskRecord* task) {
      if (task == nullptr || task->state != TaskState::running) return;
      const auto rest_ms = runs_.expected_rest(record, *task);
      what_if().state.running.push_back(
          {.task = {index, static_cast<std::uint32_t>(rests_ms.size())},
           .node = node_index_.at(task->node),
           .left_ms = rest_ms,
           .step = task->step,
           .beyond_quota = task->beyond_quota,
           .devices = task->devices});
      rests_ms.push_back(rest_ms);
    });
    return rests_ms;
  }

  /// Of those that it would run whatever is idle.
  static std::uint32_t waiting_tasks(const JobRecord& record) {
    if (record.cancelled) return 0;
    return goes_on_elastic(record) ? claimed_tasks(record) : record.tasks.pending();
  }
  static bool goes_on_elastic(const JobRecord& record) {
    return is_elastic(record.spec) && !record.winding_down && !record.cancelled;
  }
  static std::uint32_t most_tasks(const JobRecord& record) {
    return record.growth_limit.tasks == 0 ? record.tasks.total : record.growth_limit.tasks;
  }
  static std::int64_t sum_of(const std::vector<sim::TimeMs>& runs_ms) {
    return std::accumulate(runs_ms.begin(), runs_ms.end(), std::int64_t{0});
  }

  /// A node that takes no tasks counts with what runs there, as in the coordinator's quotas; which
  /// devices these have there is nobody's concern any more. One that shrank below what it runs
  /// counts as full.
  void close_nodes() {
    std::vector<ResourceVector> used(what_if().cluster.nodes.size());
    for (const auto& running : what_if().state.running)
      used[running.node] += what_if().workload.jobs[running.task.job].demand;
    for (const auto index : what_if().state.closed) {
      what_if().cluster.nodes[index].capacity = {};
      what_if().cluster.nodes[index].traits.devices.clear();
      for (auto& running : what_if().state.running)
        if (running.node == index) running.devices.clear();
    }
    for (std::size_t i = 0; i < used.size(); ++i) {
      auto& capacity = what_if().cluster.nodes[i].capacity;
      for (std::size_t r = 0; r < kMaxResources; ++r)
        capacity[r] = std::max(capacity[r], used[i][r]);
    }
  }

  caf::error take_past() {
    for (const auto& entry : jobs_) {
      const auto& record = entry.second;
      const std::int64_t age_ms = since_ms(record.submitted_at, rules_.now);
      if (age_ms == 0 || age_ms >= rules_.horizon_ms) continue;
      if (record.spec.kind == JobKind::service) {
        ++services_of_the_past_;
        continue;
      }
      if (!tenant_index_.contains(record.tenant)) {
        ++jobs_of_the_gone_;
        continue;
      }
      auto job = simulated(record);
      if (!job) return job.error();
      std::vector<sim::TimeMs> runs_ms = runs_.of_past(record);
      if (runs_ms.empty()) continue;  // cancelled before any of it ran
      const std::int64_t submit_ms = rules_.horizon_ms - age_ms;
      if (is_elastic(record.spec))
        add_elastic(*std::move(job), record, sum_of(runs_ms), 0, submit_ms);
      else
        add_job(*std::move(job), std::move(runs_ms), submit_ms);
      ++question_.facts.arriving_jobs;
      if (!record.spec.after.empty()) ++jobs_after_others_;
    }
    return {};
  }

  void add_group(GroupId id, const GroupTerms& terms, std::vector<GroupTerms>& groups) {
    groups.push_back(terms);
    group_ids_.emplace(id, GroupId{static_cast<std::uint32_t>(groups.size())});
    renumber(groups.back().place);
  }

  /// Groups are numbered by their places in the list that has them.
  void renumber(QuotaPlace& place) const {
    if (place.group) place.group = group_ids_.at(place.group);
  }

  /// In a tree one tenant's weight moves its siblings' parts: the proposal is all that follows.
  caf::error take_proposal(const std::vector<TenantSpec>& proposal) {
    TenantNesting::Specs specs;
    std::map<std::string, TenantId> ids;
    for (const auto& [key, tenant] : state_.tenants.all()) {
      specs.emplace(tenant.id, tenant.spec);
      ids.emplace(tenant.spec.name, tenant.id);
    }
    TenantId next = state_.meta.next_tenant;
    for (const TenantSpec& proposed : proposal) {
      const auto [known, is_new] = ids.emplace(proposed.name, next);
      if (is_new) ++next.value;
      specs[known->second] = proposed;
    }
    const TenantNesting after(std::move(specs));
    if (auto wrong = check_proposal(proposal, state_.nesting(), after, ids, catalog_)) return wrong;
    const auto tree = after.tree(catalog_);
    group_ids_.clear();
    for (const auto& [id, terms] : tree->groups) add_group(id, terms, what_if().proposed_groups);
    for (auto [id, terms] : tree->tenants) {
      if (terms.place) renumber(*terms.place);
      const TenantSpec& spec = after.spec(id);
      what_if().proposal.push_back({spec.name, terms, spec.placement, spec.queue});
    }
    return {};
  }

  void write_notes() {
    auto& notes = question_.facts.notes;
    const auto count = [&](const char* what, std::uint64_t number) {
      if (number > 0) notes.push_back(fmt::format("{}: {}", what, number));
    };
    count("jobs that wait for others are simulated as if they did not", jobs_after_others_);
    count("jobs of tenants that are gone do not come again", jobs_of_the_gone_);
    count("services that came do not come again", services_of_the_past_);
    count("services that are there hold their room to the horizon", services_now_);
    if (!rules_.dealing)
      notes.emplace_back(
          "the coordinator is of an older version and does not say by which rules it deals: taken "
          "are those that hold where coordinator.yaml says nothing");
    const auto& nodes = what_if().cluster.nodes;
    count("nodes whose drain is planned take no task from then until the horizon",
          static_cast<std::uint64_t>(
              std::count_if(nodes.begin(), nodes.end(), [&](const sim::SimNode& node) {
                return node.drain && node.drain->at_ms < rules_.horizon_ms;
              })));
    count("nodes that are not up take no task until the horizon", what_if().state.closed.size());
  }

  const State& state_;
  const ResourceCatalog catalog_;
  const WhatIfRules rules_;
  const DealingRules dealing_;
  const std::map<std::string, JobRecord> jobs_;
  const std::map<std::string, LiveJob> live_;
  const WhatIfRuns runs_;
  std::map<TenantId, sim::TenantIndex> tenant_index_;
  std::map<GroupId, GroupId> group_ids_;  ///< of the coordinator's, those of the tree at hand
  std::map<NodeId, sim::NodeIndex> node_index_;
  std::uint64_t jobs_after_others_ = 0;
  std::uint64_t jobs_of_the_gone_ = 0;
  std::uint64_t services_of_the_past_ = 0;
  std::uint64_t services_now_ = 0;
  WhatIfQuestion question_;
};

}  // namespace

caf::error JournalState::add(const JournalRecord& record) {
  if (records() == 0 && record.number > 1)
    return make_error(ErrorCode::wrong_state,
                      "the coordinator keeps its journal from record " +
                          std::to_string(record.number) +
                          " on, and what if needs all of it: the rest of the archive was removed "
                          "(history in coordinator.yaml)");
  // Whether the chain of hashes holds is for `ledger verify` to say.
  state_.meta.last_hash = record.previous;
  newest_ = std::max(newest_, record.time);
  return apply(state_, record);
}

Expected<WhatIfQuestion> what_if_question(const State& state, const std::vector<NodeInfo>& nodes,
                                          const std::vector<TenantSpec>& proposal,
                                          const WhatIfRules& rules) {
  auto catalog = ResourceCatalog::make(state.meta.cluster.resources);
  if (!catalog) return catalog.error();
  return QuestionBuilder{state, std::move(*catalog), rules}.build(nodes, proposal);
}

}  // namespace fairwater::inline cli::inline sim_cli
