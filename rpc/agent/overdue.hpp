// When a report is overdue, and how often an agent then asks at other addresses who leads. Pure.
#pragma once

#include <cstdint>

namespace fairwater::inline rpc::inline agent {

/// So long a take-over may last (docs/replicas.md), in which every moment counts. Who waits longer
/// waits for a slow coordinator, or for the network.
inline constexpr std::int64_t kTakeoverMs = 3'000;

/// How long an answer may take before the node asks elsewhere: half a heartbeat. An answer takes a
/// commit, which is milliseconds, and a question costs the other coordinator no more than a word.
[[nodiscard]] constexpr std::int64_t overdue_after_ms(std::int64_t heartbeat_ms) {
  return heartbeat_ms / 2;
}

/// The pause between two questions, when a report has been unanswered for `waited_ms`.
[[nodiscard]] constexpr std::int64_t ask_again_after_ms(std::int64_t heartbeat_ms,
                                                        std::int64_t waited_ms) {
  return waited_ms < kTakeoverMs ? heartbeat_ms / 2 : heartbeat_ms * 3 / 2;
}

}  // namespace fairwater::inline rpc::inline agent
