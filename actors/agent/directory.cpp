#include "actors/agent/directory.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <optional>
#include <sstream>
#include <sys/file.h>
#include <sys/random.h>

#include <fmt/format.h>

#include "process/directory_place.hpp"

namespace fairwater::inline actors::inline agent {
namespace {

constexpr std::string_view kHead = "fairwater-agent 1\ninstance ";
constexpr std::size_t kInstanceDigits = 32;
constexpr std::string_view kEpochHead = "epoch ";

Expected<std::string> random_id() {
  std::array<std::uint8_t, kInstanceDigits / 2> bytes;
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return system_error("cannot make an id", errno);
  return to_hex(bytes);
}

Expected<std::string> parse_instance(const std::string& content,
                                     const std::filesystem::path& file) {
  const bool whole = content.starts_with(kHead) && content.ends_with('\n') &&
                     content.size() == kHead.size() + kInstanceDigits + 1;
  std::string instance = whole ? content.substr(kHead.size(), kInstanceDigits) : "";
  if (instance.empty() || instance.find_first_not_of("0123456789abcdef") != std::string::npos)
    return make_error(ErrorCode::storage_damaged, file.string() + " does not name an agent");
  return instance;
}

caf::error in_use(const std::filesystem::path& path) {
  return make_error(ErrorCode::storage_locked, path.string() + " is in use by another agent");
}

caf::error create(const std::filesystem::path& path) {
  auto instance = random_id();
  if (!instance) return instance.error();
  if (auto failed = replace_file(path / "agent", std::string(kHead) + *instance + "\n",
                                 Durability::power_loss))
    return failed;
  return mark_place(path);
}

caf::error no_agent(const std::filesystem::path& path) {
  return make_error(ErrorCode::not_found,
                    path.string() +
                        " holds no agent; a new one is made with a join token "
                        "(--join-token-file FILE), which the coordinator's --init wrote",
                    "data");
}

/// Nobody else prepares or owns the directory while it is held: there may be no file yet to lock.
Expected<FileDescriptor> lock_directory(const std::filesystem::path& path, IfEmpty if_empty) {
  std::error_code error;
  if (if_empty == IfEmpty::create) std::filesystem::create_directories(path, error);
  if (error) return system_error("cannot make " + path.string(), error.value());
  FileDescriptor lock(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock && errno == ENOENT) return no_agent(path);
  if (!lock) return system_error("cannot open " + path.string(), errno);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return in_use(path);
  return lock;
}

/// Nothing is in the locked directory, but for what a creation leaves that is cut off before its
/// rename.
Expected<bool> holds_nothing(const std::filesystem::path& path) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().filename() != "agent.new") return false;
  if (error) return system_error("cannot look into " + path.string(), error.value());
  return true;
}

/// Makes the locked directory an agent's, or says why it is none.
caf::error prepare(const std::filesystem::path& path, IfEmpty if_empty) {
  std::error_code error;
  if (std::filesystem::exists(path / "agent", error)) return caf::none;
  if (error) return system_error("cannot look into " + path.string(), error.value());
  const auto empty = holds_nothing(path);
  if (!empty) return empty.error();
  if (!*empty)
    return make_error(ErrorCode::invalid_input,
                      path.string() + " is not empty and not an agent's data directory", "data");
  return if_empty == IfEmpty::refuse ? no_agent(path) : create(path);
}

/// A file's decimal number; 0 where there is no such file.
Expected<std::uint64_t> load_number(const std::filesystem::path& file) {
  const auto content = read_file(file);
  if (!content && details(content.error()).code == ErrorCode::not_found) return std::uint64_t{0};
  if (!content) return content.error();
  std::uint64_t number = 0;
  const char* const last = content->data() + content->size();
  const auto [end, error] = std::from_chars(content->data(), last, number);
  if (error != std::errc{} || end + 1 != last || *end != '\n')
    return make_error(ErrorCode::storage_damaged, file.string() + " holds no number");
  return number;
}

