// How long jobs that ended are listed, of each tenant: against a rule that knows every job.
#include <algorithm>
#include <set>

#include <catch2/catch.hpp>

#include "storage/archive.hpp"
#include "storage/backup.hpp"
#include "storage/dropped_jobs.hpp"
#include "storage/history.hpp"
#include "tests/storage/history_support.hpp"
#include "tests/storage/memory_disk.hpp"

namespace fairwater::test {
namespace {

constexpr std::int64_t kHour_ms = 3'600'000;

std::set<JobId> listed(const Ledger& ledger) {
  std::set<JobId> jobs;
  ledger.visit_jobs(JobId{0}, false,
                    [&](const JobRecord& job) { return jobs.insert(job.id).second; });
  return jobs;
}

// -- the rule -------------------------------------------------------------------------------------

/// Knows each archived job, and has no marks.
class NaiveRetention {
 public:
  /// `whole` is the ledger with all that ever was.
  NaiveRetention(const Ledger& whole, const Archive& archive) : whole_(whole), archive_(archive) {}

  void cut(const HistoryLimits& limits, WallTime now) {
    std::map<TenantId, std::uint64_t> listed;
    whole_.visit_jobs(JobId{0}, false, [&](const JobRecord& job) {
      listed[job.tenant] += is_terminal(state_of(job)) && !dropped_.contains(job.id) ? 1 : 0;
      return true;
    });
    remember_archived();
    for (const bool by_age : {true, false}) {
      if (!by_age && !counts(limits)) continue;
      for (const auto& [until_s, job] : archived_) {
        const JobRetention& kept = of(limits, job.tenant);
        const std::int64_t age_ms = now.microseconds / 1000 - until_s * 1000;
        const bool goes = by_age ? age_ms >= kept.keep_jobs_ms
                                 : kept.most_jobs && listed[job.tenant] > *kept.most_jobs;
        if (goes && dropped_.insert(job.id).second) --listed[job.tenant];
      }
    }
    counted_end_ = archive_.end();
    counted_by_ = limits;
  }
  void starts_anew() { counted_by_.reset(); }

  [[nodiscard]] std::set<JobId> listed() const {
    std::set<JobId> jobs = test::listed(whole_);
    for (const JobId id : dropped_) jobs.erase(id);
    return jobs;
  }

 private:
  /// Files may be gone before the next look.
  void remember_archived() {
    for (const SegmentName& segment : archive_.segments())
      if (segment.last > seen_end_) {
        archive_.open(segment)->walk(
            SegmentPart::jobs, "", [&](std::string_view key, std::string_view bytes) {
              archived_.emplace_back(segment.until_s,
                                     decode_stored<JobRecord>(Family::jobs, key, bytes));
              return true;
            });
        seen_end_ = segment.last;
      }
  }
  [[nodiscard]] const JobRetention& of(const HistoryLimits& limits, TenantId tenant) const {
    const auto named = limits.tenants.find(whole_.tenant(tenant)->spec.name);
    return named == limits.tenants.end() ? limits.jobs : named->second;
  }
  [[nodiscard]] bool counts(const HistoryLimits& limits) const {
    return counted_end_ != archive_.end() || counted_by_ != limits;
  }

  const Ledger& whole_;
  const Archive& archive_;
  std::vector<std::pair<std::int64_t, JobRecord>> archived_;  // with the time of their file
  std::uint64_t seen_end_ = 0;
  std::set<JobId> dropped_;
  std::uint64_t counted_end_ = 0;
  std::optional<HistoryLimits> counted_by_;
};

class Limits {
 public:
  explicit Limits(std::mt19937_64& random) : random_(random) {}

  [[nodiscard]] HistoryLimits draw() {
    HistoryLimits limits;
    limits.jobs = retention();
    for (const char* name : {"a", "b", "c", "nobody"})
      if (random_() % 2 == 0) limits.tenants[name] = retention();
    if (random_() % 4 == 0) limits.max_archive_bytes = 1;
    return limits;
  }

