#include "storage/ledger.hpp"

#include <algorithm>
#include <utility>

#include "policy/core/check.hpp"
#include "storage/backup.hpp"
#include "storage/directory.hpp"
#include "storage/fold.hpp"
#include "storage/later_families.hpp"
#include "storage/ledger_impl.hpp"
#include "storage/standing_state.hpp"
#include "storage/verify.hpp"
#include "storage/whole_gangs.hpp"

namespace fairwater::inline storage {
namespace {

/// By how much the mark may be behind where a store agrees on the journal: a sync for each commit
/// was half of what a leader's disk had to do.
constexpr std::uint64_t kRecordsBetweenMarks = 1000;

/// Runs `body`; what storage throws becomes an error, that of damage names the directory.
template <class Body>
auto guard_storage(const std::string& directory, Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const StorageFault& fault) {
    const bool is_damage = fault.code() == ErrorCode::storage_damaged;
    return make_error(
        fault.code(),
        (is_damage ? "the ledger in " + directory + " is damaged: " : "") + fault.what());
  }
}

/// The same for what changes the ledger: nothing of a half-made commit stays.
template <class LedgerImpl, class Body>
auto guard_commit(LedgerImpl& ledger, Body&& body) -> decltype(body()) {
  return guard_storage(ledger.directory(), [&]() -> decltype(body()) {
    try {
      return body();
    } catch (const StorageFault&) {
      ledger.forget_half_made();
      throw;
    }
  });
}

caf::error behind(const std::string& directory, std::uint64_t last, std::uint64_t high_water) {
  return make_error(
      ErrorCode::storage_behind,
      "the ledger in " + directory + " ends at record " + std::to_string(last) + ", but record " +
          std::to_string(high_water) +
          " was durable before: its end was lost. Restore a complete copy; a coordinator must not "
          "go on from here, because it would forget what it acknowledged.");
}

/// `not_supported` when the record in `bytes` is of a kind that this version does not know.
caf::error refuse_newer_kind(const std::string& what, std::string_view bytes,
                             const std::string& own) {
  const auto kind = unknown_kind_in(bytes);
  if (!kind) return {};
  return make_error(ErrorCode::not_supported,
                    what + " is of kind " + std::to_string(*kind) + ", which this program" +
                        (own.empty() ? "" : ", Fairwater " + own + ",") +
                        " does not know: a newer version wrote it. Install that version or a later "
                        "one, or begin with a backup from before the upgrade. Nothing was changed");
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
  // A mark that is behind may be of a record that went into the archive since.
  if (!bytes && mark->number < journal_begin(snapshot)) return {};
  return make_error(ErrorCode::storage_damaged,
                    "record " + std::to_string(mark->number) + " of the ledger in " + directory +
                        " is another than the one that was durable: the database is of another "
                        "history than the mark beside it. Restore both from one copy.");
}

}  // namespace

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
  history_ = std::make_unique<HistoryCutter>(*database_, space_, archive_, options_.sync);
  if (caf::error newer = read_newest(Snapshot(*database_))) return newer;
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
  publish(meta);
  auto file = HighWaterFile::create(path, options_.env, {meta.last_number, meta.last_hash});
  if (!file) return file.error();
  high_water_ = std::move(*file);
  marked_ = meta.last_number;
  if (options_.running_ms)
    history_clock_.emplace(PatientClock::Sources{options_.clock, options_.running_ms},
                           kRemovalPatience, newest_time_);
  housekeeper_ = std::make_unique<Housekeeper>(space_);
  return {};
}

caf::error Ledger::Impl::read_newest(const Snapshot& snapshot) {
  const std::uint64_t number = journal_end(snapshot);
  const auto bytes = snapshot.get(Family::journal, journal_key(number));
  if (!bytes) return {};
  if (auto newer = refuse_newer_kind(
          "record " + std::to_string(number) + " of the ledger in " + options_.directory, *bytes,
          options_.version))
    return newer;
  // What cannot be read has another hash, too, which is for check_newest().
  if (const auto newest = from_bytes<JournalRecord>(*bytes)) newest_time_ = newest->time;
  return {};
}

