#include "daemon/replication/replica_steps.hpp"

#include <algorithm>
#include <cstddef>

#include "schema/codec.hpp"

namespace fairwater::inline daemon::inline replication {
namespace {

/// What a follower may be behind, and silent for, that is asked to take over.
constexpr std::uint64_t kMostBehind = 10'000;
constexpr std::int64_t kMostSilentMs = kSilentReplicaMs;

/// What shares a synced write: a crash loses all of it or nothing.
constexpr std::size_t kMostBytesAtOnce = std::size_t{4} << 20;

std::size_t bytes_of(const StoredGroup& group) {
  std::size_t bytes = 0;
  for (const auto& record : group.records) bytes += record.size();
  return bytes;
}

caf::error left_behind(std::uint64_t last, const ReplicaPlace& place, std::uint64_t next) {
  return make_error(ErrorCode::storage_behind,
                    "the ledger in " + place.data + " ends with record " + std::to_string(last) +
                        ", and etcd keeps records from " + std::to_string(next) +
                        " on alone: begin with a backup of another coordinator (--join)");
}

caf::error no_journal(const ReplicaPlace& place) {
  return make_error(ErrorCode::wrong_state, "etcd holds no journal under '" + place.prefix +
                                                "': the first coordinator begins one with --found");
}

/// A ledger that was one of several had a journal there.
caf::error no_journal(const Ledger& ledger, const ReplicaPlace& place) {
  const ErrorDetails said = details(no_journal(place));
  return make_error(said.code,
                    said.message + ". Where there was one, etcd has lost it: keep the ledger in " +
                        place.data + ", which goes on to record " +
                        std::to_string(ledger.last_number()) +
                        ", stop all coordinators, and begin with the newest of their ledgers");
}

/// Whether what the view has goes on from there; an error when its first record cannot be read.
Expected<bool> goes_on(const LedgerMark& end, const JournalView& view) {
  if (end.number == view.head->number) return end.hash == view.head->hash;
  const auto next = from_bytes<JournalRecord>(view.groups.front().records.front());
  if (!next) return next.error();
  return end.hash == next->previous;
}

bool goes_on_from(const Ledger& ledger, const JournalHead& head) {
  const auto next = ledger.record(head.number + 1);
  return next && next->previous == head.hash;
}

/// No ledger gets a record before etcd has it.
caf::error etcd_set_back(const Ledger& ledger, const JournalView& view, const ReplicaPlace& place) {
  return make_error(ErrorCode::storage_behind,
                    "etcd has lost what followed on record " + std::to_string(view.head->number) +
                        ", as where its members' data was put back; the ledger in " + place.data +
                        " goes on to record " + std::to_string(ledger.last_number()) +
                        ". Keep it: stop all coordinators, start etcd empty, and found the journal "
                        "anew with the newest ledger (--found)");
}

/// In a few writes: what gathers between two looks needs no sync for each group.
caf::error append_groups(Ledger& ledger, const JournalView& view, const ReplicaPlace& place) {
  const auto end = view.groups.end();
  for (auto group = view.groups.begin(); group != end;) {
    std::vector<std::string> records;
    for (std::size_t bytes = 0; group != end; ++group) {
      bytes += bytes_of(*group);
      if (!records.empty() && bytes > kMostBytesAtOnce) break;
      if (group->first != ledger.last_number() + 1 + records.size())
        return left_behind(ledger.last_number(), place, group->first);
      records.insert(records.end(), group->records.begin(), group->records.end());
    }
    if (caf::error failed = ledger.follow(records)) return failed;
  }
  return {};
}

}  // namespace

Expected<TakenIn> take_in(Ledger& ledger, const JournalView& view, const ReplicaPlace& place) {
  if (!view.head) return no_journal(ledger, place);
  if (caf::error newer = refuse_newer("the journal in etcd under '" + place.prefix + "'",
                                      view.needs, place.version))
    return newer;
  if (caf::error failed = append_groups(ledger, view, place)) {
    if (details(failed).code == ErrorCode::disk_full) return TakenIn{false, true};
    return failed;
  }
  const JournalHead head = ledger.head();
  if (head.number < view.head->number) {
    if (view.groups.empty()) return left_behind(head.number, place, view.head->number);
    return TakenIn{true, false};
  }
  if (head == *view.head) return TakenIn{};
  if (goes_on_from(ledger, *view.head)) return etcd_set_back(ledger, view, place);
  return make_error(ErrorCode::storage_damaged,
                    "the ledger in " + place.data + " ends with record " +
                        std::to_string(head.number) + ", the journal in etcd with record " +
                        std::to_string(view.head->number) +
                        ": they are of two histories. Keep it: what was acknowledged may be in it "
                        "alone. Where it is not, replace it by a copy of another coordinator's "
                        "(--join)");
}

caf::error check_backup(const LedgerMark& end, const JournalView& view, const ReplicaPlace& place) {
  if (!view.head) return no_journal(place);
  bool follows = end.number <= view.head->number;
  if (end.number < view.head->number) {
    if (view.groups.empty()) return left_behind(end.number, place, view.head->number);
    if (view.groups.front().first != end.number + 1)
      return left_behind(end.number, place, view.groups.front().first);
  }
  if (follows) {
    const auto found = goes_on(end, view);
    if (!found) return found.error();
    follows = *found;
  }
  if (follows) return {};
  return make_error(ErrorCode::storage_damaged,
                    "the backup in " + place.data + " ends with record " +
                        std::to_string(end.number) +
                        ", on which the journal in etcd does not go on: they are of two histories. "
                        "Take a backup of the coordinator that leads (fairwater ledger backup)");
}

std::vector<ReplicaInfo> replicas_of(const EtcdJournal& journal, const std::string& own) {
  std::vector<ReplicaInfo> infos;
  for (const auto& holds : journal.replicas()) {
    const std::int64_t silent_ms = holds.name == own ? 0 : journal.silent_ms(holds);
    infos.push_back({holds.name, holds.address, holds.number, holds.version, holds.at, silent_ms});
  }
  return infos;
}

bool may_lead(const EtcdJournal& journal, const std::string& own, bool has_full_disk,
              bool holds_all) {
  if (!has_full_disk) return true;
  const auto all = journal.replicas();
  return holds_all && std::none_of(all.begin(), all.end(), [&](const ReplicaHolds& holds) {
           return holds.name != own && !holds.disk_full &&
                  journal.was_heard(holds.name, kMostSilentMs);
         });
}

std::string Leading::why_waiting() const {
  const auto silent_ms = journal_.unanswered_ms();
  if (!silent_ms || *silent_ms < kConfirmedMs) {
    const caf::error full = journal_.admit();
    return full ? details(full).message : std::string{};
  }
  const std::string seconds = std::to_string(*silent_ms / 1000);
  if (journal_.is_store_full())
    return "etcd's store is full, for " + seconds +
           " s: nothing becomes durable and no lease is extended until its members have a larger "
           "--quota-backend-bytes, and their alarms were disarmed (etcdctl alarm disarm)";
  return "no majority of etcd has answered for " + seconds +
         " s: nothing becomes durable and no lease is extended until it does";
}

caf::error Leading::hand_over() const {
  if (const auto silent_ms = journal_.unanswered_ms(); silent_ms && *silent_ms >= kConfirmedMs)
    return make_error(ErrorCode::wrong_state, why_waiting() + ": nobody could take over");
  const auto all = journal_.replicas();
  const auto own = std::find_if(all.begin(), all.end(),
                                [&](const ReplicaHolds& holds) { return holds.name == name_; });
  const auto can_lead = [&](const ReplicaHolds& holds) {
    return holds.name != name_ && own != all.end() && !holds.disk_full &&
           holds.number + kMostBehind >= own->number &&
           journal_.was_heard(holds.name, kMostSilentMs);
  };
  if (std::none_of(all.begin(), all.end(), can_lead))
    return make_error(ErrorCode::wrong_state,
                      "no other coordinator was heard of within 3 s that has all but the newest " +
                          std::to_string(kMostBehind) + " records and room on its disk");
  on_hand_over_();
  return {};
}

}  // namespace fairwater::inline daemon::inline replication
