// The agent and its tasks in virtual time: reports, orders, recovery, logs.
#include <algorithm>
#include <set>

#include "agent_fixture.hpp"
#include "tests/actors/captured_log.hpp"

using namespace fairwater;

namespace {

const TaskKey kFirst = launch_order(1).task;

}  // namespace

TEST_CASE("An agent tells what runs and what ended before it was started", "[actor]") {
  AgentFixture fixture;
  fixture.host->inventory.tasks = {{kFirst, true, {}},
                                   {{JobId{2}, 0, 1}, false, exited({JobId{2}, 0, 1}, 7)}};
  fixture.settings.identity = {{"cluster", {0, 41, {}}}, {7, "run"}, true};
  fixture.spawn();
  const NodeDescription node = fixture.describe();
  CHECK(node.spec == fixture.settings.spec);
  CHECK(node.report.running == std::vector{kFirst});
  REQUIRE(node.report.finished.size() == 1);
  CHECK(node.report.finished[0].exit_code == 7);
  CHECK(node.identity.memory == ClusterMemory{"cluster", {0, 41, {}}});
  CHECK(node.identity.run == AgentRun{7, "run"});
  CHECK(node.identity.moved);

  fixture.end(exited(kFirst, 3));
  CHECK(fixture.describe().report.running.empty());
  CHECK(fixture.describe().report.finished.size() == 2);
}

TEST_CASE("An agent reports once per heartbeat interval, also a changed one", "[actor]") {
  AgentFixture fixture;
  fixture.spawn();
  fixture.advance(3000);
  CHECK(fixture.coordinator->reports.empty());  // nobody to tell
  fixture.connect();
  CHECK(fixture.coordinator->reports.size() == 1);
  ReportReply faster;
  faster.heartbeat_interval_ms = 200;
  fixture.answer(faster);
  fixture.advance(1000);  // at the latest now the old interval is over
  const auto before = fixture.coordinator->reports.size();
  for (int beat = 0; beat < 5; ++beat) {
    fixture.answer(faster);
    fixture.advance(200);
  }
  CHECK(fixture.coordinator->reports.size() == before + 5);
}

TEST_CASE("A task's end is reported at once, and what gathers goes in one report", "[actor]") {
  AgentFixture fixture;
  fixture.spawn();
  fixture.connect();
  fixture.answer({});
  AgentOrders orders;
  for (std::uint64_t job = 1; job <= 5; ++job) orders.launches.push_back(launch_order(job));
  fixture.send(orders);
  CHECK(fixture.host->launches.size() == 5);
  REQUIRE(fixture.coordinator->reports.size() == 1);

  for (const LaunchOrder& order : orders.launches) fixture.end(exited(order.task));
  REQUIRE(fixture.coordinator->reports.size() == 2);  // one under way: the others wait
  CHECK(fixture.last_report().finished.size() == 1);
  CHECK(fixture.last_report().running.size() == 4);
  fixture.answer(reply_with({kFirst}));
  REQUIRE(fixture.coordinator->reports.size() == 3);
  CHECK(fixture.last_report().finished.size() == 4);
  CHECK(fixture.last_report().running.empty());
  CHECK(fixture.host->forgotten == std::vector{kFirst});
}

TEST_CASE("A report for another reason puts the heartbeat off", "[actor]") {
  AgentFixture fixture;
  fixture.spawn();
  fixture.connect();
  fixture.answer({});
  AgentOrders orders;
  orders.launches = {launch_order(1)};
  fixture.send(orders);
  fixture.advance(1000);
  fixture.answer({});
  const auto before = fixture.coordinator->reports.size();
  fixture.advance(600);
  fixture.end(exited(kFirst));
  REQUIRE(fixture.coordinator->reports.size() == before + 1);
  fixture.answer(reply_with({kFirst}));
  fixture.advance(900);  // the heartbeat would have been 500 ms ago
  CHECK(fixture.coordinator->reports.size() == before + 1);
  fixture.advance(100);
  CHECK(fixture.coordinator->reports.size() == before + 2);
}

