// The durable ledger: the journal and the state that follows from it, in one RocksDB directory.
//
// One thread at a time may call the non-const functions; const functions may run beside them.
// On-disk grammar: top of storage/families.hpp and docs/ledger.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/backup.hpp"
#include "model/history.hpp"
#include "model/journal.hpp"
#include "model/verify_report.hpp"
#include "policy/ledger/accounts.hpp"
#include "storage/journal_store.hpp"
#include "storage/records.hpp"

namespace rocksdb {
class Env;
}

namespace fairwater::inline storage {

struct LedgerOptions {
  std::string directory;
  /// Create a new ledger in an empty or missing directory. Without it an empty directory is
  /// refused: a coordinator that came up empty would disown everything that runs.
  bool create = false;
  bool sync = true;             ///< false only for benchmarks that measure the difference
  rocksdb::Env* env = nullptr;  ///< not owned; null for the real one
  /// Below this much free space appends are refused with `disk_full` before anything is written.
  std::uint64_t min_free_bytes = 64ull << 20;
  std::function<WallTime()> clock = wall_time_now;
  /// Milliseconds since some moment, by a clock that nobody sets. With it history grows old by
  /// `clock` only where that has not leapt ahead (PatientClock).
  std::function<std::int64_t()> running_ms = {};
  /// Agreed with other coordinators before anything is written; not owned, null where there are
  /// none.
  JournalStore* store = nullptr;
  std::string version = {};  ///< of this program, for errors and for those of older versions
};

struct Receipt {
  std::uint64_t number = 0;  ///< of the journal record
  WallTime time;             ///< likewise
  JobId job;                 ///< given to a JobSubmitted
  /// Of a TasksFinished: those that made room with their gangs (state/gang.hpp).
  std::vector<TaskKey> made_room = {};
};

struct MeasuredCheckpoint {
  Checkpointed record;
  std::uint64_t standing_records = 0;  ///< of the state that it measured
};

/// What the store is asked to take, and what comes of it.
struct Proposal {
  RecordGroup group;
  std::vector<Receipt> receipts;
};

/// A task with its place, as listings and restarts need it.
struct StoredTask {
  JobId job;
  std::uint32_t index = 0;
  TaskRecord record;
};

/// Puts into a backup, or a restored ledger's directory, what belongs beside the ledger.
using AddFiles = std::function<caf::error(const std::string& directory)>;

class Ledger {
 public:
  /// Opens and checks the directory: identity, hash of the newest record, nets sum to zero,
  /// high-water mark. Errors: storage_locked (second coordinator), storage_damaged (foreign or
  /// broken), storage_behind, invalid_input (empty without `create`), disk_full, not_supported (a
  /// newer version wrote it; nothing was changed).
  [[nodiscard]] static Expected<std::unique_ptr<Ledger>> open(LedgerOptions options);
  ~Ledger();

  /// Makes the records durable, in order, in one synced WriteBatch together with the state they
  /// change. Fills in numbers, times, hashes, new job ids and services' restarts. A record's time
  /// is never before that of the record before it: what a clock that is behind says does not count.
  /// All or nothing. `disk_full`: nothing was written. `internal`: a record contradicts the state
  /// (storage/fold.hpp), nothing was written. `storage_failed`: unknown until reopened; every later
  /// append is refused. With a store also what its commit says; then nothing was written here.
  [[nodiscard]] Expected<std::vector<Receipt>> append(std::vector<JournalBody> bodies);
  /// append() in steps, where there is a store, so that it can be asked about a group while the one
  /// before is synced: propose, ask, agreed (or withdraw), and only then write_agreed, which makes
  /// it durable here. The next may be proposed before write_agreed, not before agreed. Errors of
  /// propose are append()'s, but for those of the store's commit; nothing was changed then.
  [[nodiscard]] Expected<Proposal> propose(std::vector<JournalBody> bodies);
  void agreed();
  /// The store has not taken it, or it is not known whether it has.
  [[nodiscard]] caf::error withdraw();
  /// Errors as of append().
  [[nodiscard]] caf::error write_agreed();
  [[nodiscard]] JournalStore* store() const;  ///< as it was opened with
  /// `unavailable` for what a coordinator that shares the journal would not understand
  /// (model/journal_format.hpp): it names that one. To be asked before append(), which writes what
  /// it is given. From any thread.
  [[nodiscard]] caf::error admit(const std::vector<JournalBody>& bodies) const;
  /// Appends what another coordinator has put into the store, in one synced write: records as they
  /// are stored there. `storage_damaged`: they do not follow on what is here, or lead to another
  /// state than there; `not_supported`: a newer version wrote them; nothing was written. Else as
  /// append(). Like append() it forgets what was proposed and not written: one that stopped leading
  /// hears of it from the store.
  [[nodiscard]] caf::error follow(const std::vector<std::string>& records);

