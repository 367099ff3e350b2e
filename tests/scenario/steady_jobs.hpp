// Work that comes all the time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/scenario/support.hpp"

namespace fairwater::scenario {

/// Submits the same job file again and again from a thread of its own, with `pause` after each, and
/// keeps what of it was acknowledged.
class SteadyJobs {
 public:
  SteadyJobs(const Cluster& cluster, std::string file, Duration pause = Duration(0))
      : file_(std::move(file)),
        token_(cluster.operator_token()),
        pause_(pause),
        thread_([this, &cluster] { submit_until_stopped(cluster); }) {}
  SteadyJobs(const SteadyJobs&) = delete;
  SteadyJobs& operator=(const SteadyJobs&) = delete;
  ~SteadyJobs() { join(); }

  /// So far.
  [[nodiscard]] std::size_t acknowledged() const { return count_; }
  /// Ends it; returns the jobs that were acknowledged. Throws what ended it before.
  const std::vector<std::uint64_t>& stop() {
    join();
    if (failure_) std::rethrow_exception(std::exchange(failure_, {}));
    return acknowledged_;
  }

 private:
  void join() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }
  void submit_until_stopped(const Cluster& cluster) {
    try {
      while (!stopping_) {
        const Completed submitted =
            cluster.fairwater({"job", "submit", "--quiet", "-"}, file_, token_);
        if (submitted.status == 0) acknowledged_.push_back(std::stoull(submitted.output));
        count_ = acknowledged_.size();
        std::this_thread::sleep_for(pause_);
      }
    } catch (...) {
      failure_ = std::current_exception();  // thrown here, it would end all tests
    }
  }

  std::string file_;
  std::string token_;
  Duration pause_;
  std::vector<std::uint64_t> acknowledged_;
  std::atomic<std::size_t> count_ = 0;
  std::exception_ptr failure_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace fairwater::scenario