std::string to_text(const ClusterMemory& memory) {
  const LedgerMark& seen = memory.seen;
  return fmt::format("{} {} {} {}\n", seen.number, seen.hash ? to_hex(*seen.hash) : "-",
                     seen.incarnation, memory.cluster_id) +
         (memory.epoch > 0 ? fmt::format("{}{}\n", kEpochHead, memory.epoch) : "");
}

std::optional<ClusterMemory> parse_mark(const std::string& line) {
  std::istringstream words(line);
  ClusterMemory memory;
  std::string hash;
  if (!(words >> memory.seen.number)) return std::nullopt;
  if (!(words >> hash)) return memory;  // an older agent's
  if (hash != "-") {
    memory.seen.hash = hash_from_hex(hash);
    if (!memory.seen.hash) return std::nullopt;
  }
  if (!(words >> memory.seen.incarnation)) return std::nullopt;
  words >> memory.cluster_id;  // empty when there is none
  return memory;
}

std::optional<ClusterMemory> parse_memory(const std::string& content) {
  if (!content.ends_with('\n')) return std::nullopt;
  const auto end = content.find('\n');
  auto memory = parse_mark(content.substr(0, end));
  const std::string rest = content.substr(end + 1);
  if (!memory || rest.empty()) return memory;
  if (!rest.starts_with(kEpochHead)) return std::nullopt;
  std::istringstream digits(rest.substr(kEpochHead.size()));
  if (!(digits >> memory->epoch)) return std::nullopt;
  return memory;
}

Expected<ClusterMemory> load_memory(const std::filesystem::path& file) {
  const auto content = read_file(file);
  if (!content && details(content.error()).code == ErrorCode::not_found) return ClusterMemory{};
  if (!content) return content.error();
  auto memory = parse_memory(*content);
  if (!memory)
    return make_error(ErrorCode::storage_damaged, file.string() + " holds no cycle number");
  return std::move(*memory);
}

/// Counts this start, durably: no other start of this directory shall ever have its number.
Expected<AgentRun> begin_run(const std::filesystem::path& path) {
  const auto before = load_number(path / "starts");
  if (!before) return before.error();
  auto id = random_id();
  if (!id) return id.error();
  AgentRun run{*before + 1, std::move(*id)};
  if (auto error =
          replace_file(path / "starts", std::to_string(run.starts) + "\n", Durability::power_loss))
    return error;
  return run;
}

}  // namespace

Expected<AgentDirectory> AgentDirectory::open(const std::filesystem::path& path, IfEmpty if_empty) {
  auto lock = lock_directory(path, if_empty);
  if (!lock) return lock.error();
  if (auto error = prepare(path, if_empty)) return error;
  AgentDirectory directory;
  directory.path_ = path;
  directory.lock_ = std::move(*lock);
  directory.file_lock_.reset(::open((path / "agent").c_str(), O_RDONLY | O_CLOEXEC));
  if (!directory.file_lock_) return system_error("cannot open " + (path / "agent").string(), errno);
  if (::flock(directory.file_lock_.get(), LOCK_EX | LOCK_NB) != 0) return in_use(path);
  const auto content = read_file(path / "agent");
  if (!content) return content.error();
  auto instance = parse_instance(*content, path / "agent");
  if (!instance) return instance.error();
  directory.instance_ = std::move(*instance);
  auto memory = load_memory(path / "high-water");
  if (!memory) return memory.error();
  const auto place = place_of(path);
  if (!place) return place.error();
  auto run = begin_run(path);
  if (!run) return run.error();
  // An older agent marked nothing: that is no sign of a copy.
  directory.identity_ = {std::move(*memory), std::move(*run), *place == Place::moved};
  return directory;
}

caf::error AgentDirectory::keep_memory(const ClusterMemory& memory) const {
  return replace_file(path_ / "high-water", to_text(memory), Durability::power_loss);
}

caf::error AgentDirectory::settle() const {
  const auto place = place_of(path_);
  if (!place) return place.error();
  return *place == Place::same ? caf::error() : mark_place(path_);
}

}  // namespace fairwater::inline actors::inline agent
