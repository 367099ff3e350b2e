#include "process/attempt_file.hpp"

#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <sys/file.h>
#include <vector>

#include "process/attempt_text.hpp"

namespace fairwater::inline process {
namespace {

constexpr const char* kTasks = "tasks";
constexpr const char* kLogs = "logs";

}  // namespace

std::string attempt_name(const TaskKey& task) { return text_of(task); }

std::optional<TaskKey> attempt_from_name(std::string_view name) {
  TaskKey task;
  const char* const last = name.data() + name.size();
  const auto job = std::from_chars(name.data(), last, task.job.value);
  if (job.ec != std::errc{} || job.ptr == last || *job.ptr != '.') return std::nullopt;
  const auto index = std::from_chars(job.ptr + 1, last, task.index);
  if (index.ec != std::errc{} || index.ptr == last || *index.ptr != '.') return std::nullopt;
  const auto attempt = std::from_chars(index.ptr + 1, last, task.attempt);
  if (attempt.ec != std::errc{}) return std::nullopt;
  if (attempt.ptr == last) return task;
  if (*attempt.ptr != '.') return std::nullopt;
  const auto incarnation = std::from_chars(attempt.ptr + 1, last, task.incarnation);
  // One name per key: 0 is not written out.
  if (incarnation.ec != std::errc{} || incarnation.ptr != last || task.incarnation == 0)
    return std::nullopt;
  return task;
}

AttemptFile::AttemptFile(const std::filesystem::path& host_directory, TaskKey task)
    : task_(task),
      path_(host_directory / kTasks / attempt_name(task)),
      standard_output_(host_directory / kLogs / (attempt_name(task) + ".stdout")),
      standard_error_(host_directory / kLogs / (attempt_name(task) + ".stderr")) {}

caf::error AttemptFile::make_directories(const std::filesystem::path& host_directory) {
  for (const auto& directory : {host_directory, host_directory / kTasks, host_directory / kLogs}) {
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    // Orders hold environments, and logs what tasks said: neither is anybody else's to read.
    if (!error) std::filesystem::permissions(directory, std::filesystem::perms::owner_all, error);
    if (error) return system_error("cannot make " + directory.string(), error.value());
  }
  return sync_directory(host_directory);
}

Expected<std::vector<TaskKey>> AttemptFile::list(const std::filesystem::path& host_directory) {
  std::vector<TaskKey> tasks;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(host_directory / kTasks, error))
    if (const auto task = attempt_from_name(entry.path().filename().string()))
      tasks.push_back(*task);
  if (error)
    return system_error("cannot list " + (host_directory / kTasks).string(), error.value());
  return tasks;
}

caf::error AttemptFile::create(const TaskOrder& order) const {
  const FileDescriptor file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return system_error("cannot make " + path_.string(), errno);
  return write_all(file.get(), to_text(order), path_);
}

caf::error AttemptFile::sync_name() const { return sync_directory(path_.parent_path()); }

FileDescriptor AttemptFile::try_lock() const {
  FileDescriptor file(::open(path_.c_str(), O_RDWR | O_APPEND | O_CLOEXEC));
  if (!file || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return {};
  return file;
}

Expected<AttemptRecord> AttemptFile::read() const {
  const auto content = read_file(path_);
  if (!content) return content.error();
  return read_attempt(task_, *content);
}

caf::error AttemptFile::append(const FileDescriptor& lock, const TaskStarted& started) {
  return write_all(lock.get(), to_text(started), kTasks);
}

caf::error AttemptFile::append(const FileDescriptor& lock, const TaskResult& result) {
  const off_t size = ::lseek(lock.get(), 0, SEEK_END);
  auto error = write_all(lock.get(), to_text(result), kTasks);
  if (!error && ::fsync(lock.get()) != 0) error = system_error("cannot sync a result", errno);
  if (error && ::ftruncate(lock.get(), size) != 0)
    return system_error("cannot take back half a result", errno);
  return error;
}

caf::error AttemptFile::replace(const AttemptRecord& known, const TaskResult& result) const {
  std::string content;
  if (known.order) content += to_text(*known.order);
  if (known.started) content += to_text(*known.started);
  return replace_file(path_, content + to_text(result), Durability::power_loss);
}

caf::error AttemptFile::append_forgotten() const { return write_existing(path_, forgotten_text()); }

void AttemptFile::remove() const {
  for (const auto& path : {standard_output_, standard_error_, path_}) ::unlink(path.c_str());
}

}  // namespace fairwater::inline process
