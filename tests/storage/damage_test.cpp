// Directories that are damaged, foreign, older or in use: one clear sentence, and no harm.
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <sys/mount.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <catch2/catch.hpp>
#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include "storage/database.hpp"
#include "storage/directory.hpp"
#include "storage/high_water.hpp"
#include "tests/storage/child_process.hpp"
#include "tests/storage/support.hpp"

namespace fairwater::test {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

std::map<std::string, std::string> files_of(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    std::ostringstream content;
    if (entry.is_regular_file()) content << std::ifstream(entry.path()).rdbuf();
    files[entry.path()] = content.str();
  }
  return files;
}

std::pair<std::string, std::string> first_record(const std::string& directory, Family family) {
  const auto database =
      must(Database::open(directory, rocksdb::Env::Default(), Database::Mode::read_only));
  std::pair<std::string, std::string> record;
  Snapshot(*database).walk(family, "", false, [&](std::string_view key, std::string_view value) {
    record = {std::string(key), std::string(value)};
    return false;
  });
  return record;
}

TEST_CASE("an empty directory is not taken for a ledger", "[unit][damage]") {
  const TemporaryDirectory directory;
  const ErrorDetails error = open_error(existing(directory.path()));
  CHECK(error.code == ErrorCode::invalid_input);
  CHECK_THAT(error.message, StartsWith(directory.path()) && Contains("--init"));
  CHECK(fs::is_empty(directory.path()));
  CHECK(open_error(existing(directory / "missing")).code == ErrorCode::invalid_input);
  CHECK_FALSE(fs::exists(directory / "missing"));
  CHECK(code_of(Ledger::verify_directory(directory.path()).error()) == ErrorCode::invalid_input);
}

/// As RocksDB shows a directory that this user may not enter: it seems to be missing.
class LockedDisk final : public rocksdb::EnvWrapper {
 public:
  LockedDisk() : EnvWrapper(rocksdb::Env::Default()) {}
  rocksdb::Status GetChildren(const std::string&, std::vector<std::string>*) override {
    return rocksdb::Status::NotFound();
  }
  rocksdb::Status NewSequentialFile(const std::string& name,
                                    std::unique_ptr<rocksdb::SequentialFile>*,
                                    const rocksdb::EnvOptions&) override {
    return rocksdb::Status::IOError("While opening " + name, "Permission denied");
  }
};

TEST_CASE("a ledger that cannot be looked at is not taken for an empty directory",
          "[unit][damage]") {
  const TemporaryDirectory directory;
  must(must(Ledger::open(options_for(directory.path())))->append(founding()));
  const auto before = files_of(directory.path());
  LockedDisk disk;
  LedgerOptions options =
      GENERATE(false, true) ? options_for(directory.path()) : existing(directory.path());
  options.env = &disk;
  const ErrorDetails error = open_error(options);
  CHECK(error.code == ErrorCode::storage_failed);
  CHECK_THAT(error.message, StartsWith("cannot read the ledger in " + directory.path()) &&
                                Contains("Permission denied"));
  CHECK(code_of(Ledger::verify_directory(directory.path(), &disk).error()) ==
        ErrorCode::storage_failed);
  CHECK(files_of(directory.path()) == before);
}

TEST_CASE("a foreign directory is refused untouched", "[unit][damage]") {
  const TemporaryDirectory directory;
  SECTION("somebody's files") { std::ofstream(directory / "thesis.tex") << "precious"; }
  SECTION("another program's RocksDB") {
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::DB* opened = nullptr;
    REQUIRE(rocksdb::DB::Open(options, directory.path(), &opened).ok());
    const std::unique_ptr<rocksdb::DB> database(opened);
    REQUIRE(database->Put({}, "key", "value").ok());
  }
  const auto before = files_of(directory.path());
  const ErrorDetails error = open_error(options_for(directory.path()));
  CHECK(error.code == ErrorCode::storage_damaged);
  CHECK_THAT(error.message, StartsWith(directory.path() + " is not a Fairwater ledger"));
  CHECK(code_of(Ledger::verify_directory(directory.path()).error()) == ErrorCode::storage_damaged);
  CHECK(files_of(directory.path()) == before);
}

