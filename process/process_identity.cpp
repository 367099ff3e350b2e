#include "process/process_identity.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

namespace fairwater::inline process {
namespace {

struct StatLine {
  char state = '?';
  pid_t parent = 0;
  std::uint64_t start_ticks = 0;
  std::int64_t resident_pages = 0;
};

/// The fields behind the command's name, which is in parentheses and may itself hold blanks and
/// parentheses.
std::optional<StatLine> read_stat(pid_t pid) {
  const auto content = read_file("/proc/" + std::to_string(pid) + "/stat");
  if (!content) return std::nullopt;
  const auto close = content->rfind(')');
  if (close == std::string::npos) return std::nullopt;
  StatLine line;
  std::size_t position = close + 2;
  for (int field = 3; field <= 24 && position < content->size(); ++field) {
    const auto end = content->find(' ', position);
    const char* first = content->data() + position;
    const char* last = content->data() + (end == std::string::npos ? content->size() : end);
    if (field == 3) line.state = *first;
    if (field == 4) std::from_chars(first, last, line.parent);
    if (field == 22) std::from_chars(first, last, line.start_ticks);
    if (field == 24) std::from_chars(first, last, line.resident_pages);
    if (end == std::string::npos) break;
    position = end + 1;
  }
  if (line.start_ticks == 0) return std::nullopt;
  return line;
}

std::vector<pid_t> all_processes() {
  std::vector<pid_t> pids;
  std::error_code ignored;  // a machine without /proc has no processes to find
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc{} && end == name.data() + name.size()) pids.push_back(pid);
  }
  return pids;
}

std::vector<pid_t> processes_whose_environment_holds(const std::string& bytes) {
  std::vector<pid_t> found;
  for (const pid_t pid : all_processes()) {
    const auto environment = read_file("/proc/" + std::to_string(pid) + "/environ");
    if (environment && ('\0' + *environment).find(bytes) != std::string::npos) found.push_back(pid);
  }
  return found;
}

}  // namespace

ProcessIdentity own_identity() {
  const pid_t pid = ::getpid();
  const auto line = read_stat(pid);
  return {pid, line ? line->start_ticks : 0, current_boot_id()};
}

const std::string& current_boot_id() {
  static const std::string id = [] {
    auto content = read_file("/proc/sys/kernel/random/boot_id");
    if (!content) return std::string();
    return content->substr(0, content->find('\n'));
  }();
  return id;
}

FileDescriptor open_process(const ProcessIdentity& identity) {
  if (identity.pid <= 0 || identity.boot_id != current_boot_id()) return {};
  FileDescriptor opened(static_cast<int>(::syscall(SYS_pidfd_open, identity.pid, 0)));
  if (!opened) return {};
  // Looked at after opening: if it is the right one now, the descriptor can be nobody else's.
  const auto line = read_stat(identity.pid);
  if (!line || line->start_ticks != identity.start_ticks) return {};
  return opened;
}

pid_t pid_of(const FileDescriptor& process) {
  const auto content = read_file("/proc/self/fdinfo/" + std::to_string(process.get()));
  constexpr std::string_view kPid = "\nPid:\t";
  const auto at = content ? content->find(kPid) : std::string::npos;
  pid_t pid = 0;
  if (at != std::string::npos)
    std::from_chars(content->data() + at + kPid.size(), content->data() + content->size(), pid);
  return std::max(pid, 0);  // -1 when it is gone
}

bool handles_signal(pid_t pid, int signal) {
  const auto status = read_file("/proc/" + std::to_string(pid) + "/status");
  constexpr std::string_view kCaught = "\nSigCgt:\t";
  const auto at = status ? status->find(kCaught) : std::string::npos;
  if (at == std::string::npos) return false;
  const std::uint64_t caught = std::stoull(status->substr(at + kCaught.size(), 16), nullptr, 16);
  return (caught >> (signal - 1) & 1) != 0;
}

std::int64_t boottime_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

ProcessTree::ProcessTree() {
  const std::int64_t page_kib = ::sysconf(_SC_PAGESIZE) / 1024;
  for (const pid_t pid : all_processes()) {
    const auto line = read_stat(pid);
    if (!line || line->state == 'Z') continue;
    processes_[pid] = {line->start_ticks, line->resident_pages * page_kib};
    children_.emplace(line->parent, pid);
  }
}

std::vector<pid_t> ProcessTree::descendants_of(pid_t root) const {
  std::vector<pid_t> found{root};
  for (std::size_t next = 0; next < found.size(); ++next) {
    const auto [begin, end] = children_.equal_range(found[next]);
    for (auto child = begin; child != end; ++child) found.push_back(child->second);
  }
  found.erase(found.begin());
  return found;
}

std::int64_t ProcessTree::resident_kib_below(pid_t root) const {
  std::int64_t kibibytes = 0;
  for (const pid_t pid : descendants_of(root)) kibibytes += processes_.at(pid).resident_kib;
  return kibibytes;
}

std::uint64_t ProcessTree::start_ticks_of(pid_t pid) const {
  const auto found = processes_.find(pid);
  return found == processes_.end() ? 0 : found->second.start_ticks;
}

std::vector<pid_t> processes_with_environment(const std::string& entry) {
  return processes_whose_environment_holds('\0' + entry + '\0');
}

std::vector<pid_t> processes_with_environment_from(const std::string& beginning) {
  return processes_whose_environment_holds('\0' + beginning);
}

void kill_if_stopped(const ProcessIdentity& identity) {
  const FileDescriptor process = open_process(identity);
  const auto line = read_stat(identity.pid);
  const bool stopped = line && (line->state == 'T' || line->state == 't');
  if (process && stopped) ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
}

}  // namespace fairwater::inline process
