#include "process/attempt_text.hpp"

#include <charconv>
#include <utility>
#include <vector>

#include "model/members.hpp"

namespace fairwater::inline process {
namespace {

// -- the fields of each section, in the order of writing

static_assert(kMembers<TaskOrder> == 10 && kMembers<LaunchOrder> == 17 && kMembers<TaskUser> == 4,
              "a member is missing below");

/// Of a task of a gang, which has hosts.
constexpr std::string_view kGangKey = "gang_key";
/// Of a task that follows its job's members.
constexpr std::string_view kFollowsMembers = "follows_members";
/// Of a task that shares processors, where there are control groups for them.
constexpr std::string_view kSharedCpuset = "shared_cpuset";
/// Of a task with a lease of its own.
constexpr std::string_view kLease = "lease_ms";

template <class Value>
const Value& value_of(const SharedValue<Value>& shared) {
  return *shared;
}
template <class Value>
Value& value_of(SharedValue<Value>& shared) {
  return shared.change();
}

/// Calls `visit(name, member)` for what an order says, but for its user, its gang's key, its shared
/// cpuset, whether it follows members, and its lease, which not every task has. The task is the
/// file's name; whom it runs as has become the user, whether it has processors of its own, which,
/// and the devices that it is to get, those that it has.
template <class Order, class Visit>
void each_order_field(Order& order, Visit&& visit) {
  visit("epoch", order.launch.epoch);
  visit("task_count", order.launch.task_count);
  visit("time_limit_ms", order.launch.time_limit_ms);
  visit("grace_ms", order.launch.grace_ms);
  visit("log_limit_bytes", order.log_limit_bytes);
  visit("method", order.method);
  visit("tenant", order.launch.tenant);
  visit("directory", order.launch.directory);
  visit("work_directory", order.work_directory);
  visit("argument", value_of(order.launch.command));
  visit("environment", value_of(order.launch.environment));
  visit("limit", order.launch.limits);
  visit("cgroup", order.cgroup);
  visit("device", order.devices);
  visit("processor", order.cpus);
  visit("denied_device", order.denied_devices);
  visit("gang", value_of(order.launch.gang));
}

/// `uid` is the one that every user has.
template <class User, class Visit>
void each_user_field(User& user, Visit&& visit) {
  visit("uid", user.uid);
  visit("gid", user.gid);
  visit("group", user.groups);
  visit("user", user.name);
}

static_assert(kMembers<TaskStarted> == 2 && kMembers<ProcessIdentity> == 3,
              "a member is missing below");

template <class Started, class Visit>
void each_started_field(Started& started, Visit&& visit) {
  visit("pid", started.supervisor.pid);
  visit("start_ticks", started.supervisor.start_ticks);
  visit("boot_id", started.supervisor.boot_id);
  visit("started_at_us", started.started_at);
}

static_assert(kMembers<TaskResult> == 9, "a member is missing below");

template <class Result, class Visit>
void each_result_field(Result& result, Visit&& visit) {
  visit("reason", result.reason);
  visit("exit_code", result.exit_code);
  visit("signal", result.signal);
  visit("started_at_us", result.started_at);
  visit("finished_at_us", result.finished_at);
  visit("cpu_ms", result.cpu_ms);
  visit("peak_memory_kib", result.peak_memory_kib);
  visit("message", result.message);
}

constexpr LimitMethod last_of(LimitMethod) { return LimitMethod::rlimit; }
constexpr EndReason last_of(EndReason) { return kLastEndReason; }

// -- writing

class SectionWriter {
 public:
  explicit SectionWriter(std::string_view kind) {
    content_ = "fairwater-" + std::string(kind) + " 1\n";
  }
  void operator()(std::string_view name, const std::string& text) {
    content_.append(name).append(" ").append(std::to_string(text.size())).append(":");
    content_.append(text).append("\n");
  }
  void operator()(std::string_view name, const std::filesystem::path& path) {
    (*this)(name, path.string());
  }
  template <class Number>
  requires std::is_arithmetic_v<Number> || std::is_enum_v<Number>
  void operator()(std::string_view name, Number number) {
    (*this)(name, std::to_string(static_cast<std::int64_t>(number)));
  }
  void operator()(std::string_view name, TenantId id) { (*this)(name, id.value); }
  void operator()(std::string_view name, const GangHost& host) {
    (*this)(name, std::to_string(host.tasks) + " " + host.node + " " + host.address);
  }
  void operator()(std::string_view name, WallTime time) { (*this)(name, time.microseconds); }
  template <class Value>
  void operator()(std::string_view name, const std::vector<Value>& values) {
    for (const auto& value : values) (*this)(name, value);
  }
  template <class Value>
  void operator()(std::string_view name, const std::map<std::string, Value>& pairs) {
    for (const auto& [key, value] : pairs) (*this)(name, key + "=" + text_of(value));
  }
  void operator()(std::string_view name, const NamedDevices& devices) {
    for (const auto& [resource, ids] : devices) {
      if (ids.empty()) (*this)(name, resource + "=");
      for (const std::string& id : ids) (*this)(name, resource + "=" + id);
    }
  }
  [[nodiscard]] std::string finish() { return std::move(content_.append("end\n")); }

 private:
  static const std::string& text_of(const std::string& text) { return text; }
  static std::string text_of(const std::filesystem::path& path) { return path.string(); }
  static std::string text_of(Amount amount) { return std::to_string(amount); }