TEST_CASE("a database with families of another version is refused", "[unit][damage]") {
  const TemporaryDirectory directory;
  make_ledger(directory.path(), 1);
  {
    auto database =
        must(Database::open(directory.path(), rocksdb::Env::Default(), Database::Mode::read_write));
    rocksdb::ColumnFamilyHandle* added = nullptr;
    REQUIRE(database->rocks().CreateColumnFamily({}, "credits", &added).ok());
    database->rocks().DestroyColumnFamilyHandle(added);
  }
  const ErrorDetails error = open_error(existing(directory.path()));
  CHECK(error.code == ErrorCode::storage_damaged);
  CHECK_THAT(error.message, Contains("column families") && Contains(directory.path()));
}

TEST_CASE("a database whose MANIFEST was emptied is told as such", "[unit][damage]") {
  const TemporaryDirectory directory;
  make_ledger(directory.path(), 1);
  for (const auto& file : std::filesystem::directory_iterator(directory / "db"))
    if (file.path().filename().string().starts_with("MANIFEST-"))
      std::filesystem::resize_file(file.path(), 0);
  const auto before = files_of(directory.path());
  const ErrorDetails error = open_error(existing(directory.path()));
  CHECK(error.code == ErrorCode::storage_damaged);
  CHECK_THAT(error.message, Contains("its newest MANIFEST-* is empty or cut off"));
  CHECK(files_of(directory.path()) == before);
}

TEST_CASE("child opens a ledger", "[.child]") {
  if (child_argument().empty()) return;
  const auto ledger = Ledger::open(existing(child_argument()));
  tell_parent(ledger ? "opened" : details(ledger.error()).message);
}

TEST_CASE("a second coordinator is told who is in its way", "[unit][damage]") {
  const TemporaryDirectory directory;
  make_ledger(directory.path(), 1);
  const std::string refusal =
      "another coordinator uses " + directory.path() + "; a ledger has one at a time.";
  {
    auto ledger = must(Ledger::open(existing(directory.path())));
    ChildProcess child("child opens a ledger", directory.path());
    CHECK(child.read_all() == refusal + "\n");
    CHECK(child.wait() == 0);
    CHECK(open_error(existing(directory.path())).code == ErrorCode::storage_locked);
    must(ledger->append({JobSubmitted{{}, TenantId{1}, job_spec("a", 1)}}));
  }
  ChildProcess child("child opens a ledger", directory.path());
  CHECK(child.read_all() == "opened\n");
}

TEST_CASE("verify names a planted difference in every family", "[unit][damage]") {
  const TemporaryDirectory directory;
  make_ledger(directory.path());
  JobSubmitted named{{}, TenantId{1}, job_spec("a", 1), {"nightly", Hash{}}};
  must(must(Ledger::open(existing(directory.path())))->append({named}));
  REQUIRE(must(Ledger::verify_directory(directory.path())).ok);
  for (std::size_t i = 0; i < kFamilyCount; ++i) {
    const auto family = static_cast<Family>(i);
    if (family == Family::journal) continue;
    const std::string name = name_of(family);
    INFO(name);
    const auto [key, stored] = first_record(directory.path(), family);
    REQUIRE_FALSE(key.empty());
    std::string changed = stored;
    changed.back() = static_cast<char>(changed.back() ^ 1);
    for (const auto& planted : {std::optional(changed), std::optional<std::string>()}) {
      tamper(directory.path(), family, key, planted);
      const VerifyReport report = must(Ledger::verify_directory(directory.path()));
      CHECK_FALSE(report.ok);
      REQUIRE_FALSE(report.differences.empty());
      CHECK_THAT(report.differences.front(), StartsWith(name + " "));
    }
    tamper(directory.path(), family, key, stored);
    const std::string extra(key.size(), '\x7f');
    tamper(directory.path(), family, extra, stored);
    const VerifyReport report = must(Ledger::verify_directory(directory.path()));
    REQUIRE_FALSE(report.differences.empty());
    CHECK_THAT(report.differences.front(), Contains("the journal gives nothing"));
    tamper(directory.path(), family, extra, std::nullopt);
  }
  CHECK(must(Ledger::verify_directory(directory.path())).ok);
}

