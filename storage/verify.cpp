#include "storage/verify.hpp"

#include <array>
#include <map>
#include <set>

#include <capnp/pretty-print.h>

#include "storage/dropped_jobs.hpp"
#include "storage/history.hpp"
#include "storage/replay.hpp"

namespace fairwater::inline storage {
namespace {

constexpr std::size_t kMaxDifferences = 100;
constexpr std::size_t kMaxValueText = 300;

template <class Wire>
std::string text_as(std::string_view bytes) {
  const Expected<std::string> text = guard_decoding([&] {
    RecordReader message(bytes);
    return std::string(kj::str(message.root<Wire>()).cStr());
  });
  return text ? *text : "unreadable (" + details(text.error()).message + ")";
}

/// A record as an operator can read it.
std::string text_of(Family family, std::string_view bytes) {
  std::string text;
  switch (family) {
    case Family::journal:
      text = text_as<wire::JournalRecord>(bytes);
      break;
    case Family::meta:
      text = text_as<wire::MetaRecord>(bytes);
      break;
    case Family::balances:
      text = text_as<wire::IouRecord>(bytes);
      break;
    case Family::tenants:
      text = text_as<wire::TenantRecord>(bytes);
      break;
    case Family::nodes:
      text = text_as<wire::NodeRecord>(bytes);
      break;
    case Family::jobs:
      text = text_as<wire::JobRecord>(bytes);
      break;
    case Family::tasks:
      text = text_as<wire::TaskRecord>(bytes);
      break;
    case Family::live:
      text = text_as<wire::LiveRecord>(bytes);
      break;
    case Family::tokens:
      text = text_as<wire::TokenRecord>(bytes);
      break;
    case Family::classes:
      text = text_as<wire::ClassRecord>(bytes);
      break;
    case Family::tenant_jobs:
      text = text_as<wire::TenantJobRecord>(bytes);
      break;
    case Family::reservations:
      text = text_as<wire::Reservation>(bytes);
      break;
    case Family::class_jobs:
      text = text_as<wire::ClassJobRecord>(bytes);
      break;
    case Family::requests:
      text = text_as<wire::RequestRecord>(bytes);
      break;
    case Family::users:
      text = text_as<wire::UserRecord>(bytes);
      break;
    case Family::usage:
      text = text_as<wire::UsageRecord>(bytes);
      break;
  }
  if (text.size() > kMaxValueText) text = text.substr(0, kMaxValueText) + "..";
  return text;
}

std::string text_of_key(Family family, std::string_view key) {
  switch (family) {
    case Family::journal:
    case Family::jobs:
    case Family::live:
      if (key.size() == 8) return std::to_string(from_big_endian<std::uint64_t>(key));
      break;
    case Family::tenants:
    case Family::nodes:
    case Family::reservations:
      if (key.size() == 4) return std::to_string(from_big_endian<std::uint32_t>(key));
      break;
    case Family::balances:
      if (key.size() == 8)
        return std::to_string(from_big_endian<std::uint32_t>(key)) + " to " +
               std::to_string(from_big_endian<std::uint32_t>(key.substr(4)));
      break;
    case Family::tasks:
      if (key.size() == 12)
        return std::to_string(from_big_endian<std::uint64_t>(key)) + "." +
               std::to_string(from_big_endian<std::uint32_t>(key.substr(8)));
      break;
    case Family::tenant_jobs:
      if (key.size() == 12)
        return std::to_string(from_big_endian<std::uint32_t>(key)) + "." +
               std::to_string(from_big_endian<std::uint64_t>(key.substr(4)));
      break;
    case Family::users:
      if (key.size() >= 4)
        return std::to_string(from_big_endian<std::uint32_t>(key)) + "." +
               std::string(key.substr(4));
      break;
    case Family::usage:
      if (const auto group = usage_group_of(key))
        return iso_date(group->day) + " " + std::to_string(group->tenant.value) + "." + group->user;
      break;
    case Family::meta:
    case Family::tokens:
    case Family::classes:
    case Family::class_jobs:
    case Family::requests:
      break;
  }
  return printable_key(key);
}

std::string text_of_part(SegmentPart part) {
  switch (part) {
    case SegmentPart::journal:
      return "journal";
    case SegmentPart::jobs:
      return "jobs";
    case SegmentPart::tasks:
      return "tasks";
    case SegmentPart::standing:
      break;
  }
  return "state";
}

class Verification {
 public:
  Verification(const Snapshot& snapshot, const Archive& archive)
      : snapshot_(snapshot), archive_(archive) {}

