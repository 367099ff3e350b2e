#include "tests/gateway/fake_agent.hpp"

#include <catch2/catch.hpp>

namespace fairwater::test {
namespace {

AgentPort::behavior_type fake_agent(AgentPort::pointer, std::shared_ptr<AgentSeen> seen) {
  return {
      [=](const DescribeNode&) {
        return NodeDescription{sample_node_spec(), sample_report(), seen->identity};
      },
      [=](const LinkUp& up) { seen->ups.put(up); },
      [=](const LinkDown&) { seen->downs.put(true); },
      [=](const FoundDuplicate& found) { seen->duplicates.put(found.message); },
      [=](const AgentOrders& orders) { seen->orders.put(orders); },
      [](const ReadAgentLog& what) -> caf::result<LogChunk> {
        if (what.task.job == kMissingJob) return make_error(ErrorCode::not_found, "no such log");
        return LogChunk{"from " + std::to_string(what.offset), what.standard_error};
      },
  };
}

}  // namespace

AgentPort spawn_fake_agent(caf::actor_system& system, std::shared_ptr<AgentSeen> seen) {
  return system.spawn(fake_agent, std::move(seen));
}

void FakeAgent::start() {
  auto started = AgentClient::start(system, agent, options);
  if (!started) FAIL(details(started.error()).message);
  client = std::move(*started);
}

Expected<ReportReply> FakeAgent::report(const LinkUp& up, const AgentReport& report) {
  Expected<ReportReply> result = ReportReply{};
  caf::scoped_actor self{system};
  self->request(up.link, kPatience, report)
      .receive([&](ReportReply& reply) { result = std::move(reply); },
               [&](caf::error& error) { result = error; });
  return result;
}

}  // namespace fairwater::test