TEST_CASE("verify says what is stored and what the journal gives", "[unit][damage]") {
  const TemporaryDirectory directory;
  make_ledger(directory.path());
  const auto [key, stored] = first_record(directory.path(), Family::balances);
  IouRecord iou = must(from_bytes<IouRecord>(stored));
  const std::string right = std::to_string(iou.units);
  iou.units += 1000;
  tamper(directory.path(), Family::balances, key, to_bytes(iou));
  const VerifyReport report = must(Ledger::verify_directory(directory.path()));
  REQUIRE(report.differences.size() == 1);
  CHECK_THAT(report.differences.front(), Contains("stored (units = " + std::to_string(iou.units)) &&
                                             Contains("the journal gives (units = " + right));
}

TEST_CASE("a flipped byte in the journal breaks the chain", "[unit][damage]") {
  const TemporaryDirectory directory;
  make_ledger(directory.path());
  const std::uint64_t number = 6;
  const std::string key = journal_key(number);
  std::string bytes;
  {
    auto database =
        must(Database::open(directory.path(), rocksdb::Env::Default(), Database::Mode::read_only));
    bytes = *Snapshot(*database).get(Family::journal, key);
  }
  // The last byte belongs to the token's hash: the record still reads well.
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  tamper(directory.path(), Family::journal, key, bytes);
  const VerifyReport report = must(Ledger::verify_directory(directory.path()));
  CHECK_FALSE(report.ok);
  CHECK(report.records == number);
  REQUIRE(report.differences.size() == 1);
  CHECK_THAT(report.differences.front(),
             StartsWith("journal 7: ") && Contains("does not carry the hash of the record before"));
}

TEST_CASE("a damaged end is seen when the ledger is opened", "[unit][damage]") {
  const TemporaryDirectory directory;
  make_ledger(directory.path(), 1);
  std::uint64_t last = 0;
  std::string bytes;
  {
    auto ledger = must(Ledger::open(existing(directory.path())));
    last = ledger->last_number();
    bytes = to_bytes(*ledger->record(last));
  }
  SECTION("changed") {
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    tamper(directory.path(), Family::journal, journal_key(last), bytes);
  }
  SECTION("state gone") { tamper(directory.path(), Family::meta, kMetaKey, std::nullopt); }
  SECTION("one too many") {
    tamper(directory.path(), Family::journal, journal_key(last + 1), bytes);
  }
  const ErrorDetails error = open_error(existing(directory.path()));
  CHECK(error.code == ErrorCode::storage_damaged);
  CHECK_THAT(error.message,
             Contains(directory.path()) && Contains("its journal ends with record "));
  CHECK_FALSE(must(Ledger::verify_directory(directory.path())).ok);
}

TEST_CASE("a gap in the journal is named", "[unit][damage]") {
  const TemporaryDirectory directory;
  make_ledger(directory.path());
  tamper(directory.path(), Family::journal, journal_key(9), std::nullopt);
  const VerifyReport report = must(Ledger::verify_directory(directory.path()));
  REQUIRE(report.differences.size() == 1);
  CHECK(report.differences.front() == "journal 10: record 9 is missing before it");
}

/// As ledgers were before there was this list of jobs; `keep_some` as if filling it had been broken
/// off.
void take_list_away(const std::string& directory, Family family, bool keep_some) {
  auto database =
      must(Database::open(directory, rocksdb::Env::Default(), Database::Mode::read_write));
  auto& rocks = database->rocks();
  REQUIRE(rocks.Delete({}, rocks.DefaultColumnFamily(), name_of(family)).ok());
  if (!keep_some) {
    REQUIRE(rocks.DropColumnFamily(database->handle(family)).ok());
    return;
  }
  std::string first;
  Snapshot(*database).walk(family, "", false, [&](std::string_view key, std::string_view) {
    first = key;
    return false;
  });
  REQUIRE_FALSE(first.empty());
  REQUIRE(rocks.Delete({}, database->handle(family), first).ok());
}

