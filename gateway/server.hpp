// The coordinator's edge: serves the control protocol (schema/control.capnp) from KJ's own thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <caf/actor_system.hpp>

#include "actors/coordinator/frontend.hpp"
#include "gateway/call_queue.hpp"
#include "model/errors.hpp"
#include "rpc/identity.hpp"

namespace fairwater::inline gateway {

struct ServerOptions {
  std::string listen = "127.0.0.1:7400";  ///< HOST:PORT; port 0 picks one
  std::uint32_t max_connections = 4096;
  std::uint32_t max_connections_per_peer = 2048;
  /// Beyond these, so that an operator gets in; others are told to come again later.
  std::uint32_t operator_connections = 64;
  std::int64_t login_timeout_ms =
      10'000;  ///< a connection that has not logged in by then is closed
  std::int64_t answer_timeout_ms = 30'000;  ///< of the actors, for calls that wait for nothing else
  std::uint64_t max_message_bytes = 8u << 20;
  /// A message above 1 KiB that takes longer to arrive ends its connection: 8 MiB over 1 Mbit/s.
  std::int64_t message_timeout_ms = 70'000;
  /// More calls at once are answered `overloaded`, late; `calls` counts those of clients only.
  std::uint32_t max_calls_per_connection = 256;
  CallLimits calls;
  /// Messages of clients that arrive or whose calls are open, together; beyond that whoever sends
  /// one above 8 KiB is closed. Apart for peers that have not logged in.
  std::uint64_t max_client_bytes = 256u << 20;
  std::uint64_t max_tenant_bytes = 64u << 20;  ///< of that, those of one tenant
  std::uint64_t max_anonymous_bytes = 64u << 20;
  /// What it proves itself with, and as the coordinator of which cluster; null: it cannot.
  std::shared_ptr<const CoordinatorKey> key;
  std::string cluster_id;
};

class Server {
 public:
  /// Listens; `unavailable` naming the address when it is taken.
  [[nodiscard]] static Expected<std::unique_ptr<Server>> start(caf::actor_system& system,
                                                               FrontendActor frontend,
                                                               ServerOptions options);
  /// Closes every connection and joins the thread.
  ~Server();
  [[nodiscard]] const std::string& address() const;  ///< HOST:PORT with the port that was picked

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fairwater::inline gateway