TEST_CASE("However many and large results are, a report stays a message", "[actor]") {
  AgentFixture fixture;
  fixture.spawn();
  fixture.connect();
  fixture.answer({});
  constexpr std::uint64_t kTasks = 3'000;
  AgentOrders orders;
  for (std::uint64_t job = 1; job <= kTasks; ++job) orders.launches.push_back(launch_order(job));
  fixture.send(orders);
  for (const LaunchOrder& order : orders.launches) {
    TaskResult result = exited(order.task, 127);
    result.message.assign(90'000, 'p');
    fixture.end(std::move(result));
  }
  const AgentReport report = fixture.describe().report;
  CHECK(report.finished.size() >= 500);
  CHECK(report.finished.size() + report.running.size() == kTasks);
  std::size_t bytes = 0;
  for (const TaskResult& result : report.finished) bytes += result.message.size() + 100;
  CHECK(bytes < 1'100'000);
  CHECK(report.finished.front().message.size() == kMaxResultMessageBytes);
}

TEST_CASE("A result is reported until it is acknowledged", "[actor]") {
  AgentFixture fixture;
  fixture.host->inventory.tasks = {{kFirst, false, exited(kFirst)}};
  fixture.spawn();
  fixture.connect();
  CHECK(fixture.last_report().finished.size() == 1);
  SECTION("over an answer that says nothing of it") {
    fixture.answer({});
    fixture.advance(1000);
    CHECK(fixture.last_report().finished.size() == 1);
  }
  SECTION("over a report that nobody answers") {
    fixture.advance(12'000);
    CHECK(fixture.coordinator->reports.size() == 2);
    CHECK(fixture.last_report().finished.size() == 1);
  }
  SECTION("over a new connection") {
    caf::anon_send(fixture.agent, LinkDown{});
    fixture.run();
    fixture.connect(2);
    CHECK(fixture.coordinator->reports.size() == 2);
    CHECK(fixture.last_report().finished.size() == 1);
    fixture.answer(reply_with({kFirst}));  // of the first connection: durable all the same
    CHECK(fixture.coordinator->reports.size() == 2);  // the second one is still under way
    CHECK(fixture.host->forgotten == std::vector{kFirst});
  }
  SECTION("until the answer to the registration acknowledges it") {
    fixture.connect(2, reply_with({kFirst}));
    CHECK(fixture.last_report().finished.empty());
  }
}

TEST_CASE("More results than a report holds go in several, and none is taken for lost", "[actor]") {
  constexpr std::uint32_t kResults = 2'500;
  AgentFixture fixture;
  for (std::uint32_t i = 0; i < kResults; ++i) {
    const TaskKey task{JobId{1}, i, 1};
    fixture.host->inventory.tasks.push_back({task, false, exited(task)});
  }
  fixture.spawn();
  const AgentReport first = fixture.describe().report;
  CHECK(first.finished.size() == 1'000);
  CHECK(first.finished.size() + first.running.size() == kResults);

  fixture.connect();
  fixture.advance(fixture.settings.heartbeat_interval_ms);
  std::set<TaskKey> told;
  for (int reports = 0; reports < 3; ++reports) {
    REQUIRE(fixture.coordinator->waiting.size() == 1);
    std::vector<TaskKey> acknowledged;
    for (const TaskResult& result : fixture.last_report().finished)
      acknowledged.push_back(result.task);
    told.insert(acknowledged.begin(), acknowledged.end());
    fixture.answer(reply_with(std::move(acknowledged)));
  }
  CHECK(told.size() == kResults);
  CHECK(fixture.host->forgotten.size() == kResults);
}

TEST_CASE("A link that dies is a connection that is gone", "[actor]") {
  AgentFixture fixture;
  fixture.spawn();
  fixture.connect();
  caf::anon_send_exit(fixture.link, caf::exit_reason::kill);
  fixture.coordinator->waiting.clear();
  fixture.advance(5000);
  CHECK(fixture.coordinator->reports.size() == 1);
}

TEST_CASE("An order that comes twice starts one attempt", "[actor]") {
  AgentFixture fixture;
  fixture.spawn();
  fixture.connect();
  fixture.send({{launch_order(1), launch_order(1)}, {}});
  fixture.send({{launch_order(1)}, {}});
  CHECK(fixture.host->launches.size() == 1);
  fixture.end(exited(kFirst));
  fixture.send({{launch_order(1)}, {}});
  CHECK(fixture.host->launches.size() == 1);
}

TEST_CASE("Orders of an older coordinator are refused", "[actor]") {
  AgentFixture fixture;
  fixture.spawn();
  fixture.connect(5);
  fixture.send({{launch_order(1, 4)}, {}});
  CHECK(fixture.host->launches.empty());
  fixture.send({{launch_order(1, 5)}, {}});
  CHECK(fixture.host->launches.size() == 1);
  fixture.send({{}, {StopOrder{kFirst, 4}}});
  CHECK(fixture.host->stops.empty());
  fixture.connect(6);
  fixture.send({{launch_order(2, 6)}, {StopOrder{kFirst, 5}}});
  CHECK(fixture.host->launches.size() == 2);
  CHECK(fixture.host->stops.empty());
}

TEST_CASE("Refused orders are told once a second, however many they are", "[actor]") {
  AgentFixture fixture;
  fixture.spawn();
  fixture.connect(5);
  const CapturedLog log;
  const auto lines = [&] {
    const std::string text = log.text();
    return std::count(text.begin(), text.end(), '\n');
  };
  const std::vector<StopOrder> stops(1000, StopOrder{kFirst, 4});
  for (int i = 0; i < 10; ++i) fixture.send({{}, stops});
  CHECK(lines() == 1);
  fixture.advance(2000);
  CHECK(lines() == 2);
  CHECK_THAT(log.text(), Catch::Matchers::Contains("refused 9000 orders"));
  fixture.advance(5000);
  CHECK(lines() == 2);
}

TEST_CASE("A stop order reaches a task in whatever state it is", "[actor]") {
  AgentFixture fixture;
  fixture.host->hold_launches = true;
  fixture.spawn();
  fixture.connect();
  fixture.send({{launch_order(1)}, {StopOrder{kFirst, 1}}});
  SECTION("starting: as soon as it runs") {
    CHECK(fixture.host->stops.empty());
    fixture.answer_launches();
    REQUIRE(fixture.host->stops.size() == 1);
    CHECK(fixture.host->stops[0].task == kFirst);
    CHECK(fixture.host->stops[0].reason == EndReason::cancelled);
  }
  SECTION("ended before the launch was answered: nothing is left to stop") {
    fixture.end(exited(kFirst));
    fixture.answer_launches();
    CHECK(fixture.host->stops.empty());
    CHECK(fixture.describe().report.finished.size() == 1);
  }
  SECTION("unknown: ignored") {
    fixture.send({{}, {StopOrder{{JobId{99}, 0, 1}, 1}}});
    CHECK(fixture.host->stops.empty());
  }
}

TEST_CASE("Tasks that are launched with the word on their job hear it", "[actor]") {
  AgentFixture fixture;
  fixture.spawn();
  fixture.connect();
  AgentOrders orders;
  for (std::uint32_t index = 0; index < 2; ++index) {
    orders.launches.push_back(launch_order(1));
    orders.launches.back().task.index = index;
  }
  orders.launches.push_back(launch_order(2));
  orders.members.push_back({JobId{1}, 1, {{0, "node1", "10.0.0.1"}, {1, "node1", "10.0.0.1"}}});
  fixture.send(orders);
  const auto& told = fixture.host->told;
  REQUIRE(told.size() == 2);
  for (std::uint32_t index = 0; index < 2; ++index) {
    CHECK(told[index].task == orders.launches[index].task);
    CHECK(*told[index].members == orders.members[0]);
  }
}

TEST_CASE("What the host cannot start is told with its reason", "[actor]") {
  AgentFixture fixture;
  fixture.spawn();
  fixture.connect();
  SECTION("the node's fault is a failed launch") {
    fixture.host->launch_error = make_error(ErrorCode::disk_full, "no room");
    fixture.send({{launch_order(1)}, {}});
    const auto report = fixture.describe().report;
    REQUIRE(report.finished.size() == 1);
    CHECK(report.finished[0].reason == EndReason::launch_failed);
    CHECK(report.finished[0].message == "no room");
  }
  SECTION("a wrong order is a failure") {
    fixture.host->launch_error = make_error(ErrorCode::invalid_input, "no program", "command");
    fixture.send({{launch_order(1)}, {}});
    CHECK(fixture.describe().report.finished.at(0).reason == EndReason::could_not_start);
  }
  SECTION("an attempt that ran before and is forgotten has no second result") {
    fixture.host->launch_error = make_error(ErrorCode::already_exists, "has run");
    fixture.send({{launch_order(1)}, {}});
    CHECK(fixture.describe().report.finished.empty());
    CHECK(fixture.describe().report.running.empty());
  }
}

TEST_CASE("A burst of launches does not hold back heartbeats", "[actor]") {
  AgentFixture fixture;
  fixture.host->hold_launches = true;  // a host that is busy
  fixture.spawn();
  fixture.connect();
  fixture.answer({});
  AgentOrders orders;
  for (std::uint64_t job = 1; job <= 500; ++job) orders.launches.push_back(launch_order(job));
  fixture.send(orders);
  fixture.advance(1000);
  CHECK(fixture.coordinator->reports.size() == 2);
  CHECK(fixture.last_report().running.size() == 500);
}

TEST_CASE("Logs are read from the host", "[actor]") {
  AgentFixture fixture;
  fixture.spawn();
  fixture.connect();
  CHECK(fixture.read_log(kFirst)->data == "log of 1");
  fixture.host->log_error = make_error(ErrorCode::not_found, "not kept here");
  CHECK(details(fixture.read_log(kFirst).error()).message == "not kept here");
  fixture.send({{launch_order(1)}, {}});  // about to start: its log is empty, and will have more
  const auto chunk = fixture.read_log(kFirst);
  REQUIRE(chunk);
  CHECK(chunk->data.empty());
  CHECK_FALSE(chunk->end);
}

TEST_CASE("A node has a bounded number of pieces of logs to read", "[actor][overload]") {
  constexpr std::size_t kTooMany = 3;
  AgentFixture fixture;
  fixture.host->hold_logs = true;
  fixture.spawn();
  fixture.connect();
  caf::scoped_actor self{*fixture.system};
  for (std::size_t i = 0; i < kMaxLogReads + kTooMany; ++i)
    self->send(fixture.agent, ReadAgentLog{kFirst, false, 0});
  fixture.run();
  CHECK(fixture.host->held_logs.size() == kMaxLogReads);
  for (std::size_t i = 0; i < kTooMany; ++i)
    self->receive([&](const caf::error& refused) {
      CHECK(details(refused).code == ErrorCode::overloaded);
      CHECK(is_retryable(details(refused).code));
      CHECK(details(refused).message ==
            "the node reads 64 pieces of logs already; try again later");
    });
  caf::anon_send(fixture.host_actor, LogChunk{"piece", true});
  fixture.run();
  for (std::size_t i = 0; i < kMaxLogReads; ++i)
    self->receive([&](const LogChunk& chunk) { CHECK(chunk.data == "piece"); });
  fixture.host->hold_logs = false;
  CHECK(fixture.read_log(kFirst));
}

TEST_CASE("An agent ends with its host", "[actor]") {
  AgentFixture fixture;
  fixture.spawn();
  caf::scoped_actor self{*fixture.system};
  self->monitor(fixture.agent);
  caf::anon_send_exit(fixture.host_actor, caf::exit_reason::kill);
  fixture.run();
  bool down = false;
  self->receive([&](const caf::down_msg&) { down = true; }, caf::after(Milliseconds(0)) >> [] {});
  CHECK(down);
}
