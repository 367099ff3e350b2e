// Backups that are made while the ledger is written, broken off, damaged, and restored.
#include "storage/backup.hpp"

#include <atomic>
#include <chrono>
#include <fstream>
#include <sstream>
#include <sys/mount.h>
#include <sys/stat.h>
#include <thread>

#include <catch2/catch.hpp>

#include "storage/database.hpp"
#include "tests/storage/child_process.hpp"
#include "tests/storage/support.hpp"

namespace fairwater::test {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;

constexpr WallTime kMade{1'800'000'000'000'000};

LedgerTrusted new_life(const BackupManifest& manifest) {
  return {manifest.end.incarnation + 1, ~std::uint64_t{0}, 1000, "a test"};
}

RestoreOptions restoring(const std::string& backup, const std::string& directory) {
  RestoreOptions options;
  options.backup = backup;
  options.directory = directory;
  options.beginning = new_life;
  return options;
}

ErrorDetails backup_error(const Ledger& ledger, const std::string& directory,
                          const AddFiles& add_files = {}) {
  const auto refused = ledger.backup(directory, add_files);
  REQUIRE_FALSE(refused);
  return details(refused.error());
}

ErrorDetails restore_error(const RestoreOptions& options) {
  const auto refused = restore_backup(options);
  REQUIRE_FALSE(refused);
  return details(refused.error());
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

Hash hash_of_record(const Ledger& ledger, std::uint64_t number) {
  if (number == ledger.last_number()) return *ledger.end().hash;
  return ledger.record(number + 1)->previous;
}

// -- making one -----------------------------------------------------------------------------------

TEST_CASE("a backup that is made beside commits holds the journal up to some record", "[unit]") {
  const TemporaryDirectory directory;
  auto ledger = must(Ledger::open(options_for(directory / "ledger")));
  must(ledger->append(founding()));
  std::atomic<bool> stopping = false;
  std::thread writer([&] {
    Traffic traffic(*ledger, 11);
    while (!stopping) must(ledger->append(traffic.next_batch(5)));
  });
  std::vector<LedgerBackup> backups;
  for (int i = 0; i < 6; ++i) {
    const std::uint64_t before = ledger->last_number();
    backups.push_back(must(ledger->backup(directory / ("backup" + std::to_string(i)))));
    CHECK(backups.back().manifest.end.number >= before);
  }
  stopping = true;
  writer.join();
  REQUIRE(backups.back().manifest.end.number > backups.front().manifest.end.number);
  for (std::size_t i = 0; i < backups.size(); ++i) {
    const std::string path = directory / ("backup" + std::to_string(i));
    const BackupManifest& manifest = backups[i].manifest;
    CHECK(must(read_manifest(path)) == manifest);
    CHECK(*manifest.end.hash == hash_of_record(*ledger, manifest.end.number));
    CHECK(manifest.recorded == ledger->record(manifest.end.number)->time);
    const VerifyReport report = must(Ledger::verify_directory(path));
    CHECK(report.ok);
    CHECK(report.records == manifest.end.number);
    CHECK(names_in(path) == std::vector<std::string>{"BACKUP", "FAIRWATER", "db", "high-water"});
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0700);
  }
}

TEST_CASE("a backup is refused where it cannot be made, and leaves nothing", "[unit]") {
  const TemporaryDirectory directory;
  fs::create_directory_symlink(directory / "ledger", directory / "link");
  const std::string path = GENERATE(0, 1) == 0 ? std::string(directory / "ledger")
                                               : fs::relative(directory / "ledger").string();
  auto ledger = must(Ledger::open(options_for(path)));
  must(ledger->append(founding()));
  const std::string target = directory / "backup";
  std::string wanted = target;
  ErrorCode code = ErrorCode::invalid_input;
  AddFiles add_files;
  std::string words;
  SECTION("a relative path") {
    wanted = "backup";
    words = "absolute path";
  }
  SECTION("a path that goes up") {
    wanted = directory / "elsewhere/../backup";
    words = "'..'";
  }
  SECTION("within the ledger") {
    wanted = directory / "ledger/backup";
    words = "lost with it";
  }
  SECTION("within the ledger by another name") {
    wanted = directory / "link/db/backup";
    words = "lost with it";
  }
  SECTION("a zero byte, where the system would cut it") {
    wanted = (directory / "a") + std::string("\0b", 2);
    words = "/a\\x00b' has control characters; leave them out";
  }
  SECTION("a line end") {
    wanted = directory / "a\nb";
    words = "/a\\x0ab' has control characters";
  }
  SECTION("no parent") {
    wanted = directory / "elsewhere/backup";
    words = "elsewhere/backup.unfinished";
  }
  SECTION("what is to be added cannot be") {
    add_files = [](const std::string&) { return make_error(ErrorCode::not_permitted, "no key"); };
    code = ErrorCode::not_permitted;
    words = "no key";
  }
  const ErrorDetails error = backup_error(*ledger, wanted, add_files);
  CHECK(error.code == code);
  CHECK_THAT(error.message, Contains(words));
  CHECK(names_in(directory.path()) == std::vector<std::string>{"ledger", "link"});
}

TEST_CASE("a backup never takes the place of what is there", "[unit]") {
  const TemporaryDirectory directory;
  auto ledger = must(Ledger::open(options_for(directory / "ledger")));
  must(ledger->append(founding()));
  const std::string target = directory / "backup";
  SECTION("a backup") {
    must(ledger->backup(target));
    const ErrorDetails error = backup_error(*ledger, target);
    CHECK(error.code == ErrorCode::already_exists);
    CHECK_THAT(error.message, Contains(target + " exists already"));
    CHECK(must(Ledger::verify_directory(target)).ok);
  }
  SECTION("one that another process is making") {
    fs::create_directory(target + ".unfinished");
    rocksdb::Env* env = rocksdb::Env::Default();
    rocksdb::FileLock* lock = nullptr;
    REQUIRE(env->LockFile(target + ".unfinished/LOCK", &lock).ok());
    CHECK(backup_error(*ledger, target).code == ErrorCode::wrong_state);
    CHECK(fs::exists(target + ".unfinished"));
    REQUIRE(env->UnlockFile(lock).ok());
    must(ledger->backup(target));  // what was broken off is in nobody's way
    CHECK_FALSE(fs::exists(target + ".unfinished"));
  }
}

TEST_CASE("a ledger that does not verify makes no backup", "[unit][damage]") {
  const TemporaryDirectory directory;
  make_ledger(directory / "ledger");
  {
    auto database = must(
        Database::open(directory / "ledger", rocksdb::Env::Default(), Database::Mode::read_write));
    rocksdb::WriteBatch batch;
    REQUIRE(batch.Delete(database->handle(Family::jobs), key_of(JobId{1})).ok());
    REQUIRE(database->write(batch, true).ok());
  }
  auto ledger = must(Ledger::open(existing(directory / "ledger")));
  const ErrorDetails error = backup_error(*ledger, directory / "backup");
  CHECK(error.code == ErrorCode::storage_damaged);
  CHECK_THAT(error.message, Contains("no backup was made") && Contains("jobs 1"));
  CHECK(names_in(directory.path()) == std::vector<std::string>{"ledger"});
}

/// A file system of its own; `mounted` is false without the right to mount.
class OtherDisk {
 public:
  OtherDisk() {
    mounted_ = mount("fairwater-test", directory_.path().c_str(), "tmpfs", 0, "size=24m") == 0;
  }
  ~OtherDisk() {
    if (mounted_) umount(directory_.path().c_str());
  }
  [[nodiscard]] bool mounted() const { return mounted_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return directory_ / name; }

 private:
  TemporaryDirectory directory_;
  bool mounted_ = false;
};

TEST_CASE("a backup on another disk is a copy, and refused where it has no room", "[unit]") {
  const OtherDisk disk;
  if (!disk.mounted()) {
    WARN("skipped: a tmpfs can be mounted by root alone");
    return;
  }
  const TemporaryDirectory directory;
  auto ledger = must(Ledger::open(options_for(directory / "ledger")));
  must(ledger->append(founding()));
  Traffic traffic(*ledger, 3);
  for (int i = 0; i < 20; ++i) must(ledger->append(traffic.next_batch(5)));
  SECTION("room") {
    const LedgerBackup made = must(ledger->backup(disk / "backup"));
    CHECK(made.manifest.end == ledger->end());
    CHECK(made.bytes > 10'000);
    CHECK(must(Ledger::verify_directory(disk / "backup")).ok);
  }
  SECTION("no room") {
    const std::uintmax_t free = fs::space(disk / "").free;
    std::ofstream(disk / "filler", std::ios::binary) << std::string(free - (2 << 20), 'x');
    const ErrorDetails error = backup_error(*ledger, disk / "backup");
    CHECK(error.code == ErrorCode::disk_full);
    CHECK_THAT(error.message, Contains(disk / "backup") && Contains("is full"));
    CHECK(names_in(disk / "") == std::vector<std::string>{"filler"});
  }
}

// -- restoring ------------------------------------------------------------------------------------

TEST_CASE("a restored ledger is the backup and the record that begins its new life", "[unit]") {
  const TemporaryDirectory directory;
  auto ledger = must(Ledger::open(options_for(directory / "ledger")));
  must(ledger->append(founding()));
  Traffic traffic(*ledger, 5);
  for (int i = 0; i < 30; ++i) must(ledger->append(traffic.next_batch(5)));
  const auto add_key = [](const std::string& path) {
    std::ofstream(path + "/key") << "a secret";
    return caf::error{};
  };
  const LedgerMark end = ledger->end();
  const JobId next_job = ledger->next_job_id();
  const auto tenants = ledger->tenants();
  const auto live = ledger->live_jobs();
  must(ledger->backup(directory / "backup", add_key));
  must(ledger->append(traffic.next_batch(5)));
  ledger.reset();
  fs::remove_all(directory / "ledger");

  RestoreOptions options = restoring(directory / "backup", directory / "ledger");
  SECTION("a missing directory") {}
  SECTION("an empty one") { fs::create_directory(directory / "ledger"); }
  SECTION("one where a restore was broken off at its end") {
    fs::create_directories(directory / "ledger/restoring/db");
    fs::create_directories(directory / "ledger/db");
    std::ofstream(directory / "ledger/db/CURRENT") << "half";
    std::ofstream(directory / "ledger/high-water") << "half";
    std::ofstream(directory / "ledger/restored") << "half";
  }
  options.add_files = [&](const std::string& path) {
    fs::copy_file(directory / "backup/key", path + "/key");
    return caf::error{};
  };
  CHECK(must(restore_backup(options)).end == end);
  CHECK(names_in(directory / "ledger") ==
        std::vector<std::string>{"FAIRWATER", "LOCK", "db", "high-water", "key", "restored"});
  CHECK(is_restored(directory / "ledger"));
  CHECK_FALSE(forget_restore(directory / "ledger"));
  CHECK_FALSE(is_restored(directory / "ledger"));
  auto restored = must(Ledger::open(existing(directory / "ledger")));
  CHECK(restored->last_number() == end.number + 1);
  CHECK(restored->record(end.number + 1)->previous == *end.hash);
  CHECK(restored->end().incarnation == 1);
  CHECK(restored->given_up() == ~std::uint64_t{0});
  CHECK(restored->next_job_id().value == next_job.value + 1000);
  CHECK(restored->tenants() == tenants);
  CHECK(restored->live_jobs() == live);
  CHECK(restored->verify().ok);
  CHECK(must(Ledger::verify_directory(directory / "backup")).records == end.number);
}

TEST_CASE("a restore is refused without harm", "[unit][damage]") {
  const TemporaryDirectory directory;
  const std::string backup = directory / "backup";
  {
    auto ledger = must(Ledger::open(options_for(directory / "ledger")));
    must(ledger->append(founding()));
    must(ledger->backup(backup));
  }
  const std::string target = directory / "target";
  RestoreOptions options = restoring(backup, target);
  SECTION("where a ledger is") {
    options.directory = directory / "ledger";
    const ErrorDetails error = restore_error(options);
    CHECK(error.code == ErrorCode::already_exists);
    CHECK_THAT(error.message, Contains("holds a ledger already"));
    CHECK(must(Ledger::open(existing(directory / "ledger")))->last_number() == 5);
  }
  SECTION("where somebody else's files are") {
    fs::create_directory(target);
    std::ofstream(target + "/thesis.tex") << "not yours";
    CHECK_THAT(restore_error(options).message, Contains("thesis.tex"));
    CHECK(names_in(target) == std::vector<std::string>{"thesis.tex"});
  }
  SECTION("from what is no backup") {
    options.backup = directory / "ledger";
    const ErrorDetails error = restore_error(options);
    CHECK(error.code == ErrorCode::invalid_input);
    CHECK_THAT(error.message, Contains("holds no backup"));
    CHECK_FALSE(fs::exists(target));
  }
  SECTION("from a manifest that is not ours") {
    std::ofstream(backup + "/BACKUP") << "fairwater backup 1\ncluster x\n";
    CHECK(restore_error(options).code == ErrorCode::storage_damaged);
    CHECK_FALSE(fs::exists(target));
  }
  SECTION("from a backup of another ledger than its manifest says") {
    std::ifstream file(backup + "/BACKUP");
    std::string text{std::istreambuf_iterator<char>(file), {}};
    text.replace(text.find("hash ") + 5, 4, "0000");
    std::ofstream(backup + "/BACKUP") << text;
    CHECK(restore_error(options).code == ErrorCode::storage_damaged);
    CHECK(names_in(target) == std::vector<std::string>{"LOCK"});
  }
  SECTION("from a backup with a flipped bit") {
    for (const auto& entry : fs::directory_iterator(backup + "/db")) {
      if (entry.path().extension() != ".log" || entry.file_size() == 0) continue;
      std::fstream file(entry.path(), std::ios::binary | std::ios::in | std::ios::out);
      file.seekp(40);
      file.put('\x55');
    }
    const ErrorDetails error = restore_error(options);
    CHECK(error.code == ErrorCode::storage_damaged);
    CHECK_THAT(error.message, Contains(backup) && Contains("does not verify"));
    CHECK(names_in(target) == std::vector<std::string>{"LOCK"});
  }
}

// -- kill -9 --------------------------------------------------------------------------------------

TEST_CASE("backup maker", "[.child]") {
  const std::string directory = child_argument();
  if (directory.empty()) return;
  auto ledger = must(Ledger::open(options_for(directory + "/ledger")));
  std::atomic<bool> stopping = false;
  std::thread writer([&] {
    Traffic traffic(*ledger, 7);
    while (!stopping) must(ledger->append(traffic.next_batch(5)));
  });
  tell_parent("begun");
  for (int i = 0;; ++i)
    if (!fs::exists(directory + "/backup" + std::to_string(i)))
      must(ledger->backup(directory + "/backup" + std::to_string(i)));
}

TEST_CASE("restorer", "[.child]") {
  const std::string directory = child_argument();
  if (directory.empty()) return;
  tell_parent("begun");
  for (;;) {
    must(restore_backup(restoring(directory + "/backup", directory + "/restored")));
    fs::rename(directory + "/restored", directory + "/before");
    fs::remove_all(directory + "/before");
  }
}

/// At an instant that is drawn; nothing is awaited.
void kill_within(const std::string& test_case, const std::string& directory, int milliseconds,
                 std::mt19937_64& random) {
  ChildProcess child(test_case, directory);
  REQUIRE_FALSE(child.read_some(60'000).empty());
  std::this_thread::sleep_for(
      std::chrono::microseconds(random() % (1000 * static_cast<std::uint64_t>(milliseconds))));
  child.kill();
  CHECK(child.wait() == 128 + 9);
}

TEST_CASE("what kill -9 leaves of a backup is none, and in nobody's way", "[crash]") {
  const TemporaryDirectory directory;
  {
    auto ledger = must(Ledger::open(options_for(directory / "ledger")));
    must(ledger->append(founding()));
  }
  std::mt19937_64 random(20261123);
  std::size_t broken_off = 0;
  for (int kill = 0; kill < 15; ++kill) {
    kill_within("backup maker", directory.path(), 150, random);
    for (const std::string& name : names_in(directory.path())) {
      if (name == "ledger") continue;
      INFO(name);
      if (name.ends_with(".unfinished")) {
        ++broken_off;
        const std::string wanted = directory / name.substr(0, name.find('.'));
        must(must(Ledger::open(existing(directory / "ledger")))->backup(wanted));
        CHECK_FALSE(fs::exists(directory / name));
        fs::remove_all(wanted);
        continue;
      }
      const BackupManifest manifest = must(read_manifest(directory / name));
      const VerifyReport report = must(Ledger::verify_directory(directory / name));
      CHECK(report.ok);
      CHECK(report.records == manifest.end.number);
      fs::remove_all(directory / name);
    }
  }
  CHECK(broken_off > 3);
}

TEST_CASE("what kill -9 leaves of a restore is no ledger, or a whole one", "[crash]") {
  const TemporaryDirectory directory;
  {
    make_ledger(directory / "ledger");
    must(must(Ledger::open(existing(directory / "ledger")))->backup(directory / "backup"));
  }
  const std::uint64_t records = must(read_manifest(directory / "backup")).end.number;
  std::mt19937_64 random(20261124);
  std::size_t broken_off = 0;
  for (int kill = 0; kill < 30; ++kill) {
    kill_within("restorer", directory.path(), 60, random);
    const auto opened = Ledger::open(existing(directory / "restored"));
    if (!opened) {
      ++broken_off;
      must(restore_backup(restoring(directory / "backup", directory / "restored")));
    }
    const VerifyReport report = must(Ledger::verify_directory(directory / "restored"));
    CHECK(report.ok);
    CHECK(report.records == records + 1);
    fs::remove_all(directory / "restored");
    fs::remove_all(directory / "before");
  }
  CHECK(broken_off > 10);
}

}  // namespace
}  // namespace fairwater::test
