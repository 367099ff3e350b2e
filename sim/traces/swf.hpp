// The Standard Workload Format of the Parallel Workloads Archive (version 2.2): one line per job,
// 18 numbers, comments after `;`. Columns beyond the 18th, which some archives add, are kept as
// text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/errors.hpp"

namespace fairwater::inline swf {

/// A job of the log. Seconds and counts as they stand there: -1 is "not known".
struct SwfJob {
  std::int64_t number = 0;
  std::int64_t submit_s = 0;  ///< since the log's start
  std::int64_t run_s = -1;
  std::int64_t processors = -1;        ///< allocated, or requested where that is not known
  std::int64_t requested_s = -1;       ///< the user's estimate of run_s
  std::int64_t requested_memory = -1;  ///< KiB per processor; some logs mean something else
  std::int64_t user = -1;
  std::int64_t group = -1;
  std::int64_t queue = -1;
  std::string extra;  ///< the last of the columns beyond the 18th; empty: there are none
  friend bool operator==(const SwfJob&, const SwfJob&) = default;
};

struct SwfLog {
  std::vector<SwfJob> jobs;  ///< in the order of submission
  std::size_t skipped = 0;   ///< without a runtime or a processor: they never ran
};

/// What stands for a tenant in a log.
enum class TenantColumn : std::uint8_t { user, group, queue };
/// `u115`, `g7`, `q1`, or `u-unknown` where the log does not say.
[[nodiscard]] std::string tenant_name_of(const SwfJob& job, TenantColumn column);

/// Bound on what a file may unpack to.
inline constexpr std::size_t kMaxSwfBytes = 1u << 30;

/// Reads the first `max_jobs` (0: all) jobs that ran. `invalid_input` names the line and the
/// column.
[[nodiscard]] Expected<SwfLog> parse_swf(std::string_view text, std::size_t max_jobs);
/// A plain file or one packed by gzip, without a byte order mark at its beginning.
[[nodiscard]] Expected<std::string> read_maybe_gzip(const std::string& path, std::size_t max_bytes);

}  // namespace fairwater::inline swf
