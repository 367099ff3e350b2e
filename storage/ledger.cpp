#include "storage/ledger.hpp"

#include <algorithm>
#include <mutex>

#include "policy/core/check.hpp"
#include "storage/backup.hpp"
#include "storage/directory.hpp"
#include "storage/fold.hpp"
#include "storage/high_water.hpp"
#include "storage/housekeeper.hpp"
#include "storage/later_families.hpp"
#include "storage/verify.hpp"

namespace fairwater {
namespace {

/// Runs `body`; what storage throws becomes an error that names the directory.
template <class Body>
auto guard_storage(const std::string& directory, Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const StorageFault& fault) {
    return make_error(fault.code(), "the ledger in " + directory + " is damaged: " + fault.what());
  }
}

caf::error behind(const std::string& directory, std::uint64_t last, std::uint64_t high_water) {
  return make_error(
      ErrorCode::storage_behind,
      "the ledger in " + directory + " ends at record " + std::to_string(last) + ", but record " +
          std::to_string(high_water) +
          " was durable before: its end was lost. Restore a complete copy; a coordinator must not "
          "go on from here, because it would forget what it acknowledged.");
}

/// Number of the newest journal record that is stored, 0 when there is none.
std::uint64_t journal_end(const Snapshot& snapshot) {
  std::uint64_t number = 0;
  snapshot.walk(Family::journal, journal_key(~std::uint64_t{0}), true,
                [&](std::string_view key, std::string_view) {
                  number = from_big_endian<std::uint64_t>(key);
                  return false;
                });
  return number;
}

/// The newest journal record must be the one that meta knows.
caf::error check_newest(const Snapshot& snapshot, const LedgerMeta& meta,
                        const std::string& directory) {
  const std::uint64_t end = journal_end(snapshot);
  const std::string sentence = "the ledger in " + directory +
                               " is damaged: its journal ends with record " + std::to_string(end);
  if (end != meta.last_number)
    return make_error(ErrorCode::storage_damaged, sentence + ", its state belongs to record " +
                                                      std::to_string(meta.last_number) + ".");
  if (end == 0) return {};
  const auto bytes = snapshot.get(Family::journal, journal_key(end));
  if (bytes && hash_of(*bytes) == meta.last_hash) return {};
  return make_error(ErrorCode::storage_damaged,
                    sentence + ", which has another hash than was noted.");
}

/// The record of the mark must be there, and be the one that was marked.
caf::error check_high_water(const Snapshot& snapshot, const std::string& directory,
                            const std::optional<HighWater>& mark) {
  if (!mark || mark->number == 0) return {};
  const std::uint64_t last = journal_end(snapshot);
  if (mark->number > last) return behind(directory, last, mark->number);
  if (mark->hash == Hash{}) return {};
  const auto bytes = snapshot.get(Family::journal, journal_key(mark->number));
  if (bytes && hash_of(*bytes) == mark->hash) return {};
  return make_error(ErrorCode::storage_damaged,
                    "record " + std::to_string(mark->number) + " of the ledger in " + directory +
                        " is another than the one that was durable: the database is of another "
                        "history than the mark beside it. Restore both from one copy.");
}

/// A cancelled job's waiting tasks are cancelled by its counts; their records were left alone.
TaskRecord as_seen(TaskRecord task, const std::optional<JobRecord>& job) {
  if (task.state == TaskState::pending && job && job->cancelled) task.state = TaskState::cancelled;
  return task;
}

JournalHead head_of(const LedgerMeta& meta) {
  return {meta.epoch, meta.last_number, meta.last_hash};
}

}  // namespace

class Ledger::Impl {
 public:
  Impl(LedgerOptions options, std::unique_ptr<LedgerDirectory> directory)
      : options_(std::move(options)),
        directory_(std::move(directory)),
        space_(options_.directory, options_.env, options_.min_free_bytes) {}

  /// Opens the database and loads what appending needs.
  caf::error start();
  Expected<std::vector<Receipt>> append(std::vector<JournalBody> bodies);
  caf::error follow(const std::vector<std::string>& records);

