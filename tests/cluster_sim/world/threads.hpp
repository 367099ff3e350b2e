// The threads of a simulated process: they wait on virtual time, stand still while the process is
// stopped, and end with it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tests/cluster_sim/world/stage.hpp"

namespace fairwater::cluster_sim {

class Threads {
 public:
  /// Nothing goes on before `paused_until_us`, which is its owner's.
  Threads(Stage& stage, const std::int64_t& paused_until_us);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  /// In a thread of its own, at once, until it is over or waits. `body` throws nothing.
  void run(std::function<void()> body);
  /// How many are not over.
  [[nodiscard]] std::size_t count() const { return threads_.size(); }
  /// They are to be over soon: no wait is one any more. From outside of them; returns when they
  /// are.
  void end();

  // -- in one of them -----------------------------------------------------------------------------
  [[nodiscard]] bool are_ending() const { return ending_; }
  void wait(std::int64_t us);
  /// Ends the next wait of the thread that asks; does nothing once it goes on.
  [[nodiscard]] std::function<void()> alarm();

 private:
  struct Thread;
  [[nodiscard]] std::function<void()> alarm_of(const std::shared_ptr<Thread>& thread);
  void go_on(const std::shared_ptr<Thread>& thread);

  Stage& stage_;
  const std::int64_t& paused_until_us_;
  std::vector<std::shared_ptr<Thread>> threads_;
  std::shared_ptr<Thread> running_;
  bool ending_ = false;
};

}  // namespace fairwater::cluster_sim
