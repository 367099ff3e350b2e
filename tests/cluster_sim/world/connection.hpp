// One connection between an agent and the coordinator, in place of the gateway's: the actors at its
// ends, and the wires between them. Each side learns of its end by itself, or never.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>

#include "actors/agent/protocol.hpp"
#include "actors/coordinator/protocol.hpp"
#include "tests/cluster_sim/world/actor_process.hpp"
#include "tests/cluster_sim/world/wire.hpp"

namespace fairwater::cluster_sim {

class Agent;
class Coordinator;

/// As long as gateway/agent_client waits for any answer, in proportion to the lease.
inline constexpr std::int64_t kCallTimeout_us = 8 * kSecond;

/// From an end's connection to the actor there.
struct ReportAnswered {
  std::uint64_t number = 0;
  Expected<ReportReply> reply{caf::error{}};
};
struct OrdersAnswered {
  std::uint64_t number = 0;
};
struct CloseEnd {};

using AgentEnd = CoordinatorLink::extend<caf::reacts_to<ReportAnswered>, caf::reacts_to<CloseEnd>>;
using CoordinatorEnd = AgentLink::extend<caf::reacts_to<OrdersAnswered>, caf::reacts_to<CloseEnd>>;

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Stage& stage, Agent& agent, Coordinator& coordinator, const CutPath& path);

  // -- the agent's side ---------------------------------------------------------------------------
  void register_node(RegisterNode request);
  /// The address leads to one that was deposed.
  void register_with_deposed(const LinkUp& deposed);
  void report(std::uint64_t number, AgentReport report);
  void close_at_agent();

  // -- the coordinator's side ---------------------------------------------------------------------
  void orders(std::uint64_t number, const AgentOrders& orders);
  void close_at_coordinator();
  /// The process is gone, or leads no more; its side of the connection with it.
  void coordinator_died();
  [[nodiscard]] bool is_registered() const { return is_registered_; }

 private:
  void to_agent(std::function<void()> deliver);
  void to_coordinator(std::function<void()> deliver);
  void take_registration(RegisterNode request);
  void refuse(const caf::error& error);
  void registered(const Expected<NodeRegistered>& answer);
  void close_when_unregistered();
  [[nodiscard]] AgentEnd open_agent_end();
  void deliver_reply(std::uint64_t number, const Expected<ReportReply>& reply);
  void answer_as_deposed();
  void take_report(std::uint64_t number, AgentReport report);
  void keep_as_ghost(const AgentOrders& orders);

  Stage& stage_;
  Agent& agent_;
  Coordinator& coordinator_;
  Wire up_;
  Wire down_;
  bool open_at_agent_ = true;
  bool open_at_coordinator_ = true;
  std::int64_t sent_boottime_ms_ = 0;  ///< of the registration
  std::int64_t sent_at_us_ = 0;        ///< likewise
  bool is_registered_ = false;
  std::optional<LinkUp> deposed_;  ///< the far end, where it does not lead any more
  struct Sent {
    std::int64_t boottime_ms = 0;
    std::int64_t at_us = 0;
  };
  std::map<std::uint64_t, Sent> reported_;
  AgentEnd agent_end_;
  CoordinatorEnd coordinator_end_;
  NodePort port_;
  std::uint64_t session_ = 0;
  std::set<std::uint64_t> answered_;  ///< reports
  std::set<std::uint64_t> orders_taken_;
};

}  // namespace fairwater::cluster_sim

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::cluster_sim::ReportAnswered)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::cluster_sim::OrdersAnswered)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::cluster_sim::CloseEnd)
