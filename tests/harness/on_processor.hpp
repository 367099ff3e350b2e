// One processor for one side of a measurement, so that what it does costs the other nothing.
#pragma once

#include <sched.h>
#include <stdexcept>

namespace fairwater::harness {

/// While it lives, the calling thread, and the threads and programs that it starts, run on one
/// processor: the n-th of those that the thread may use, counted round.
class OnProcessor {
 public:
  explicit OnProcessor(int n) {
    if (::sched_getaffinity(0, sizeof before_, &before_) != 0)
      throw std::runtime_error("cannot read which processors may be used");
    n %= CPU_COUNT(&before_);
    int processor = 0;
    while (!CPU_ISSET(processor, &before_) || n-- > 0) ++processor;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    if (::sched_setaffinity(0, sizeof one, &one) != 0)
      throw std::runtime_error("cannot bind a thread to a processor");
  }
  OnProcessor(const OnProcessor&) = delete;
  OnProcessor& operator=(const OnProcessor&) = delete;
  ~OnProcessor() { ::sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_{};
};

}  // namespace fairwater::harness