  VerifyReport run(VerifyScope scope) {
    const std::uint64_t begin = journal_begin(snapshot_);
    const bool is_whole =
        (scope == VerifyScope::archive ? prove_archive(begin - 1) : begin_with(begin - 1)) &&
        replay();
    // What follows from half a journal differs everywhere: the break alone says more.
    if (is_whole) {
      if (!is_as_given(begin - 1)) {
        add_listed(begin - 1);
        compare();
      }
      check_balances();
    }
    report_.ok = report_.differences.empty();
    return std::move(report_);
  }

 private:
  void differ(const std::string& sentence) {
    if (report_.differences.size() < kMaxDifferences) report_.differences.push_back(sentence);
  }

  /// Takes what stood after record `end` from the archive; false when it is not there.
  bool begin_with(std::uint64_t end) {
    if (end == 0) return true;
    for (const SegmentName& segment : archive_.segments())
      if (const auto reader = segment.last == end ? archive_.open(segment) : nullptr) {
        load_standing(*reader, records_);
        report_.begins_after = end;
        return true;
      }
    differ("journal: its first record is " + std::to_string(end + 1) +
           ", and the archive has no file that ends with the one before");
    return false;
  }

  /// Folds the archive up to record `end`, and compares what comes of it with what it holds; false
  /// when it breaks off.
  bool prove_archive(std::uint64_t end) {
    const auto segments = archive_.segments();
    std::uint64_t proved = 0;
    for (const SegmentName& segment : segments) {
      if (segment.last > end) break;
      const auto reader = archive_.open(segment);
      if (!reader) continue;
      if (segment.first == proved + 1) {
        if (!prove(segment, *reader)) return false;
      } else if (proved == 0) {
        // The oldest that is kept: from what stood after it the others are proved.
        load_standing(*reader, records_);
        report_.begins_after = segment.last;
      } else {
        differ("archive: records " + std::to_string(proved + 1) + " to " +
               std::to_string(segment.first - 1) + " are missing");
        return false;
      }
      proved = segment.last;
    }
    if (proved == end) return true;
    differ("archive: it ends with record " + std::to_string(proved) +
           ", and the journal begins with record " + std::to_string(end + 1));
    return false;
  }

  bool prove(const SegmentName& segment, const SegmentReader& reader) {
    JournalReplay replay(records_);
    std::optional<std::string> wrong;
    reader.walk(SegmentPart::journal, "", [&](std::string_view key, std::string_view bytes) {
      wrong = replay.take(key, bytes);
      if (!wrong) ++report_.records;
      return !wrong;
    });
    replay.end();
    const std::string place = "archive " + segment.text() + ": ";
    if (!wrong && replay.last_number() != segment.last)
      wrong = "its journal ends with record " + std::to_string(replay.last_number());
    if (wrong) {
      differ(place + *wrong);
      return false;
    }
    compare_segment(place, reader);
    return true;
  }

  /// All but its journal, with what the fold gave: both come in the order of keys.
  void compare_segment(const std::string& place, const SegmentReader& reader) {
    SegmentCursor held(reader, SegmentPart::jobs);
    const auto is_before = [&](SegmentPart part, std::string_view key) {
      return held.is_valid() && std::pair(held.part(), held.key()) < std::pair(part, key);
    };
    const auto differ_at = [&](SegmentPart part, std::string_view key, const char* how) {
      differ(place + text_of_part(part) + " " + printable_key(key) + how);
    };
    cut_history(records_, [&](SegmentPart part, std::string_view key, std::string_view value) {
      for (; is_before(part, key); held.next())
        differ_at(held.part(), held.key(), " is there, its journal gives nothing");
      if (!held.is_valid() || held.part() != part || held.key() != key)
        return differ_at(part, key, " is not there, its journal gives it");
      if (held.value() != value) differ_at(part, key, " is not what its journal gives");
      held.next();
    });
    for (; held.is_valid(); held.next())
      differ_at(held.part(), held.key(), " is there, its journal gives nothing");
  }

  /// Folds the database's journal; false when it breaks off.
  bool replay() {
    JournalReplay replay(records_);
    std::optional<std::string> wrong;
    snapshot_.walk(Family::journal, "", false, [&](std::string_view key, std::string_view bytes) {
      wrong = replay.take(key, bytes);
      if (!wrong) ++report_.records;
      return !wrong;
    });
    if (wrong) {
      differ(*wrong);
      return false;
    }
    replay.end();
    const LedgerMeta& meta = replay.meta();
    if (meta.last_number > 0) report_.end = {meta.incarnation, meta.last_number, meta.last_hash};
    return true;
  }

  /// Files with jobs that the archive holds up to record `end`, and the database lists, too; until
  /// `visit` returns false, then that is returned.
  bool visit_listed(std::uint64_t end,
                    const std::function<bool(const SegmentReader&, const IsWanted&)>& visit) {
    const DroppedJobs dropped = read_dropped(snapshot_);
    for (const SegmentName& segment : archive_.segments()) {
      if (segment.last > end || dropped.all_of(segment)) continue;
      const auto reader = archive_.open(segment);
      if (reader &&
          !visit(*reader, [&](const JobRecord& job) { return !dropped.has(segment, job); }))
        return false;
    }
    return true;
  }