 private:
  template <class T, std::size_t kCount>
  T one_of(const std::array<T, kCount>& choices) {
    return choices[random_() % kCount];
  }
  JobRetention retention() {
    JobRetention retention;
    retention.keep_jobs_ms = one_of(std::array<std::int64_t, 4>{0, 10, 30, 1000}) * kHour_ms;
    if (random_() % 2 == 0) retention.most_jobs = one_of(std::array<std::uint64_t, 4>{0, 1, 5, 20});
    return retention;
  }

  std::mt19937_64& random_;
};

TEST_CASE("of each tenant exactly those jobs are listed that its limits keep",
          "[history][property]") {
  const auto seed = GENERATE(range(std::uint64_t{1}, std::uint64_t{13}));
  CAPTURE(seed);
  const auto disk = memory_disk();
  std::mt19937_64 random(seed);
  const auto chance = [&](std::uint64_t percent) { return random() % 100 < percent; };
  std::int64_t now_us = kHour_us;
  LedgerOptions options = options_for("/cut", disk.get());
  options.clock = [&] { return WallTime{now_us}; };
  auto cut = must(Ledger::open(options));
  options.directory = "/whole";
  const auto whole = must(Ledger::open(options));
  options.directory = "/cut";
  const Archive archive("/cut", disk.get());
  NaiveRetention naive(*whole, archive);
  const auto append = [&](const std::vector<JournalBody>& bodies) {
    must(cut->append(bodies));
    must(whole->append(bodies));
  };
  append(founding());
  Traffic traffic(*whole, seed);
  Limits drawn(random);
  HistoryLimits limits = drawn.draw();
  std::uint64_t dropped = 0;
  std::uint64_t listed_before = 0;
  for (int step = 0; step < 150; ++step) {
    now_us += static_cast<std::int64_t>(random() % (2 * kHour_us));
    append(traffic.next_batch(8));
    if (chance(15)) append({must(cut->measure_checkpoint()).record});
    if (chance(6)) {
      cut.reset();
      cut = must(Ledger::open(options));
      limits = drawn.draw();
      naive.starts_anew();
    }
    if (!chance(20)) continue;
    const auto report = must(cut->cut_history(limits));
    dropped += report.dropped_jobs;
    naive.cut(limits, WallTime{now_us});
    REQUIRE(listed(*cut) == naive.listed());
    listed_before = std::max(listed_before, static_cast<std::uint64_t>(listed(*cut).size()));
    if (report.dropped_jobs + report.removed_files > 0) must_verify(*cut);
  }
  CHECK(dropped > 10);
  CHECK(listed_before > 10);
}

// -- cases ----------------------------------------------------------------------------------------

/// A ledger whose jobs of one task have ended, each in a file of the archive of its own, an hour
/// apart.
class KeptLedger {
 public:
  explicit KeptLedger(const std::string& path, rocksdb::Env* env = nullptr)
      : options_(options_for(path, env)) {
    options_.clock = [this] { return now_; };
    options_.running_ms = [this] { return (now_.microseconds - leapt_us_) / 1000; };
    options_.sync = false;  // what is broken off here is writes, not syncs
    ledger = must(Ledger::open(options_));
    must(ledger->append(founding()));
  }
  void run_job(std::uint32_t tenant) {
    now_.microseconds += kHour_us;
    const JobId id = ledger->next_job_id();
    must(ledger->append({JobSubmitted{id, TenantId{tenant}, job_spec("a", 1)}}));
    const TaskKey task{id, 0, 1};
    must(ledger->append({Cycle{{plain_deal(ledger->position(), TenantId{tenant}, {task})}}}));
    must(ledger->append({TasksFinished{NodeId{1}, {success(task)}}}));
  }
  void archive() {
    checkpoint(*ledger);
    HistoryLimits for_ever;
    for_ever.jobs.keep_jobs_ms = kForEver_ms;
    must(ledger->cut_history(for_ever));
  }
  /// So many jobs of tenants 1 to 3 in turn.
  void run_and_archive(int jobs) {
    for (int i = 0; i < jobs; ++i) {
      run_job(1 + static_cast<std::uint32_t>(i % 3));
      archive();
    }
  }
  void pass(std::int64_t hours) { now_.microseconds += hours * kHour_us; }
  /// The clock is set.
  void leap(std::int64_t hours) {
    pass(hours);
    leapt_us_ += hours * kHour_us;
  }
  HistoryReport cut(const HistoryLimits& limits) {
    const HistoryReport report = must(ledger->cut_history(limits));
    must_verify(*ledger);
    return report;
  }
  void close() { ledger.reset(); }
  void open() { ledger = must(Ledger::open(options_)); }