TEST_CASE("an older ledger gets the lists of its tenants' and classes' jobs when it is opened",
          "[unit][damage]") {
  const TemporaryDirectory directory;
  make_ledger(directory.path());
  const auto listed = [](const Ledger& ledger) {
    std::vector<std::pair<std::uint64_t, JobState>> jobs;
    for (const std::uint32_t tenant : {1, 2, 3})
      ledger.visit_tenant_jobs(TenantId{tenant}, JobId{~0ull}, [&](JobId job, JobState state) {
        jobs.emplace_back(job.value, state);
        return true;
      });
    std::optional<NamedAmounts> amounts;
    while ((amounts = ledger.class_amounts_before(TenantId{1}, "sleeper", amounts)))
      ledger.visit_class_jobs(TenantId{1}, "sleeper", *amounts, [&](JobId job) {
        jobs.emplace_back(job.value, JobState::pending);
        return true;
      });
    return jobs;
  };
  const auto before = listed(*must(Ledger::open(existing(directory.path()))));
  REQUIRE(before.size() > 10);
  take_list_away(directory.path(), GENERATE(Family::tenant_jobs, Family::class_jobs),
                 GENERATE(true, false));
  CHECK(must(Ledger::verify_directory(directory.path())).ok);
  {
    auto ledger = must(Ledger::open(existing(directory.path())));
    CHECK(listed(*ledger) == before);
    must(ledger->append({JobSubmitted{{}, TenantId{1}, job_spec("a", 1)}}));
  }
  CHECK(must(Ledger::verify_directory(directory.path())).differences == std::vector<std::string>{});
}

