// An agent's side of a connection, which shows what it was told.
#pragma once

#include <memory>
#include <string>

#include <caf/all.hpp>

#include "process/temporary_directory.hpp"
#include "rpc/agent/agent_client.hpp"
#include "tests/gateway/channel.hpp"
#include "tests/gateway/fake_frontend.hpp"
#include "tests/gateway/samples.hpp"

namespace fairwater::test {

struct AgentSeen {
  Channel<LinkUp> ups;
  Channel<bool> downs;
  Channel<AgentOrders> orders;
  Channel<std::string> duplicates;
  AgentIdentity identity = sample_identity();
};

[[nodiscard]] AgentPort spawn_fake_agent(caf::actor_system& system,
                                         std::shared_ptr<AgentSeen> seen);

/// An agent on a system of its own, as if in another process.
struct FakeAgent {
  explicit FakeAgent(const std::string& address, std::string join_token = kJoinToken)
      : system(config), agent(spawn_fake_agent(system, seen)) {
    options.coordinator = address;
    options.join_token = std::move(join_token);
    options.credential_file = directory / "credential";
    options.coordinator_key_file = directory / "coordinator.pub";
    options.reconnect_min_ms = 1;
    options.reconnect_max_ms = 10;
  }
  ~FakeAgent() {
    client.reset();
    caf::anon_send_exit(agent, caf::exit_reason::user_shutdown);
  }

  void start();
  /// Sends a report over the link and returns the answer.
  Expected<ReportReply> report(const LinkUp& up, const AgentReport& report);

  TemporaryDirectory directory;
  AgentClientOptions options;
  caf::actor_system_config config;
  caf::actor_system system;
  std::shared_ptr<AgentSeen> seen = std::make_shared<AgentSeen>();
  AgentPort agent;
  std::unique_ptr<AgentClient> client;
};

}  // namespace fairwater::test
