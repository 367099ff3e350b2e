// A simulation that starts in the middle of things, and what other terms would change.
#include "sim/report/what_if.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>

#include <catch2/catch.hpp>

#include "policy/core/splitmix64.hpp"
#include "sim/engine/engine.hpp"
#include "sim/schedulers/sequence.hpp"
#include "tests/sim/support.hpp"

namespace fairwater::sim {
namespace {

constexpr TimeMs kMinute_ms = 60'000;

/// One node of eight processors; tenants of weight 1.
WhatIf small_cluster(const std::vector<std::string>& tenants) {
  WhatIf question;
  question.cluster.resources = {"cpu"};
  question.cluster.settings.granules[kCpu] = 1000;
  SimNode node;
  node.capacity[kCpu] = 8000;
  question.cluster.nodes = {node};
  for (const auto& name : tenants) question.cluster.tenants.push_back({name, {}});
  question.horizon_ms = 60 * kMinute_ms;
  return question;
}

Job one_processor(TenantIndex tenant, TimeMs submit_ms, std::uint32_t tasks, TimeMs run_ms) {
  Job job;
  job.tenant = tenant;
  job.submit_ms = submit_ms;
  job.tasks = tasks;
  job.demand[kCpu] = 1000;
  job.run_ms = job.estimate_ms = run_ms;
  return job;
}

/// Both tenants have more work than an hour can take.
WhatIf always_busy() {
  WhatIf question = small_cluster({"art", "botany"});
  for (int i = 0; i < 100; ++i)
    for (const TenantIndex tenant : {0U, 1U})
      question.workload.jobs.push_back(one_processor(tenant, i - 100, 20, kMinute_ms));
  return question;
}

TenantTerms weighing(Weight weight) {
  TenantTerms terms;
  terms.weight = weight;
  return terms;
}

void check_equal(const TenantOutlook& left, const TenantOutlook& right) {
  CHECK(left.weight == right.weight);
  CHECK(left.mean_share == right.mean_share);
  CHECK(left.mean_wait_s == right.mean_wait_s);
  CHECK(left.p95_wait_s == right.p95_wait_s);
  CHECK(left.jobs_done == right.jobs_done);
  CHECK(left.jobs_not_started == right.jobs_not_started);
  CHECK(left.net == right.net);
  CHECK(left.time_in_debt_s == right.time_in_debt_s);
}

/// Notes starts and ends as lines.
class Diary final : public Observer {
 public:
  void advance(TimeMs now) override { now_ = now; }
  void started(const Start& start) override { note("starts", start.task); }
  void ended(TaskId task, NodeIndex /*node*/, Units /*units*/, bool /*killed*/) override {
    note("ends", task);
  }
  std::vector<std::string> lines;

 private:
  void note(const char* what, TaskId task) {
    lines.push_back(std::to_string(now_) + ": " + std::to_string(task.job) + "." +
                    std::to_string(task.index) + " " + what);
  }
  TimeMs now_ = 0;
};

/// Jobs of one task each, of three sizes, for three tenants on two nodes; one comes at `busy_ms`.
WhatIf random_jobs(std::uint64_t seed, TimeMs busy_ms) {
  WhatIf question = small_cluster({"art", "botany", "chemistry"});
  question.cluster.nodes.push_back(question.cluster.nodes[0]);
  question.cluster.tenants[0].terms.weight = 3;
  question.cluster.tenants[1].terms.min[kCpu] = 2000;
  question.cluster.tenants[2].terms.may_lend = false;
  SplitMix64 random{seed};
  TimeMs now = 0;
  for (int i = 0; i < 300; ++i) {
    now += static_cast<TimeMs>(random.below(400));
    Job job = one_processor(static_cast<TenantIndex>(random.below(3)), now, 1,
                            static_cast<TimeMs>(1000 + random.below(4000)));
    job.demand[kCpu] *= static_cast<Amount>(1 + random.below(3));
    question.workload.jobs.push_back(job);
  }
  auto& jobs = question.workload.jobs;
  const auto place = std::find_if(jobs.begin(), jobs.end(),
                                  [&](const Job& job) { return job.submit_ms >= busy_ms; });
  jobs.insert(place, one_processor(0, busy_ms, 1, 1000));
  return question;
}

/// Keeps what a cluster is in the middle of.
class Middle final : public Observer {
 public:
  void advance(TimeMs now) override { now_ = now; }
  void started(const Start& start) override { starts_[start.task.job] = {now_, start.node}; }
  void ended(TaskId task, NodeIndex /*node*/, Units /*units*/, bool /*killed*/) override {
    ended_.insert(task.job);
  }
  void cycle_done(const Scheduler& scheduler) override {
    for (const auto& deal : dynamic_cast<const SequenceScheduler&>(scheduler).deals())
      for (const auto& grant : deal.grants)
        grants_[static_cast<JobIndex>(grant.task.job.value - 1)] = grant;
  }

