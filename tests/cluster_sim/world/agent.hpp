// A machine with its agent: the real actor, and in place of the gateway's client one that connects,
// registers, and connects again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "actors/agent/agent.hpp"
#include "tests/cluster_sim/world/connection.hpp"
#include "tests/cluster_sim/world/coordinators.hpp"
#include "tests/cluster_sim/world/machine.hpp"

namespace fairwater::cluster_sim {

class Agent {
 public:
  Agent(Stage& stage, Checker& checker, Coordinators& coordinators, const std::string& name,
        Amount cpu, bool is_fixed);
  ~Agent();

  [[nodiscard]] const std::string& name() const { return machine.spec.traits.name; }
  [[nodiscard]] bool is_up() const { return process_ != nullptr; }
  [[nodiscard]] ActorProcess& process() { return *process_; }
  void start();
  /// Its mailboxes are gone; tasks run on.
  void kill();

  Machine machine;
  NetworkQuality network;
  std::vector<CutPath> paths;  ///< by coordinator

  // -- called by its connection -------------------------------------------------------------------
  void on_registered(const LinkUp& up);
  /// One that was deposed has let it in.
  void on_registered_by_deposed(const LinkUp& up) { caf::anon_send(port_, up); }
  /// Whether one that let it in before may answer as if it led still: by a second after another
  /// took over, or when the agent knows better.
  [[nodiscard]] bool may_answer(const LinkUp& deposed) const;
  void on_refused(Connection& connection, const caf::error& error);
  void on_closed(Connection& connection);
  void take_orders(const AgentOrders& orders);
  /// What runs must be in the report.
  void check_report(const AgentReport& report);
  void keep_ghost(AgentOrders orders);

 private:
  void connect();
  void connect_later();
  /// A coordinator that let it in before, and may not know that it leads no more.
  [[nodiscard]] const LinkUp* pick_deposed();
  void join_anew_later();
  void haunt(std::uint64_t epoch);

  Stage& stage_;
  Coordinators& coordinators_;
  std::size_t target_ = 0;  ///< which coordinator it asks
  std::unique_ptr<ActorProcess> process_;
  AgentPort port_;
  std::shared_ptr<Connection> connection_;
  std::int64_t failures_ = 0;  ///< to register, in a row
  std::vector<AgentOrders> ghosts_;
  std::vector<LinkUp> let_in_by_;  ///< the newest coordinators that did, one of each epoch
};

}  // namespace fairwater::cluster_sim
