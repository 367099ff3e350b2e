// One agent's connection: an AgentLink actor for the coordinator's actors, and KJ's half, which
// calls the agent's AgentControl.
//
//   node actor --AgentOrders--> AgentLink --outbox--> AgentLine --AgentControl.orders--> agent
//
// The AgentLine owns the actor: it ends with the connection, which is how a node's actor learns of
// that.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>

#include "actors/coordinator/protocol.hpp"
#include "rpc/bridge.hpp"
#include "rpc/wire.hpp"

namespace fairwater::inline gateway {

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
/// Orders that are sent and not answered: more wait, so that a slow agent costs little memory here.
inline constexpr std::size_t kMaxOrderBytesUnderWay = 4u << 20;
/// An agent answers orders on receipt, so this is the time for the bytes.
inline constexpr auto kOrdersTimeout = 30 * kj::SECONDS;

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

  /// In messages that fit (schema/byte_budget.hpp). Answered to the link, under `request`, when the
  /// agent has them all.
  void send_orders(std::uint64_t request, AgentOrders orders);
  /// The answer goes back to the link under `request`.
  void read_log(std::uint64_t request, const ReadAgentLog& what);
  void fail() { on_failure_(); }

 private:
  struct Batch {
    std::uint64_t request = 0;
    AgentOrders orders;
    std::size_t launches_sent = 0;
    std::size_t stops_sent = 0;
    std::size_t members_sent = 0;
    /// As much as fits one message, and the bytes that it takes there.
    [[nodiscard]] std::pair<AgentOrders, std::size_t> next_message();
    [[nodiscard]] bool sent() const {
      return launches_sent == orders.launches.size() && stops_sent == orders.stops.size() &&
             members_sent == orders.members.size();
    }
  };

  void send_waiting();
  void answered(std::size_t bytes, std::uint64_t request, bool whole_batch);
  void taskFailed(kj::Exception&& fault) override;
  void answer_log(std::uint64_t request, Expected<LogChunk> answer) const;

  AgentLines& lines_;
  kj::Timer& timer_;
  wire::AgentControl::Client control_;
  std::function<void()> on_failure_;
  const std::uint64_t number_;
  AgentLink link_;
  std::deque<Batch> waiting_;
  std::uint32_t unanswered_batches_ = 0;  ///< waiting or sent
  std::size_t bytes_under_way_ = 0;
  kj::TaskSet tasks_;  ///< last: its promises refer to the rest
};

}  // namespace fairwater::inline gateway
