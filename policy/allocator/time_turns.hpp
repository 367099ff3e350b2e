// Where the ledger counts time, whose turn it is: see the order in policy/allocator/by_time.hpp.
// Internal to policy/allocator.
#pragma once

#include <cstdint>

#include "policy/allocator/tenant.hpp"
#include "policy/allocator/turns.hpp"

namespace fairwater::inline policy::inline allocator {

class AllocatorState;

/// Whether the tenant, which waits, is owed nothing for what it is kept from, as it may not lend or
/// is owed all that it may be, owes nothing either, but comes to owe what it takes beyond its part.
[[nodiscard]] bool only_owes(const AllocatorState& state, const TenantState& tenant);

/// What a tenant's turn with its next task is made of: (held + owed / memory) / per. The task does
/// not count where the tenant only owes.
struct TurnTerms {
  MicroUnits held = 0;  ///< with the task
  Wide owed = 0;       ///< micro-unit-milliseconds: what the task is expected to take, less its net
  MicroUnits per = 1;  ///< its part, or 1
  friend bool operator==(const TurnTerms&, const TurnTerms&) = default;
};

/// While it waits.
[[nodiscard]] TurnPart turn_part(const TenantState& tenant);
[[nodiscard]] TurnTerms turn_terms(const AllocatorState& state, const TenantState& tenant,
                                   const WindowRange& next);
/// Who is before whom, whatever they hold and are owed.
enum class TurnClass : std::uint8_t {
  has_claim,     ///< below its mark
  is_owing,      ///< below its quota, and at its mark for what it owes
  beyond_quota,  ///< has what nobody else can use
};
[[nodiscard]] Turn turn_of(const TurnTerms& terms, TurnClass of, std::int64_t memory_ms);

/// No more than the value of `turn_of` with any memory within these bounds.
[[nodiscard]] double least_value(const TurnTerms& terms, std::int64_t least_memory_ms,
                                 std::int64_t most_memory_ms);
/// Whether a turn of that value or more is after this one, among turns of its class.
[[nodiscard]] bool is_surely_before(const Turn& turn, double value);

}  // namespace fairwater::inline policy::inline allocator