  /// The rest of the work, as if `now` were 0. `places` tells the jobs' places in the whole.
  [[nodiscard]] WhatIf rest(const WhatIf& whole, const Allocator& allocator, TimeMs now,
                            std::vector<JobIndex>& places) const {
    WhatIf rest{whole.cluster, {}, {}, whole.horizon_ms, {}, {}};
    for (JobIndex i = 0; i < whole.workload.jobs.size(); ++i) {
      if (ended_.contains(i)) continue;
      const auto job = static_cast<JobIndex>(places.size());
      places.push_back(i);
      rest.workload.jobs.push_back(whole.workload.jobs[i]);
      rest.workload.jobs.back().submit_ms -= now;
      if (const auto start = starts_.find(i); start != starts_.end())
        rest.state.running.push_back({{job, 0},
                                      start->second.node,
                                      start->second.at + whole.workload.jobs[i].run_ms - now,
                                      grants_.at(i).step,
                                      grants_.at(i).beyond_quota});
    }
    rest.state.accounts = allocator.accounts().snapshot();
    return rest;
  }
  /// By job: when and where.
  [[nodiscard]] std::map<JobIndex, std::string> starts(TimeMs later,
                                                       const std::vector<JobIndex>& places) const {
    std::map<JobIndex, std::string> result;
    for (const auto& [job, start] : starts_)
      result[places[job]] = std::to_string(start.at + later) + " on " + std::to_string(start.node);
    return result;
  }

