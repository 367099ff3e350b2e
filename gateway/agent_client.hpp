// An agent's connection to its coordinator: registers, carries reports and orders, reconnects for
// ever with a bounded, jittered back-off. Runs on KJ's own thread.
#pragma once

#include <memory>
#include <string>

#include <caf/actor_system.hpp>

#include "actors/handles.hpp"
#include "model/errors.hpp"

namespace fairwater {

struct AgentClientOptions {
  std::string coordinator = "127.0.0.1:7400";
  std::string join_token;       ///< used only while there is no credential
  std::string credential_file;  ///< 0600; written once the coordinator has accepted the node
  std::int64_t reconnect_min_ms = 100;
  std::int64_t reconnect_max_ms = 2000;
  std::int64_t call_timeout_ms = 10'000;  ///< a coordinator that does not answer is taken for gone
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

}  // namespace fairwater