caf::error Ledger::Impl::raise_needs(const Group& group) {
  if (group.format <= directory_->needs().format) return {};
  return directory_->raise_needs({group.format, options_.version});
}

caf::error Ledger::Impl::refuse_when_broken() {
  if (broken_) return broken_;
  return unmarked_ ? mark() : caf::error{};
}

caf::error Ledger::Impl::mark() {
  const LedgerMeta newest = meta();
  caf::error failed = high_water_->write({newest.last_number, newest.last_hash});
  unmarked_ = static_cast<bool>(failed);
  if (!failed) marked_ = newest.last_number;
  return failed;
}

bool Ledger::Impl::is_to_be_marked(const LedgerMeta& newest) const {
  if (!options_.sync) return false;
  return options_.store == nullptr || newest.last_number - marked_ >= kRecordsBetweenMarks;
}

void Ledger::Impl::take_in(const JournalRecord& record, std::string bytes, Group& group) {
  state_->meta.last_hash = hash_of(bytes);
  group.batch.Put(database_->handle(Family::journal), journal_key(record.number), bytes)
      .PermitUncheckedError();
  group.records.push_back(std::move(bytes));
  group.newest = record.time;
  group.format = std::max(group.format, format_of(record.body));
}

caf::error Ledger::Impl::stage(JournalBody body, Group& group) {
  if (auto* submitted = std::get_if<JobSubmitted>(&body); submitted && !submitted->id)
    submitted->id = state_->meta.next_job;
  if (options_.store) say_in(options_.store->known_format().format, body);
  // The clock may have been set back, or the record before is of a machine whose clock is ahead.
  JournalRecord record{state_->meta.last_number + 1, std::max(options_.clock(), group.newest),
                       state_->meta.last_hash, std::move(body)};
  std::vector<TaskKey> made_room = take_gangs_whole(*state_, record);
  std::vector<ServiceRestart> restarts;
  if (caf::error error = apply(*state_, record, restarts)) return error;
  note_restarts(record, std::move(restarts));
  take_in(record, to_bytes(record), group);
  const auto* submitted = std::get_if<JobSubmitted>(&record.body);
  group.receipts.push_back(
      {record.number, record.time, submitted ? submitted->id : JobId{}, std::move(made_room)});
  return {};
}

