// One agent's connection: an AgentLink actor for the coordinator's actors, and KJ's half, which
// calls the agent's AgentControl.
//
//   node actor --AgentOrders--> AgentLink --outbox--> AgentLine --AgentControl.orders--> agent
//
// The AgentLine owns the actor: it ends with the connection, which is how a node's actor learns of
// that.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "actors/handles.hpp"
#include "gateway/bridge.hpp"
#include "gateway/wire.hpp"

namespace fairwater {

class AgentLine;

/// The open lines by number: posted tasks find theirs here, or nothing when it has closed
/// meanwhile.
class AgentLines {
 public:
  [[nodiscard]] AgentLine* find(std::uint64_t number) const;

 private:
  friend class AgentLine;
  std::uint64_t next_number_ = 1;
  std::map<std::uint64_t, AgentLine*> open_;
};

/// An agent that leaves this many batches of orders unanswered is taken for broken.
inline constexpr std::uint32_t kMaxUnansweredOrders = 1024;

class AgentLine final : private kj::TaskSet::ErrorHandler {
 public:
  /// On the loop's thread. `on_failure` is called when the agent's half does not answer as it must;
  /// the owner closes the connection then.
  AgentLine(caf::actor_system& system, AgentLines& lines, std::shared_ptr<Outbox> outbox,
            kj::Timer& timer, wire::AgentControl::Client control, std::function<void()> on_failure);
  AgentLine(const AgentLine&) = delete;
  AgentLine& operator=(const AgentLine&) = delete;
  ~AgentLine() noexcept;

  [[nodiscard]] const AgentLink& link() const { return link_; }
  [[nodiscard]] std::uint64_t number() const { return number_; }

  void send_orders(const AgentOrders& orders);
  /// The answer goes back to the link under `request`.
  void read_log(std::uint64_t request, const ReadAgentLog& what);
  void fail() { on_failure_(); }

 private:
  void taskFailed(kj::Exception&& fault) override;
  void answer_log(std::uint64_t request, Expected<LogChunk> answer) const;

  AgentLines& lines_;
  kj::Timer& timer_;
  wire::AgentControl::Client control_;
  std::function<void()> on_failure_;
  const std::uint64_t number_;
  AgentLink link_;
  std::uint32_t unanswered_orders_ = 0;
  kj::TaskSet tasks_;  ///< last: its promises refer to the rest
};

}  // namespace fairwater
