// History that is cut: what the archive takes over is what was there, whenever it is broken off.
#include "storage/history.hpp"

#include <filesystem>

#include <catch2/catch.hpp>

#include "storage/archive.hpp"
#include "storage/backup.hpp"
#include "tests/storage/history_support.hpp"
#include "tests/storage/memory_disk.hpp"
#include "tests/storage/support.hpp"

namespace fairwater::test {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;

std::vector<JournalRecord> journal_of(const Ledger& ledger, std::uint64_t from) {
  std::vector<JournalRecord> records;
  ledger.visit_journal(from, [&](const JournalRecord& record) {
    records.push_back(record);
    return true;
  });
  return records;
}

/// What is asked of both has the same answer.
void must_be_alike(const Ledger& cut, const Ledger& whole) {
  REQUIRE(cut.last_number() == whole.last_number());
  CHECK(cut.end().hash == whole.end().hash);
  CHECK(cut.tenants() == whole.tenants());
  CHECK(cut.live_jobs() == whole.live_jobs());
  for (JobId id{1}; id < whole.next_job_id(); ++id.value) {
    CHECK(cut.job(id) == whole.job(id));
    const auto tasks = cut.tasks(id);
    const auto expected = whole.tasks(id);
    REQUIRE(tasks.size() == expected.size());
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      CHECK(tasks[i].index == expected[i].index);
      CHECK(tasks[i].record == expected[i].record);
      CHECK(cut.task(id, tasks[i].index) == whole.task(id, tasks[i].index));
    }
    CHECK(cut.tasks(id, 1, 1).size() == whole.tasks(id, 1, 1).size());
  }
  const std::uint64_t half = whole.last_number() / 2;
  CHECK(journal_of(cut, 1) == journal_of(whole, 1));
  CHECK(journal_of(cut, half) == journal_of(whole, half));
  CHECK(cut.record(half) == whole.record(half));
  CHECK_FALSE(cut.record(whole.last_number() + 1));
  CHECK_FALSE(cut.job(whole.next_job_id()));
}

TEST_CASE("a ledger with cut history answers and verifies as one with all of it", "[history]") {
  const auto seed = GENERATE(range(std::uint64_t{1}, std::uint64_t{9}));
  CAPTURE(seed);
  const auto disk = memory_disk();
  std::mt19937_64 random(seed);
  const auto chance = [&](std::uint64_t percent) { return random() % 100 < percent; };
  LedgerOptions cut_options = options_for("/cut", disk.get());
  LedgerOptions whole_options = options_for("/whole", disk.get());
  auto cut = must(Ledger::open(cut_options));
  auto whole = must(Ledger::open(whole_options));
  std::int64_t now_us = kHour_us;
  const auto append = [&](const std::vector<JournalBody>& bodies) {
    must(cut->append(bodies));
    must(whole->append(bodies));
  };
  const auto reopen = [&] {
    cut.reset();
    cut_options.clock = [&] { return WallTime{now_us}; };
    cut = must(Ledger::open(cut_options));
    whole.reset();
    whole_options.clock = cut_options.clock;
    whole = must(Ledger::open(whole_options));
  };
  reopen();
  append(founding());
  Traffic traffic(*cut, seed);
  std::uint64_t archived_jobs = 0;
  std::uint64_t dropped_jobs = 0;
  for (int step = 0; step < 120; ++step) {
    now_us += static_cast<std::int64_t>(random() % (2 * kHour_us));
    append(traffic.next_batch(6));
    if (chance(8)) append({must(cut->measure_checkpoint()).record});
    if (chance(10)) {
      const auto report = must(cut->cut_history(keeping_jobs(chance(50) ? 0 : 24)));
      archived_jobs += report.archived_jobs;
      dropped_jobs += report.dropped_jobs;
    }
    if (chance(3)) reopen();
    if (chance(10)) must_verify(*cut);
  }
  must_be_alike(*cut, *whole);
  must_verify(*cut);
  CHECK(archived_jobs >= dropped_jobs);
  CHECK(dropped_jobs > 0);
}

TEST_CASE("what happens to an archived job comes late and changes nothing", "[history]") {
  const TemporaryDirectory directory;
  auto ledger = must(Ledger::open(options_for(directory.path())));
  must(ledger->append(founding()));
  must(ledger->append({JobSubmitted{JobId{1}, TenantId{1}, job_spec("a", 1)}}));
  const TaskKey task{JobId{1}, 0, 1};
  must(ledger->append({Cycle{{plain_deal(ledger->position(), TenantId{1}, {task})}}}));
  must(ledger->append({TasksFinished{NodeId{1}, {success(task)}}}));
  checkpoint(*ledger);
  const HistoryReport report = must(ledger->cut_history(keeping_jobs(0)));
  CHECK(report.archived_jobs == 1);
  CHECK(report.dropped_jobs == 1);
  const auto before = ledger->job(JobId{1});
  REQUIRE(before);
  must(ledger->append({TasksFinished{NodeId{1}, {success(task)}}, JobCancelled{JobId{1}, "late"},
                       JobWindsDown{JobId{1}}, TasksRequeued{NodeId{1}, {task}, "late", true}}));
  CHECK(ledger->job(JobId{1}) == before);
  CHECK_FALSE(ledger->append({JobCancelled{JobId{2}, "was never there"}}));
  must_verify(*ledger);
  CHECK(must(ledger->cut_history(keeping_jobs(0))).is_empty());
}

