// What a node's actor knows of the tasks granted to its machine.
#include "actors/coordinator/node_tasks.hpp"

#include <limits>
#include <optional>
#include <utility>

#include <catch2/catch.hpp>

#include "actors/coordinator/node.hpp"
#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

constexpr WallTime kReportTime{1'795'262'400'000'000};

TaskKey key(std::uint32_t index, std::uint32_t incarnation = 0) {
  return {JobId{1}, index, 1, incarnation};
}

LaunchOrder order(const TaskKey& task) {
  LaunchOrder order;
  order.task = task;
  order.command = {"true"};
  return order;
}

/// Two tasks of one tenant.
NodeTasks two_tasks() {
  NodeTasks tasks{{}};
  tasks.assign({}, order(key(0)));
  tasks.assign({}, order(key(1)));
  return tasks;
}

TaskResult result(const TaskKey& task, EndReason reason = EndReason::exited) {
  TaskResult result;
  result.task = task;
  result.reason = reason;
  return result;
}

AgentReport report(std::vector<TaskKey> running, std::vector<TaskResult> finished = {}) {
  AgentReport report;
  report.running = std::move(running);
  report.finished = std::move(finished);
  return report;
}

}  // namespace

TEST_CASE("A result is kept in the ranges that results have", "[unit]") {
  NodeTasks tasks = two_tasks();
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  TaskResult odd = result(key(0), EndReason::signalled), low = result(key(1));
  odd.exit_code = 3'000'000;
  odd.signal = 500;
  odd.started_at = {kMost};
  odd.cpu_ms = odd.peak_memory_kib = kMost;
  low.exit_code = low.signal = -5;
  low.finished_at = {kLeast};
  low.cpu_ms = low.peak_memory_kib = kLeast;
  const auto settled = tasks.take_report(report({}, {odd, low}), false, 0, kReportTime).settle;
  REQUIRE(settled.size() == 2);
  CHECK(settled[0].exit_code == 255);
  CHECK(settled[0].signal == 127);
  CHECK(settled[0].started_at == kReportTime);
  CHECK(settled[0].finished_at == kReportTime);
  CHECK(settled[0].cpu_ms == kMaxAmount);
  CHECK(settled[0].peak_memory_kib == kMaxAmount);
  CHECK(settled[1] == result(key(1)));
}

TEST_CASE("A run is kept between its grant and now, whatever its node's clock says", "[unit]") {
  constexpr std::int64_t kSecond = 1'000'000, kHour = 3600 * kSecond;
  // In seconds from the grant on; now is 600.
  const auto kept = [&](std::int64_t started, std::int64_t finished) {
    const WallTime granted{kReportTime.microseconds - 600 * kSecond};
    const auto at = [&](std::int64_t s) { return WallTime{granted.microseconds + s * kSecond}; };
    NodeTasks tasks{{}};
    tasks.assign({}, order(key(0)), JobKind::batch, granted);
    TaskResult told = result(key(0));
    told.started_at = at(started);
    told.finished_at = at(finished);
    const auto outcome = tasks.take_report(report({}, {told}), false, 0, kReportTime);
    REQUIRE(outcome.settle.size() == 1);
    const TaskResult& settled = outcome.settle[0];
    return std::pair{(settled.started_at.microseconds - granted.microseconds) / kSecond,
                     (settled.finished_at.microseconds - granted.microseconds) / kSecond};
  };
  using Run = std::pair<std::int64_t, std::int64_t>;
  constexpr std::int64_t kFar = 1'000'000'000;
  CHECK(kept(1, 599) == Run{1, 599});
  CHECK(kept(-180, 400) == Run{-180, 400});       // three minutes slow
  CHECK(kept(181, 779) == Run{2, 600});           // three minutes fast
  CHECK(kept(kFar, kFar + 30) == Run{570, 600});  // tomorrow
  CHECK(kept(-kFar, 30 - kFar) == Run{0, 30});    // long ago
  CHECK(kept(-kFar, 599) == Run{-3600, 600});     // no longer than there was room
  CHECK(kept(599, -kFar) == Run{599, 599});       // ended before it began
  CHECK(kept(kFar, -kFar) == Run{600, 600});

  TaskResult never_started = result(key(0), EndReason::launch_failed);
  never_started.finished_at = {kReportTime.microseconds + kHour};
  const TaskResult settled = plausible(never_started, kReportTime, kReportTime);
  CHECK(settled.finished_at == kReportTime);
  CHECK_FALSE(settled.started_at);
  // The coordinator's clock was set back: what took an hour took an hour.
  TaskResult long_run = result(key(0));
  long_run.started_at = {kReportTime.microseconds + 24 * kHour};
  long_run.finished_at = {kReportTime.microseconds + 25 * kHour};
  const TaskResult moved = plausible(long_run, long_run.started_at, kReportTime);
  CHECK(moved.started_at == WallTime{kReportTime.microseconds - kHour});
  CHECK(moved.finished_at == kReportTime);
  CHECK(plausible(result(key(0)), kReportTime, kReportTime) == result(key(0)));  // no times told
}