  [[nodiscard]] LedgerMeta meta() const {
    const std::lock_guard lock(mutex_);
    return published_;
  }
  [[nodiscard]] LedgerMark end() const {
    const std::lock_guard lock(mutex_);
    return {published_.incarnation, published_.last_number, published_.last_hash};
  }
  /// The state as it is stored.
  void load() { state_ = std::make_unique<State>(*view_); }
  [[nodiscard]] const Database& database() const { return *database_; }
  [[nodiscard]] const SpaceGuard& space() const { return space_; }
  [[nodiscard]] const LedgerOptions& options() const { return options_; }
  [[nodiscard]] const std::string& directory() const { return options_.directory; }

 private:
  [[nodiscard]] caf::error refuse_when_broken();
  /// Nothing of the half-made commit stays.
  caf::error undone(const caf::error& error) {
    if (!broken_) load();
    return error;
  }
  /// Marks the newest record as durable. Appends are refused until it works again.
  caf::error mark();
  /// What becomes durable together: the batch, and what the store is told.
  struct Group {
    rocksdb::WriteBatch batch{0, 0, /*protection_bytes_per_key=*/8, 0};
    std::vector<std::string> records;
    std::vector<Receipt> receipts;
  };
  /// Adds one record to state and group.
  caf::error stage(JournalBody body, Group& group);
  caf::error stage_followed(const std::string& bytes, Group& group);
  void take_in(const JournalRecord& record, std::string bytes, Group& group);
  /// Adds the changed state, has the store agree, if there is one and `agree` says so, and writes.
  caf::error write(Group& group, bool agree, const JournalHead& before);
  void publish() {
    const std::lock_guard lock(mutex_);
    published_ = state_->meta;
  }

  LedgerOptions options_;
  std::unique_ptr<LedgerDirectory> directory_;  // outlives the database: holds the lock
  SpaceGuard space_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<LatestView> view_;
  std::unique_ptr<State> state_;  // the writer's; always what is stored, between appends
  caf::error broken_;             // sticky: the outcome of a write is unknown
  mutable std::mutex mutex_;
  LedgerMeta published_;  // guarded by mutex_: for readers beside the writer
  std::unique_ptr<HighWaterFile> high_water_;
  bool unmarked_ = false;  // the newest commit is durable, its mark is not
  std::unique_ptr<Housekeeper> housekeeper_;
};

caf::error Ledger::Impl::start() {
  const std::string& path = options_.directory;
  const bool is_new = directory_->is_new();
  if (is_new && !options_.create)
    return make_error(ErrorCode::storage_damaged,
                      path + " has lost its database: " + path + "/db is missing or empty.");
  if (is_new)
    if (caf::error full = space_.admit(0)) return full;
  space_.release_when_full();
  if (caf::error full = space_.admit_opening()) return full;
  auto mark = HighWaterFile::read(path, options_.env);
  if (!mark) return mark.error();
  auto database = Database::open(path, options_.env,
                                 is_new ? Database::Mode::create : Database::Mode::read_write);
  if (!database) return database.error();
  database_ = std::move(*database);
  if (caf::error error = fill_later_families(*database_)) return error;
  view_ = std::make_unique<LatestView>(*database_);
  load();
  const LedgerMeta& meta = state_->meta;
  if (caf::error error = check_newest(Snapshot(*database_), meta, path)) return error;
  if (caf::error error = check_high_water(Snapshot(*database_), path, *mark)) return error;
  if (meta.last_number == 0 && !options_.create)
    return make_error(ErrorCode::invalid_input,
                      path +
                          " holds a ledger without a single record: its creation was broken off. "
                          "Create it again (--init).");
  publish();
  auto file = HighWaterFile::create(path, options_.env, {meta.last_number, meta.last_hash});
  if (!file) return file.error();
  high_water_ = std::move(*file);
  housekeeper_ = std::make_unique<Housekeeper>(space_);
  return {};
}

