// A client on the level of RPC, for what Client would not do.
#pragma once

#include <string>
#include <utility>

#include "rpc/loop_thread.hpp"
#include "rpc/rpc_client.hpp"
#include "rpc/sockets.hpp"
#include "tests/gateway/channel.hpp"

namespace fairwater::test {

/// A stream that stops reading when told to.
class StallingStream final : public kj::AsyncIoStream {
 public:
  StallingStream(kj::Own<kj::AsyncIoStream> inner, const bool& stalled)
      : inner_(kj::mv(inner)), stalled_(stalled) {}
  kj::Promise<size_t> tryRead(void* buffer, size_t min, size_t max) override {
    if (stalled_) return kj::NEVER_DONE;
    return inner_->tryRead(buffer, min, max);
  }
  kj::Promise<void> write(const void* buffer, size_t size) override {
    return inner_->write(buffer, size);
  }
  kj::Promise<void> write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) override {
    return inner_->write(pieces);
  }
  kj::Promise<void> whenWriteDisconnected() override { return inner_->whenWriteDisconnected(); }
  void shutdownWrite() override { inner_->shutdownWrite(); }

 private:
  kj::Own<kj::AsyncIoStream> inner_;
  const bool& stalled_;
};

class RpcPeer {
 public:
  explicit RpcPeer(const std::string& address)
      : thread_([this](Loop& loop) {
          loop_ = &loop;
          loop.stopped.wait(loop.io.waitScope);
        }) {
    thread_.run([&] {
      return connect_to(loop_->io.provider->getNetwork(), address)
          .then([this](kj::Own<kj::AsyncIoStream> stream) {
            auto stalling = kj::heap<StallingStream>(kj::mv(stream), stalled_);
            stream_ = stalling.get();
            rpc_ = kj::heap<RpcClient>(kj::mv(stalling));
          });
    });
  }
  ~RpcPeer() { disconnect(); }

  /// Runs `body(*this)` on the loop and waits for what it promises.
  template <class Body>
  auto run(Body body) {
    return thread_.run([&] { return body(*this); });
  }
  /// The error code in the answer, empty when there was none.
  kj::Promise<std::string> log_in(const std::string& token) {
    auto request = rpc_->gateway().loginRequest();
    request.setToken(to_text(token));
    request.setProtocolVersion(kProtocolVersion);
    return response_of_login(request);
  }
  [[nodiscard]] wire::TenantSession::Client& session() { return *session_; }
  [[nodiscard]] wire::Gateway::Client& gateway() { return rpc_->gateway(); }
  /// Fails when the other side does not close the connection within the test's patience.
  kj::Promise<void> closed() {
    return loop_->timer().timeoutAfter(kPatience.count() * kj::SECONDS, rpc_->on_disconnect());
  }
  /// Behind all that was called and has been answered. Call within run().
  kj::Promise<void> send_raw(std::string bytes) {
    raw_ = std::move(bytes);
    return stream_->write(raw_.data(), raw_.size());
  }
  /// From now on nothing is read. Call within run().
  void stall() { stalled_ = true; }
  void disconnect() {
    thread_.run([this] {
      session_ = nullptr;
      rpc_ = nullptr;
    });
  }

 private:
  template <class Request>
  kj::Promise<std::string> response_of_login(Request& request) {
    return request.send().then([this](auto&& response) -> std::string {
      if (response.hasError()) return to_std_string(response.getError().getCode());
      session_ = kj::heap<wire::TenantSession::Client>(response.getSession());
      return {};
    });
  }

  Loop* loop_ = nullptr;
  bool stalled_ = false;
  StallingStream* stream_ = nullptr;  ///< as long as there is `rpc_`
  std::string raw_;
  kj::Own<RpcClient> rpc_;
  kj::Own<wire::TenantSession::Client> session_;
  LoopThread thread_;
};

}  // namespace fairwater::test
