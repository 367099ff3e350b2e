// A function on a stack of its own, which can stop in the middle and go on later: code that blocks
// runs in the simulator's one thread.
#pragma once

#include <functional>
#include <memory>
#include <ucontext.h>

namespace fairwater::cluster_sim {

class Fiber {
 public:
  /// `run` throws nothing.
  explicit Fiber(std::function<void()> run);
  /// It is over, or was never resumed.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Until it pauses or is over.
  void resume();
  /// Of the fiber that runs: gives back to who resumed it.
  void pause();
  [[nodiscard]] bool is_over() const { return is_over_; }

 private:
  class Stack;
  static void enter();
  void switch_to(ucontext_t& from, const ucontext_t& to, bool enters);

  std::function<void()> run_;
  std::unique_ptr<Stack> stack_;
  ucontext_t inside_{};
  ucontext_t outside_{};
  bool is_over_ = false;
  // What AddressSanitizer has to know of stacks.
  void* fake_stack_ = nullptr;
  const void* outside_bottom_ = nullptr;
  std::size_t outside_bytes_ = 0;
};

}  // namespace fairwater::cluster_sim
