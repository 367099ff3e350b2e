// What the clients of a load submit.
#pragma once

#include <cstdint>
#include <vector>

#include "model/job.hpp"
#include "model/tenant.hpp"

namespace fairwater::load {

/// `t0`, `t1`, ..; with weights 1 to 4 in turn.
[[nodiscard]] std::vector<TenantSpec> tenants(std::uint32_t count);

/// An array of tasks of one cpu, each of which takes so long.
[[nodiscard]] JobSpec array_of(std::uint32_t tasks, std::int64_t claimed_ms);

}  // namespace fairwater::load