TEST_CASE("the archive's files go with age and size, but not what is needed", "[history]") {
  const TemporaryDirectory directory;
  const Written written(directory.path());
  const Archive archive(directory.path(), rocksdb::Env::Default());
  const auto all = archive.segments();
  REQUIRE(all.size() == 3);
  HistoryLimits limits = keeping_jobs(0);
  SECTION("by size") { limits.max_archive_bytes = 1; }
  SECTION("by age") { limits.keep_archive_ms = 1; }
  CHECK(must(written.ledger->cut_history(limits)).removed_files == 2);
  CHECK(archive.segments() == std::vector{all.back()});
  must_verify(*written.ledger);
  CHECK(written.ledger->verify(VerifyScope::archive).begins_after == all.back().last);
  CHECK_FALSE(written.ledger->record(1));
  CHECK(journal_of(*written.ledger, 1).front().number == all.back().first);
}

TEST_CASE("jobs that are listed keep their files", "[history]") {
  const TemporaryDirectory directory;
  auto ledger = must(Ledger::open(options_for(directory.path())));
  must(ledger->append(founding()));
  Traffic traffic(*ledger, 2);
  for (int i = 0; i < 3; ++i) {
    must(ledger->append(traffic.next_batch(40)));
    checkpoint(*ledger);
    must(ledger->cut_history({}));
  }
  HistoryLimits limits;
  limits.max_archive_bytes = 1;
  CHECK(must(ledger->cut_history(limits)).is_empty());
  must_verify(*ledger);
}

auto restored_from(const std::string& backup, const std::string& directory) {
  RestoreOptions options;
  options.backup = backup;
  options.directory = directory;
  options.beginning = [](const BackupManifest& manifest) {
    return LedgerTrusted{manifest.end.incarnation + 1, ~std::uint64_t{0}, 1000, "a test"};
  };
  must(restore_backup(options));
  return must(Ledger::open(existing(directory)));
}

TEST_CASE("a backup holds the archive, and what is restored from it verifies", "[history]") {
  const TemporaryDirectory directory;
  Written written(directory / "ledger");
  must(written.ledger->append({JobSubmitted{{}, TenantId{1}, job_spec("a", 1)}}));
  const std::string backup = directory / "backup";
  must(written.ledger->backup(backup));
  CHECK(must(Ledger::verify_directory(backup, nullptr, VerifyScope::archive)).ok);
  auto restored = restored_from(backup, directory / "restored");
  must_verify(*restored);
  CHECK(restored->record(1) == written.ledger->record(1));
  checkpoint(*restored);
  CHECK(must(restored->cut_history(keeping_jobs(0))).archived_records > 0);
  must_verify(*restored);
}

/// Something happens when a file of that place is first written.
class DiskWithEvent final : public rocksdb::EnvWrapper {
 public:
  DiskWithEvent() : EnvWrapper(rocksdb::Env::Default()) {}
  std::string place;
  std::function<void()> event;

  rocksdb::Status NewWritableFile(const std::string& name,
                                  std::unique_ptr<rocksdb::WritableFile>* file,
                                  const rocksdb::EnvOptions& options) override {
    if (event && name.find(place) != std::string::npos) std::exchange(event, {})();
    return EnvWrapper::NewWritableFile(name, file, options);
  }
};

TEST_CASE("history that is cut while a backup's database is copied is not in the backup",
          "[history]") {
  const TemporaryDirectory directory;
  DiskWithEvent disk;
  Written written(directory / "ledger", 5, 60, &disk);
  const std::uint64_t end = written.ledger->last_number();
  const std::string backup = directory / "backup";
  disk.place = "/backup.unfinished/db";
  disk.event = [&] {
    must(written.ledger->append({JobSubmitted{{}, TenantId{1}, job_spec("a", 1)}}));
    written.cut();
  };
  REQUIRE(must(written.ledger->backup(backup)).manifest.end.number == end);
  const Archive archive(written.options.directory, &disk);
  REQUIRE(archive.end() > end);
  const auto newest = archive.segments().back().text();
  const fs::path archived(Archive::path_in(backup));
  CHECK_FALSE(fs::exists(archived / newest));
  CHECK_FALSE(fs::is_empty(archived));

  if (GENERATE(false, true))  // as an earlier version's
    fs::copy(fs::path(archive.path()) / newest, archived / newest);
  auto restored = restored_from(backup, directory / "restored");
  while (restored->last_number() < archive.end() + 10)
    must(restored->append({JobSubmitted{{}, TenantId{1}, job_spec("a", 1)}}));
  checkpoint(*restored);
  must(restored->cut_history(keeping_jobs(0)));
  must_verify(*restored);
  CHECK(restored->record(end + 1));
  CHECK(std::holds_alternative<LedgerTrusted>(restored->record(end + 1)->body));
}

