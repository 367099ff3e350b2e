// Why a task waits for a pause to be over, in words. Pure.
#pragma once

#include <algorithm>
#include <string>

#include "state/job.hpp"
#include "state/service.hpp"

namespace fairwater::inline actors::inline coordinator {

/// No pause is longer.
inline constexpr std::int64_t kLongestPause_ms = std::max(kMaxBackoff_ms, kLongestServicePause_ms);

/// Of a task that backs off.
[[nodiscard]] std::string backoff_text(JobKind kind, const TaskRecord& task, WallTime now);

}  // namespace fairwater::inline actors::inline coordinator