TEST_CASE("a damaged old block is a fault of what is in it alone", "[unit][damage]") {
  const TemporaryDirectory directory;
  make_ledger(directory.path(), 1);
  std::string mark(5'000, ' ');  // more than a block, and nothing that could be compressed
  std::mt19937 random(1);
  for (char& each : mark) each = static_cast<char>(1 + random() % 255);
  JobId damaged;
  {
    auto ledger = must(Ledger::open(existing(directory.path())));
    JobSpec spec = job_spec("a", 1);
    spec.environment = {{"MARK", mark}};
    damaged = must(ledger->append({JobSubmitted{{}, TenantId{1}, spec}}))[0].job;
    for (int i = 0; i < 50; ++i)  // what a start reads is in other blocks
      must(ledger->append({JobSubmitted{{}, TenantId{1}, job_spec("a", 1)}}));
  }
  {
    auto database =
        must(Database::open(directory.path(), rocksdb::Env::Default(), Database::Mode::read_write));
    REQUIRE(database->rocks().Flush({}, database->handle(Family::jobs)).ok());
  }
  int changed = 0;
  for (const auto& entry : fs::directory_iterator(directory / "db")) {
    if (entry.path().extension() != ".sst") continue;
    std::fstream file(entry.path(), std::ios::binary | std::ios::in | std::ios::out);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const auto at = bytes.find(mark.substr(2'000, 100));
    if (at == std::string::npos) continue;
    file.seekp(static_cast<std::streamoff>(at));
    file.put('?');
    ++changed;
  }
  REQUIRE(changed >= 1);
  auto ledger = must(Ledger::open(existing(directory.path())));
  CHECK_THROWS_AS(ledger->job(damaged), StorageFault);
  CHECK(ledger->job(JobId{damaged.value + 50}));
  CHECK(ledger->append({JobSubmitted{{}, TenantId{1}, job_spec("a", 1)}}));

  // A commit that meets it half-way leaves nothing behind.
  const auto last = ledger->last_number();
  const auto refused = ledger->append(
      {JobSubmitted{{}, TenantId{1}, job_spec("b", 1)}, JobCancelled{damaged, "why"}});
  CHECK(code_of(refused.error()) == ErrorCode::storage_damaged);
  CHECK(ledger->last_number() == last);
  const auto next = must(ledger->append({JobSubmitted{{}, TenantId{1}, job_spec("a", 1)}}));
  CHECK(next[0].number == last + 1);
}

/// Something happens once, just before the first log is opened.
class BeforeFirstLog final : public rocksdb::EnvWrapper {
 public:
  explicit BeforeFirstLog(std::function<void()> what)
      : EnvWrapper(rocksdb::Env::Default()), what_(std::move(what)) {}
  rocksdb::Status NewSequentialFile(const std::string& name,
                                    std::unique_ptr<rocksdb::SequentialFile>* file,
                                    const rocksdb::EnvOptions& options) override {
    if (name.ends_with(".log") && what_) std::exchange(what_, nullptr)();
    return EnvWrapper::NewSequentialFile(name, file, options);
  }
  [[nodiscard]] bool happened() const { return !what_; }

 private:
  std::function<void()> what_;
};

TEST_CASE("what is flushed while a reader opens the database is not missing", "[unit][ledger]") {
  const TemporaryDirectory directory;
  fs::create_directory(directory / "db");
  const auto writer =
      must(Database::open(directory.path(), rocksdb::Env::Default(), Database::Mode::create));
  rocksdb::ColumnFamilyHandle* jobs = writer->handle(Family::jobs);
  REQUIRE(writer->rocks().Put({}, jobs, "key", "value").ok());
  BeforeFirstLog env([&] { REQUIRE(writer->rocks().Flush({}, jobs).ok()); });
  const auto reader = must(Database::open(directory.path(), &env, Database::Mode::read_only));
  CHECK(env.happened());
  std::string value;
  CHECK(reader->rocks().Get({}, reader->handle(Family::jobs), "key", &value).ok());
  CHECK(value == "value");
}

TEST_CASE("what is compacted while a reader has the database open is still read",
          "[unit][ledger]") {
  const TemporaryDirectory directory;
  fs::create_directory(directory / "db");
  const auto writer =
      must(Database::open(directory.path(), rocksdb::Env::Default(), Database::Mode::create));
  // Many more than a database opens by itself when it may keep few of them open.
  constexpr std::size_t kTablesEach = 8;
  for (std::size_t family = 0; family < kFamilyCount; ++family)
    REQUIRE(writer->rocks()
                .SetOptions(writer->handle(static_cast<Family>(family)),
                            {{"disable_auto_compactions", "true"}})
                .ok());
  for (std::size_t table = 0; table < kTablesEach; ++table)
    for (std::size_t family = 0; family < kFamilyCount; ++family) {
      rocksdb::ColumnFamilyHandle* handle = writer->handle(static_cast<Family>(family));
      REQUIRE(writer->rocks().Put({}, handle, "key " + std::to_string(table), "value").ok());
      // Tables that overlap are rewritten, others only moved.
      REQUIRE(writer->rocks().Put({}, handle, "the last", "value").ok());
      REQUIRE(writer->rocks().Flush({}, handle).ok());
    }
  const auto reader =
      must(Database::open(directory.path(), rocksdb::Env::Default(), Database::Mode::read_only));
  for (std::size_t family = 0; family < kFamilyCount; ++family)
    REQUIRE(writer->rocks()
                .CompactRange({}, writer->handle(static_cast<Family>(family)), nullptr, nullptr)
                .ok());
  for (std::size_t family = 0; family < kFamilyCount; ++family)
    for (std::size_t table = 0; table < kTablesEach; ++table) {
      std::string value;
      CHECK(reader->rocks()
                .Get({}, reader->handle(static_cast<Family>(family)),
                     "key " + std::to_string(table), &value)
                .ok());
    }
}

TEST_CASE("verify works beside a running coordinator", "[unit][ledger]") {
  const TemporaryDirectory directory;
  auto ledger = must(Ledger::open(options_for(directory.path())));
  must(ledger->append(founding()));
  std::jthread writer([&](const std::stop_token& stop) {
    Traffic traffic(*ledger, 11);
    while (!stop.stop_requested()) must(ledger->append(traffic.next_batch(4)));
  });
  std::uint64_t records = 0;
  for (int i = 0; i < 10; ++i) {
    const VerifyReport report = must(Ledger::verify_directory(directory.path()));
    CHECK(report.differences == std::vector<std::string>{});
    CHECK(report.records >= records);
    records = report.records;
  }
}

}  // namespace
}  // namespace fairwater::test
