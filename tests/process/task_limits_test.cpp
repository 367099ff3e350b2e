// Memory, time, lease and stop orders, with each method of limiting that this machine has.
#include <signal.h>

#include "process/process_identity.hpp"
#include "task_host_fixture.hpp"

using namespace fairwater;

namespace {

std::vector<LimitMethod> available_methods() {
  const LimitProbe probe = probe_limits();
  std::vector<LimitMethod> methods{LimitMethod::rlimit};
  if (probe.method != LimitMethod::rlimit) methods.push_back(probe.method);
  return methods;
}

// Takes memory in a child, so that whoever kills only the child is found out.
constexpr const char* kMemoryHog =
    "(head -c 300000000 /dev/zero | tail -c 290000000 > /dev/null && echo survived); sleep 30; "
    "exit 0";

}  // namespace

TEST_CASE("The probe names a method, and why it is not a better one", "[process]") {
  const LimitProbe probe = probe_limits();
  WARN("this machine limits tasks by " << to_string(probe.method)
                                       << (probe.why.empty() ? "" : ": " + probe.why));
  if (probe.method == LimitMethod::cgroup_v2)
    CHECK(probe.why.empty());
  else
    CHECK_FALSE(probe.why.empty());
}

TEST_CASE("A task over its memory limit is killed and says so", "[process]") {
  const LimitMethod method = GENERATE(from_range(available_methods()));
  CAPTURE(to_string(method));
  HostFixture fixture(method);
  LaunchOrder order = fixture.shell(kMemoryHog);
  order.limits = {{"cpu", 1000}, {"memory", 64}};
  const TaskResult result = fixture.run(order);
  CHECK(result.reason == EndReason::memory_limit);
  CHECK(result.exit_code == 128 + SIGKILL);
  CHECK(result.message.starts_with("used more than its 64 MiB of memory (peak "));
  CHECK(result.peak_memory_kib > 60 * 1024);
  CHECK(fixture.output(order.task).empty());
  CHECK(processes_with_argument(fixture.marker()).empty());
}

TEST_CASE("A task over its time limit is stopped", "[process]") {
  HostFixture fixture;
  LaunchOrder order = fixture.shell("trap 'echo asked; exit 5' TERM; sleep 30 & wait");
  order.time_limit_ms = 1500;
  const TaskResult result = fixture.run(order);
  CHECK(result.reason == EndReason::time_limit);
  CHECK(result.message == "ran longer than its 1500 ms");
  CHECK(result.exit_code == 5);
  CHECK(fixture.output(order.task) == "asked\n");
}

TEST_CASE("A stop order asks first and kills after the grace", "[process]") {
  const LimitMethod method = GENERATE(from_range(available_methods()));
  CAPTURE(to_string(method));
  HostFixture fixture(method);
  LaunchOrder order = fixture.shell("trap '' TERM; echo ready; while :; do sleep 0.05; done");
  order.grace_ms = 300;
  REQUIRE(!fixture.host().launch(order));
  REQUIRE(eventually([&] { return fixture.output(order.task) == "ready\n"; }));
  const std::int64_t before = boottime_ms();
  REQUIRE(!fixture.host().stop(order.task, EndReason::cancelled));
  const TaskResult result = fixture.wait_for(order.task);
  CHECK(boottime_ms() - before >= 300);
  CHECK(result.reason == EndReason::cancelled);
  CHECK(result.signal == SIGKILL);
  CHECK(processes_with_argument(fixture.marker()).empty());
}

TEST_CASE("A command is asked to stop once", "[process]") {
  const LimitMethod method = GENERATE(from_range(available_methods()));
  CAPTURE(to_string(method));
  HostFixture fixture(method);
  LaunchOrder order = fixture.shell("trap 'echo asked' TERM; echo ready; while :; do :; done");
  order.grace_ms = 2000;
  REQUIRE(!fixture.host().launch(order));
  REQUIRE(eventually([&] { return fixture.output(order.task) == "ready\n"; }));
  REQUIRE(!fixture.host().stop(order.task, EndReason::cancelled));
  CHECK(fixture.wait_for(order.task).signal == SIGKILL);
  CHECK(fixture.output(order.task) == "ready\nasked\n");
}

TEST_CASE("What is killed while it forks was killed", "[process]") {
  // Nobody forks ahead of the kills; the command must not learn of that, and end by itself.
  for (const LimitMethod method : available_methods()) {
    CAPTURE(to_string(method));
    for (int i = 0; i < 30; ++i) {
      HostFixture fixture(method);
      LaunchOrder order = fixture.shell(
          "trap '' TERM; for i in $(seq 300); do sleep 30 & done; echo ready; while :; do (:); "
          "done");
      order.grace_ms = 0;
      REQUIRE(!fixture.host().launch(order));
      REQUIRE(eventually([&] { return fixture.output(order.task) == "ready\n"; }));
      REQUIRE(!fixture.host().stop(order.task, EndReason::cancelled));
      REQUIRE(fixture.wait_for(order.task).signal == SIGKILL);
    }
  }
}

