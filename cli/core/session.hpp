// A client that outlives its connection: for commands that go on through a coordinator's restart,
// or when another takes over.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cli/core/context.hpp"
#include "rpc/client.hpp"

namespace fairwater::inline cli::inline core {

class Session {
 public:
  /// Gives up when no coordinator answered for `patience`.
  explicit Session(const Context& context,
                   std::chrono::milliseconds patience = std::chrono::minutes{2});

  /// The first connection: fails at once when nobody is there.
  [[nodiscard]] caf::error connect();
  /// Connects anew, again and again with growing pauses, until it works or patience is at its end.
  [[nodiscard]] caf::error reconnect();
  /// The connection; connect() must have succeeded.
  [[nodiscard]] Client& client() { return *client_; }
  /// Submits once, whatever becomes of connections: asked again under the same request id (made at
  /// random where none is given) when the answer is lost, or says that it may be. A coordinator
  /// that has just started takes nothing in until its nodes have spoken: that long it is asked.
  [[nodiscard]] Expected<JobId> submit(const JobSpec& spec, std::string request_id = {});

  /// The answer to `call(Client&)`, asked again on a new connection when the old one breaks, or
  /// when who answers cannot do it now: with growing pauses, until patience is at its end. Only for
  /// calls that may be made twice.
  template <class Call>
  auto ask(Call call) -> decltype(call(std::declval<Client&>())) {
    for (Retries retries;;) {
      auto answer = call(*client_);
      if (answer || !is_undone(answer.error()) || !pause(retries)) return answer;
      if (auto error = reconnect()) return error;
    }
  }

 private:
  struct Retries {
    std::optional<std::chrono::steady_clock::time_point> since{};  ///< of the first
    std::chrono::milliseconds pause{};
  };
  /// Before the next try; false when patience is at its end.
  [[nodiscard]] bool pause(Retries& retries) const;

  const Context* context_;
  std::optional<AddressList> addresses_;  ///< where it was connected last comes first
  std::chrono::milliseconds patience_;
  std::unique_ptr<Client> client_;
};

}  // namespace fairwater::inline cli::inline core
