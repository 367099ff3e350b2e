// The one function from a journal record to the state that follows from it.
//
// Pure: what it does depends on the state and the record alone. The ledger runs it on every append,
// and verify on the whole journal, so that both can be compared byte for byte.
//
// It refuses a record that contradicts the state (a grant of a task that does not wait, a deal that
// does not add up): such a record must not become durable. Words that come late or twice are no
// contradiction: a result or a requeue of an attempt that is not the running one changes nothing.
#pragma once

#include <vector>

#include "model/journal.hpp"
#include "storage/state.hpp"

namespace fairwater::inline storage {

/// Applies the record, whose number and hash of the predecessor must follow on the state's.
/// On an error (`internal`, a sentence that names the record's number) the state is half changed
/// and must be thrown away. O(tasks, lines and IOUs in the record), not O(state) but for
/// TenantRemoved.
[[nodiscard]] caf::error apply(State& state, const JournalRecord& record);

/// The same; what follows for services' tasks that return is appended to `restarts`.
[[nodiscard]] caf::error apply(State& state, const JournalRecord& record,
                               std::vector<ServiceRestart>& restarts);
/// So that the journal says it, too.
void note_restarts(JournalRecord& record, std::vector<ServiceRestart> restarts);

/// Hash of a journal record's bytes: BLAKE2b-256.
[[nodiscard]] Hash hash_of(std::string_view bytes);

}  // namespace fairwater::inline storage
