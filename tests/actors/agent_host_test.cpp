// The task host actor with real processes, on CAF's real scheduler.
#include <optional>
#include <thread>

#include <caf/all.hpp>
#include <catch2/catch.hpp>

#include "actors/agent/agent.hpp"
#include "process/temporary_directory.hpp"

using namespace fairwater;

namespace {

/// Hands every report to the test and acknowledges what it says.
CoordinatorLink::behavior_type acknowledging_link(caf::actor observer) {
  return {[observer](const AgentReport& report) {
    caf::anon_send(observer, report);
    ReportReply reply;
    for (const TaskResult& result : report.finished) reply.acknowledged.push_back(result.task);
    return reply;
  }};
}

/// An agent on a directory of its own; `restart` is another one on the same directory.
class RealAgent {
 public:
  RealAgent() { start(); }
  ~RealAgent() { stop(); }
  void restart() {
    stop();
    start();
  }

  void send(AgentOrders orders) { caf::anon_send(agent_, std::move(orders)); }
  /// Waits for a report in which this attempt has finished.
  TaskResult wait_for(const TaskKey& task) {
    std::optional<TaskResult> found;
    while (!found) {
      observer_->receive(
          [&](const AgentReport& report) {
            for (const TaskResult& result : report.finished)
              if (result.task == task) found = result;
          },
          caf::after(std::chrono::seconds(20)) >> [] { FAIL("no report"); });
    }
    return *found;
  }
  LogChunk log(const TaskKey& task) {
    LogChunk answer;
    observer_->request(agent_, std::chrono::seconds(10), ReadAgentLog{task, false, 0})
        .receive([&](LogChunk& chunk) { answer = std::move(chunk); },
                 [](const caf::error& error) { FAIL(details(error).message); });
    return answer;
  }

 private:
  void start() {
    auto directory = AgentDirectory::open(directory_.path(), IfEmpty::create);
    REQUIRE(directory);
    TaskHostOptions options;
    options.directory = directory_.path();
    options.supervisor = TASK_HOST_PROGRAM;
    options.limits = probe_limits().method;
    options.users.allow_root = true;
    auto host = TaskHost::open(options);
    REQUIRE(host);
    host_ = spawn_task_host(system_, std::move(*host), std::move(*directory));
    agent_ = spawn_agent(system_, {}, host_);
    link_ = system_.spawn(acknowledging_link, caf::actor_cast<caf::actor>(observer_.ptr()));
    // As the gateway's client does: the link comes after the description.
    observer_->request(agent_, std::chrono::seconds(10), DescribeNode{})
        .receive([](const NodeDescription&) {},
                 [](const caf::error& error) { FAIL(details(error).message); });
    caf::anon_send(agent_, LinkUp{link_, 1, {}, 0, "cluster"});
  }
  void stop() {
    observer_->monitor(host_);
    caf::anon_send_exit(link_, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(agent_, caf::exit_reason::user_shutdown);
    bool down = false;
    while (!down)
      observer_->receive([&](const caf::down_msg&) { down = true; }, [](const AgentReport&) {});
    agent_ = nullptr;
    host_ = nullptr;
    link_ = nullptr;
  }

  caf::actor_system_config config_;
  caf::actor_system system_{config_};
  caf::scoped_actor observer_{system_};
  TemporaryDirectory directory_;
  TaskHostActor host_;
  AgentPort agent_;
  CoordinatorLink link_;
};

LaunchOrder shell(std::uint64_t job, const std::string& script) {
  LaunchOrder order;
  order.task = {JobId{job}, 0, 1};
  order.epoch = 1;
  order.command = {"sh", "-c", script};
  return order;
}

}  // namespace

TEST_CASE("An agent runs real tasks and reports their ends", "[actor][process]") {
  RealAgent agent;
  AgentOrders orders;
  for (std::uint64_t job = 1; job <= 20; ++job)
    orders.launches.push_back(shell(job, "echo $FAIRWATER_JOB_ID; exit $FAIRWATER_JOB_ID"));
  agent.send(orders);
  CHECK(agent.wait_for(orders.launches[19].task).exit_code == 20);
  const LogChunk chunk = agent.log(orders.launches[19].task);
  CHECK(chunk.data == "20\n");
  CHECK(chunk.end);
}

TEST_CASE("A task goes on over an agent's restart and can be stopped then", "[actor][process]") {
  RealAgent agent;
  const LaunchOrder order = shell(1, "echo here; sleep 30");
  agent.send({{order}, {}});
  while (agent.log(order.task).data.empty()) std::this_thread::yield();
  CHECK_FALSE(agent.log(order.task).end);
  agent.restart();
  agent.send({{order}, {StopOrder{order.task, 1}}});  // the launch, told again, is not carried out
  CHECK(agent.wait_for(order.task).reason == EndReason::cancelled);
  CHECK(agent.log(order.task).data == "here\n");
}
