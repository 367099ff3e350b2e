#include "actors/agent_directory.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>

namespace fairwater {
namespace {

constexpr std::string_view kHead = "fairwater-agent 1\ninstance ";
constexpr std::size_t kInstanceDigits = 32;

Expected<std::string> new_instance() {
  std::array<unsigned char, kInstanceDigits / 2> bytes;
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return system_error("cannot make an instance id", errno);
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
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

caf::error create(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return system_error("cannot make " + path.string(), error.value());
  auto instance = new_instance();
  if (!instance) return instance.error();
  return replace_file(path / "agent", std::string(kHead) + *instance + "\n",
                      Durability::power_loss);
}

/// Makes the directory an agent's, or says why it is none.
caf::error prepare(const std::filesystem::path& path, IfEmpty if_empty) {
  std::error_code error;
  if (std::filesystem::exists(path / "agent", error)) return caf::none;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_empty(path, error))
    return make_error(ErrorCode::invalid_input,
                      path.string() + " is not empty and not an agent's data directory", "data");
  if (error) return system_error("cannot look into " + path.string(), error.value());
  if (if_empty == IfEmpty::refuse)
    return make_error(ErrorCode::not_found,
                      path.string() + " holds no agent; a new one must be asked for", "data");
  return create(path);
}

Expected<std::uint64_t> load_high_water(const std::filesystem::path& file) {
  const auto content = read_file(file);
  if (!content && details(content.error()).code == ErrorCode::not_found) return std::uint64_t{0};
  if (!content) return content.error();
  std::uint64_t cycle = 0;
  const char* const last = content->data() + content->size();
  const auto [end, error] = std::from_chars(content->data(), last, cycle);
  if (error != std::errc{} || end == last || *end != '\n')
    return make_error(ErrorCode::storage_damaged, file.string() + " holds no cycle number");
  return cycle;
}

}  // namespace

Expected<AgentDirectory> AgentDirectory::open(const std::filesystem::path& path, IfEmpty if_empty) {
  if (auto error = prepare(path, if_empty)) return error;
  AgentDirectory directory;
  directory.path_ = path;
  directory.lock_.reset(::open((path / "agent").c_str(), O_RDONLY | O_CLOEXEC));
  if (!directory.lock_) return system_error("cannot open " + (path / "agent").string(), errno);
  if (::flock(directory.lock_.get(), LOCK_EX | LOCK_NB) != 0)
    return make_error(ErrorCode::storage_locked, path.string() + " is in use by another agent");
  const auto content = read_file(path / "agent");
  if (!content) return content.error();
  auto instance = parse_instance(*content, path / "agent");
  if (!instance) return instance.error();
  directory.instance_ = std::move(*instance);
  const auto high_water = load_high_water(path / "high-water");
  if (!high_water) return high_water.error();
  directory.high_water_cycle_ = *high_water;
  return directory;
}

caf::error AgentDirectory::keep_high_water(std::uint64_t cycle) const {
  return replace_file(path_ / "high-water", std::to_string(cycle) + "\n", Durability::power_loss);
}

}  // namespace fairwater