  std::string content_;
};

// -- reading

bool read_value(std::string& text, std::string_view value) {
  text = value;
  return true;
}
bool read_value(std::filesystem::path& path, std::string_view value) {
  path = value;
  return true;
}
/// 64 bits without a sign are written as if they had one.
template <class Number>
requires std::is_integral_v<Number>
bool read_value(Number& number, std::string_view value) {
  std::int64_t wide = 0;
  const char* const last = value.data() + value.size();
  const auto [end, fault] = std::from_chars(value.data(), last, wide);
  if (fault != std::errc{} || end != last) return false;
  number = static_cast<Number>(wide);
  return sizeof(Number) == sizeof(wide) || std::in_range<Number>(wide);
}
template <class Enum>
requires std::is_enum_v<Enum>
bool read_value(Enum& enumerant, std::string_view value) {
  std::uint8_t number = 0;
  if (!read_value(number, value) || number > static_cast<std::uint8_t>(last_of(Enum{})))
    return false;
  enumerant = static_cast<Enum>(number);
  return true;
}
bool read_value(TenantId& id, std::string_view value) { return read_value(id.value, value); }
bool read_value(WallTime& time, std::string_view value) {
  return read_value(time.microseconds, value);
}
/// `TASKS NODE ADDRESS`; a node's name has no blank.
bool read_value(GangHost& host, std::string_view value) {
  const auto node = value.find(' ');
  const auto address = value.find(' ', node + 1);
  if (node == std::string_view::npos || address == std::string_view::npos) return false;
  host.node = value.substr(node + 1, address - node - 1);
  host.address = value.substr(address + 1);
  return read_value(host.tasks, value.substr(0, node));
}
template <class Value>
bool read_value(std::vector<Value>& values, std::string_view value) {
  return read_value(values.emplace_back(), value);
}
template <class Value>
bool read_value(std::map<std::string, Value>& pairs, std::string_view value) {
  const auto equals = value.find('=');
  auto& member = pairs[std::string(value.substr(0, equals))];
  return read_value(member, equals == std::string_view::npos ? "" : value.substr(equals + 1));
}

bool read_value(NamedDevices& devices, std::string_view value) {
  const auto equals = value.find('=');
  if (equals == std::string_view::npos) return false;
  auto& ids = devices[std::string(value.substr(0, equals))];
  if (equals + 1 < value.size()) ids.emplace_back(value.substr(equals + 1));
  return true;
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
  std::int64_t length = 0;
  if (!read_value(length, content.substr(blank + 1, colon - blank - 1))) return std::nullopt;
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

/// Reads one field into the member of its name, if there is one.
class FieldReader {
 public:
  explicit FieldReader(const Field& field) : field_(field) {}
  template <class Member>
  void operator()(std::string_view name, Member& member) {
    if (name == field_.name) good_ = read_value(member, field_.value);
  }
  [[nodiscard]] bool good() const { return good_; }

 private:
  const Field& field_;
  bool good_ = true;
};

bool read_order(TaskOrder& order, const std::vector<Field>& fields) {
  for (const Field& field : fields) {
    FieldReader reader(field);
    each_order_field(order, reader);
    reader(kGangKey, order.launch.gang_key);
    reader(kSharedCpuset, order.shared_cpuset);
    reader(kLease, order.launch.lease_ms);
    if (field.name == kFollowsMembers) order.launch.follows_members = true;
    if (field.name == "uid") order.user.emplace();
    if (order.user) each_user_field(*order.user, reader);
    if (!reader.good()) return false;
  }
  return true;
}

bool read_started(TaskStarted& started, const std::vector<Field>& fields) {
  for (const Field& field : fields) {
    FieldReader reader(field);
    each_started_field(started, reader);
    if (!reader.good()) return false;
  }
  return true;
}

bool read_result(TaskResult& result, const std::vector<Field>& fields) {
  for (const Field& field : fields) {
    FieldReader reader(field);
    each_result_field(result, reader);
    if (!reader.good()) return false;
  }
  return true;
}

/// Adds what the section says; false for one that cannot be read.
bool read_section(const TaskKey& task, const Section& section, AttemptRecord& record) {
  if (section.kind == "order") {
    TaskOrder order;
    order.launch.task = task;
    if (!read_order(order, section.fields)) return false;
    record.order = std::move(order);
  } else if (section.kind == "started") {
    TaskStarted started;
    if (!read_started(started, section.fields)) return false;
    record.started = std::move(started);
  } else if (section.kind == "result") {
    TaskResult result;
    result.task = task;
    if (!read_result(result, section.fields)) return false;
    record.result = std::move(result);
  } else if (section.kind == "forgotten") {
    record.forgotten = true;
  }
  return true;
}

}  // namespace

std::string to_text(const TaskOrder& order) {
  SectionWriter section("order");
  each_order_field(order, section);
  if (!order.launch.gang.empty()) section(kGangKey, order.launch.gang_key);
  if (!order.shared_cpuset.empty()) section(kSharedCpuset, order.shared_cpuset);
  if (order.launch.follows_members) section(kFollowsMembers, std::uint32_t{1});
  if (order.launch.lease_ms > 0) section(kLease, order.launch.lease_ms);
  if (order.user) each_user_field(*order.user, section);
  return section.finish();
}

std::string to_text(const TaskStarted& started) {
  SectionWriter section("started");
  each_started_field(started, section);
  return section.finish();
}

std::string to_text(const TaskResult& result) {
  SectionWriter section("result");
  TaskResult cut = result;
  cut.message = cut_text(std::move(cut.message), kMaxResultMessageBytes);
  each_result_field(cut, section);
  return section.finish();
}

std::string forgotten_text() { return SectionWriter("forgotten").finish(); }

AttemptRecord read_attempt(const TaskKey& task, std::string_view content) {
  AttemptRecord record;
  while (const auto section = take_section(content))
    if (!read_section(task, *section, record)) break;
  return record;
}

}  // namespace fairwater::inline process