caf::error Ledger::Impl::stage_followed(const std::string& bytes, Group& group) {
  if (auto newer = refuse_newer_kind(
          "record " + std::to_string(state_->meta.last_number + 1) + " of the leader", bytes,
          options_.version))
    return newer;
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

caf::error Ledger::Impl::stage(std::vector<JournalBody> bodies, Group& group) {
  group.before = head_of(state_->meta);
  group.newest = agreed_ ? agreed_->newest : newest_time_;
  for (JournalBody& body : bodies)
    if (caf::error error = stage(std::move(body), group)) return error;
  return complete(group);
}

namespace {

bool are_beginnings(const std::vector<std::string>& records) {
  return std::all_of(records.begin(), records.end(), [](const std::string& bytes) {
    const auto record = from_bytes<JournalRecord>(bytes);
    return record && std::holds_alternative<CoordinatorStarted>(record->body);
  });
}

}  // namespace

caf::error Ledger::Impl::admit(const Group& group, std::uint64_t bytes) const {
  return group.begins ? space_.admit_beginning(bytes) : space_.admit(bytes);
}

caf::error Ledger::Impl::complete(Group& group) {
  state_->write_changes([&](Family family, const std::string& key,
                            const std::optional<std::string>& bytes) {
    const rocksdb::Status staged = bytes ? group.batch.Put(database_->handle(family), key, *bytes)
                                         : group.batch.Delete(database_->handle(family), key);
    FAIRWATER_CHECK(staged.ok(), "a batch takes every change");
  });
  group.after = state_->meta;
  const std::size_t unwritten = agreed_ ? agreed_->batch.GetDataSize() : 0;
  if (caf::error full = admit(group, 2 * (unwritten + group.batch.GetDataSize()))) return full;
  return raise_needs(group);
}

RecordGroup Ledger::Impl::for_store(Group& group) const {
  return {group.before, head_of(group.after), std::move(group.records), directory_->needs()};
}

caf::error Ledger::Impl::write(Group& group) {
  const rocksdb::Status written = database_->write(group.batch, options_.sync);
  if (!written.ok()) {
    broken_ = make_error(ErrorCode::storage_failed,
                         "writing to the ledger in " + options_.directory +
                             " failed: " + written.ToString() +
                             ". Whether it is durable shows when the ledger is opened again.");
    return broken_;
  }
  state_->stored();
  newest_time_ = group.newest;
  publish(group.after);
  if (options_.store) options_.store->note_durable(group.after.last_number);
  // Before anybody is told. What cannot be marked is durable all the same; nothing goes on top of
  // it.
  if (is_to_be_marked(group.after)) (void)mark();
  return {};
}

Expected<std::vector<Receipt>> Ledger::Impl::append(std::vector<JournalBody> bodies) {
  forget_unwritten();
  if (caf::error error = refuse_when_broken()) return error;
  if (bodies.empty()) return std::vector<Receipt>{};
  Group group;
  group.begins = std::all_of(bodies.begin(), bodies.end(), [](const JournalBody& body) {
    return std::holds_alternative<CoordinatorStarted>(body);
  });
  if (caf::error full = admit(group, 0)) return full;
  if (caf::error error = stage(std::move(bodies), group)) return undone(error);
  if (options_.store)
    if (caf::error refused = options_.store->commit(for_store(group))) return undone(refused);
  if (caf::error error = write(group)) return undone(error);
  return std::move(group.receipts);
}

Expected<Proposal> Ledger::Impl::propose(std::vector<JournalBody> bodies) {
  if (caf::error error = refuse_when_broken()) return error;
  FAIRWATER_CHECK(!proposed_ && !loads_when_written_, "one proposal after the other");
  if (caf::error full = space_.admit(0)) return full;
  if (options_.store)
    if (caf::error full = options_.store->admit()) return full;
  Group group;
  if (caf::error error = stage(std::move(bodies), group)) return undone(error);
  state_->hold();
  proposed_ = std::move(group);
  return Proposal{for_store(*proposed_), std::move(proposed_->receipts)};
}

void Ledger::Impl::agreed() {
  FAIRWATER_CHECK(proposed_ && !agreed_, "what is agreed was proposed, after what was written");
  agreed_ = std::move(proposed_);
  proposed_.reset();
}

void Ledger::Impl::withdraw() {
  proposed_.reset();
  forget_half_made();
}

caf::error Ledger::Impl::write_agreed() {
  FAIRWATER_CHECK(agreed_.has_value(), "what is written was agreed");
  Group group = std::move(*agreed_);
  agreed_.reset();
  if (!broken_ && refuse_when_broken())
    broken_ = make_error(ErrorCode::storage_failed,
                         "record " + std::to_string(end().number) + " of the ledger in " +
                             options_.directory +
                             " cannot be marked as durable, and others were to follow on it");
  if (broken_) return broken_;
  if (caf::error failed = write(group)) return failed;
  if (std::exchange(loads_when_written_, false)) load();
  return {};
}

void Ledger::Impl::forget_unwritten() {
  if (!proposed_ && !agreed_) return;
  proposed_.reset();
  agreed_.reset();
  loads_when_written_ = false;
  forget_half_made();
}

caf::error Ledger::Impl::follow(const std::vector<std::string>& records) {
  forget_unwritten();
  if (caf::error error = refuse_when_broken()) return error;
  if (records.empty()) return {};
  Group group;
  if (space_.admit(0)) group.begins = are_beginnings(records);
  if (caf::error full = admit(group, 0)) return full;
  for (const std::string& bytes : records)
    if (caf::error error = stage_followed(bytes, group)) return undone(error);
  if (caf::error error = complete(group)) return undone(error);
  if (caf::error error = write(group)) return undone(error);
  return {};
}

Ledger::Ledger(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Ledger::~Ledger() = default;

Expected<std::unique_ptr<Ledger>> Ledger::open(LedgerOptions options) {
  if (!options.env) options.env = rocksdb::Env::Default();
  auto directory =
      LedgerDirectory::open(options.directory, options.env, options.create, options.version);
  if (!directory) return directory.error();
  const std::string path = options.directory;
  auto impl = std::make_unique<Impl>(std::move(options), std::move(*directory));
  if (caf::error error = guard_storage(path, [&] { return impl->start(); })) return error;
  return std::unique_ptr<Ledger>(new Ledger(std::move(impl)));
}

Expected<std::vector<Receipt>> Ledger::append(std::vector<JournalBody> bodies) {
  return guard_commit(*impl_, [&] { return impl_->append(std::move(bodies)); });
}

Expected<Proposal> Ledger::propose(std::vector<JournalBody> bodies) {
  return guard_commit(*impl_, [&] { return impl_->propose(std::move(bodies)); });
}

void Ledger::agreed() { impl_->agreed(); }

caf::error Ledger::withdraw() {
  return guard_storage(impl_->directory(), [&]() -> caf::error {
    impl_->withdraw();
    return {};
  });
}

caf::error Ledger::write_agreed() {
  return guard_storage(impl_->directory(), [&] { return impl_->write_agreed(); });
}

JournalStore* Ledger::store() const { return impl_->options().store; }

caf::error Ledger::admit(const std::vector<JournalBody>& bodies) const {
  const JournalStore* store = impl_->options().store;
  if (store == nullptr) return {};
  const KnownFormat known = store->known_format();
  for (const JournalBody& body : bodies)
    if (auto unknown = refuse_unknown(known, body)) return unknown;
  return {};
}

caf::error Ledger::follow(const std::vector<std::string>& records) {
  return guard_commit(*impl_, [&] { return impl_->follow(records); });
}

Expected<LedgerBackup> Ledger::backup(const std::string& directory,
                                      const AddFiles& add_files) const {
  return make_backup(impl_->database(), impl_->space(), directory, add_files,
                     impl_->options().clock);
}

std::uint64_t Ledger::checkpoint() const { return impl_->meta().checkpoint; }

Expected<MeasuredCheckpoint> Ledger::measure_checkpoint() const {
  return guard_storage(impl_->directory(), [&]() -> Expected<MeasuredCheckpoint> {
    const Snapshot snapshot(impl_->database());
    const StandingHash standing = hash_standing(snapshot);
    return MeasuredCheckpoint{{journal_end(snapshot), standing.hash}, standing.records};
  });
}

void Ledger::rest_history(bool rests) { impl_->history().rest(rests); }

Expected<HistoryReport> Ledger::cut_history(const HistoryLimits& limits) {
  auto report = guard_storage(impl_->directory(), [&]() -> Expected<HistoryReport> {
    const LedgerMeta meta = impl_->meta();
    return impl_->history().cut({meta.checkpoint, meta.checkpoint_hash.value_or(Hash{})}, limits,
                                impl_->history_time());
  });
  if (!report) history_failed(report.error());
  return report;
}

void Ledger::history_failed(const caf::error& why) {
  impl_->history().failed(details(why).message);
}

HistoryStanding Ledger::history() const {
  HistoryStanding standing = impl_->history().standing();
  standing.checkpoint = impl_->meta().checkpoint;
  return standing;
}

caf::error Ledger::room() const { return impl_->space().admit(0); }

VerifyReport Ledger::verify(VerifyScope scope) const {
  return verify_snapshot(Snapshot(impl_->database()), impl_->archive(), scope);
}

Expected<VerifyReport> Ledger::verify_directory(const std::string& directory, rocksdb::Env* env,
                                                VerifyScope scope) {
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
    VerifyReport report = verify_snapshot(snapshot, Archive(directory, env), scope);
    if (!report.ok) return report;
    if (caf::error error = check_high_water(snapshot, directory, *mark)) return error;
    return report;
  });
}

}  // namespace fairwater::inline storage
