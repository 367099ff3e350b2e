// The scanner: listings, in slices.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include <caf/all.hpp>
#include <spdlog/spdlog.h>

#include "actors/coordinator/cluster.hpp"
#include "actors/coordinator/job_scan.hpp"
#include "actors/coordinator/ledger.hpp"
#include "actors/coordinator/profile_scan.hpp"
#include "actors/coordinator/usage_scan.hpp"
#include "model/text.hpp"
#include "schema/byte_budget.hpp"
#include "schema/codec.hpp"

namespace fairwater::inline actors::inline coordinator {

struct WaitEnded {
  std::uint64_t waiter = 0;
};
struct ScanOn {
  std::uint64_t scan = 0;
};
struct ProfileOn {
  std::uint64_t scan = 0;
};
struct UsageOn {
  std::uint64_t scan = 0;
};
struct FollowersTurn {};

}  // namespace fairwater::inline actors::inline coordinator

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::WaitEnded)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::ScanOn)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::ProfileOn)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::UsageOn)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::FollowersTurn)

namespace fairwater::inline actors::inline coordinator {
namespace {

/// Those who follow the journal hear of a record so much later, with what came meanwhile: a message
/// per record and follower would cost more than the record.
constexpr std::chrono::milliseconds kFollowersGather{50};
/// Together they get at most 50,000 records a second, and fall behind where more are written: a
/// record that is handed out costs about a tenth of this, most of it at the edge.
constexpr std::chrono::microseconds kRestPerRecord{20};
constexpr std::size_t kRecordsPerTurn = 1000;
/// A large record counts as so many as it has of these bytes.
constexpr std::size_t kBytesPerRecord = 1024;

using ScannerBase = LedgerScanner::extend<caf::reacts_to<WaitEnded>, caf::reacts_to<ScanOn>,
                                          caf::reacts_to<ProfileOn>, caf::reacts_to<UsageOn>,
                                          caf::reacts_to<FollowersTurn>>;

struct Follower {
  std::uint64_t id = 0;
  ReadRecords request;
  caf::typed_response_promise<JournalPage> promise;
};

/// A scan of the history that has not come to its end, and who waits for it.
template <class Scan>
struct OpenScan {
  Scan scan;
  caf::typed_response_promise<typename Scan::Answer> promise;
};
template <class Scan>
using OpenScans = std::map<std::uint64_t, OpenScan<Scan>>;

struct ScannerState {
  static inline const char* name = "ledger-scanner";
  std::shared_ptr<const Ledger> ledger;
  std::shared_ptr<StorageAlarm> alarm;
  ResourceCatalog catalog;
  std::function<WallTime()> wall_clock;
  AddFiles add_to_backup;
  bool makes_backup = false;
  /// Under way; their threads count them down.
  std::shared_ptr<std::atomic<int>> verifications = std::make_shared<std::atomic<int>>(0);
  // Bound of all four: each is a call that the gateway has admitted.
  std::deque<Follower> followers;  ///< in the order in which they asked
  OpenScans<JobScan> scans;
  OpenScans<ProfileScan> profiles;
  OpenScans<UsageScan> usages;
  bool turn_due = false;
  std::uint64_t last_id = 0;
};

using ScannerSelf = ScannerBase::stateful_pointer<ScannerState>;

// -- scans ----------------------------------------------------------------------------------------

/// One slice of the scan; answers when it is complete, else the others have their turn first.
template <class Turn, class Scan>
void scan_on(ScannerSelf self, OpenScans<Scan>& scans, std::uint64_t id) {
  auto& state = self->state;
  auto& open = scans.at(id);
  try {
    if (!open.scan.read_slice(*state.ledger)) {
      self->send(self, Turn{id});
      return;
    }
    open.promise.deliver(open.scan.take());
  } catch (const StorageFault& fault) {
    open.promise.deliver(state.alarm->raise(fault));
  }
  scans.erase(id);
}

template <class Turn, class Scan>
caf::result<typename Scan::Answer> begin_scan(ScannerSelf self, OpenScans<Scan>& scans, Scan scan) {
  const std::uint64_t id = ++self->state.last_id;
  auto promise = self->make_response_promise<typename Scan::Answer>();
  scans.emplace(id, OpenScan<Scan>{std::move(scan), promise});
  scan_on<Turn>(self, scans, id);
  return promise;
}

caf::result<UsageList> begin_usage(ScannerSelf self, const QuerySums& request) {
  auto& state = self->state;
  try {
    auto scan = UsageScan::make(*state.ledger, request);
    if (!scan) return scan.error();
    return begin_scan<UsageOn>(self, state.usages, std::move(*scan));
  } catch (const StorageFault& fault) {
    return state.alarm->raise(fault);
  }
}

// -- the journal ----------------------------------------------------------------------------------

struct RecordsRead {
  JournalPage page;
  std::size_t cost = 0;  ///< in records
};

RecordsRead read_records(const Ledger& ledger, const ReadRecords& request) {
  RecordsRead read;
  auto& records = read.page.records;
  const std::size_t limit = std::clamp<std::uint32_t>(request.limit, 1, 1000);
  std::size_t bytes = 0;
  ByteBudget budget;
  ledger.visit_journal(std::max<std::uint64_t>(request.since, 1), [&](const JournalRecord& record) {
    const std::size_t size = wire_bytes<wire::JournalRecord>(record);
    if (!budget.take(size)) return false;
    bytes += size;
    records.push_back(record);
    return records.size() < limit;
  });
  read.cost = std::max(records.size(), bytes / kBytesPerRecord);
  return read;
}

bool has_something_for(const ScannerState& state, const Follower& follower) {
  return follower.request.since <= state.ledger->last_number();
}

/// One turn is due at a time, and none while nobody has anything to hear.
void take_turn_later(ScannerSelf self, std::chrono::microseconds delay) {
  auto& state = self->state;
  if (state.turn_due) return;
  state.turn_due =
      std::any_of(state.followers.begin(), state.followers.end(),
                  [&](const Follower& follower) { return has_something_for(state, follower); });
  if (state.turn_due) self->delayed_send(self, delay, FollowersTurn{});
}

/// Most followers have heard the same: what is read for one serves the next.
void take_turn(ScannerSelf self) {
  auto& state = self->state;
  state.turn_due = false;
  std::size_t cost = 0;
  std::optional<ReadRecords> last;
  RecordsRead read;
  for (auto next = state.followers.begin();
       next != state.followers.end() && cost < kRecordsPerTurn;) {
    if (!has_something_for(state, *next)) {
      ++next;
      continue;
    }
    const ReadRecords& wanted = next->request;
    try {
      if (!last || last->since != wanted.since || last->limit != wanted.limit)
        read = read_records(*state.ledger, wanted);
      last = wanted;
      cost += read.cost;
      next->promise.deliver(read.page);
    } catch (const StorageFault& fault) {
      next->promise.deliver(state.alarm->raise(fault));
    }
    next = state.followers.erase(next);
  }
  take_turn_later(self, kRestPerRecord * cost);
}

caf::result<JournalPage> read_or_wait(ScannerSelf self, const ReadRecords& request) {
  auto& state = self->state;
  if (request.wait_ms <= 0)
    return read_or_raise<JournalPage>(*state.alarm,
                                      [&] { return read_records(*state.ledger, request).page; });
  auto promise = self->make_response_promise<JournalPage>();
  state.followers.push_back({++state.last_id, request, promise});
  take_turn_later(self, kFollowersGather);
  self->delayed_send(self,
                     std::chrono::milliseconds(std::min<std::int64_t>(request.wait_ms, 60'000)),
                     WaitEnded{state.last_id});
  return promise;
}

/// With what there is: the wait may be shorter than a turn is far away.
void end_wait(ScannerState& state, std::uint64_t id) {
  auto waiter = std::find_if(state.followers.begin(), state.followers.end(),
                             [id](const Follower& follower) { return follower.id == id; });
  if (waiter == state.followers.end()) return;
  try {
    waiter->promise.deliver(read_records(*state.ledger, waiter->request).page);
  } catch (const StorageFault& fault) {
    waiter->promise.deliver(state.alarm->raise(fault));
  }
  state.followers.erase(waiter);
}

// -- everything -----------------------------------------------------------------------------------

/// Each reads the whole journal, on a thread of its own.
constexpr int kMaxVerifications = 2;

using Verifier = caf::typed_actor<caf::replies_to<RunVerify>::with<VerifyReport>>;
Verifier::behavior_type verifier(Verifier::pointer self, std::shared_ptr<const Ledger> ledger,
                                 std::shared_ptr<StorageAlarm> alarm,
                                 std::shared_ptr<std::atomic<int>> under_way) {
  return {[self, ledger = std::move(ledger), alarm = std::move(alarm),
           under_way = std::move(under_way)](const RunVerify& request) {
    self->quit();
    auto report =
        read_or_raise<VerifyReport>(*alarm, [&] { return ledger->verify(request.scope); });
    --*under_way;
    return report;
  }};
}

caf::result<VerifyReport> begin_verify(ScannerSelf self, const RunVerify& request) {
  const auto& state = self->state;
  if (*state.verifications >= kMaxVerifications)
    return make_error(ErrorCode::overloaded,
                      "the ledger is being verified " + std::to_string(kMaxVerifications) +
                          " times already; try again when one of them is done");
  ++*state.verifications;
  return self->delegate(
      self->spawn<caf::detached>(verifier, state.ledger, state.alarm, state.verifications),
      request);
}

/// The same for a backup.
using BackupMaker = caf::typed_actor<caf::replies_to<RunBackup>::with<LedgerBackup>>;
BackupMaker::behavior_type backup_maker(BackupMaker::pointer self,
                                        std::shared_ptr<const Ledger> ledger, AddFiles add_files) {
  return {[self, ledger = std::move(ledger), add_files = std::move(add_files)](
              const RunBackup& request) -> caf::result<LedgerBackup> {
    self->quit();
    return ledger->backup(request.directory, add_files);
  }};
}

/// One at a time: each reads the whole journal, and the second would say the same.
caf::result<LedgerBackup> make_backup(ScannerSelf self, const RunBackup& request) {
  auto& state = self->state;
  if (std::exchange(state.makes_backup, true))
    return make_error(ErrorCode::wrong_state, "another backup of this ledger is being made");
  auto promise = self->make_response_promise<LedgerBackup>();
  const std::string shown = one_line(request.directory, kMaxDirectoryBytes);  // not checked yet
  spdlog::info("making the backup {}", shown);
  self->request(self->spawn<caf::detached>(backup_maker, state.ledger, state.add_to_backup),
                caf::infinite, request)
      .then(
          [self, promise, shown](const LedgerBackup& made) mutable {
            self->state.makes_backup = false;
            spdlog::info("made and verified the backup {}: it ends at record {}, and took {} ms",
                         shown, made.manifest.end.number, made.took_ms);
            promise.deliver(made);
          },
          [self, promise, shown](caf::error& error) mutable {
            self->state.makes_backup = false;
            spdlog::error("no backup {}: {}", shown, details(error).message);
            promise.deliver(std::move(error));
          });
  return promise;
}

SnapshotRead take_snapshot(const ScannerState& state) {
  return {std::make_shared<const ClusterSnapshot>(
      read_snapshot(*state.ledger, state.catalog, state.wall_clock()))};
}

ScannerBase::behavior_type ledger_scanner(ScannerSelf self, std::shared_ptr<const Ledger> ledger,
                                          std::shared_ptr<StorageAlarm> alarm,
                                          ResourceCatalog catalog,
                                          std::function<WallTime()> wall_clock,
                                          AddFiles add_to_backup) {
  self->state.add_to_backup = std::move(add_to_backup);
  self->state.wall_clock = std::move(wall_clock);
  self->state.ledger = std::move(ledger);
  self->state.alarm = std::move(alarm);
  self->state.catalog = std::move(catalog);
  return {
      [self](const QueryJobs& request) {
        return begin_scan<ScanOn>(self, self->state.scans, JobScan(request));
      },
      [self](const QueryProfile& request) {
        return begin_scan<ProfileOn>(self, self->state.profiles, ProfileScan(request));
      },
      [self](const QuerySums& request) { return begin_usage(self, request); },
      [self](const ReadRecords& request) { return read_or_wait(self, request); },
      [self](const RunVerify& request) { return begin_verify(self, request); },
      [self](const RunBackup& request) { return make_backup(self, request); },
      [self](const ReadSnapshot&) {
        return read_or_raise<SnapshotRead>(*self->state.alarm,
                                           [&] { return take_snapshot(self->state); });
      },
      [self](const JournalGrew&) { take_turn_later(self, kFollowersGather); },
      [self](const FollowersTurn&) { take_turn(self); },
      [self](const WaitEnded& ended) { end_wait(self->state, ended.waiter); },
      [self](const ScanOn& turn) { scan_on<ScanOn>(self, self->state.scans, turn.scan); },
      [self](const ProfileOn& turn) { scan_on<ProfileOn>(self, self->state.profiles, turn.scan); },
      [self](const UsageOn& turn) { scan_on<UsageOn>(self, self->state.usages, turn.scan); },
  };
}

}  // namespace

LedgerScanner spawn_ledger_scanner(caf::actor_system& system, Threading threading,
                                   std::shared_ptr<const Ledger> ledger,
                                   std::shared_ptr<StorageAlarm> alarm, ResourceCatalog catalog,
                                   std::function<WallTime()> wall_clock, AddFiles add_to_backup) {
  if (threading == Threading::shared)
    return system.spawn(ledger_scanner, std::move(ledger), std::move(alarm), std::move(catalog),
                        std::move(wall_clock), std::move(add_to_backup));
  return system.spawn<caf::detached>(ledger_scanner, std::move(ledger), std::move(alarm),
                                     std::move(catalog), std::move(wall_clock),
                                     std::move(add_to_backup));
}

}  // namespace fairwater::inline actors::inline coordinator