// -- broken off -----------------------------------------------------------------------------------

TEST_CASE("a cut that is broken off at any write loses nothing, and the next one ends it",
          "[history][damage]") {
  std::int64_t operations = 0;
  for (bool broke = true; broke; ++operations) {
    CAPTURE(operations);
    const TemporaryDirectory directory;
    std::vector<JournalRecord> before;
    HistoryLimits limits = keeping_jobs(0);
    limits.max_archive_bytes = 1;
    {
      FailingDisk disk;
      Written written(directory.path(), 5, 39, &disk);
      checkpoint(*written.ledger);
      before = journal_of(*written.ledger, 1);
      disk.left = operations;
      broke = !written.ledger->cut_history(limits);
    }
    LedgerOptions options = existing(directory.path());
    options.clock = [] { return WallTime{1000 * kHour_us}; };
    auto ledger = must(Ledger::open(options));
    must_verify(*ledger);
    if (broke) CHECK(ledger->last_number() == before.back().number);
    must(ledger->cut_history(keeping_jobs(0)));
    must_verify(*ledger);
    CHECK(ledger->record(before.back().number) == before.back());
  }
  CHECK(operations > 5);
}

TEST_CASE("the ledger says where its history stands", "[history]") {
  const TemporaryDirectory directory;
  Written written(directory.path());
  const auto standing = [&] { return written.ledger->history(); };
  const Archive archive(directory.path(), rocksdb::Env::Default());
  const auto all = archive.segments();
  HistoryStanding expected{3, archive.bytes(), 1, all.back().last, all.back().last, {}, ""};
  expected.cut_at = archive.made_at(all.back());
  CHECK(expected.cut_at.microseconds > wall_time_now().microseconds - kHour_us);
  CHECK(standing() == expected);
  written.ledger->history_failed(make_error(ErrorCode::disk_full, "no room"));
  CHECK(standing().failure == "no room");

  HistoryLimits limits = keeping_jobs(0);
  limits.max_archive_bytes = 1;
  must(written.ledger->cut_history(limits));
  expected.files = 1;
  expected.bytes = archive.bytes();
  expected.first = all.back().first;
  CHECK(standing() == expected);
  written.ledger.reset();
  written.ledger = must(Ledger::open(existing(directory.path())));
  CHECK(standing() == expected);

  Checkpointed wrong = must(written.ledger->measure_checkpoint()).record;
  wrong.state_hash[3] ^= 1;
  must(written.ledger->append({wrong}));
  CHECK_FALSE(written.ledger->cut_history(limits));
  CHECK_THAT(standing().failure, Contains("cannot be archived"));
}

TEST_CASE("history rests when it is told to", "[history]") {
  const TemporaryDirectory directory;
  auto ledger = must(Ledger::open(options_for(directory.path())));
  must(ledger->append(founding()));
  checkpoint(*ledger);
  ledger->rest_history(true);
  CHECK(must(ledger->cut_history(keeping_jobs(0))).is_empty());
  ledger->rest_history(false);
  CHECK(must(ledger->cut_history(keeping_jobs(0))).archived_records > 0);
}

TEST_CASE("a finished task takes less than 200 bytes in the archive", "[history]") {
  const auto disk = memory_disk();
  auto ledger = must(Ledger::open(options_for("/ledger", disk.get())));
  must(ledger->append(founding()));
  constexpr std::uint64_t kJobs = 3000;
  for (std::uint64_t id = 1; id <= kJobs; ++id) {
    JobSpec spec = job_spec("a", 1);
    spec.name = "job-" + std::to_string(id);
    spec.command = {"python3", "train.py", "--seed", std::to_string(id * 7919 % 10'007)};
    must(ledger->append({JobSubmitted{JobId{id}, TenantId{1}, spec}}));
    const TaskKey task{JobId{id}, 0, 1};
    must(ledger->append({Cycle{{plain_deal(ledger->position(), TenantId{1}, {task})}}}));
    must(ledger->append({TasksFinished{NodeId{1}, {success(task)}}}));
  }
  checkpoint(*ledger);
  const HistoryReport report = must(ledger->cut_history(keeping_jobs(0)));
  REQUIRE(report.archived_jobs == kJobs);
  CHECK(report.archived_bytes / kJobs < 200);
  WARN("bytes of the archive a task: " << report.archived_bytes / kJobs);
}

TEST_CASE("a segment's name says what is in it", "[history]") {
  const SegmentName name{12, 3456, JobId{7}, JobId{99}, 1'700'000'000};
  CHECK(name.text() == "00000000000000000012-00000000000000003456.jobs-7-99.until-1700000000.sst");
  CHECK(SegmentName::parse(name.text()) == name);
  for (const char* foreign : {"", "unfinished", "000012.sst", "12-11.jobs-0-0.until-0.sst",
                              "0-3.jobs-0-0.until-0.sst", "1-3.jobs-0-0.until-0.sst.bak"})
    CHECK_FALSE(SegmentName::parse(foreign));
}

}  // namespace
}  // namespace fairwater::test
