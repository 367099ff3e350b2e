// When a drain begins, and by when a node is to be empty, as people write it.
#pragma once

#include <cstdint>
#include <string>

#include "model/errors.hpp"
#include "model/time.hpp"

namespace fairwater::inline cli::inline cluster {

/// `2026-12-01T02:00Z`, with seconds or without, or so long from now: `12h`. `invalid_input` for
/// anything else. Whether that is too early or too late the coordinator says.
[[nodiscard]] Expected<WallTime> drain_begins(const std::string& text, WallTime now);
/// In milliseconds, at least one; empty: 0, none. `invalid_input` for anything else.
[[nodiscard]] Expected<std::int64_t> drain_deadline(const std::string& text);

}  // namespace fairwater::inline cli::inline cluster