 private:
  struct At {
    TimeMs at = 0;
    NodeIndex node = 0;
  };
  TimeMs now_ = 0;
  std::map<JobIndex, At> starts_;
  std::set<JobIndex> ended_;
  std::map<JobIndex, Grant> grants_;
};

std::vector<JobIndex> all_places(const WhatIf& question) {
  std::vector<JobIndex> places(question.workload.jobs.size());
  std::iota(places.begin(), places.end(), JobIndex{0});
  return places;
}

/// Whether the second half of it starts all at the same moments and places as the whole, and comes
/// to the same accounts.
bool goes_on_as_if_uncut(std::uint64_t seed, SequenceAccounting accounting) {
  // A job that comes at the cut makes every node due: a simulation begins with a cycle.
  const TimeMs cut_ms = 20'000 + static_cast<TimeMs>(seed) * 1000;
  const WhatIf whole = random_jobs(seed, cut_ms);
  const PolicyOptions policy{.name = "sequence", .accounting = accounting};
  // As the rest: what runs are taken to last is what estimates say.
  InitialState begun;
  begun.accounts =
      SequenceScheduler{policy, whole.cluster, whole.workload}.allocator().accounts().snapshot();
  SequenceScheduler uncut{policy, whole.cluster, whole.workload, begun};
  Middle expected;
  (void)run_engine(whole.cluster, whole.workload, uncut, expected, {});

  SequenceScheduler first{policy, whole.cluster, whole.workload, begun};
  Middle middle;
  (void)run_engine(whole.cluster, whole.workload, first, middle, {.end_ms = cut_ms});
  std::vector<JobIndex> places;
  const WhatIf rest = middle.rest(whole, first.allocator(), cut_ms, places);
  REQUIRE_FALSE(rest.state.running.empty());
  SequenceScheduler second{policy, rest.cluster, rest.workload, rest.state};
  Middle found;
  (void)run_engine(rest.cluster, rest.workload, second, found, {.running = rest.state.running});

  const auto all = expected.starts(0, all_places(whole));
  const auto before = middle.starts(0, all_places(whole));
  for (const auto& [job, start] : found.starts(cut_ms, places))
    if (!before.contains(job) && start != all.at(job)) return false;
  if (second.allocator().position() != uncut.allocator().position()) return false;
  return std::ranges::all_of(std::array{0U, 1U, 2U}, [&](TenantIndex tenant) {
    return second.account(tenant).net == uncut.account(tenant).net;
  });
}

}  // namespace

TEST_CASE("a simulation that is cut in two goes on as if it were not", "[unit][sim]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(1, 21)));
  INFO("seed " << seed);
  CHECK(goes_on_as_if_uncut(seed, SequenceAccounting::units));
}

// By time one in about a hundred places a task otherwise, with the same accounts and marks: what is
// told of tasks that run at the start is less than a deal has seen of them.
TEST_CASE("one that is cut in two by time goes on so but for rare ties", "[unit][sim]") {
  int alike = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    alike += goes_on_as_if_uncut(seed, SequenceAccounting::time);
  CHECK(alike >= 19);
}

TEST_CASE("a simulation goes on with what runs and waits already", "[unit][sim]") {
  WhatIf question = small_cluster({"art"});
  question.cluster.nodes[0].capacity[kCpu] = 2000;
  auto& jobs = question.workload.jobs;
  jobs = {one_processor(0, -5000, 3, 1000), one_processor(0, -10, 1, 2000)};
  jobs[0].task_run_ms = {1000, 700, 400};
  question.state.running = {{{0, 0}, 0, 250}, {{0, 1}, 0, 300}};
  SequenceScheduler scheduler{
      {.name = "sequence"}, question.cluster, question.workload, question.state};
  Diary diary;
  const auto result = run_engine(question.cluster, question.workload, scheduler, diary,
                                 {.running = question.state.running});
  CHECK(diary.lines == std::vector<std::string>{
                           "0: 0.0 starts", "0: 0.1 starts", "250: 0.0 ends", "250: 0.2 starts",
                           "300: 0.1 ends", "300: 1.0 starts", "650: 0.2 ends", "2300: 1.0 ends"});
  CHECK(result.running == 0);
  CHECK(result.waiting == 0);
}

TEST_CASE("position, deficits and IOUs are taken over before terms change", "[unit][sim]") {
  WhatIf question = small_cluster({"art", "botany", "chemistry"});
  question.cluster.tenants[1].terms.weight = 3;
  question.state.accounts = {.position = 1,
                             .tenants = {{TenantId{1}, 2, 0}, {TenantId{2}, -2, 250'000}},
                             .ious = {{.debtor = 2, .creditor = 1, .units = 7, .age = 4}},
                             .last_iou_age = 4,
                             .reservations = {{NodeId{1}, {TenantId{2}, {}}}}};
  question.state.before = TenantTree{{}, {{TenantId{1}, weighing(1)}, {TenantId{2}, weighing(1)}}};
  const SequenceScheduler scheduler{
      {.name = "sequence"}, question.cluster, question.workload, question.state};
  const Allocator& allocator = scheduler.allocator();
  CHECK(allocator.tenant(TenantId{1}).deficit == 2);
  CHECK(allocator.tenant(TenantId{2}).deficit == -2);
  CHECK(allocator.tenant(TenantId{1}).net == 7);
  CHECK(allocator.tenant(TenantId{2}).net == -7);
  CHECK(allocator.accounts().account(TenantId{2}).repay_remainder_millionths == 250'000);
  CHECK(allocator.node(NodeId{1}).reserved_for == TenantId{2});

  Allocator expected{question.cluster.settings};
  expected.set_tenant(TenantId{1}, weighing(1));
  expected.set_tenant(TenantId{2}, weighing(1));
  expected.restore(
      {.position = 1, .tenants = {}, .ious = {}, .last_iou_age = 0, .reservations = {}});
  expected.set_tenant(TenantId{2}, weighing(3));
  expected.set_tenant(TenantId{3}, weighing(1));
  CHECK(allocator.position() == expected.position());
}

TEST_CASE("a device that a task has before a simulation is nobody else's in it", "[unit][sim]") {
  Cluster cluster = processors({4}, {1});
  cluster.nodes[0].traits.devices = {{"cpu", {"c0", "c1", "c2", "c3"}}};
  cluster.nodes[0].capacity[kCpu] = 4;
  cluster.settings.granules[kCpu] = 1;
  cluster.settings.resources = cluster.resources;
  const auto naming = [](const char* device) {
    Job job;
    job.demand[kCpu] = 1;
    job.run_ms = job.estimate_ms = 5000;
    job.rule = std::make_shared<PlacementRule>(PlacementRule{{}, {}, {device}});
    return job;
  };
  const Workload workload{{naming("c1"), naming("c1"), naming("c2")}};
  InitialState initial;
  initial.running = {{.task = {0, 0}, .node = 0, .left_ms = 5000, .devices = {"c1"}}};
  std::map<JobIndex, TimeMs> started;
  Books books(cluster, workload);
  SequenceScheduler scheduler({.name = "sequence"}, cluster, workload, initial);
  (void)run_engine(cluster, workload, scheduler, books, {.running = initial.running});
  for (const TaskRun& run : books.runs) started[run.task.job] = run.start;
  CHECK(started.at(1) == 5000);
  CHECK(started.at(2) == 0);
}

TEST_CASE("a closed node finishes what it runs and takes nothing more", "[unit][sim]") {
  WhatIf question = small_cluster({"art"});
  question.workload.jobs = {one_processor(0, -10, 2, 1000)};
  question.state.running = {{{0, 0}, 0, 500}};
  question.state.closed = {0};
  SequenceScheduler scheduler{
      {.name = "sequence"}, question.cluster, question.workload, question.state};
  Diary diary;
  const auto result = run_engine(question.cluster, question.workload, scheduler, diary,
                                 {.end_ms = 10'000, .running = question.state.running});
  CHECK(diary.lines == std::vector<std::string>{"0: 0.0 starts", "500: 0.0 ends"});
  CHECK(result.waiting == 1);
}

TEST_CASE("what had grown before a simulation is taken back in it", "[unit][sim][elastic]") {
  WhatIf question = small_cluster({"art", "botany"});
  question.workload.jobs = {one_processor(0, -10, 8, 10 * kMinute_ms),
                            one_processor(1, 1000, 4, 2000)};
  question.workload.jobs[0].grace_ms = 5000;
  for (std::uint32_t task = 0; task < 8; ++task)
    question.state.running.push_back({.task = {0, task},
                                      .node = 0,
                                      .left_ms = 10 * kMinute_ms,
                                      .step = task < 4 ? GrantStep::allowance : GrantStep::growth,
                                      .beyond_quota = task >= 4});
  SequenceScheduler scheduler{
      {.name = "sequence"}, question.cluster, question.workload, question.state};
  Diary diary;
  const auto result = run_engine(question.cluster, question.workload, scheduler, diary,
                                 {.end_ms = 60'000, .running = question.state.running});
  diary.lines.erase(diary.lines.begin(), diary.lines.begin() + 8);
  // The last first; each has its room for its grace, and waits again.
  CHECK(diary.lines == std::vector<std::string>{
                           "6000: 0.7 ends", "6000: 0.6 ends", "6000: 0.5 ends", "6000: 0.4 ends",
                           "6000: 1.0 starts", "6000: 1.1 starts", "6000: 1.2 starts",
                           "6000: 1.3 starts", "8000: 1.0 ends", "8000: 1.1 ends", "8000: 1.2 ends",
                           "8000: 1.3 ends", "8000: 0.4 starts", "8000: 0.5 starts",
                           "8000: 0.6 starts", "8000: 0.7 starts"});
  CHECK(result.waiting == 0);
  CHECK(result.running == 8);
}

TEST_CASE("an elastic job goes on with its least and what had grown", "[unit][sim][elastic]") {
  WhatIf question = small_cluster({"art", "botany"});
  Job elastic = one_processor(0, -1000, 20, kMinute_ms);
  elastic.least_tasks = 2;  // two minutes of work are left to all of them together
  question.workload.jobs = {elastic, one_processor(1, 10'000, 4, kMinute_ms)};
  for (std::uint32_t task = 0; task < 8; ++task)
    question.state.running.push_back(
        {{0, task}, 0, kMinute_ms, task < 2 ? GrantStep::allowance : GrantStep::growth, false});
  const PolicyOptions policy{.name = "sequence"};
  SequenceScheduler scheduler{policy, question.cluster, question.workload, question.state};
  Diary diary;
  run_engine(question.cluster, question.workload, scheduler, diary,
             {.end_ms = question.horizon_ms, .running = question.state.running});
  // Eight work for ten seconds; then four of those that have grown give back, in five.
  const auto said = [&](const std::string& line) {
    return std::count(diary.lines.begin(), diary.lines.end(), line);
  };
  for (const std::string task : {"0.4", "0.5", "0.6", "0.7"})
    CHECK(said("15000: " + task + " ends") == 1);
  for (const std::string task : {"1.0", "1.1", "1.2", "1.3"})
    CHECK(said("15000: " + task + " starts") == 1);
  for (const std::string task : {"0.0", "0.1", "0.2", "0.3"})
    CHECK(said("20000: " + task + " ends") == 1);

  const WhatIfReport report = compare(question);
  CHECK(report.before.tenants[0].jobs_done == 1);
  CHECK(report.before.tenants[1].mean_wait_s == 5);
}

TEST_CASE("a proposal that changes nothing changes nothing", "[unit][sim]") {
  WhatIf question = always_busy();
  question.state.accounts.ious = {{.debtor = 1, .creditor = 2, .units = 40, .age = 1}};
  question.state.running = {{{0, 0}, 0, 30'000}, {{0, 1}, 0, 31'000}, {{1, 0}, 0, 1}};
  question.proposal = {{"botany", {}}};
  const WhatIfReport report = compare(question);
  REQUIRE(report.before.tenants.size() == 2);
  for (const std::size_t i : {0, 1}) check_equal(report.before.tenants[i], report.after.tenants[i]);
  CHECK(report.before.shares == report.after.shares);
  CHECK(report.before.tenants[0].time_in_debt_s > 0);
  CHECK(what_if_rows(report)[0][1] == "1");
}

TEST_CASE("a department that would weigh more, or have a max, moves those in it", "[unit][sim]") {
  WhatIf question = always_busy();
  const auto in_group = [](std::uint32_t group) {
    TenantTerms terms;
    terms.place = QuotaPlace{.group = GroupId{group}, .weight = 1};
    return terms;
  };
  question.cluster.groups = {GroupTerms{.place = {.group = {}, .weight = 1}},
                             GroupTerms{.place = {.group = {}, .weight = 1}}};
  for (const std::uint32_t i : {0U, 1U}) question.cluster.tenants[i].terms = in_group(i + 1);
  question.proposal = {{"art", in_group(2)}, {"botany", in_group(1)}};
  question.proposed_groups = question.cluster.groups;
  SECTION("a weight") {
    question.proposed_groups[1].place.weight = 3;
    // What the sequence goes by.
    question.proposal[0].terms.weight = 3;
  }
  SECTION("a max") { question.proposed_groups[0].max[kCpu] = 2000; }
  const WhatIfReport report = compare(question);
  CHECK(report.before.tenants[0].mean_share == Approx(0.5).margin(0.02));
  CHECK(report.after.tenants[0].mean_share == Approx(0.75).margin(0.02));
  CHECK(report.after.tenants[1].mean_share == Approx(0.25).margin(0.02));
}

TEST_CASE("twice the weight is twice the share of two who always have work", "[unit][sim]") {
  WhatIf question = always_busy();
  question.proposal = {{"botany", weighing(2)}};
  const WhatIfReport report = compare(question);
  CHECK(report.before.tenants[0].mean_share == Approx(0.5).margin(0.01));
  CHECK(report.before.tenants[1].mean_share == Approx(0.5).margin(0.01));
  CHECK(report.after.tenants[0].mean_share == Approx(1.0 / 3).margin(0.02));
  CHECK(report.after.tenants[1].mean_share == Approx(2.0 / 3).margin(0.02));
  CHECK(report.after.tenants[0].jobs_done < report.before.tenants[0].jobs_done);
  CHECK(report.after.tenants[0].mean_wait_s > report.before.tenants[0].mean_wait_s);
  CHECK(report.after.tenants[1].jobs_done > report.before.tenants[1].jobs_done);
  const auto row = what_if_rows(report)[1];
  CHECK(row[0] == "botany");
  CHECK(row[1] == "1 -> 2");
}

TEST_CASE("a tenant that would come stands last and had nothing before", "[unit][sim]") {
  WhatIf question = always_busy();
  question.proposal = {{"chemistry", weighing(4)}};
  const WhatIfReport report = compare(question);
  CHECK(report.tenants == std::vector<std::string>{"art", "botany", "chemistry"});
  CHECK(report.before.tenants.size() == 2);
  REQUIRE(report.after.tenants.size() == 3);
  CHECK(report.after.tenants[2].weight == 4);
  CHECK(report.after.tenants[2].mean_share == 0);
  CHECK(report.after.tenants[2].net > 0);
  CHECK(what_if_rows(report)[2][1] == "- -> 4");
}

TEST_CASE("waits count from submission, also of those that never start", "[unit][sim]") {
  WhatIf question = small_cluster({"art"});
  question.cluster.nodes[0].capacity[kCpu] = 1000;
  question.horizon_ms = 10'000;
  question.workload.jobs = {one_processor(0, -9000, 1, 5000), one_processor(0, -1000, 1, 4000),
                            one_processor(0, 2000, 1, 4000), one_processor(0, 9000, 1, 1000)};
  question.state.running = {{{0, 0}, 0, 3000}};
  const TenantOutlook art = compare(question).before.tenants[0];
  CHECK(art.jobs_done == 2);
  CHECK(art.jobs_not_started == 1);
  CHECK(art.mean_wait_s == Approx((4.0 + 5.0 + 1.0) / 3));  // the first had started before
  CHECK(art.mean_share == Approx(1));
}

TEST_CASE("a debt lasts while nothing happens", "[unit][sim]") {
  WhatIf question = small_cluster({"art", "botany"});
  question.state.accounts.ious = {{.debtor = 2, .creditor = 1, .units = 5, .age = 1}};
  const Outlook idle = compare(question).before;
  CHECK(idle.tenants[0].time_in_debt_s == 0);
  CHECK(idle.tenants[1].time_in_debt_s == 3600);
  CHECK(idle.tenants[1].net == -5);
}

TEST_CASE("a page shows the table and the shares of both runs", "[unit][sim]") {
  WhatIf question = always_busy();
  question.proposal = {{"botany", weighing(2)}};
  const WhatIfReport report = compare(question);
  const Page page = to_page(report, "doubled");
  REQUIRE(page.items.size() == 3);
  CHECK(page.summary == "doubled");
  const auto& table = std::get<Table>(page.items[0]);
  CHECK(table.columns == what_if_columns(report));
  CHECK(table.rows.size() == 2);
  const auto& chart = std::get<Chart>(page.items[2]);
  REQUIRE(chart.series.size() == 2);
  CHECK(chart.series[1].name == "botany");
  CHECK(chart.series[1].points.size() == 500);
  CHECK(chart.x_label == "minutes from now");
  CHECK(chart.series[1].points.back().first == Approx(60));
}

}  // namespace fairwater::sim
