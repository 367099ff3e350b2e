// Where several coordinators agree on the next records of one journal, before any of them writes.
//
// Each keeps the whole ledger. The one that leads puts each group of records into the store and
// only then on its own disk, while the store is asked about the next group; the others read the
// groups there and append them as they are. The hash chain is the fence: a group is taken only if
// it follows on the newest, so that whoever was overtaken can add nothing any more, however late. A
// clock decides nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/errors.hpp"
#include "model/journal.hpp"
#include "model/journal_format.hpp"

namespace fairwater::inline storage {

/// The newest record of a journal, and the epoch that it belongs to.
struct JournalHead {
  std::uint64_t epoch = 0;
  std::uint64_t number = 0;
  Hash hash{};
  friend bool operator==(const JournalHead&, const JournalHead&) = default;
};

/// Records that become durable together.
struct RecordGroup {
  JournalHead before;                ///< on which they follow
  JournalHead after;                 ///< the last of them
  std::vector<std::string> records;  ///< as they are stored; the first is number before.number + 1
  JournalNeeds needs = {};           ///< of the journal up to `after`
};

class JournalStore {
 public:
  virtual ~JournalStore() = default;
  /// Blocks until it is known whether the group is part of the journal, however long that takes.
  /// `not_leader`: somebody else's records follow on `before`, this group never will.
  /// `unavailable`: told to stop asking; whether it is part of the journal is not known.
  /// `invalid_input`: the store takes no group of this size; it is no part of the journal.
  [[nodiscard]] virtual caf::error commit(const RecordGroup& group) = 0;
  /// `disk_full` while it has no room for more than what it takes to lead. From any thread.
  [[nodiscard]] virtual caf::error admit() const { return {}; }
  /// Records up to this one are on the disk of the coordinator that asks. From any thread.
  virtual void note_durable(std::uint64_t /*number*/) {}
  /// What all who share the journal know, as far as they were heard of. From any thread.
  [[nodiscard]] virtual KnownFormat known_format() const { return {}; }
};

}  // namespace fairwater::inline storage
