#include "storage/verify.hpp"

#include <map>
#include <set>

#include <capnp/pretty-print.h>

#include "storage/fold.hpp"
#include "storage/rebuilt_records.hpp"

namespace fairwater {
namespace {

constexpr std::size_t kMaxDifferences = 100;
constexpr std::size_t kMaxValueText = 300;
/// So much of the journal is folded before its changes are put away.
constexpr std::size_t kBytesPerStep = std::size_t{4} << 20;

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
    case Family::meta:
    case Family::tokens:
    case Family::classes:
    case Family::class_jobs:
    case Family::requests:
      break;
  }
  return printable_key(key);
}

class Verification {
 public:
  explicit Verification(const Snapshot& snapshot) : snapshot_(snapshot) {}

  VerifyReport run() {
    State rebuilt(records_);
    const bool is_whole = replay(rebuilt);
    // What follows from half a journal differs everywhere: the break alone says more.
    if (is_whole) {
      if (report_.records > 0) records_.take_changes(rebuilt);
      compare();
      check_balances();
    }
    report_.ok = report_.differences.empty();
    return std::move(report_);
  }

 private:
  void differ(const std::string& sentence) {
    if (report_.differences.size() < kMaxDifferences) report_.differences.push_back(sentence);
  }

  /// Folds the whole journal; false when it breaks off.
  bool replay(State& rebuilt) {
    bool is_whole = true;
    snapshot_.walk(Family::journal, "", false, [&](std::string_view key, std::string_view bytes) {
      is_whole = replay_one(rebuilt, key, bytes);
      return is_whole;
    });
    return is_whole;
  }

  bool replay_one(State& rebuilt, std::string_view key, std::string_view bytes) {
    const std::uint64_t expected = rebuilt.meta.last_number + 1;
    const std::string place = "journal " + text_of_key(Family::journal, key) + ": ";
    if (key != journal_key(expected)) {
      differ(place + "record " + std::to_string(expected) + " is missing before it");
      return false;
    }
    const Expected<JournalRecord> record = from_bytes<JournalRecord>(bytes);
    if (!record) {
      differ(place + details(record.error()).message);
      return false;
    }
    if (const caf::error error = apply(rebuilt, *record)) {
      differ(place + details(error).message);
      return false;
    }
    rebuilt.meta.last_hash = hash_of(bytes);
    ++report_.records;
    step_bytes_ += bytes.size();
    if (step_bytes_ > kBytesPerStep) {
      step_bytes_ = 0;
      records_.take_changes(rebuilt);
    }
    return true;
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
  RebuiltRecords records_;
  std::size_t step_bytes_ = 0;  ///< of the journal, since changes were put away
  VerifyReport report_;
};

}  // namespace

VerifyReport verify_snapshot(const Snapshot& snapshot) { return Verification(snapshot).run(); }

}  // namespace fairwater
