#include "gateway/server.hpp"

#include <bit>
#include <future>
#include <map>

#include <spdlog/spdlog.h>

#include "gateway/connection.hpp"
#include "rpc/loop_thread.hpp"
#include "rpc/sockets.hpp"

namespace fairwater::inline gateway {
namespace {

/// After a failed accept (no file descriptor left, ..) until the next try.
constexpr auto kAcceptBackOff = 50 * kj::MILLISECONDS;
/// How often slow readers are looked for.
constexpr auto kSweepInterval = 1 * kj::SECONDS;

/// Takes connections in, within bounds, for ever.
class Acceptor final : private kj::TaskSet::ErrorHandler {
 public:
  Acceptor(Services& services, kj::Own<kj::ConnectionReceiver> receiver)
      : services_(services), receiver_(kj::mv(receiver)), connections_(*this) {}

  kj::Promise<void> accept_for_ever() {
    return kj::evalNow([this] { return receiver_->accept(); })
        .then(
            [this](kj::Own<kj::AsyncIoStream> stream) -> kj::Promise<void> {
              admit(kj::mv(stream));
              return kj::READY_NOW;
            },
            [this](kj::Exception&& fault) -> kj::Promise<void> {
              // The listening socket is as good as before: the fault (EMFILE, ENOBUFS, ..) was the
              // process's.
              spdlog::warn("gateway: cannot accept a connection: {}",
                           fault.getDescription().cStr());
              return services_.timer.afterDelay(kAcceptBackOff);
            })
        .then([this] { return accept_for_ever(); });
  }

  kj::Promise<void> sweep_for_ever() {
    return services_.timer.afterDelay(kSweepInterval).then([this] {
      for (auto* connection : services_.connections)
        if (connection->reads_too_slowly()) connection->close("it does not read its answers");
      return sweep_for_ever();
    });
  }

 private:
  /// Why there is no place for others than operators; empty: there is.
  [[nodiscard]] std::string why_full(const std::string& peer, std::uint32_t from_peer) const {
    const auto& options = services_.options;
    if (services_.connections.size() - services_.in_reserved_places >= options.max_connections)
      return "the coordinator serves " + std::to_string(options.max_connections) +
             " connections, as many as it may";
    if (from_peer >= options.max_connections_per_peer)
      return std::to_string(from_peer) + " connections come from " + peer +
             ", as many as one address may have";
    return "";
  }

  void admit(kj::Own<kj::AsyncIoStream> stream) {
    std::string peer = peer_of(*stream);
    auto& from_peer = per_peer_[peer];
    std::string full = why_full(peer, from_peer);
    // At 1, 2, 4, 8, ..: a flood of connections is not to become a flood of log lines.
    if (!full.empty() && std::has_single_bit(++refused_))
      spdlog::warn("gateway: {} connections found no place so far, now from {}: {}", refused_, peer,
                   full);
    if (!full.empty() && services_.in_reserved_places >= services_.options.operator_connections) {
      if (from_peer == 0) per_peer_.erase(peer);
      return;
    }
    set_socket_options(*stream);
    ++from_peer;
    auto leave = kj::defer([this, peer] {
      if (--per_peer_[peer] == 0) per_peer_.erase(peer);
    });
    connections_.add(Connection::serve(kj::refcounted<Connection>(services_, kj::mv(stream), peer,
                                                                  std::move(full)))
                         .attach(kj::mv(leave)));
  }

  void taskFailed(kj::Exception&& fault) override {
    spdlog::debug("gateway: a connection ended: {}", fault.getDescription().cStr());
  }

  Services& services_;
  kj::Own<kj::ConnectionReceiver> receiver_;
  std::map<std::string, std::uint32_t> per_peer_;
  std::uint64_t refused_ = 0;
  kj::TaskSet connections_;
};

}  // namespace

class Server::Impl {
 public:
  Impl(caf::actor_system& system, FrontendActor frontend, ServerOptions options)
      : thread_([this, &system, frontend = std::move(frontend), options = std::move(options)](
                    Loop& loop) { serve(loop, system, frontend, options); }) {}

  Expected<std::string> listening() { return listening_.get_future().get(); }
  std::string address;

 private:
  void serve(Loop& loop, caf::actor_system& system, const FrontendActor& frontend,
             const ServerOptions& options) {
    auto receiver = listen_on(loop.io, options.listen);
    if (!receiver) {
      listening_.set_value(receiver.error());
      return;
    }
    const std::string host = options.listen.substr(0, options.listen.rfind(':'));
    const std::string address = host + ":" + std::to_string((*receiver)->getPort());
    Services services{system,
                      frontend,
                      options,
                      loop.timer(),
                      {options.calls, loop.timer()},
                      {system, loop.outbox, loop.timer()},
                      {},
                      {}};
    {
      Acceptor acceptor(services, kj::mv(*receiver));
      listening_.set_value(address);
      acceptor.accept_for_ever()
          .exclusiveJoin(acceptor.sweep_for_ever())
          .exclusiveJoin(kj::mv(loop.stopped))
          .wait(loop.io.waitScope);
    }
    loop.settle();
  }

  std::promise<Expected<std::string>> listening_;
  LoopThread thread_;  ///< last: it uses what stands above
};

Expected<std::unique_ptr<Server>> Server::start(caf::actor_system& system, FrontendActor frontend,
                                                ServerOptions options) {
  auto impl = std::make_unique<Impl>(system, std::move(frontend), std::move(options));
  auto listening = impl->listening();
  if (!listening) return listening.error();
  impl->address = *listening;
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

const std::string& Server::address() const { return impl_->address; }

}  // namespace fairwater::inline gateway