TEST_CASE("The word on a job's members is kept while it has tasks here", "[unit]") {
  NodeTasks tasks = two_tasks();
  TaskKey other = key(0);
  other.job = JobId{2};
  tasks.assign({}, order(other));
  const JobMembers first{JobId{1}, 0, {{0, "north", "10.0.0.1"}}}, second{JobId{2}, 0, {}};
  tasks.keep_members({JobId{1}, 0, {}});
  tasks.keep_members(first);
  tasks.keep_members(second);
  CHECK(tasks.kept_members() == std::vector{first, second});
  (void)tasks.settled({result(key(0)), result(key(1))});
  // Also on a connection that never breaks, where nobody asks for them.
  tasks.keep_members(second);
  tasks.assign({}, order(key(1)));
  CHECK(tasks.kept_members() == std::vector{second});
}

TEST_CASE("Orders that are sent again name the same devices as before", "[unit][devices]") {
  NodeTasks tasks{{}};
  for (const std::uint32_t index : {0u, 1u, 2u}) {
    LaunchOrder with_device = order(key(index));
    with_device.devices = {index == 1 ? "gpu1" : "gpu0"};
    tasks.assign({}, with_device);
  }
  const auto again = tasks.take_report(report({}), true, 0, kReportTime).launches;
  REQUIRE(again.size() == 3);
  for (const LaunchOrder& launch : again)
    CHECK(launch.devices == std::vector<std::string>{launch.task.index == 1 ? "gpu1" : "gpu0"});
}

TEST_CASE("A result of an assigned task is settled once, any other is forgotten", "[unit]") {
  NodeTasks tasks = two_tasks();
  const auto told = report({key(1)}, {result(key(0)), result(key(7))});
  const auto outcome = tasks.take_report(told, false, 0, kReportTime);
  REQUIRE(outcome.settle.size() == 1);
  CHECK(outcome.settle[0].task == key(0));
  CHECK(outcome.acknowledge == std::vector{key(7)});
  CHECK(outcome.launches.empty());
  CHECK(tasks.take_report(told, false, 0, kReportTime).settle.empty());  // it is being made durable
  const auto groups = tasks.settled(outcome.settle);
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].results.size() == 1);
  CHECK(tasks.size() == 1);
  CHECK_FALSE(tasks.knows(key(0)));
  CHECK(tasks.take_report(told, false, 0, kReportTime).acknowledge == std::vector{key(0), key(7)});
}

TEST_CASE("A result that could not be kept is settled when it is told again", "[unit]") {
  NodeTasks tasks = two_tasks();
  const auto told = report({}, {result(key(0), EndReason::launch_failed)});
  const auto outcome = tasks.take_report(told, false, 0, kReportTime);
  REQUIRE(outcome.failed_launches.size() == 1);
  CHECK(outcome.settle.empty());
  tasks.not_settled(outcome.failed_launches);
  CHECK(tasks.take_report(told, false, 0, kReportTime).failed_launches.size() == 1);
}

TEST_CASE("Only an agent that registers shows what never reached it", "[unit]") {
  NodeTasks tasks = two_tasks();
  CHECK(tasks.take_report(report({key(1)}), false, 0, kReportTime).launches.empty());
  const auto outcome = tasks.take_report(report({key(1)}), true, 0, kReportTime);
  REQUIRE(outcome.launches.size() == 1);
  CHECK(outcome.launches[0].task == key(0));
  CHECK(outcome.launches[0].command == std::vector<std::string>{"true"});
}

TEST_CASE("What an earlier life of the ledger granted is not sent again", "[unit]") {
  NodeTasks tasks = two_tasks();
  tasks.assign({}, order(key(2, 1)));
  const auto outcome = tasks.take_report(report({key(0)}), true, 1, kReportTime);
  CHECK(outcome.returns == std::vector{key(1)});
  REQUIRE(outcome.launches.size() == 1);
  CHECK(outcome.launches[0].task == key(2, 1));
}