  // -- reading ------------------------------------------------------------------------------------
  // What cannot be read any more (a damaged block) is thrown as StorageFault (storage/state.hpp).
  // Its reader answers with it: the rest of the ledger is as good as before.
  [[nodiscard]] std::uint64_t last_number() const;
  [[nodiscard]] LedgerMark end() const;          ///< the newest record
  [[nodiscard]] JournalHead head() const;        ///< the same, with its epoch
  [[nodiscard]] std::uint64_t given_up() const;  ///< see LedgerTrusted
  /// As it was created, but for the accounting, which may have changed.
  [[nodiscard]] ClusterCreated cluster() const;
  [[nodiscard]] WallTime counts_time_since() const;  ///< not set: since it was created, or never
  [[nodiscard]] Units unit_ms_per_unit() const;      ///< see AccountingChanged
  [[nodiscard]] std::uint64_t epoch() const;         ///< of the last CoordinatorStarted, 0 before
  [[nodiscard]] LeaseTerms lease_terms() const;      ///< likewise; zero when it noted none
  [[nodiscard]] std::uint64_t position() const;      ///< of the sequence
  /// Greater than every id that was ever given: ids are not used again, also not those of the
  /// removed.
  [[nodiscard]] JobId next_job_id() const;
  [[nodiscard]] TenantId next_tenant_id() const;
  [[nodiscard]] NodeId next_node_id() const;
  [[nodiscard]] std::vector<TenantRecord> tenants() const;  ///< by id
  [[nodiscard]] std::optional<TenantRecord> tenant(TenantId id) const;
  [[nodiscard]] std::vector<NodeRecord> nodes() const;  ///< by id
  [[nodiscard]] AccountsSnapshot accounts() const;
  [[nodiscard]] std::vector<IouBook::Iou> ious() const;  ///< by debtor, creditor
  [[nodiscard]] std::map<Hash, TokenGrant> tokens() const;
  [[nodiscard]] std::optional<TokenGrant> token(const Hash& hash) const;
  /// Of those who share a tenant: TenantUser::served.
  [[nodiscard]] std::map<std::string, std::uint64_t> served_users(TenantId tenant) const;
  /// What was used, by day, tenant and user, beginning with `from`, until `visit` returns false.
  void visit_usage(const UsageGroup& from,
                   const std::function<bool(const UsageGroup&, const UsageRecord&)>& visit) const;
  /// Of one that ended long ago, and of its tasks, from the archive.
  [[nodiscard]] std::optional<JobRecord> job(JobId id) const;
  /// The tenant's submission with this request id, while it is remembered: at least 7 days.
  [[nodiscard]] std::optional<RequestRecord> request(TenantId tenant, const std::string& id) const;
  /// Jobs with id >= `from` upwards (or downwards from `from` with `newest_first`), until `visit`
  /// returns false.
  void visit_jobs(JobId from, bool newest_first,
                  const std::function<bool(const JobRecord&)>& visit) const;
  /// One tenant's jobs with id <= `from` downwards, until `visit` returns false. O(its jobs).
  void visit_tenant_jobs(TenantId tenant, JobId from,
                         const std::function<bool(JobId, JobState)>& visit) const;
  /// The same of all tenants, one after the other, beginning with this one's and then those of
  /// lower ids.
  void visit_jobs_by_tenant(TenantId tenant, JobId from,
                            const std::function<bool(TenantId, JobId, JobState)>& visit) const;
  /// The amounts that batch jobs of a tenant's class asked for: the last before `before` in the
  /// order of names and digits, or the last of all. Empty when there are none. O(log jobs).
  [[nodiscard]] std::optional<NamedAmounts> class_amounts_before(
      TenantId tenant, const std::string& job_class,
      const std::optional<NamedAmounts>& before) const;
  /// Those that asked for just these, the newest first, until `visit` returns false.
  void visit_class_jobs(TenantId tenant, const std::string& job_class, const NamedAmounts& amounts,
                        const std::function<bool(JobId)>& visit) const;
  /// Jobs that are not terminal with id <= `from` downwards, until `visit` returns false.
  void visit_live_jobs(JobId from, const std::function<bool(JobId)>& visit) const;
  /// Tasks `first` to `first + count - 1` of a job that have a record, by index. The waiting tasks
  /// of a cancelled job read as cancelled. O(count).
  [[nodiscard]] std::vector<StoredTask> tasks(JobId job, std::uint32_t first = 0,
                                              std::uint32_t count = ~std::uint32_t{0}) const;
  [[nodiscard]] std::optional<TaskRecord> task(JobId job, std::uint32_t index) const;
  /// Jobs that are not terminal, by id. O(their number).
  [[nodiscard]] std::vector<JobId> live_jobs() const;
  /// Likewise from the archive; none that is not kept any more.
  [[nodiscard]] std::optional<JournalRecord> record(std::uint64_t number) const;
  /// From `from` on, or from the oldest that is kept.
  void visit_journal(std::uint64_t from,
                     const std::function<bool(const JournalRecord&)>& visit) const;

