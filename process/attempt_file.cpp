#include "process/attempt_file.hpp"

#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <sys/file.h>
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

struct Section {
  std::string_view kind;
  std::vector<Field> fields;
};

/// Takes one line's field off the front; none when it is torn.
std::optional<Field> take_field(std::string_view& content) {
  const auto blank = content.find(' ');
  const auto colon = content.find(':');
  if (blank == std::string_view::npos || colon == std::string_view::npos || colon < blank)
    return std::nullopt;
  const std::int64_t length = to_number(content.substr(blank + 1, colon - blank - 1));
  const auto rest = content.size() - colon - 1;
  if (length < 0 || rest <= static_cast<std::uint64_t>(length)) return std::nullopt;
  const auto bytes = static_cast<std::size_t>(length);
  if (content[colon + 1 + bytes] != '\n') return std::nullopt;
  const Field field{content.substr(0, blank), content.substr(colon + 1, bytes)};
  content.remove_prefix(colon + 1 + bytes + 1);
  return field;
}

/// Takes one whole section off the front; none at the end or where the file is torn.
std::optional<Section> take_section(std::string_view& content) {
  constexpr std::string_view kHead = "fairwater-";
  constexpr std::string_view kVersion = " 1";
  constexpr std::string_view kEnd = "end\n";
  const auto line = content.substr(0, content.find('\n'));
  if (line.size() == content.size() || !line.starts_with(kHead) || !line.ends_with(kVersion))
    return std::nullopt;
  Section section{line.substr(kHead.size(), line.size() - kHead.size() - kVersion.size()), {}};
  auto rest = content.substr(line.size() + 1);
  while (!rest.starts_with(kEnd)) {
    const auto field = take_field(rest);
    if (!field) return std::nullopt;
    section.fields.push_back(*field);
  }
  content = rest.substr(kEnd.size());
  return section;
}

std::pair<std::string, std::string> to_pair(std::string_view value) {
  const auto equals = value.find('=');
  if (equals == std::string_view::npos) return {std::string(value), {}};
  return {std::string(value.substr(0, equals)), std::string(value.substr(equals + 1))};
}

std::string to_text(const TaskOrder& order) {
  FieldWriter section("order");
  const LaunchOrder& launch = order.launch;
  section.number("epoch", static_cast<std::int64_t>(launch.epoch));
  section.number("task_count", launch.task_count);
  section.number("time_limit_ms", launch.time_limit_ms);
  section.number("grace_ms", launch.grace_ms);
  section.number("log_limit_bytes", static_cast<std::int64_t>(order.log_limit_bytes));
  section.number("method", static_cast<int>(order.method));
  section.number("tenant", launch.tenant.value);
  section.text("directory", launch.directory);
  section.text("work_directory", order.work_directory.string());
  for (const auto& argument : launch.command) section.text("argument", argument);
  for (const auto& [name, value] : launch.environment) section.pair("environment", name, value);
  for (const auto& [name, amount] : launch.limits)
    section.pair("limit", name, std::to_string(amount));
  for (const auto& [controller, path] : order.cgroup)
    section.pair("cgroup", controller, path.string());
  if (order.user) {
    section.number("uid", order.user->uid);
    section.number("gid", order.user->gid);
    for (const gid_t group : order.user->groups) section.number("group", group);
    section.text("user", order.user->name);
  }
  return section.finish();
}

/// The fields of a user come after `uid`, which is the one that every user has.
void read_user_field(std::optional<TaskUser>& user, const Field& field) {
  const auto number = static_cast<std::uint32_t>(to_number(field.value));
  if (field.name == "uid") user.emplace().uid = number;
  if (!user) return;
  if (field.name == "gid") user->gid = number;
  if (field.name == "group") user->groups.push_back(number);
  if (field.name == "user") user->name = field.value;
}

TaskOrder to_order(const TaskKey& task, const std::vector<Field>& fields) {
  TaskOrder order;
  LaunchOrder& launch = order.launch;
  launch.task = task;
  for (const Field& field : fields) {
    const auto& [name, value] = field;
    read_user_field(order.user, field);
    if (name == "tenant") launch.tenant = TenantId{static_cast<std::uint32_t>(to_number(value))};
    if (name == "work_directory") order.work_directory = value;
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
  }
  return order;
}

std::string to_text(const TaskStarted& started) {
  FieldWriter section("started");
  section.number("pid", started.supervisor.pid);
  section.number("start_ticks", static_cast<std::int64_t>(started.supervisor.start_ticks));
  section.text("boot_id", started.supervisor.boot_id);
  section.number("started_at_us", started.started_at.microseconds);
  return section.finish();
}

TaskStarted to_started(const std::vector<Field>& fields) {
  TaskStarted started;
  for (const auto& [name, value] : fields) {
    if (name == "pid") started.supervisor.pid = static_cast<pid_t>(to_number(value));
    if (name == "start_ticks")
      started.supervisor.start_ticks = static_cast<std::uint64_t>(to_number(value));
    if (name == "boot_id") started.supervisor.boot_id = value;
    if (name == "started_at_us") started.started_at.microseconds = to_number(value);
  }
  return started;
}

std::string to_text(const TaskResult& result) {
  FieldWriter section("result");
  section.number("reason", static_cast<int>(result.reason));
  section.number("exit_code", result.exit_code);
  section.number("signal", result.signal);
  section.number("started_at_us", result.started_at.microseconds);
  section.number("finished_at_us", result.finished_at.microseconds);
  section.number("cpu_ms", result.cpu_ms);
  section.number("peak_memory_kib", result.peak_memory_kib);
  section.text("message", cut_text(result.message, kMaxResultMessageBytes));
  return section.finish();
}

TaskResult to_result(const TaskKey& task, const std::vector<Field>& fields) {
  TaskResult result;
  result.task = task;
  for (const auto& [name, value] : fields) {
    if (name == "reason") result.reason = static_cast<EndReason>(to_number(value));
    if (name == "exit_code") result.exit_code = static_cast<std::int32_t>(to_number(value));
    if (name == "signal") result.signal = static_cast<std::int32_t>(to_number(value));
    if (name == "started_at_us") result.started_at.microseconds = to_number(value);
    if (name == "finished_at_us") result.finished_at.microseconds = to_number(value);
    if (name == "cpu_ms") result.cpu_ms = to_number(value);
    if (name == "peak_memory_kib") result.peak_memory_kib = to_number(value);
    if (name == "message") result.message = value;
  }
  return result;
}

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
  AttemptRecord record;
  std::string_view rest = *content;
  while (const auto section = take_section(rest)) {
    if (section->kind == "order") record.order = to_order(task_, section->fields);
    if (section->kind == "started") record.started = to_started(section->fields);
    if (section->kind == "result") record.result = to_result(task_, section->fields);
    if (section->kind == "forgotten") record.forgotten = true;
  }
  return record;
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

caf::error AttemptFile::append_forgotten() const {
  return write_existing(path_, FieldWriter("forgotten").finish());
}

void AttemptFile::remove() const {
  for (const auto& path : {standard_output_, standard_error_, path_}) ::unlink(path.c_str());
}

}  // namespace fairwater
