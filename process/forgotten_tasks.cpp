#include "process/forgotten_tasks.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <sys/stat.h>

namespace fairwater {
namespace {

std::uint64_t log_bytes(const TaskDirectory& task) {
  std::uint64_t bytes = 0;
  for (const bool standard_error : {false, true}) {
    struct stat status {};
    if (::stat(task.log(standard_error).c_str(), &status) == 0)
      bytes += static_cast<std::uint64_t>(status.st_size);
  }
  return bytes;
}

}  // namespace

Expected<ForgottenTasks> ForgottenTasks::open(std::filesystem::path directory,
                                              std::uint32_t max_tasks, std::uint64_t max_bytes) {
  ForgottenTasks tasks(std::move(directory), max_tasks, max_bytes);
  std::error_code error;
  std::filesystem::create_directories(tasks.directory_, error);
  if (error) return system_error("cannot make " + tasks.directory_.string(), error.value());
  std::vector<Entry> found;
  for (const auto& entry : std::filesystem::directory_iterator(tasks.directory_, error)) {
    const auto task = task_from_directory_name(entry.path().filename().string());
    if (!task) continue;
    found.push_back(
        {*task, log_bytes(TaskDirectory(tasks.directory_, *task)), entry.last_write_time(error)});
  }
  std::ranges::sort(found, {}, &Entry::forgotten_at);
  for (Entry& entry : found) tasks.keep(std::move(entry));
  tasks.remove_beyond_bounds();
  return tasks;
}

bool ForgottenTasks::contains(const TaskKey& task) const {
  return ::access(TaskDirectory(directory_, task).path().c_str(), F_OK) == 0;
}

caf::error ForgottenTasks::add(const TaskDirectory& task) {
  const auto target = TaskDirectory(directory_, task.task());
  if (::rename(task.path().c_str(), target.path().c_str()) != 0)
    return system_error("cannot move " + task.path().string(), errno);
  keep({task.task(), log_bytes(target), {}});
  remove_beyond_bounds();
  return caf::none;
}

void ForgottenTasks::keep(Entry entry) {
  bytes_ += entry.bytes;
  oldest_first_.push_back(std::move(entry));
}

void ForgottenTasks::remove_beyond_bounds() {
  while (oldest_first_.size() > max_tasks_ || (bytes_ > max_bytes_ && !oldest_first_.empty())) {
    const Entry& oldest = oldest_first_.front();
    std::error_code ignored;  // what cannot be removed now is found again by the next host
    std::filesystem::remove_all(TaskDirectory(directory_, oldest.task).path(), ignored);
    bytes_ -= oldest.bytes;
    oldest_first_.pop_front();
  }
}

}  // namespace fairwater
