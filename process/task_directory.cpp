#include "process/task_directory.hpp"

#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <utility>
#include <vector>

namespace fairwater {
namespace {

class FieldWriter {
 public:
  explicit FieldWriter(std::string_view kind) {
    content_ = "fairwater-" + std::string(kind) + " 1\n";
  }
  void text(std::string_view name, std::string_view value) {
    content_.append(name).append(" ").append(std::to_string(value.size())).append(":");
    content_.append(value).append("\n");
  }
  void number(std::string_view name, std::int64_t value) { text(name, std::to_string(value)); }
  void pair(std::string_view name, std::string_view key, std::string_view value) {
    text(name, std::string(key).append("=").append(value));
  }
  [[nodiscard]] std::string finish() { return std::move(content_.append("end\n")); }

 private:
  std::string content_;
};

std::int64_t to_number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

struct Field {
  std::string_view name;
  std::string_view value;
};

/// The fields of a whole file; none when it is torn or of another kind.
std::optional<std::vector<Field>> parse_fields(std::string_view content, std::string_view kind) {
  const std::string head = "fairwater-" + std::string(kind) + " 1\n";
  if (!content.starts_with(head)) return std::nullopt;
  content.remove_prefix(head.size());
  std::vector<Field> fields;
  while (content != "end\n") {
    const auto blank = content.find(' ');
    const auto colon = content.find(':');
    if (blank == std::string_view::npos || colon == std::string_view::npos || colon < blank)
      return std::nullopt;
    const auto length =
        static_cast<std::size_t>(to_number(content.substr(blank + 1, colon - blank - 1)));
    if (content.size() - colon - 1 <= length || content[colon + 1 + length] != '\n')
      return std::nullopt;
    fields.push_back({content.substr(0, blank), content.substr(colon + 1, length)});
    content.remove_prefix(colon + 1 + length + 1);
  }
  return fields;
}

std::pair<std::string, std::string> to_pair(std::string_view value) {
  const auto equals = value.find('=');
  if (equals == std::string_view::npos) return {std::string(value), {}};
  return {std::string(value.substr(0, equals)), std::string(value.substr(equals + 1))};
}

/// Calls `take(name, value)` for each field of PATH/KIND.
template <class Take>
caf::error read_fields(const std::filesystem::path& path, const char* kind, Take take) {
  const auto content = read_file(path / kind);
  if (!content) return content.error();
  const auto fields = parse_fields(*content, kind);
  if (!fields)
    return make_error(ErrorCode::storage_damaged, (path / kind).string() + " is not whole");
  for (const Field& field : *fields) take(field.name, field.value);
  return caf::none;
}

}  // namespace

std::string directory_name(const TaskKey& task) {
  return std::to_string(task.job.value) + "." + std::to_string(task.index) + "." +
         std::to_string(task.attempt);
}

std::optional<TaskKey> task_from_directory_name(std::string_view name) {
  TaskKey task;
  const char* const last = name.data() + name.size();
  const auto job = std::from_chars(name.data(), last, task.job.value);
  if (job.ec != std::errc{} || job.ptr == last || *job.ptr != '.') return std::nullopt;
  const auto index = std::from_chars(job.ptr + 1, last, task.index);
  if (index.ec != std::errc{} || index.ptr == last || *index.ptr != '.') return std::nullopt;
  const auto attempt = std::from_chars(index.ptr + 1, last, task.attempt);
  if (attempt.ec != std::errc{} || attempt.ptr != last) return std::nullopt;
  return task;
}

caf::error TaskDirectory::create() const {
  if (::mkdir(path_.c_str(), 0700) != 0)
    return system_error("cannot make " + path_.string(), errno);
  return caf::none;
}

caf::error TaskDirectory::write(const TaskOrder& order) const {
  FieldWriter file("order");
  const LaunchOrder& launch = order.launch;
  file.number("epoch", static_cast<std::int64_t>(launch.epoch));
  file.number("task_count", launch.task_count);
  file.number("time_limit_ms", launch.time_limit_ms);
  file.number("grace_ms", launch.grace_ms);
  file.number("log_limit_bytes", static_cast<std::int64_t>(order.log_limit_bytes));
  file.number("method", static_cast<int>(order.method));
  file.text("directory", launch.directory);
  for (const auto& argument : launch.command) file.text("argument", argument);
  for (const auto& [name, value] : launch.environment) file.pair("environment", name, value);
  for (const auto& [name, amount] : launch.limits) file.pair("limit", name, std::to_string(amount));
  for (const auto& [controller, path] : order.cgroup)
    file.pair("cgroup", controller, path.string());
  return replace_file(path_ / "order", file.finish(), Durability::process_crash);
}

Expected<TaskOrder> TaskDirectory::read_order() const {
  TaskOrder order;
  LaunchOrder& launch = order.launch;
  launch.task = task_;
  auto error = read_fields(path_, "order", [&](std::string_view name, std::string_view value) {
    if (name == "epoch") launch.epoch = static_cast<std::uint64_t>(to_number(value));
    if (name == "task_count") launch.task_count = static_cast<std::uint32_t>(to_number(value));
    if (name == "time_limit_ms") launch.time_limit_ms = to_number(value);
    if (name == "grace_ms") launch.grace_ms = to_number(value);
    if (name == "log_limit_bytes")
      order.log_limit_bytes = static_cast<std::uint64_t>(to_number(value));
    if (name == "method") order.method = static_cast<LimitMethod>(to_number(value));
    if (name == "directory") launch.directory = value;
    if (name == "argument") launch.command.emplace_back(value);
    if (name == "environment") launch.environment.insert(to_pair(value));
    if (name == "cgroup") order.cgroup.insert(to_pair(value));
    if (name == "limit") {
      const auto [resource, amount] = to_pair(value);
      launch.limits[resource] = to_number(amount);
    }
  });
  if (error) return error;
  return order;
}

caf::error TaskDirectory::write(const TaskStarted& started) const {
  FieldWriter file("started");
  file.number("pid", started.supervisor.pid);
  file.number("start_ticks", static_cast<std::int64_t>(started.supervisor.start_ticks));
  file.text("boot_id", started.supervisor.boot_id);
  file.number("started_at_us", started.started_at.microseconds);
  return replace_file(path_ / "started", file.finish(), Durability::process_crash);
}

Expected<TaskStarted> TaskDirectory::read_started() const {
  TaskStarted started;
  auto error = read_fields(path_, "started", [&](std::string_view name, std::string_view value) {
    if (name == "pid") started.supervisor.pid = static_cast<pid_t>(to_number(value));
    if (name == "start_ticks")
      started.supervisor.start_ticks = static_cast<std::uint64_t>(to_number(value));
    if (name == "boot_id") started.supervisor.boot_id = value;
    if (name == "started_at_us") started.started_at.microseconds = to_number(value);
  });
  if (error) return error;
  return started;
}

caf::error TaskDirectory::write(const TaskResult& result) const {
  FieldWriter file("result");
  file.number("reason", static_cast<int>(result.reason));
  file.number("exit_code", result.exit_code);
  file.number("signal", result.signal);
  file.number("started_at_us", result.started_at.microseconds);
  file.number("finished_at_us", result.finished_at.microseconds);
  file.number("cpu_ms", result.cpu_ms);
  file.number("peak_memory_kib", result.peak_memory_kib);
  file.text("message", result.message);
  return replace_file(path_ / "result", file.finish(), Durability::power_loss);
}

Expected<TaskResult> TaskDirectory::read_result() const {
  TaskResult result;
  result.task = task_;
  auto error = read_fields(path_, "result", [&](std::string_view name, std::string_view value) {
    if (name == "reason") result.reason = static_cast<EndReason>(to_number(value));
    if (name == "exit_code") result.exit_code = static_cast<std::int32_t>(to_number(value));
    if (name == "signal") result.signal = static_cast<std::int32_t>(to_number(value));
    if (name == "started_at_us") result.started_at.microseconds = to_number(value);
    if (name == "finished_at_us") result.finished_at.microseconds = to_number(value);
    if (name == "cpu_ms") result.cpu_ms = to_number(value);
    if (name == "peak_memory_kib") result.peak_memory_kib = to_number(value);
    if (name == "message") result.message = value;
  });
  if (error) return error;
  return result;
}

FileDescriptor TaskDirectory::try_lock() const {
  FileDescriptor file(::open((path_ / "order").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return {};
  return file;
}

}  // namespace fairwater
