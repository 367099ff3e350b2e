// Attempts whose results are durable elsewhere: only their logs are of use, until newer ones push
// them out.
//
// A thread of its own removes what is pushed out: on a disk that is told of every freed block,
// removing a file takes milliseconds, and launches must not wait for that. Its queue needs no
// bound, because it holds a name per file that is on the disk anyway.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "process/attempt_file.hpp"

namespace fairwater {

class ForgottenTasks {
 public:
  /// Takes over what an earlier host forgot, oldest first by the time it was forgotten.
  /// O(attempts).
  [[nodiscard]] static Expected<std::unique_ptr<ForgottenTasks>> open(
      std::filesystem::path host_directory, std::uint32_t max_tasks, std::uint64_t max_bytes);
  ForgottenTasks(std::filesystem::path host_directory, std::uint32_t max_tasks,
                 std::uint64_t max_bytes);
  ForgottenTasks(const ForgottenTasks&) = delete;
  ForgottenTasks& operator=(const ForgottenTasks&) = delete;
  /// What is left to remove is found again by the next host.
  ~ForgottenTasks();

  /// O(log n). True until its removal is due.
  [[nodiscard]] bool contains(const TaskKey& task) const { return known_.contains(task); }
  /// Marks it on disk, and has the oldest beyond the bounds removed. Twice is once.
  void add(const AttemptFile& file);

 private:
  struct Entry {
    TaskKey task;
    std::uint64_t bytes = 0;
    std::filesystem::file_time_type forgotten_at;
  };
  void keep(const Entry& entry);
  void push_out();
  void remove_in_turn();

  std::filesystem::path host_directory_;
  std::uint32_t max_tasks_;
  std::uint64_t max_bytes_;
  std::deque<Entry> oldest_first_;
  std::set<TaskKey> known_;
  std::uint64_t bytes_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<TaskKey> to_remove_;  ///< with `ending_`, under the mutex
  bool ending_ = false;
  std::thread remover_;
};

}  // namespace fairwater
