// What the benchmarks of the allocator run: tasks of a processor with its memory, and jobs that
// never run out of them.
#pragma once

#include <cstdint>

#include "policy/allocator/allocator.hpp"

namespace fairwater {

inline constexpr std::uint32_t kEndlessTasks = 1U << 30;

/// Of so many such tasks together.
inline ResourceVector processors(Amount count) {
  ResourceVector amount;
  amount[kCpu] = 1000 * count;
  amount[kMemory] = 2048 * count;
  return amount;
}

/// Slots of a processor with its memory.
inline AllocatorSettings processor_settings(Accounting accounting) {
  AllocatorSettings settings;
  settings.granules = processors(1);
  settings.accounting = accounting;
  return settings;
}

/// Tasks of a job of the tenant's own from `first_task` on, as seen after the last deal.
inline DemandWindow endless_window(TenantId tenant, std::uint32_t first_task,
                                   std::int64_t expected_ms, std::int64_t limit_ms,
                                   std::uint64_t last_deal) {
  ResourceVector pending;
  pending[kCpu] = pending[kMemory] = Amount{kEndlessTasks} * 2048;
  return {.tenant = tenant,
          .next = {{.job = {tenant.value},
                    .first_index = first_task,
                    .count = kEndlessTasks,
                    .demand = processors(1),
                    .rule = nullptr,
                    .expected_ms = expected_ms,
                    .limit_ms = limit_ms}},
          .pending = pending,
          .pending_tasks = kEndlessTasks,
          .seen_deal = last_deal};
}

}  // namespace fairwater