caf::error Ledger::Impl::refuse_when_broken() {
  if (broken_) return broken_;
  return unmarked_ ? mark() : caf::error{};
}

caf::error Ledger::Impl::mark() {
  const LedgerMeta& meta = state_->meta;
  caf::error failed = high_water_->write({meta.last_number, meta.last_hash});
  unmarked_ = static_cast<bool>(failed);
  return failed;
}

void Ledger::Impl::take_in(const JournalRecord& record, std::string bytes, Group& group) {
  state_->meta.last_hash = hash_of(bytes);
  group.batch.Put(database_->handle(Family::journal), journal_key(record.number), bytes)
      .PermitUncheckedError();
  group.records.push_back(std::move(bytes));
}

caf::error Ledger::Impl::stage(JournalBody body, Group& group) {
  if (auto* submitted = std::get_if<JobSubmitted>(&body); submitted && !submitted->id)
    submitted->id = state_->meta.next_job;
  JournalRecord record{state_->meta.last_number + 1, options_.clock(), state_->meta.last_hash,
                       std::move(body)};
  std::vector<ServiceRestart> restarts;
  if (caf::error error = apply(*state_, record, restarts)) return error;
  note_restarts(record, std::move(restarts));
  take_in(record, to_bytes(record), group);
  const auto* submitted = std::get_if<JobSubmitted>(&record.body);
  group.receipts.push_back({record.number, record.time, submitted ? submitted->id : JobId{}});
  return {};
}

caf::error Ledger::Impl::stage_followed(const std::string& bytes, Group& group) {
  const auto record = decode_stored<JournalRecord>(
      Family::journal, journal_key(state_->meta.last_number + 1), bytes);
  const std::string what = "record " + std::to_string(record.number) + " of the leader";
  if (record.number != state_->meta.last_number + 1 || record.previous != state_->meta.last_hash)
    return make_error(ErrorCode::storage_damaged, what + " does not follow on record " +
                                                      std::to_string(state_->meta.last_number) +
                                                      " of the ledger in " + options_.directory +
                                                      ": they are of two histories.");
  if (const caf::error contradiction = apply(*state_, record))
    return make_error(ErrorCode::storage_damaged, what + " contradicts the ledger in " +
                                                      options_.directory + ": " +
                                                      details(contradiction).message);
  take_in(record, bytes, group);
  return {};
}

caf::error Ledger::Impl::write(Group& group, bool agree, const JournalHead& before) {
  state_->write_changes([&](Family family, const std::string& key,
                            const std::optional<std::string>& bytes) {
    const rocksdb::Status staged = bytes ? group.batch.Put(database_->handle(family), key, *bytes)
                                         : group.batch.Delete(database_->handle(family), key);
    FAIRWATER_CHECK(staged.ok(), "a batch takes every change");
  });
  if (caf::error full = space_.admit(2 * group.batch.GetDataSize())) return full;
  if (agree && options_.store)
    if (caf::error refused =
            options_.store->commit({before, head_of(state_->meta), std::move(group.records)}))
      return refused;
  const rocksdb::Status written = database_->write(group.batch, options_.sync);
  if (!written.ok()) {
    broken_ = make_error(ErrorCode::storage_failed,
                         "writing to the ledger in " + options_.directory +
                             " failed: " + written.ToString() +
                             ". Whether it is durable shows when the ledger is opened again.");
    return broken_;
  }
  state_->stored();
  publish();
  // Before anybody is told. What cannot be marked is durable all the same; nothing goes on top of
  // it.
  if (options_.sync) (void)mark();
  return {};
}

Expected<std::vector<Receipt>> Ledger::Impl::append(std::vector<JournalBody> bodies) {
  if (caf::error error = refuse_when_broken()) return error;
  if (bodies.empty()) return std::vector<Receipt>{};
  if (caf::error full = space_.admit(0)) return full;
  const JournalHead before = head_of(state_->meta);
  Group group;
  for (JournalBody& body : bodies)
    if (caf::error error = stage(std::move(body), group)) return undone(error);
  if (caf::error error = write(group, true, before)) return undone(error);
  return std::move(group.receipts);
}

