// Since which format of the journal a record is known: what several coordinators of different
// versions may write for each other, and what tells an older program that it must not go on.
//
// A new kind of record, or a field without which a reader would come to another state, begins a new
// format: it is the next number, and journal_format.cpp says what needs it.
#pragma once

#include <cstdint>
#include <string>

#include "model/journal.hpp"

namespace fairwater::inline model {

using JournalFormat = std::uint32_t;

/// Of versions that say nothing of formats.
inline constexpr JournalFormat kFirstFormat = 1;
/// The newest that this version knows.
inline constexpr JournalFormat kNewestFormat = 7;

/// What a reader of a journal has to know, and the version that wrote what needs it.
struct JournalNeeds {
  JournalFormat format = kFirstFormat;
  std::string version = {};  ///< empty: not known
  friend bool operator==(const JournalNeeds&, const JournalNeeds&) = default;
};

/// What all who share a journal know, and who of them knows no more.
struct KnownFormat {
  JournalFormat format = kNewestFormat;
  std::string member = {};
  std::string version = {};
};

/// Which a reader of the record has to know. O(1).
[[nodiscard]] JournalFormat format_of(const JournalBody& body);

/// Says in the older way what can be said so: a coordinator's start without what `known` has not.
void say_in(JournalFormat known, JournalBody& body);

/// `unavailable` for a record that cannot be said so that all understand it: who does not, and that
/// it will do when that one is upgraded.
[[nodiscard]] caf::error refuse_unknown(const KnownFormat& known, const JournalBody& body);

/// `not_supported` when this program, of the version `own` (empty: not told), does not know what
/// `what` needs: which version does, and what to do.
[[nodiscard]] caf::error refuse_newer(const std::string& what, const JournalNeeds& needs,
                                      const std::string& own);

}  // namespace fairwater::inline model
