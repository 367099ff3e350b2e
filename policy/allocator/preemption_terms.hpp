// Whom nobody may preempt, whatever their jobs say, and who ends together.
#pragma once

#include "policy/allocator/allocator.hpp"

namespace fairwater::inline policy::inline allocator {

/// Of a job that says `said` of itself: a service is never preempted, a gang as a whole.
[[nodiscard]] constexpr PreemptionTerms with_exemptions(PreemptionTerms said, bool is_service,
                                                        bool is_gang) {
  said.is_preemptible = said.is_preemptible && !is_service;
  said.ends_as_gang = is_gang;
  return said;
}

}  // namespace fairwater::inline policy::inline allocator