TEST_CASE("What runs there and belongs to nobody is stopped", "[unit]") {
  NodeTasks tasks = two_tasks();
  const auto outcome = tasks.take_report(report({key(0), key(9)}), false, 0, kReportTime);
  REQUIRE(outcome.stops.size() == 1);
  CHECK(outcome.stops[0].task == key(9));
}

TEST_CASE("An order to stop is repeated to an agent that registers, until the task has ended",
          "[unit]") {
  NodeTasks tasks = two_tasks();
  CHECK(tasks.request_stop(key(0)));
  CHECK_FALSE(tasks.request_stop(key(9)));
  CHECK(tasks.take_report(report({key(0), key(1)}), false, 0, kReportTime).stops.empty());
  CHECK(tasks.take_report(report({key(0), key(1)}), true, 0, kReportTime).stops.size() == 1);
  (void)tasks.take_report(report({key(1)}, {result(key(0))}), false, 0, kReportTime);
  (void)tasks.settled({result(key(0))});
  CHECK(tasks.take_report(report({key(1)}), true, 0, kReportTime).stops.empty());
}

TEST_CASE("What is being settled or given back is not given back once more", "[unit]") {
  NodeTasks tasks = two_tasks();
  tasks.assign({}, order(key(2)));
  (void)tasks.take_report(report({}, {result(key(0))}), false, 0, kReportTime);
  tasks.begin_return({key(1)});
  CHECK(tasks.unsettled() == std::vector{key(2)});
  CHECK(tasks.take_report(report({}), true, 0, kReportTime).launches.size() == 1);
  const auto groups = tasks.take_back({key(1), key(2), key(9)});
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].keys == std::vector{key(1), key(2)});
  CHECK(tasks.size() == 1);
}

TEST_CASE("A job's orders are kept once, and each task's is its own", "[unit]") {
  NodeTasks tasks = two_tasks();
  LaunchOrder other = order({JobId{2}, 0, 1});
  other.command = {"false"};
  tasks.assign({}, other);
  CHECK(tasks.size() == 3);
  const auto again = tasks.take_report(report({}), true, 0, kReportTime).launches;
  REQUIRE(again.size() == 3);
  CHECK(again[0].task == key(0));
  CHECK(again[1].task == key(1));
  CHECK(again[1].command == std::vector<std::string>{"true"});
  CHECK(again[2].command == std::vector<std::string>{"false"});
}

TEST_CASE("Whether a job has tasks here is known until its last has ended", "[unit]") {
  NodeTasks tasks = two_tasks();
  CHECK(tasks.has_task_of(JobId{1}));
  CHECK_FALSE(tasks.has_task_of(JobId{0}));
  CHECK_FALSE(tasks.has_task_of(JobId{2}));
  (void)tasks.settled({result(key(0))});
  CHECK(tasks.has_task_of(JobId{1}));
  (void)tasks.settled({result(key(1))});
  CHECK_FALSE(tasks.has_task_of(JobId{1}));
  CHECK(tasks.size() == 0);
}

TEST_CASE("Services' tasks are stopped once, others' are left alone", "[unit]") {
  NodeTasks tasks = two_tasks();
  const TaskKey service{JobId{2}, 0, 1};
  tasks.assign({}, order(service), JobKind::service);
  CHECK(tasks.request_stop_of_services() == std::vector{service});
  CHECK(tasks.request_stop_of_services().empty());
  const auto told = report({key(0), key(1), service});
  REQUIRE(tasks.take_report(told, true, 0, kReportTime).stops.size() == 1);
  CHECK(tasks.take_report(told, true, 0, kReportTime).stops[0].task == service);
  // Given back, it is to be stopped no more: where it runs next it is another attempt.
  (void)tasks.take_back({service});
  CHECK(tasks.take_report(report({key(0), key(1)}), true, 0, kReportTime).stops.empty());
}

TEST_CASE("What a lost life of the ledger had started is disowned once, and told", "[unit]") {
  NodeTasks tasks = two_tasks();
  const auto told = report({key(8)}, {result(key(7))});
  const auto outcome = tasks.take_report(told, false, 1, kReportTime);
  REQUIRE(outcome.disowned.size() == 1);
  CHECK(outcome.disowned[0].task == key(7));
  CHECK(outcome.acknowledge.empty());
  CHECK(outcome.runs_lost_life);
  REQUIRE(outcome.stops.size() == 1);
  CHECK(outcome.stops[0].task == key(8));
  CHECK(
      tasks.take_report(told, false, 1, kReportTime).disowned.empty());  // it is being made durable
  tasks.not_settled(outcome.disowned);
  CHECK(tasks.take_report(told, false, 1, kReportTime).disowned.size() == 1);
  CHECK(tasks.settled(outcome.disowned).empty());  // nobody's
  CHECK_FALSE(tasks.take_report(report({key(0)}), false, 1, kReportTime).runs_lost_life);
}