TEST_CASE("A stop order right behind the launch is not lost", "[process]") {
  HostFixture fixture;
  const LaunchOrder order = fixture.shell("sleep 30");
  REQUIRE(!fixture.host().launch(order));
  REQUIRE(!fixture.host().stop(order.task, EndReason::cancelled));
  CHECK(fixture.wait_for(order.task).reason == EndReason::cancelled);
  CHECK(details(fixture.host().stop(order.task, EndReason::cancelled)).code ==
        ErrorCode::not_found);
}

TEST_CASE("Whatever a task leaves behind ends with it", "[process]") {
  const LimitMethod method = GENERATE(from_range(available_methods()));
  CAPTURE(to_string(method));
  HostFixture fixture(method);
  SECTION("a child that holds the pipes") {
    const LaunchOrder order = fixture.shell("sh -c 'sleep 30' $0 & echo done");
    const TaskResult result = fixture.run(order);
    CHECK(result.reason == EndReason::exited);
    CHECK(result.exit_code == 0);
    CHECK(fixture.output(order.task) == "done\n");
  }
  SECTION("a grandchild in a session of its own that ignores SIGTERM") {
    const LaunchOrder order = fixture.shell(
        "(setsid sh -c 'trap \"\" TERM; echo up; while :; do sleep 0.1; done' $0 &) ; sleep 1");
    CHECK(fixture.run(order).exit_code == 0);
    CHECK(fixture.output(order.task) == "up\n");
  }
  SECTION("a family that keeps forking") {
    const LaunchOrder order = fixture.shell(
        "for i in 1 2 3; do sh -c 'while :; do sleep 0.001 & wait; done' $0 & done; sleep 0.1");
    CHECK(fixture.run(order).exit_code == 0);
  }
  CHECK(processes_with_argument(fixture.marker()).empty());
}

TEST_CASE("A command whose order comes after the lease's end is not started", "[process]") {
  HostFixture fixture;
  fixture.host().extend_lease({boottime_ms() - 1});
  const LaunchOrder order = fixture.shell("echo started");
  CHECK(fixture.run(order).reason == EndReason::lease_expired);
  CHECK_FALSE(std::filesystem::exists(AttemptFile(fixture.directory(), order.task).log(false)));
}

TEST_CASE("A task ends when the lease does, and not before", "[process]") {
  HostFixture fixture;
  fixture.host().extend_lease({boottime_ms() + 60'000});
  LaunchOrder order = fixture.shell("trap '' TERM; echo ready; while :; do sleep 0.05; done");
  order.grace_ms = 60'000;  // cut short: others wait for the node to be empty
  fixture.launch_held(order);
  const std::int64_t deadline = boottime_ms() + 2500;
  fixture.host().extend_lease({deadline - 1000});
  fixture.host().extend_lease({deadline});
  fixture.close();  // the agent is gone
  REQUIRE(eventually(
      [&] { return AttemptFile(fixture.directory(), order.task).read()->result.has_value(); }));
  CHECK(boottime_ms() >= deadline);
  fixture.reopen();
  const auto found = fixture.host().scan();
  REQUIRE(found);
  REQUIRE(found->size() == 1);
  REQUIRE(found->front().result);
  CHECK(found->front().result->reason == EndReason::lease_expired);
  CHECK(processes_with_argument(fixture.marker()).empty());
}

TEST_CASE("A task with a lease of its own goes on beyond the others' end", "[process]") {
  HostFixture fixture;
  LaunchOrder ordinary = fixture.shell("sleep 60");
  LaunchOrder own = fixture.shell("sleep 60");
  LaunchOrder too_long = fixture.shell("sleep 60");
  own.lease_ms = 2500;
  too_long.lease_ms = 60'000;
  const std::int64_t heard = boottime_ms();
  fixture.host().extend_lease({heard + 1000, heard, heard + 5000});
  for (const LaunchOrder* order : {&ordinary, &own, &too_long}) fixture.launch_held(*order);
  fixture.reopen();  // what a task's own lease is, is known by then too
  const auto tasks = *fixture.host().scan();
  for (const FoundTask& found : tasks)
    CHECK(found.lease_ms == (found.task == own.task        ? 2500
                             : found.task == too_long.task ? 60'000
                                                           : 0));
  for (const auto& [order, lease_ms] :
       {std::pair{&ordinary, 1000}, std::pair{&own, 2500}, std::pair{&too_long, 5000}}) {
    // On a busy machine the first one has ended by the scan, which tells its result.
    const auto found = std::ranges::find(tasks, order->task, &FoundTask::task);
    REQUIRE(found != tasks.end());
    const TaskResult result = found->result ? *found->result : fixture.wait_for(order->task);
    CHECK(result.reason == EndReason::lease_expired);
    CHECK(boottime_ms() >= heard + lease_ms);
    if (order != &too_long) CHECK(fixture.host().runs(too_long.task));
  }
}
