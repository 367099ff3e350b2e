#include "agent_fixture.hpp"

#include <algorithm>

namespace fairwater {
namespace {

FakeHostActor::behavior_type fake_host(FakeHostActor::pointer self,
                                       std::shared_ptr<FakeHost> fake) {
  return {
      [fake](const WatchHost& watch) {
        fake->sink = watch.sink;
        return fake->inventory;
      },
      [self, fake](const LaunchAttempt& launch) -> caf::result<AttemptLaunched> {
        fake->launches.push_back(launch.order);
        if (fake->launch_error) return fake->launch_error;
        if (!fake->hold_launches) return AttemptLaunched{};
        fake->held.push_back(self->make_response_promise<AttemptLaunched>());
        return fake->held.back();
      },
      [fake](const StopAttempt& stop) { fake->stops.push_back(stop); },
      [fake](const ForgetAttempts& forget) {
        fake->forgotten.insert(fake->forgotten.end(), forget.tasks.begin(), forget.tasks.end());
      },
      [fake](const ExtendHostLease& lease) {
        fake->leases.push_back(lease.times.deadline_ms);
        fake->steps.emplace_back("lease");
      },
      [fake](const KeepMemory& keep) {
        fake->memories.push_back(keep.memory);
        fake->steps.push_back("epoch " + std::to_string(keep.memory.epoch));
      },
      [fake](const SettleDirectory&) { ++fake->settled; },
      [fake](const TellAttempt& told) {
        const auto launched = [&](const LaunchOrder& order) { return order.task == told.task; };
        if (std::any_of(fake->launches.begin(), fake->launches.end(), launched))
          fake->told.push_back(told);
      },
      [self, fake](const ReadAgentLog& request) -> caf::result<LogChunk> {
        if (fake->log_error) return fake->log_error;
        if (fake->hold_logs) {
          fake->held_logs.push_back(self->make_response_promise<LogChunk>());
          return fake->held_logs.back();
        }
        return LogChunk{"log of " + std::to_string(request.task.job.value), true};
      },
      [fake](AttemptLaunched launched) {
        for (auto& promise : std::exchange(fake->held, {})) promise.deliver(launched);
      },
      [fake](const LogChunk& chunk) {
        for (auto& promise : std::exchange(fake->held_logs, {})) promise.deliver(chunk);
      },
  };
}

FakeLinkActor::behavior_type fake_coordinator_link(FakeLinkActor::pointer self,
                                                   std::shared_ptr<FakeCoordinator> fake) {
  return {
      [self, fake](const AgentReport& report) -> caf::result<ReportReply> {
        fake->reports.push_back(report);
        fake->waiting.push_back(self->make_response_promise<ReportReply>());
        return fake->waiting.back();
      },
      [fake](const ReportReply& reply) {
        fake->waiting.front().deliver(reply);
        fake->waiting.pop_front();
      },
  };
}

}  // namespace

AgentFixture::AgentFixture() {
  config.set("scheduler.policy", caf::atom("testing"));
  system = std::make_unique<caf::actor_system>(config);
  scheduler = dynamic_cast<caf::scheduler::test_coordinator*>(&system->scheduler());
  REQUIRE(scheduler != nullptr);
  settings.spec.traits.name = "node1";
  settings.spec.capacity = {{"cpu", 4000}};
  settings.boottime_ms = [this] { return now_ms(); };
}

AgentFixture::~AgentFixture() {
  if (agent) caf::anon_send_exit(agent, caf::exit_reason::user_shutdown);
  if (link) caf::anon_send_exit(link, caf::exit_reason::user_shutdown);
  run();
  coordinator->waiting.clear();
  host->held.clear();
  host->sink = nullptr;
  agent = nullptr;
  link = nullptr;
  host_actor = nullptr;
}

void AgentFixture::spawn() {
  host_actor = system->spawn(fake_host, host);
  agent = spawn_agent(*system, settings, host_actor);
  link = system->spawn(fake_coordinator_link, coordinator);
  run();
}

void AgentFixture::run() {
  constexpr std::size_t kMaxSteps = 10'000;
  REQUIRE(scheduler->run(kMaxSteps) < kMaxSteps);
}

void AgentFixture::advance(std::int64_t milliseconds) {
  // In steps, as time passes: a timer that sets the next one is not skipped over.
  for (std::int64_t step = 0; milliseconds > 0; milliseconds -= step) {
    step = std::min<std::int64_t>(milliseconds, 50);
    scheduler->advance_time(Milliseconds(step));
    run();
  }
}

std::int64_t AgentFixture::now_ms() const {
  return std::chrono::duration_cast<Milliseconds>(scheduler->clock().now().time_since_epoch())
      .count();
}

void AgentFixture::connect(std::uint64_t epoch, ReportReply reply) {
  caf::anon_send(agent, LinkUp{link, epoch, std::move(reply), now_ms(), "cluster"});
  run();
}

bool AgentFixture::link_ended() {
  caf::scoped_actor self{*system};
  self->monitor(link);
  run();
  bool ended = false;
  self->receive([&](const caf::down_msg&) { ended = true; }, caf::after(Milliseconds(0)) >> [] {});
  return ended;
}

void AgentFixture::renew_link() {
  coordinator->waiting.clear();
  link = system->spawn(fake_coordinator_link, coordinator);
  run();
}

void AgentFixture::answer(const ReportReply& reply) {
  REQUIRE_FALSE(coordinator->waiting.empty());
  caf::anon_send(link, reply);
  run();
}

void AgentFixture::answer_launches() {
  caf::anon_send(host_actor, AttemptLaunched{});
  run();
}

void AgentFixture::send(AgentOrders orders) {
  caf::anon_send(agent, std::move(orders));
  run();
}

void AgentFixture::end(TaskResult result) {
  REQUIRE(host->sink);
  caf::anon_send(host->sink, AttemptsEnded{{std::move(result)}});
  run();
}

NodeDescription AgentFixture::describe() {
  caf::scoped_actor self{*system};
  auto handle = self->request(agent, caf::infinite, DescribeNode{});
  run();
  NodeDescription description;
  handle.receive([&](NodeDescription& answer) { description = std::move(answer); },
                 [](const caf::error& error) { FAIL(details(error).message); });
  return description;
}

Expected<LogChunk> AgentFixture::read_log(const TaskKey& task) {
  caf::scoped_actor self{*system};
  auto handle = self->request(agent, caf::infinite, ReadAgentLog{task, false, 0});
  run();
  Expected<LogChunk> answer{caf::error()};
  handle.receive([&](LogChunk& chunk) { answer = std::move(chunk); },
                 [&](caf::error& error) { answer = std::move(error); });
  return answer;
}

AgentReport AgentFixture::last_report() const {
  REQUIRE_FALSE(coordinator->reports.empty());
  return coordinator->reports.back();
}

LaunchOrder launch_order(std::uint64_t job, std::uint64_t epoch) {
  LaunchOrder order;
  order.task = {JobId{job}, 0, 1};
  order.epoch = epoch;
  order.command = {"true"};
  return order;
}

TaskResult exited(const TaskKey& task, int exit_code) {
  TaskResult result;
  result.task = task;
  result.exit_code = exit_code;
  return result;
}

ReportReply reply_with(std::vector<TaskKey> acknowledged, std::int64_t lease_ms) {
  ReportReply reply;
  reply.acknowledged = std::move(acknowledged);
  reply.lease_ms = lease_ms;
  return reply;
}

ReportReply of_epoch(std::uint64_t epoch, ReportReply reply) {
  reply.epoch = epoch;
  return reply;
}

}  // namespace fairwater
