// An agent's connection to its coordinator: registers, carries reports and orders, reconnects for
// ever with a bounded, jittered back-off, at any of its addresses. Runs on KJ's own thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <caf/actor_system.hpp>

#include "actors/agent/protocol.hpp"
#include "model/errors.hpp"
#include "rpc/identity.hpp"

namespace fairwater::inline rpc::inline agent {

struct AgentClientOptions {
  std::string coordinator = "127.0.0.1:7400";  ///< or several, with commas between them
  std::string join_token;                      ///< used only while there is no credential
  std::optional<PublicKey> coordinator_key;    ///< that came with the join token
  /// 0600; the coordinator's key, which is pinned there when it joins or is first met.
  std::string coordinator_key_file;
  std::string credential_file;  ///< 0600; written once the coordinator has accepted the node
  std::int64_t reconnect_min_ms = 100;
  std::int64_t reconnect_max_ms = 3000;
  std::int64_t call_timeout_ms = 10'000;  ///< a coordinator that does not answer is taken for gone
  /// The same of the only one there is, by who would register there.
  std::int64_t lone_timeout_ms = 60'000;
};

class AgentClient {
 public:
  [[nodiscard]] static Expected<std::unique_ptr<AgentClient>> start(caf::actor_system& system,
                                                                    AgentPort agent,
                                                                    AgentClientOptions options);
  ~AgentClient();

 private:
  class Impl;
  explicit AgentClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fairwater::inline rpc::inline agent
