// What every part of a simulated cluster shares: virtual time with its events, the one source of
// chance, and the log by which two runs are compared.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model/resources.hpp"
#include "model/time.hpp"
#include "policy/core/splitmix64.hpp"
#include "policy/gpu/node.hpp"

namespace fairwater::cluster_sim {

inline constexpr std::int64_t kMs = 1'000;  ///< in microseconds, the unit of virtual time
inline constexpr std::int64_t kSecond = 1'000 * kMs;

/// Of the simulated cluster: the default ones, and GPUs that tasks share.
[[nodiscard]] inline ResourceCatalog simulated_resources() {
  std::vector<ResourceKind> kinds = ResourceCatalog{}.kinds();
  kinds.push_back({std::string(kSharedGpus), 100, 1});
  return *ResourceCatalog::make(std::move(kinds));
}

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : numbers_(seed) {}
  /// From 0 to count - 1.
  std::uint64_t below(std::uint64_t count) { return numbers_.below(count); }
  /// Both ends included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
  }
  bool percent(std::uint64_t share) { return below(100) < share; }
  bool permille(std::uint64_t share) { return below(1000) < share; }
  /// Small values are as likely as large ones, in proportion: from `low` to `high`.
  std::int64_t spread(std::int64_t low, std::int64_t high);

 private:
  SplitMix64 numbers_;
};

/// Events in the order of their time; those of one moment in the order in which they were planned.
class Timeline {
 public:
  using Event = std::function<void()>;

  [[nodiscard]] std::int64_t now_us() const { return now_us_; }
  [[nodiscard]] WallTime wall_time() const;
  void at(std::int64_t us, Event event) {
    events_.emplace(std::max(us, now_us_), std::move(event));
  }
  void in(std::int64_t us, Event event) { at(now_us_ + us, std::move(event)); }
  [[nodiscard]] std::optional<std::int64_t> next_us() const;
  void move_to(std::int64_t us) { now_us_ = std::max(now_us_, us); }
  /// One event whose time has come; false when there is none.
  bool run_one();

 private:
  std::int64_t now_us_ = 0;
  std::multimap<std::int64_t, Event> events_;
};

/// Lines of what happened. Two runs are the same when their hashes are.
class EventLog {
 public:
  EventLog(const Timeline& time, bool verbose) : time_(time), verbose_(verbose) {}
  template <class... Args>
  void line(fmt::format_string<Args...> text, Args&&... args) {
    add(fmt::format(text, std::forward<Args>(args)...));
  }
  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  [[nodiscard]] std::uint64_t lines() const { return lines_; }

 private:
  void add(const std::string& text);

  const Timeline& time_;
  bool verbose_;
  std::uint64_t hash_ = 0xcbf29ce484222325U;  // FNV-1a
  std::uint64_t lines_ = 0;
};

struct Stage {
  Stage(std::uint64_t seed, bool verbose) : chance(seed), log(time, verbose) {}
  Timeline time;
  Chance chance;
  EventLog log;
  /// The first promise that was broken; the run ends with it. May be set from within an actor.
  std::optional<std::string> violation;

  template <class... Args>
  void broken(fmt::format_string<Args...> text, Args&&... args) {
    if (violation) return;
    violation = fmt::format(text, std::forward<Args>(args)...);
    log.line("BROKEN: {}", *violation);
  }
};

}  // namespace fairwater::cluster_sim