  void add_listed(std::uint64_t end) {
    visit_listed(end, [&](const SegmentReader& segment, const IsWanted& is_listed) {
      load_jobs(segment, records_, is_listed);
      return true;
    });
  }

  /// Whether the database has what the journal gives, the jobs of the archive that it lists, and
  /// nothing else. It has those jobs one by one, however many they are; which record differs is
  /// only looked for, with all of them in memory, where one does.
  bool is_as_given(std::uint64_t end) {
    std::array<std::uint64_t, kFamilyCount> listed{};
    const bool has_listed = visit_listed(end, [&](const SegmentReader& segment,
                                                  const IsWanted& is_listed) {
      return visit_jobs(segment, is_listed,
                        [&](Family family, const std::string& key, const std::string& value) {
                          ++listed[static_cast<std::size_t>(family)];
                          return !records_.get(family, key) && snapshot_.get(family, key) == value;
                        });
    });
    if (!has_listed) return false;
    for (std::size_t i = 0; i < kFamilyCount; ++i)
      if (const auto family = static_cast<Family>(i);
          family != Family::journal && snapshot_.has(family) && !has_as_given(family, listed[i]))
        return false;
    return true;
  }

  bool has_as_given(Family family, std::uint64_t listed) {
    std::uint64_t found = 0;
    std::uint64_t others = 0;
    bool is_equal = true;
    snapshot_.scan(family, [&](std::string_view key, std::string_view stored) {
      const auto expected = records_.get(family, std::string(key));
      ++(expected ? found : others);
      is_equal = is_equal && (!expected || *expected == stored);
    });
    std::uint64_t given = 0;
    records_.scan(family, [&](std::string_view, std::string_view) { ++given; });
    return is_equal && given == found && others == listed;
  }

  void compare() {
    for (std::size_t i = 0; i < kFamilyCount; ++i)
      if (const auto family = static_cast<Family>(i);
          family != Family::journal && snapshot_.has(family))
        compare_family(family);
  }

  void compare_family(Family family) {
    const std::string name = name_of(family);
    std::uint64_t found = 0;
    snapshot_.scan(family, [&](std::string_view key, std::string_view stored) {
      const auto expected = records_.get(family, std::string(key));
      const std::string place = name + " " + text_of_key(family, key) + ": ";
      found += expected ? 1 : 0;
      if (!expected)
        differ(place + "stored " + text_of(family, stored) + ", the journal gives nothing");
      else if (*expected != stored)
        differ(place + "stored " + text_of(family, stored) + ", the journal gives " +
               text_of(family, *expected));
    });
    std::uint64_t given = 0;
    records_.scan(family, [&](std::string_view, std::string_view) { ++given; });
    if (given > found) name_missing(family);
  }

  void name_missing(Family family) {
    records_.scan(family, [&](std::string_view key, std::string_view bytes) {
      if (!snapshot_.get(family, std::string(key)))
        differ(std::string(name_of(family)) + " " + text_of_key(family, key) +
               ": nothing is stored, the journal gives " + text_of(family, bytes));
    });
  }

  /// Nets sum to zero, and nobody is on both sides, of what is stored.
  void check_balances() {
    std::map<std::uint32_t, Units> nets;
    std::set<std::uint32_t> debtors;
    std::set<std::uint32_t> creditors;
    snapshot_.scan(Family::balances, [&](std::string_view key, std::string_view bytes) {
      const Expected<IouRecord> iou = from_bytes<IouRecord>(bytes);
      if (!iou || key.size() != 8) return;  // compare() named it
      const auto debtor = from_big_endian<std::uint32_t>(key);
      const auto creditor = from_big_endian<std::uint32_t>(key.substr(4));
      const Units units = iou->units;
      nets[debtor] -= units;
      nets[creditor] += units;
      debtors.insert(debtor);
      creditors.insert(creditor);
    });
    for (const auto& [member, net] : nets) report_.net_sum += net;
    if (report_.net_sum != 0)
      differ("balances: the nets add up to " + std::to_string(report_.net_sum));
    for (const std::uint32_t member : debtors)
      if (creditors.contains(member))
        differ("balances: tenant " + std::to_string(member) + " is both debtor and creditor");
  }

  const Snapshot& snapshot_;
  const Archive& archive_;
  RebuiltRecords records_;
  VerifyReport report_;
};

}  // namespace

VerifyReport verify_snapshot(const Snapshot& snapshot, const Archive& archive, VerifyScope scope) {
  return Verification(snapshot, archive).run(scope);
}

}  // namespace fairwater::inline storage
