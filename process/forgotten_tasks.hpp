// Attempts whose results are durable elsewhere: only their logs are kept, in
// `HOST_DIRECTORY/forgotten/`, until newer ones push them out.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>

#include "process/task_directory.hpp"

namespace fairwater {

class ForgottenTasks {
 public:
  /// Takes over what an earlier host left there, oldest first by the time it was forgotten.
  [[nodiscard]] static Expected<ForgottenTasks> open(std::filesystem::path directory,
                                                     std::uint32_t max_tasks,
                                                     std::uint64_t max_bytes);
  [[nodiscard]] bool contains(const TaskKey& task) const;
  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }
  /// Moves an attempt's directory here and removes the oldest beyond the bounds.
  [[nodiscard]] caf::error add(const TaskDirectory& task);

 private:
  struct Entry {
    TaskKey task;
    std::uint64_t bytes = 0;
    std::filesystem::file_time_type forgotten_at;
  };
  ForgottenTasks(std::filesystem::path directory, std::uint32_t max_tasks, std::uint64_t max_bytes)
      : directory_(std::move(directory)), max_tasks_(max_tasks), max_bytes_(max_bytes) {}
  void keep(Entry entry);
  void remove_beyond_bounds();

  std::filesystem::path directory_;
  std::uint32_t max_tasks_;
  std::uint64_t max_bytes_;
  std::deque<Entry> oldest_first_;
  std::uint64_t bytes_ = 0;
};

}  // namespace fairwater
