// A journal of a small cluster, and the look ahead that is asked of it.
#pragma once

#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "cli/sim/what_if.hpp"

namespace fairwater {

inline constexpr TenantId kArt{1};
inline constexpr TenantId kBotany{2};
inline constexpr NodeId kNode{1};
inline constexpr std::int64_t kSecond_us = 1'000'000;

inline WallTime at_s(std::int64_t seconds) { return {seconds * kSecond_us}; }

/// Writes the journal of a cluster with one node of four processors, whose deals the allocator
/// makes.
class SmallJournal {
 public:
  explicit SmallJournal(Accounting accounting = Accounting::units)
      : allocator_(settings(accounting)) {
    add(1000, ClusterCreated{"c1", catalog_.kinds(), DealMode::sized, accounting});
    add(1000, CoordinatorStarted{1, "test"});
    TenantsChanged tenants;
    tenants.tenants = {tenant(kArt, "art", 1), tenant(kBotany, "botany", 2)};
    for (const auto& record : tenants.tenants)
      allocator_.set_tenant(record.id, *terms_of(record.spec, catalog_));
    add(1000, tenants);
    NodeChanged node;
    node.node.id = kNode;
    node.node.spec.traits.name = "n1";
    node.node.spec.capacity = {{"cpu", 4000}};
    allocator_.set_node(kNode, node.node.spec.traits, *catalog_.to_vector({{"cpu", 4000}}, ""),
                        true);
    add(1000, node);
  }

  void submit(std::int64_t time_s, JobId job, TenantId tenant, std::uint32_t tasks,
              std::int64_t time_limit_ms = 0, const std::string& job_class = {},
              JobKind kind = JobKind::batch, bool is_gang = false) {
    JobSpec spec;
    spec.gang = is_gang;
    spec.kind = kind;
    spec.time_limit_ms = time_limit_ms;
    spec.job_class = job_class;
    submit(time_s, job, tenant, tasks, spec);
  }

  void submit(std::int64_t time_s, JobId job, TenantId tenant, std::uint32_t tasks, JobSpec spec) {
    spec.tenant = tenant == kArt ? "art" : "botany";
    if (!is_elastic(spec)) spec.tasks_min = spec.tasks_max = tasks;
    spec.resources = {{"cpu", 1000}};
    add(time_s, JobSubmitted{job, tenant, spec});
    DemandWindow window;
    window.tenant = tenant;
    window.next = {{.job = job,
                    .first_index = 0,
                    .count = tasks,
                    .attempt = 1,
                    .demand = *catalog_.to_vector(spec.resources, ""),
                    .rule = nullptr,
                    .expected_ms = spec.time_limit_ms}};
    window.pending[kCpu] = Amount{1000} * tasks;
    window.pending_tasks = tasks;
    window.seen_deal = allocator_.last_deal();
    allocator_.set_window(window);
  }
  void deal(std::int64_t time_s, const std::vector<std::string>& devices = {}) {
    auto deal = allocator_.deal(kNode);
    REQUIRE(deal);
    for (Grant& grant : deal->grants) grant.devices = devices;
    add(time_s, Cycle{{*deal}});
  }
  void finish(JobId job, std::uint32_t index, std::int64_t started_s, std::int64_t finished_s) {
    TaskResult result;
    result.task = {job, index, 1};
    result.started_at = at_s(started_s);
    result.finished_at = at_s(finished_s);
    add(finished_s, TasksFinished{kNode, {result}});
    REQUIRE(allocator_.release(result.task));
  }
  /// Time that the ledger counts passes up to there, from its first second on.
  void pass(std::int64_t time_s) {
    allocator_.pass_to((time_s - 1000) * 1000);
    const auto settlement = allocator_.settle_time();
    REQUIRE(settlement);
    add(time_s, TimeSettled{*settlement});
  }
  void add(std::int64_t time_s, JournalBody body) {
    const auto error = state.add({state.records() + 1, at_s(time_s), {}, std::move(body)});
    INFO(details(error).message);
    REQUIRE_FALSE(error);
  }

  [[nodiscard]] const Allocator& allocator() const { return allocator_; }
  JournalState state;

 private:
  AllocatorSettings settings(Accounting accounting) const {
    AllocatorSettings result;
    result.accounting = accounting;
    result.granules = catalog_.granules();
    result.units = catalog_.units();
    return result;
  }
  static TenantRecord tenant(TenantId id, const std::string& name, Weight weight) {
    TenantRecord record;
    record.id = id;
    record.spec.name = name;
    record.spec.weight = weight;
    return record;
  }
  ResourceCatalog catalog_;
  Allocator allocator_;
};

/// Art's job 1 took 30 and 20 s; four of job 2's tasks run; botany's job 3 waits.
inline void fill(SmallJournal& journal) {
  journal.submit(1010, JobId{1}, kArt, 2);
  journal.deal(1010);
  journal.finish(JobId{1}, 1, 1010, 1030);
  journal.finish(JobId{1}, 0, 1010, 1040);
  journal.submit(1050, JobId{2}, kArt, 6);
  journal.deal(1050);
  journal.submit(1060, JobId{3}, kBotany, 2, 40'000);
}

inline std::vector<NodeInfo> node_that_is(NodeState state) {
  NodeInfo node;
  node.record.spec.traits.name = "n1";
  node.state = state;
  node.capacity = {{"cpu", 4000}};
  return {node};
}

inline WhatIfQuestion question_of(const SmallJournal& journal, std::int64_t now_s,
                                  std::int64_t horizon_s, bool arrivals = true) {
  auto question = what_if_question(journal.state.state(), node_that_is(NodeState::up), {},
                                   {at_s(now_s), horizon_s * 1000, arrivals, DealingRules{}});
  REQUIRE(question);
  return *std::move(question);
}

/// A line per job: `-20s art: 5s 5s 25s`.
inline std::vector<std::string> jobs_of(const WhatIfQuestion& question) {
  std::vector<std::string> lines;
  for (const auto& job : question.what_if.workload.jobs) {
    std::string line = fmt::format("{}s {}:", job.submit_ms / 1000,
                                   question.what_if.cluster.tenants.at(job.tenant).name);
    for (std::uint32_t task = 0; task < job.tasks; ++task)
      line += fmt::format(" {}s", sim::run_ms_of(job, task) / 1000);
    lines.push_back(line);
  }
  return lines;
}

inline std::vector<std::string> running_of(const WhatIfQuestion& question) {
  std::vector<std::string> lines;
  for (const auto& running : question.what_if.state.running)
    lines.push_back(fmt::format("{}.{} on {}: {}s", running.task.job, running.task.index,
                                running.node, running.left_ms / 1000));
  return lines;
}

}  // namespace fairwater