  // -- history (storage/history.hpp)
  // ---------------------------------------------------------------
  /// The newest checkpoint's record; 0 when there is none.
  [[nodiscard]] std::uint64_t checkpoint() const;
  /// What a checkpoint would say now. Beside the writer, from any thread. O(what stands).
  [[nodiscard]] Expected<MeasuredCheckpoint> measure_checkpoint() const;
  /// While it rests cut_history() does nothing, and ends soon where it is at work.
  void rest_history(bool rests);
  /// Archives what lies behind the newest checkpoint, and lets go of what was kept long enough.
  /// Beside the writer, from any thread. Errors: disk_full, storage_damaged (the journal comes to
  /// something else than the checkpoint says), storage_failed.
  [[nodiscard]] Expected<HistoryReport> cut_history(const HistoryLimits& limits);
  /// No checkpoint could be made: history() says so until history is cut.
  void history_failed(const caf::error& why);
  /// From any thread. Reads no file.
  [[nodiscard]] HistoryStanding history() const;
  /// `disk_full` while nothing is taken in for want of room. From any thread; one statvfs.
  [[nodiscard]] caf::error room() const;

  /// Rebuilds everything from the journal in memory and compares it, family by family, with what is
  /// stored; checks the hash chain and that nets sum to zero. Where history was archived it begins
  /// with what stood there, or proves the archive, too. O(journal) time, O(state) memory.
  [[nodiscard]] VerifyReport verify(VerifyScope scope = VerifyScope::database) const;
  /// Opens a directory for reading only and verifies it, beside a running coordinator or without
  /// one. Errors as for open(), but for storage_locked.
  [[nodiscard]] static Expected<VerifyReport> verify_directory(
      const std::string& directory, rocksdb::Env* env = nullptr,
      VerifyScope scope = VerifyScope::database);
  /// Makes `directory` a backup (storage/backup.hpp), which has to be new, of what is durable at
  /// some moment of the call, and verifies it. `add_files` puts more into it. Takes as long as
  /// verify().
  [[nodiscard]] Expected<LedgerBackup> backup(const std::string& directory,
                                              const AddFiles& add_files = {}) const;

 private:
  class Impl;
  void visit_tasks(JobId job, std::uint32_t first,
                   const std::function<bool(std::uint32_t index, TaskRecord)>& visit) const;
  [[nodiscard]] std::optional<JobRecord> archived_job(JobId id) const;
  explicit Ledger(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fairwater::inline storage