  static constexpr std::int64_t kForEver_ms = 1'000'000 * kHour_ms;
  std::unique_ptr<Ledger> ledger;

 private:
  LedgerOptions options_;
  WallTime now_{1000 * kHour_us};
  std::int64_t leapt_us_ = 0;
};

HistoryLimits keeping(std::int64_t hours) {
  HistoryLimits limits;
  limits.jobs.keep_jobs_ms = hours * kHour_ms;
  return limits;
}

std::set<std::uint64_t> numbers_listed(const Ledger& ledger) {
  std::set<std::uint64_t> numbers;
  for (const JobId id : listed(ledger)) numbers.insert(id.value);
  return numbers;
}

DroppedJobs dropped_in(const std::string& directory) {
  const auto database =
      must(Database::open(directory, rocksdb::Env::Default(), Database::Mode::read_only));
  return read_dropped(Snapshot(*database));
}

using Numbers = std::set<std::uint64_t>;

TEST_CASE("a tenant's jobs stay longer or shorter than the others'", "[history]") {
  const TemporaryDirectory directory;
  KeptLedger kept(directory.path());
  kept.run_and_archive(9);  // ended 8, 7 .. 0 hours ago
  HistoryLimits limits = keeping(5);
  limits.tenants["a"].keep_jobs_ms = 100 * kHour_ms;
  limits.tenants["b"].keep_jobs_ms = 2 * kHour_ms;
  limits.tenants["nobody"].keep_jobs_ms = 0;
  CHECK(kept.cut(limits).dropped_jobs == 3);
  CHECK(numbers_listed(*kept.ledger) == Numbers{1, 4, 6, 7, 8, 9});
  for (std::uint64_t id = 1; id <= 9; ++id) {
    CHECK(kept.ledger->job(JobId{id}));
    CHECK(kept.ledger->tasks(JobId{id}).size() == 1);
  }
  CHECK(kept.cut(limits).is_empty());
  SECTION("who loses limits of its own catches up, whether it was behind or ahead") {
    CHECK(kept.cut(keeping(5)).dropped_jobs == 2);
    CHECK(numbers_listed(*kept.ledger) == Numbers{6, 7, 8, 9});
    kept.pass(100);
    CHECK(kept.cut(keeping(5)).dropped_jobs == 4);
    kept.close();
    CHECK(dropped_in(directory.path()).own.empty());
  }
  SECTION("marks outlive a restart") {
    kept.close();
    const DroppedJobs dropped = dropped_in(directory.path());
    CHECK(dropped.of(TenantId{1}) < dropped.common);
    CHECK(dropped.of(TenantId{2}) > dropped.common);
    CHECK(dropped.own.size() == 2);
    kept.open();
    CHECK(kept.cut(limits).is_empty());
  }
  SECTION("whose limits are new begins where the others are") {
    limits = keeping(5);
    limits.tenants["c"].keep_jobs_ms = 100 * kHour_ms;
    CHECK(kept.cut(limits).dropped_jobs == 2);
    CHECK(numbers_listed(*kept.ledger) == Numbers{6, 7, 8, 9});
    kept.pass(50);
    CHECK(kept.cut(limits).dropped_jobs == 2);
    CHECK(numbers_listed(*kept.ledger) == Numbers{6, 9});
  }
}

TEST_CASE("a clock that leaps ahead takes no history with it", "[history]") {
  const TemporaryDirectory directory;
  KeptLedger kept(directory.path());
  kept.run_and_archive(6);
  HistoryLimits limits = keeping(24);
  limits.keep_archive_ms = 48 * kHour_ms;
  constexpr std::int64_t kTenYears = 87'600;
  kept.leap(kTenYears);
  CHECK(kept.cut(limits).is_empty());
  kept.pass(10);
  SECTION("while it is ahead for less than a day") { CHECK(kept.cut(limits).is_empty()); }
  SECTION("nor where a coordinator starts with it") {
    kept.close();
    kept.open();
    CHECK(kept.cut(limits).is_empty());
  }
  SECTION("and once it is right again") {
    kept.leap(-kTenYears);
    CHECK(kept.cut(limits).is_empty());
    kept.pass(12);
    CHECK(kept.cut(limits).dropped_jobs == 4);
  }
  SECTION("but what stays so is time that passed") {
    kept.pass(14);
    const HistoryReport report = kept.cut(limits);
    CHECK(report.dropped_jobs == 6);
    CHECK(report.removed_files == 5);
  }
}

TEST_CASE("of a tenant's ended jobs so many stay, the newest", "[history]") {
  const TemporaryDirectory directory;
  KeptLedger kept(directory.path());
  for (int i = 0; i < 4; ++i) {
    for (const std::uint32_t tenant : {1, 2, 1, 1}) kept.run_job(tenant);
    kept.archive();
  }
  HistoryLimits limits = keeping(1000);
  SECTION("of one tenant") {
    limits.tenants["a"] = {1000 * kHour_ms, 4};
    CHECK(kept.cut(limits).dropped_jobs == 8);
    CHECK(numbers_listed(*kept.ledger) == Numbers{2, 6, 10, 12, 13, 14, 15, 16});
    // What ended since the newest file is listed, too, until the next one.
    kept.run_job(1);
    CHECK(kept.cut(limits).is_empty());
    CHECK(listed(*kept.ledger).contains(JobId{17}));
    checkpoint(*kept.ledger);
    CHECK(kept.cut(limits).dropped_jobs == 1);
    CHECK(numbers_listed(*kept.ledger) == Numbers{2, 6, 10, 13, 14, 15, 16, 17});
  }
  SECTION("of each") {
    limits.jobs.most_jobs = 2;
    CHECK(kept.cut(limits).dropped_jobs == 12);
    CHECK(numbers_listed(*kept.ledger) == Numbers{10, 14, 15, 16});
  }
  SECTION("of each, but one") {
    limits.jobs.most_jobs = 0;
    limits.tenants["b"].most_jobs = 3;
    CHECK(kept.cut(limits).dropped_jobs == 13);
    CHECK(numbers_listed(*kept.ledger) == Numbers{6, 10, 14});
  }
  SECTION("and none that is old") {
    kept.pass(999);
    limits.tenants["a"] = {1000 * kHour_ms, 9};
    CHECK(kept.cut(limits).dropped_jobs == 12);
    CHECK(numbers_listed(*kept.ledger) == Numbers{13, 14, 15, 16});
  }
}

TEST_CASE("a tenant's limits are those of the tenants in it, each for itself", "[history]") {
  const TemporaryDirectory directory;
  KeptLedger kept(directory.path());
  std::vector<TenantRecord> within;
  for (const std::uint32_t id : {4, 5, 6}) {
    within.push_back(tenant(id, "t" + std::to_string(id), 1));
    if (id > 4) within.back().spec.parent = "t4";
  }
  must(kept.ledger->append({TenantsChanged{within, kept.ledger->position()}}));
  for (const std::uint32_t tenant : {1, 5, 5, 6, 6, 6}) kept.run_job(tenant);
  kept.archive();
  HistoryLimits limits = keeping(1000);
  limits.tenants["t4"].most_jobs = 1;
  CHECK(kept.cut(limits).dropped_jobs == 3);
  CHECK(numbers_listed(*kept.ledger) == Numbers{1, 3, 6});
  limits.tenants["t6"].most_jobs = 0;
  CHECK(kept.cut(limits).dropped_jobs == 1);
  CHECK(numbers_listed(*kept.ledger) == Numbers{1, 3});
}

TEST_CASE("a tenant that is gone has the limits of all", "[history]") {
  const TemporaryDirectory directory;
  KeptLedger kept(directory.path());
  kept.run_and_archive(6);
  HistoryLimits limits = keeping(3);
  limits.tenants["b"].keep_jobs_ms = 1000 * kHour_ms;
  CHECK(kept.cut(limits).dropped_jobs == 2);
  CHECK(numbers_listed(*kept.ledger) == Numbers{2, 4, 5, 6});
  must(kept.ledger->append({TenantRemoved{TenantId{2}, kept.ledger->position(), 0}}));
  CHECK(kept.cut(limits).dropped_jobs == 1);
  CHECK(numbers_listed(*kept.ledger) == Numbers{4, 5, 6});
}

TEST_CASE("the archive's files stay while a tenant's jobs in them are listed", "[history]") {
  const TemporaryDirectory directory;
  KeptLedger kept(directory.path());
  kept.run_and_archive(6);
  HistoryLimits limits = keeping(0);
  limits.tenants["b"].keep_jobs_ms = 1000 * kHour_ms;
  limits.max_archive_bytes = 1;
  CHECK(kept.cut(limits).removed_files == 1);
  CHECK(numbers_listed(*kept.ledger) == Numbers{2, 5});
  CHECK_FALSE(kept.ledger->job(JobId{1}));
  CHECK(kept.ledger->job(JobId{3}));
  limits.tenants.clear();
  CHECK(kept.cut(limits).removed_files == 4);
  CHECK(listed(*kept.ledger).empty());
}

TEST_CASE("without limits of its own no tenant has a mark, as in earlier versions", "[history]") {
  const TemporaryDirectory directory;
  KeptLedger kept(directory.path());
  kept.run_and_archive(4);
  CHECK(kept.cut(keeping(2)).dropped_jobs == 2);
  kept.close();
  {
    const auto database =
        must(Database::open(directory.path(), rocksdb::Env::Default(), Database::Mode::read_only));
    const Snapshot snapshot(*database);
    const SegmentName second = Archive(directory.path(), rocksdb::Env::Default()).segments()[1];
    CHECK(snapshot.note("dropped jobs") == big_endian(second.last) + key_of(JobId{2}));
  }
  kept.open();
  HistoryLimits limits = keeping(1);
  limits.tenants["c"].keep_jobs_ms = 10 * kHour_ms;
  CHECK(kept.cut(limits).is_empty());
  CHECK(numbers_listed(*kept.ledger) == Numbers{3, 4});
}

TEST_CASE("a backup holds each tenant's mark", "[history]") {
  const TemporaryDirectory directory;
  KeptLedger kept(directory / "ledger");
  kept.run_and_archive(6);
  HistoryLimits limits = keeping(3);
  limits.tenants["a"].keep_jobs_ms = 1000 * kHour_ms;
  limits.tenants["b"].most_jobs = 0;
  CHECK(kept.cut(limits).dropped_jobs == 3);
  must(kept.ledger->backup(directory / "backup"));
  RestoreOptions options;
  options.backup = directory / "backup";
  options.directory = directory / "restored";
  options.beginning = [](const BackupManifest& manifest) {
    return LedgerTrusted{manifest.end.incarnation + 1, ~std::uint64_t{0}, 1000, "a test"};
  };
  must(restore_backup(options));
  const auto restored = must(Ledger::open(existing(options.directory)));
  must_verify(*restored);
  CHECK(numbers_listed(*restored) == Numbers{1, 4, 6});
}

TEST_CASE("a cut by tenants that is broken off at any write is ended by the next one",
          "[history][damage]") {
  HistoryLimits limits = keeping(3);
  limits.tenants["a"].keep_jobs_ms = 1000 * kHour_ms;
  limits.tenants["b"] = {1000 * kHour_ms, 1};
  limits.max_archive_bytes = 1;
  std::int64_t operations = 0;
  for (bool broke = true; broke; ++operations) {
    CAPTURE(operations);
    const TemporaryDirectory directory;
    FailingDisk disk;
    KeptLedger kept(directory.path(), &disk);
    kept.run_and_archive(9);
    kept.run_job(2);
    checkpoint(*kept.ledger);
    disk.left = operations;
    broke = !kept.ledger->cut_history(limits);
    kept.close();
    disk.left = std::int64_t{1} << 60;
    kept.open();
    must_verify(*kept.ledger);
    kept.cut(limits);
    CHECK(numbers_listed(*kept.ledger) == Numbers{1, 4, 7, 9, 10});
  }
  CHECK(operations > 10);
}

}  // namespace
}  // namespace fairwater::test
