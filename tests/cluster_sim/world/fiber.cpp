#include "tests/cluster_sim/world/fiber.hpp"

#include <sys/mman.h>
#include <utility>
#include <vector>

#include "policy/core/check.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace fairwater::cluster_sim {
namespace {

constexpr std::size_t kStackBytes = 1 << 20;
constexpr std::size_t kGuardBytes = 1 << 12;

thread_local Fiber* entering = nullptr;

/// Most fibers are short: stacks are used again.
std::vector<void*>& free_stacks() {
  thread_local std::vector<void*> stacks;
  return stacks;
}

}  // namespace

class Fiber::Stack {
 public:
  Stack() {
    auto& free = free_stacks();
    if (!free.empty()) {
      bottom_ = free.back();
      free.pop_back();
      return;
    }
    bottom_ = ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    FAIRWATER_CHECK(bottom_ != MAP_FAILED && ::mprotect(bottom_, kGuardBytes, PROT_NONE) == 0,
                    "a fiber has a stack");
  }
  ~Stack() { free_stacks().push_back(bottom_); }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  [[nodiscard]] void* bottom() const { return bottom_; }

 private:
  void* bottom_ = nullptr;
};

Fiber::Fiber(std::function<void()> run) : run_(std::move(run)), stack_(std::make_unique<Stack>()) {
  FAIRWATER_CHECK(::getcontext(&inside_) == 0, "a fiber has a context");
  inside_.uc_stack.ss_sp = stack_->bottom();
  inside_.uc_stack.ss_size = kStackBytes;
  inside_.uc_link = nullptr;
  ::makecontext(&inside_, &Fiber::enter, 0);
}

Fiber::~Fiber() { FAIRWATER_CHECK(is_over_ || run_, "a fiber ends before it goes"); }

void Fiber::enter() {
  Fiber& self = *std::exchange(entering, nullptr);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &self.outside_bottom_, &self.outside_bytes_);
#endif
  std::exchange(self.run_, {})();
  self.is_over_ = true;
  self.switch_to(self.inside_, self.outside_, false);
}

void Fiber::switch_to(ucontext_t& from, const ucontext_t& to, bool enters) {
#if defined(__SANITIZE_ADDRESS__)
  void* left_behind = nullptr;
  void** keep = enters ? &left_behind : is_over_ ? nullptr : &fake_stack_;
  __sanitizer_start_switch_fiber(keep, enters ? stack_->bottom() : outside_bottom_,
                                 enters ? kStackBytes : outside_bytes_);
  ::swapcontext(&from, &to);
  if (enters)
    __sanitizer_finish_switch_fiber(left_behind, nullptr, nullptr);
  else
    __sanitizer_finish_switch_fiber(fake_stack_, &outside_bottom_, &outside_bytes_);
#else
  (void)enters;
  ::swapcontext(&from, &to);
#endif
}

void Fiber::resume() {
  FAIRWATER_CHECK(!is_over_, "what is over does not go on");
  if (run_) entering = this;
  switch_to(outside_, inside_, true);
}

void Fiber::pause() { switch_to(inside_, outside_, false); }

}  // namespace fairwater::cluster_sim
