// What submissions leave in the memory of request ids (family `requests`): a list from the oldest
// to the newest, whose ends stand in the ledger's meta.
#pragma once

#include "storage/state.hpp"

namespace fairwater::inline storage {

/// Remembers the submission's request id, if it has one, and forgets a few of those that are older
/// than 7 days: more than come. Refuses (state/contradiction.hpp) an id that its tenant has used.
/// O(1).
void remember_request(State& state, const JobSubmitted& body, WallTime now);

}  // namespace fairwater::inline storage
