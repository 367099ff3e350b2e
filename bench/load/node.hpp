// One simulated node of a fleet. On the fleet's loop.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <random>
#include <vector>

#include "bench/load/fleet.hpp"
#include "model/node.hpp"
#include "rpc/addresses.hpp"
#include "rpc/agent/back_off.hpp"
#include "rpc/loop_thread.hpp"
#include "rpc/rpc_client.hpp"

namespace fairwater::load {

class Node;

/// What the nodes of a fleet share.
class FleetLoop {
 public:
  FleetLoop(Loop& loop, const FleetOptions& options, FleetSeen& seen, FleetSamples& samples);

  /// What a node is to do later: its heartbeat, or a task's end.
  struct Due {
    Clock::time_point at;
    Node* node = nullptr;
    std::optional<TaskKey> ends = {};
    friend bool operator>(const Due& a, const Due& b) { return a.at > b.at; }
  };
  void at(Due due) { due_.push(std::move(due)); }
  [[nodiscard]] kj::Promise<void> run_for_ever();

  /// A node that joins waits for its turn; `joined` lets the next one begin.
  [[nodiscard]] kj::Promise<void> turn_to_join();
  void joined();

  /// So many more tasks run, or fewer.
  void count_running(std::int64_t more);
  [[nodiscard]] double random(double from, double below) {
    return std::uniform_real_distribution<double>(from, below)(random_);
  }

  Loop& loop;
  const FleetOptions& options;
  FleetSeen& seen;
  FleetSamples& samples;

 private:
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::deque<kj::Own<kj::PromiseFulfiller<void>>> waiting_to_join_;
  std::uint32_t joining_ = 0;
  Clock::time_point counted_at_ = Clock::now();
  std::mt19937_64 random_{1};
};

class Node {
 public:
  Node(FleetLoop& fleet, std::uint32_t number);
  ~Node();

  /// Connects, registers, waits for the connection's end, and starts again after a pause.
  [[nodiscard]] kj::Promise<void> live_for_ever();
  void disconnect();
  void beat();
  void end_task(const TaskKey& task, EndReason reason = EndReason::exited);
  void take(const AgentOrders& orders);

 private:
  struct Session;
  struct Running {
    std::int64_t claimed_ms = 0;
    std::int32_t exit_code = 0;
    Amount millicores = 0;
  };

  [[nodiscard]] kj::Promise<void> connect();
  [[nodiscard]] kj::Promise<void> register_node();
  [[nodiscard]] kj::Duration patience() const;
  void move_on(const ErrorDetails& refused);
  void launch(const LaunchOrder& order);
  [[nodiscard]] AgentReport report() const;
  void send_report();
  void take(const ReportReply& reply, Clock::time_point sent);
  void end_what_outlived_the_lease();

  FleetLoop& fleet_;
  const std::uint32_t number_;
  const NodeSpec spec_;
  const std::string credential_;
  AgentIdentity identity_;
  bool joined_ = false;
  AddressList addresses_;
  BackOff back_off_;  ///< since the last registration
  kj::Own<RpcClient> rpc_;
  kj::Own<Session> session_;  ///< after rpc_: it ends first
  bool report_under_way_ = false;
  bool report_wanted_ = false;
  Clock::time_point lease_until_;
  std::chrono::milliseconds interval_{1000};
  Clock::time_point reported_at_;
  bool beats_ = false;
  std::map<TaskKey, Running> running_;
  Amount millicores_in_use_ = 0;
  std::map<TaskKey, TaskResult> finished_;    ///< not acknowledged yet
  std::deque<Clock::time_point> free_since_;  ///< slots whose task has ended
  std::uint32_t slots_never_used_;
};

}  // namespace fairwater::load
