// An agent in virtual time, between a task host and a coordinator that do what the test says.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <catch2/catch.hpp>

#include "actors/agent/agent.hpp"

namespace fairwater {

/// What the agent asked of its host, and what the host is to say.
struct FakeHost {
  HostInventory inventory;
  AttemptEndSink sink;
  bool hold_launches = false;  ///< unanswered until `answer_launches`
  caf::error launch_error;
  caf::error log_error;
  bool hold_logs = false;  ///< unanswered until a LogChunk comes, which then answers them
  std::vector<caf::typed_response_promise<LogChunk>> held_logs;
  std::vector<LaunchOrder> launches;
  std::vector<caf::typed_response_promise<AttemptLaunched>> held;
  std::vector<StopAttempt> stops;
  std::vector<TaskKey> forgotten;
  std::vector<std::int64_t> leases;
  std::vector<ClusterMemory> memories;
  std::vector<std::string> steps;  ///< what became of epochs and leases, in order
  int settled = 0;
  std::vector<TellAttempt> told;  ///< of attempts that it has launched; the others hear nothing
};

/// The reports that came, unanswered until the test answers them.
struct FakeCoordinator {
  std::vector<AgentReport> reports;
  std::deque<caf::typed_response_promise<ReportReply>> waiting;
};

// Promises are delivered by the actor that made them: it is told to by these.
using FakeHostActor =
    TaskHostActor::extend<caf::reacts_to<AttemptLaunched>, caf::reacts_to<LogChunk>>;
using FakeLinkActor = CoordinatorLink::extend<caf::reacts_to<ReportReply>>;

class AgentFixture {
 public:
  AgentFixture();
  ~AgentFixture();

  /// Spawns the agent; `inventory`, `settings.identity` and the like are set before.
  void spawn();
  /// Delivers what is waiting, bounded: timers need `advance`.
  void run();
  void advance(std::int64_t milliseconds);
  [[nodiscard]] std::int64_t now_ms() const;

  void connect(std::uint64_t epoch = 1, ReportReply reply = ReportReply{});
  /// Whether the agent has left its coordinator.
  [[nodiscard]] bool link_ended();
  /// Another connection.
  void renew_link();
  /// Answers the oldest report that waits.
  void answer(const ReportReply& reply);
  void answer_launches();
  void send(AgentOrders orders);
  void end(TaskResult result);
  /// The agent's description, as the gateway's client gets it.
  NodeDescription describe();
  Expected<LogChunk> read_log(const TaskKey& task);
  [[nodiscard]] AgentReport last_report() const;

  caf::actor_system_config config;
  std::unique_ptr<caf::actor_system> system;
  caf::scheduler::test_coordinator* scheduler = nullptr;
  std::shared_ptr<FakeHost> host = std::make_shared<FakeHost>();
  std::shared_ptr<FakeCoordinator> coordinator = std::make_shared<FakeCoordinator>();
  AgentSettings settings;
  FakeHostActor host_actor;
  FakeLinkActor link;
  AgentPort agent;
};

[[nodiscard]] LaunchOrder launch_order(std::uint64_t job, std::uint64_t epoch = 1);
[[nodiscard]] TaskResult exited(const TaskKey& task, int exit_code = 0);
[[nodiscard]] ReportReply reply_with(std::vector<TaskKey> acknowledged, std::int64_t lease_ms = 0);
[[nodiscard]] ReportReply of_epoch(std::uint64_t epoch, ReportReply reply);

}  // namespace fairwater