caf::error Ledger::Impl::follow(const std::vector<std::string>& records) {
  if (caf::error error = refuse_when_broken()) return error;
  if (records.empty()) return {};
  if (caf::error full = space_.admit(0)) return full;
  const JournalHead before = head_of(state_->meta);
  Group group;
  for (const std::string& bytes : records)
    if (caf::error error = stage_followed(bytes, group)) return undone(error);
  if (caf::error error = write(group, false, before)) return undone(error);
  return {};
}

Ledger::Ledger(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Ledger::~Ledger() = default;

Expected<std::unique_ptr<Ledger>> Ledger::open(LedgerOptions options) {
  if (!options.env) options.env = rocksdb::Env::Default();
  auto directory = LedgerDirectory::open(options.directory, options.env, options.create);
  if (!directory) return directory.error();
  const std::string path = options.directory;
  auto impl = std::make_unique<Impl>(std::move(options), std::move(*directory));
  if (caf::error error = guard_storage(path, [&] { return impl->start(); })) return error;
  return std::unique_ptr<Ledger>(new Ledger(std::move(impl)));
}

Expected<std::vector<Receipt>> Ledger::append(std::vector<JournalBody> bodies) {
  return guard_storage(impl_->directory(), [&]() -> Expected<std::vector<Receipt>> {
    try {
      return impl_->append(std::move(bodies));
    } catch (const StorageFault&) {
      impl_->load();  // nothing of the half-made commit stays
      throw;
    }
  });
}

caf::error Ledger::follow(const std::vector<std::string>& records) {
  return guard_storage(impl_->directory(), [&]() -> caf::error {
    try {
      return impl_->follow(records);
    } catch (const StorageFault&) {
      impl_->load();
      throw;
    }
  });
}

std::uint64_t Ledger::last_number() const { return impl_->meta().last_number; }
LedgerMark Ledger::end() const { return impl_->end(); }
JournalHead Ledger::head() const { return head_of(impl_->meta()); }
std::uint64_t Ledger::given_up() const { return impl_->meta().given_up; }
ClusterCreated Ledger::cluster() const { return impl_->meta().cluster; }
WallTime Ledger::counts_time_since() const { return impl_->meta().counts_time_since; }
Units Ledger::unit_ms_per_unit() const { return impl_->meta().unit_ms_per_unit; }
std::uint64_t Ledger::epoch() const { return impl_->meta().epoch; }
LeaseTerms Ledger::lease_terms() const { return impl_->meta().lease; }
std::uint64_t Ledger::position() const { return impl_->meta().position; }
JobId Ledger::next_job_id() const { return impl_->meta().next_job; }
TenantId Ledger::next_tenant_id() const { return impl_->meta().next_tenant; }
NodeId Ledger::next_node_id() const { return impl_->meta().next_node; }

std::vector<TenantRecord> Ledger::tenants() const {
  std::vector<TenantRecord> tenants;
  Snapshot(impl_->database()).scan(Family::tenants, [&](std::string_view key, std::string_view v) {
    tenants.push_back(decode_stored<TenantRecord>(Family::tenants, key, v));
  });
  return tenants;
}

std::optional<TenantRecord> Ledger::tenant(TenantId id) const {
  return Snapshot(impl_->database()).find<TenantRecord>(Family::tenants, key_of(id));
}

std::vector<NodeRecord> Ledger::nodes() const {
  std::vector<NodeRecord> nodes;
  Snapshot(impl_->database()).scan(Family::nodes, [&](std::string_view key, std::string_view v) {
    nodes.push_back(decode_stored<NodeRecord>(Family::nodes, key, v));
  });
  return nodes;
}

AccountsSnapshot Ledger::accounts() const { return read_accounts(Snapshot(impl_->database())); }
std::vector<IouBook::Iou> Ledger::ious() const { return accounts().ious; }

std::map<Hash, TokenGrant> Ledger::tokens() const {
  std::map<Hash, TokenGrant> tokens;
  Snapshot(impl_->database()).scan(Family::tokens, [&](std::string_view key, std::string_view v) {
    Hash hash{};
    std::copy_n(key.begin(), std::min(key.size(), hash.size()), hash.begin());
    tokens.emplace(hash, decode_stored<TokenGrant>(Family::tokens, key, v));
  });
  return tokens;
}

std::map<std::string, std::uint64_t> Ledger::served_users(TenantId tenant) const {
  std::map<std::string, std::uint64_t> served;
  const std::string prefix = key_of(tenant);
  Snapshot(impl_->database())
      .walk(Family::users, prefix, false, [&](std::string_view key, std::string_view v) {
        if (!key.starts_with(prefix)) return false;
        served.emplace(key.substr(prefix.size()),
                       decode_stored<TenantUser>(Family::users, key, v).served);
        return true;
      });
  return served;
}

std::optional<JobRecord> Ledger::job(JobId id) const {
  return Snapshot(impl_->database()).find<JobRecord>(Family::jobs, key_of(id));
}

std::optional<RequestRecord> Ledger::request(TenantId tenant, const std::string& id) const {
  return Snapshot(impl_->database()).find<RequestRecord>(Family::requests, request_key(tenant, id));
}

void Ledger::visit_jobs(JobId from, bool newest_first,
                        const std::function<bool(const JobRecord&)>& visit) const {
  Snapshot(impl_->database())
      .walk(Family::jobs, key_of(from), newest_first,
            [&](std::string_view key, std::string_view v) {
              return visit(decode_stored<JobRecord>(Family::jobs, key, v));
            });
}

void Ledger::visit_tenant_jobs(TenantId tenant, JobId from,
                               const std::function<bool(JobId, JobState)>& visit) const {
  visit_jobs_by_tenant(tenant, from, [&](TenantId owner, JobId id, JobState state) {
    return owner == tenant && visit(id, state);
  });
}

void Ledger::visit_jobs_by_tenant(
    TenantId tenant, JobId from,
    const std::function<bool(TenantId, JobId, JobState)>& visit) const {
  const std::size_t tenant_bytes = key_of(tenant).size();
  Snapshot(impl_->database())
      .walk(Family::tenant_jobs, tenant_job_key(tenant, from), true,
            [&](std::string_view key, std::string_view v) {
              return visit(TenantId{from_big_endian<std::uint32_t>(key.substr(0, tenant_bytes))},
                           JobId{from_big_endian<std::uint64_t>(key.substr(tenant_bytes))},
                           decode_stored<TenantJob>(Family::tenant_jobs, key, v).state);
            });
}

std::optional<NamedAmounts> Ledger::class_amounts_before(
    TenantId tenant, const std::string& job_class,
    const std::optional<NamedAmounts>& before) const {
  const std::string prefix = class_jobs_prefix(tenant, job_class, {});
  const std::string class_prefix = prefix.substr(0, prefix.size() - 1);
  // No job has the id 0, and no amounts are named by what follows digits and letters.
  const std::string from = before ? class_jobs_prefix(tenant, job_class, *before)
                                  : class_prefix + std::string(1, '\xff');
  std::optional<NamedAmounts> found;
  Snapshot(impl_->database())
      .walk(Family::class_jobs, from, true, [&](std::string_view key, std::string_view) {
        if (key.starts_with(class_prefix))
          found = amounts_in_class_key(key.substr(class_prefix.size()));
        return false;
      });
  return found;
}

void Ledger::visit_class_jobs(TenantId tenant, const std::string& job_class,
                              const NamedAmounts& amounts,
                              const std::function<bool(JobId)>& visit) const {
  constexpr JobId kNewest{std::numeric_limits<JobId::rep>::max()};
  const std::string prefix = class_jobs_prefix(tenant, job_class, amounts);
  Snapshot(impl_->database())
      .walk(Family::class_jobs, prefix + key_of(kNewest), true,
            [&](std::string_view key, std::string_view) {
              return key.starts_with(prefix) &&
                     visit(JobId{from_big_endian<std::uint64_t>(key.substr(prefix.size()))});
            });
}

void Ledger::visit_live_jobs(JobId from, const std::function<bool(JobId)>& visit) const {
  Snapshot(impl_->database())
      .walk(Family::live, key_of(from), true, [&](std::string_view key, std::string_view) {
        return visit(JobId{from_big_endian<std::uint64_t>(key)});
      });
}

std::vector<StoredTask> Ledger::tasks(JobId job, std::uint32_t first, std::uint32_t count) const {
  const Snapshot snapshot(impl_->database());
  const auto owner = snapshot.find<JobRecord>(Family::jobs, key_of(job));
  std::vector<StoredTask> tasks;
  const std::string prefix = key_of(job);
  snapshot.walk(
      Family::tasks, task_key(job, first), false, [&](std::string_view key, std::string_view v) {
        if (!key.starts_with(prefix)) return false;
        const auto index = from_big_endian<std::uint32_t>(key.substr(prefix.size()));
        if (index - first >= count) return false;
        tasks.push_back(
            {job, index, as_seen(decode_stored<TaskRecord>(Family::tasks, key, v), owner)});
        return true;
      });
  return tasks;
}

std::optional<TaskRecord> Ledger::task(JobId job, std::uint32_t index) const {
  const Snapshot snapshot(impl_->database());
  const auto found = snapshot.find<TaskRecord>(Family::tasks, task_key(job, index));
  if (!found) return std::nullopt;
  return as_seen(*found, snapshot.find<JobRecord>(Family::jobs, key_of(job)));
}

std::vector<JobId> Ledger::live_jobs() const {
  std::vector<JobId> jobs;
  Snapshot(impl_->database()).scan(Family::live, [&](std::string_view key, std::string_view) {
    jobs.push_back(JobId{from_big_endian<std::uint64_t>(key)});
  });
  return jobs;
}

std::optional<JournalRecord> Ledger::record(std::uint64_t number) const {
  return Snapshot(impl_->database()).find<JournalRecord>(Family::journal, journal_key(number));
}

void Ledger::visit_journal(std::uint64_t from,
                           const std::function<bool(const JournalRecord&)>& visit) const {
  Snapshot(impl_->database())
      .walk(Family::journal, journal_key(from), false,
            [&](std::string_view key, std::string_view v) {
              return visit(decode_stored<JournalRecord>(Family::journal, key, v));
            });
}

Expected<LedgerBackup> Ledger::backup(const std::string& directory,
                                      const AddFiles& add_files) const {
  return make_backup(impl_->database(), impl_->space(), directory, add_files,
                     impl_->options().clock);
}

VerifyReport Ledger::verify() const { return verify_snapshot(Snapshot(impl_->database())); }

Expected<VerifyReport> Ledger::verify_directory(const std::string& directory, rocksdb::Env* env) {
  if (!env) env = rocksdb::Env::Default();
  if (caf::error error = LedgerDirectory::check_identity(directory, env)) return error;
  // Read before the database is opened: a coordinator that runs beside may raise it meanwhile.
  auto mark = HighWaterFile::read(directory, env);
  if (!mark) return mark.error();
  auto database = Database::open(directory, env, Database::Mode::read_only);
  if (!database) return database.error();
  return guard_storage(directory, [&]() -> Expected<VerifyReport> {
    const Snapshot snapshot(**database);
    if (*mark && (*mark)->number > journal_end(snapshot))
      return behind(directory, journal_end(snapshot), (*mark)->number);
    VerifyReport report = verify_snapshot(snapshot);
    if (!report.ok) return report;
    if (caf::error error = check_high_water(snapshot, directory, *mark)) return error;
    return report;
  });
}

}  // namespace fairwater