TEST_CASE("A node that makes up results of a lost life fills no ledger", "[unit]") {
  NodeTasks tasks = two_tasks();
  constexpr std::uint32_t kMost = kMostDisowned;
  const auto made_up = [](std::uint32_t first, std::uint32_t count) {
    std::vector<TaskResult> results;
    for (std::uint32_t i = 0; i < count; ++i) results.push_back(result(key(first + i)));
    return report({key(0), key(1)}, results);
  };
  auto outcome = tasks.take_report(made_up(10, kMost - 1), false, 1, kReportTime);
  REQUIRE(outcome.disowned.size() == kMost - 1);
  (void)tasks.settled(outcome.disowned);
  // What was durable before is not once more.
  outcome = tasks.take_report(made_up(10, 2), false, 1, kReportTime);
  CHECK(outcome.disowned.empty());
  CHECK(outcome.acknowledge == std::vector{key(10), key(11)});
  outcome = tasks.take_report(made_up(10 + kMost, 2), false, 1, kReportTime);
  CHECK(outcome.disowned.size() == 1);
  CHECK(outcome.acknowledge == std::vector{key(11 + kMost)});
  // What could not be made durable does not count.
  tasks.not_settled(outcome.disowned);
  CHECK(tasks.take_report(made_up(10 + kMost, 1), false, 1, kReportTime).disowned.size() == 1);
}

TEST_CASE("A task that is given back is settled by no result that comes later", "[unit]") {
  NodeTasks tasks = two_tasks();
  (void)tasks.take_back({key(0)});
  const auto outcome = tasks.take_report(report({key(1)}, {result(key(0))}), false, 0, kReportTime);
  CHECK(outcome.settle.empty());
  CHECK(outcome.acknowledge == std::vector{key(0)});
}

TEST_CASE("A task is shown to have run since its grant, over a restart, too", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  auto agent = cluster.join("one", 2);
  const JobId job = cluster.submit("only", 2);
  (void)cluster.report(agent);
  const WallTime earliest = cluster.show(job).job.started_at;
  const auto end = [&](std::uint32_t index, WallTime started, WallTime finished) {
    TaskResult ended = succeeded({job, index, 1});
    ended.started_at = started;
    ended.finished_at = finished;
    REQUIRE(cluster.report(agent, {ended}).engaged());
    const std::optional<TaskResult> kept = cluster.show(job).tasks.at(index).record.result;
    REQUIRE(kept);
    CHECK(kept->started_at >= earliest);
    CHECK(kept->started_at <= kept->finished_at);
    CHECK(kept->finished_at <= wall_time_now());
  };
  end(0, {1}, {2});
  cluster.restart();
  agent.running = {{job, 1, 1}};
  REQUIRE_FALSE(cluster.reattach(agent));
  end(1, {1}, {2});
  CHECK(cluster.verify().ok);
}

TEST_CASE("Results are on their way to the ledger before their room may be given away", "[actor]") {
  ClusterFixture cluster;
  auto& system = cluster.actors().coordinator->home_system();
  const auto heard = std::make_shared<std::vector<std::string>>();
  // One mailbox for both of them shows in which order the node tells them.
  const caf::actor both = system.spawn([heard]() -> caf::behavior {
    return {[heard](const NodeBeat& beat) {
              if (!beat.unheard.empty()) heard->emplace_back("coordinator");
            },
            [heard](const Commit&) -> caf::result<Committed> {
              heard->emplace_back("ledger");
              return make_error(ErrorCode::unavailable, "not now");
            }};
  });
  auto context = std::make_shared<ClusterContext>(*cluster.actors().context);
  context->ledger = caf::actor_cast<LedgerActor>(both);
  NodeRecord record;
  record.id = NodeId{1};
  const NodeActor node =
      spawn_node(system, context, caf::actor_cast<NodeBeatSink>(both), std::move(record),
                 {{.task = key(0),
                   .order_of_job = std::make_shared<LaunchOrder>(order(key(0))),
                   .tenant = {}}});
  caf::anon_send(node, report({}, {result(key(0))}));
  cluster.run();
  CHECK(*heard == std::vector<std::string>{"ledger", "coordinator"});
  caf::anon_send_exit(node, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(both, caf::exit_reason::user_shutdown);
}

}  // namespace fairwater
