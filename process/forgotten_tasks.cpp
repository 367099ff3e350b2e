#include "process/forgotten_tasks.hpp"

#include <algorithm>
#include <cstdio>
#include <sys/stat.h>
#include <utility>
#include <vector>

namespace fairwater {
namespace {

std::uint64_t log_bytes(const AttemptFile& file) {
  std::uint64_t bytes = 0;
  for (const bool standard_error : {false, true}) {
    struct stat status {};
    if (::stat(file.log(standard_error).c_str(), &status) == 0)
      bytes += static_cast<std::uint64_t>(status.st_size);
  }
  return bytes;
}

}  // namespace

Expected<std::unique_ptr<ForgottenTasks>> ForgottenTasks::open(std::filesystem::path host_directory,
                                                               std::uint32_t max_tasks,
                                                               std::uint64_t max_bytes) {
  const auto tasks = AttemptFile::list(host_directory);
  if (!tasks) return tasks.error();
  std::vector<Entry> found;
  for (const TaskKey& task : *tasks) {
    const AttemptFile file(host_directory, task);
    const auto record = file.read();
    if (!record) return record.error();
    std::error_code error;
    if (record->forgotten)
      found.push_back(
          {task, log_bytes(file), std::filesystem::last_write_time(file.path(), error)});
  }
  std::ranges::sort(found, {}, &Entry::forgotten_at);
  auto forgotten =
      std::make_unique<ForgottenTasks>(std::move(host_directory), max_tasks, max_bytes);
  for (const Entry& entry : found) forgotten->keep(entry);
  forgotten->push_out();
  return forgotten;
}

ForgottenTasks::ForgottenTasks(std::filesystem::path host_directory, std::uint32_t max_tasks,
                               std::uint64_t max_bytes)
    : host_directory_(std::move(host_directory)),
      max_tasks_(max_tasks),
      max_bytes_(max_bytes),
      remover_([this] { remove_in_turn(); }) {}

ForgottenTasks::~ForgottenTasks() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  remover_.join();
}

void ForgottenTasks::add(const AttemptFile& file) {
  // What cannot be marked is reported again after the next start, and forgotten then; what has no
  // file was removed before.
  if (contains(file.task()) || file.append_forgotten()) return;
  keep({file.task(), log_bytes(file), {}});
  push_out();
}

void ForgottenTasks::keep(const Entry& entry) {
  bytes_ += entry.bytes;
  known_.insert(entry.task);
  oldest_first_.push_back(entry);
}

void ForgottenTasks::push_out() {
  std::vector<TaskKey> out;
  while (oldest_first_.size() > max_tasks_ || (bytes_ > max_bytes_ && !oldest_first_.empty())) {
    const Entry& oldest = oldest_first_.front();
    out.push_back(oldest.task);
    bytes_ -= oldest.bytes;
    known_.erase(oldest.task);
    oldest_first_.pop_front();
  }
  if (out.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    to_remove_.insert(to_remove_.end(), out.begin(), out.end());
  }
  changed_.notify_one();
}

void ForgottenTasks::remove_in_turn() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !to_remove_.empty(); });
    if (ending_) return;
    const TaskKey task = to_remove_.front();
    to_remove_.pop_front();
    lock.unlock();
    AttemptFile(host_directory_, task).remove();
    lock.lock();
  }
}

}  // namespace fairwater
