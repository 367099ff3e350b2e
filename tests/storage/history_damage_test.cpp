// What is wrong with cut history, and with what it has archived, is named.
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

#include "storage/archive.hpp"
#include "storage/history.hpp"
#include "storage/standing_state.hpp"
#include "tests/storage/history_support.hpp"
#include "tests/storage/support.hpp"

namespace fairwater::test {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

TEST_CASE("a checkpoint of another state archives nothing", "[history][damage]") {
  const TemporaryDirectory directory;
  auto ledger = must(Ledger::open(options_for(directory.path())));
  must(ledger->append(founding()));
  Checkpointed wrong = must(ledger->measure_checkpoint()).record;
  wrong.state_hash[3] ^= 1;
  must(ledger->append({wrong}));
  const auto refused = ledger->cut_history(keeping_jobs(0));
  REQUIRE_FALSE(refused);
  CHECK(code_of(refused.error()) == ErrorCode::storage_damaged);
  CHECK_THAT(details(refused.error()).message, Contains("cannot be archived"));
  CHECK(Archive(directory.path(), rocksdb::Env::Default()).segments().empty());
  CHECK(ledger->record(1));
  must_verify(*ledger);
  // Checkpoints follow on each other.
  CHECK_FALSE(ledger->append({Checkpointed{wrong.number, {}}}));
  CHECK_FALSE(ledger->append({Checkpointed{ledger->last_number() + 1, {}}}));
}

TEST_CASE("what differs of a job that is archived and listed is named", "[history][damage]") {
  const TemporaryDirectory directory;
  {
    auto ledger = must(Ledger::open(options_for(directory.path())));
    must(ledger->append(founding()));
    Traffic traffic(*ledger, 2);
    for (int i = 0; i < 60; ++i) must(ledger->append(traffic.next_batch(4)));
    checkpoint(*ledger);
    CHECK(must(ledger->cut_history({})).archived_jobs > 1);
    must_verify(*ledger);
  }
  const Archive archive(directory.path(), rocksdb::Env::Default());
  const JobId listed = archive.segments().back().highest;
  const std::string number = std::to_string(listed.value);
  const std::string key = key_of(listed);
  const auto reader = archive.open(archive.segments().back());
  const auto job =
      decode_stored<JobRecord>(Family::jobs, key, *reader->find(SegmentPart::jobs, key));
  const auto first_difference = [&] {
    const VerifyReport report = must(Ledger::verify_directory(directory.path()));
    CHECK_FALSE(report.ok);
    return report.differences.empty() ? "" : report.differences.front();
  };
  auto other = job;
  SECTION("another job") {
    other.tasks.succeeded += 1;
    tamper(directory.path(), Family::jobs, key, to_bytes(other));
    CHECK_THAT(first_difference(), StartsWith("jobs " + number + ": stored "));
  }
  SECTION("no job") {
    tamper(directory.path(), Family::jobs, key, std::nullopt);
    CHECK_THAT(first_difference(), StartsWith("jobs " + number + ": nothing is stored"));
  }
  SECTION("no task") {
    std::string task;
    reader->walk(SegmentPart::tasks, "", [&](std::string_view at, std::string_view) {
      task = at;
      return false;
    });
    tamper(directory.path(), Family::tasks, task, std::nullopt);
    CHECK_THAT(first_difference(), StartsWith("tasks ") && Contains(": nothing is stored"));
  }
  SECTION("one too many") {
    other.id = JobId{999'999};
    tamper(directory.path(), Family::jobs, key_of(other.id), to_bytes(other));
    CHECK_THAT(first_difference(), StartsWith("jobs 999999: stored ") && EndsWith("gives nothing"));
  }
  SECTION("not in its tenant's list") {
    const auto entry = entries_of(job).front();
    tamper(directory.path(), entry.family, entry.key, std::nullopt);
    CHECK_THAT(first_difference(), Contains(": nothing is stored"));
  }
}

TEST_CASE("a damaged archive is named, and the rest goes on", "[history][damage]") {
  const TemporaryDirectory directory;
  Written written(directory.path());
  const Archive archive(directory.path(), rocksdb::Env::Default());
  const auto segments = archive.segments();
  const std::string file = archive.path() + "/" + segments[1].text();
  SECTION("bytes") {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(static_cast<std::streamoff>(fs::file_size(file) / 3));
    bytes << "spoilt";
    bytes.close();
    CHECK_THROWS_AS(written.ledger->record(segments[1].last), StorageFault);
    CHECK_THROWS_AS(written.ledger->verify(VerifyScope::archive), StorageFault);
  }
  SECTION("a file that is gone") {
    fs::remove(file);
    const VerifyReport report = written.ledger->verify(VerifyScope::archive);
    REQUIRE_FALSE(report.ok);
    CHECK_THAT(report.differences.front(),
               Contains("archive: records " + std::to_string(segments[1].first) + " to " +
                        std::to_string(segments[1].last) + " are missing"));
    // Whoever reads hears of it, and does not go on behind it.
    std::uint64_t newest = 0;
    const auto note = [&](const JournalRecord& record) {
      newest = record.number;
      return true;
    };
    CHECK_THROWS_AS(written.ledger->visit_journal(1, note), StorageFault);
    CHECK(newest == segments[0].last);
    const std::string missing = "records " + std::to_string(segments[1].first) + " to " +
                                std::to_string(segments[1].last) + " are missing";
    const TemporaryDirectory elsewhere;
    const auto backup = written.ledger->backup(elsewhere.path() + "/backup");
    REQUIRE_FALSE(backup);
    CHECK_THAT(details(backup.error()).message, StartsWith(missing));
    CHECK_FALSE(fs::exists(elsewhere.path() + "/backup"));
    written.cut();
    CHECK_THAT(written.ledger->history().failure, StartsWith(missing));
    written.ledger.reset();
    written.ledger = must(Ledger::open(written.options));
    CHECK_THAT(written.ledger->history().failure, StartsWith(missing));
    // Without what is older nothing is missing but the beginning.
    fs::remove(archive.path() + "/" + segments[0].text());
    written.cut();
    CHECK(written.ledger->history().failure.empty());
    written.ledger->visit_journal(1, note);
    CHECK(newest == written.ledger->last_number());
    CHECK(written.ledger->backup(elsewhere.path() + "/backup"));
  }
  SECTION("the newest is gone") {
    fs::remove(archive.path() + "/" + segments[2].text());
    const VerifyReport report = written.ledger->verify();
    REQUIRE_FALSE(report.ok);
    CHECK_THAT(report.differences.front(), Contains("the archive has no file that ends with"));
    checkpoint(*written.ledger);
    const auto cut = written.ledger->cut_history(keeping_jobs(0));
    REQUIRE_FALSE(cut);
    CHECK(code_of(cut.error()) == ErrorCode::storage_damaged);
    CHECK_THAT(
        details(cut.error()).message,
        Contains("ends with record " + std::to_string(segments[1].last) +
                 ", and the journal begins with record " + std::to_string(segments[2].last + 1)));
  }
  SECTION("another job") {
    // A whole segment in which one job says something else.
    SegmentWriter writer(archive.path(), rocksdb::Env::Default());
    const auto reader = archive.open(segments[1]);
    for (const SegmentPart part :
         {SegmentPart::journal, SegmentPart::jobs, SegmentPart::tasks, SegmentPart::standing})
      reader->walk(part, "", [&](std::string_view key, std::string_view value) {
        std::string bytes{value};
        if (part == SegmentPart::jobs && key == key_of(segments[1].lowest)) {
          auto job = decode_stored<JobRecord>(Family::jobs, key, value);
          job.tasks.succeeded += 1;
          bytes = to_bytes(job);
        }
        writer.add(part, key, bytes);
        return true;
      });
    writer.publish(segments[1]);
    const VerifyReport report = written.ledger->verify(VerifyScope::archive);
    REQUIRE_FALSE(report.ok);
    CHECK_THAT(report.differences.front(), Contains(segments[1].text() + ": jobs"));
  }
  CHECK(written.ledger->append({JobSubmitted{{}, TenantId{1}, job_spec("a", 1)}}));
}

}  // namespace
}  // namespace fairwater::test
