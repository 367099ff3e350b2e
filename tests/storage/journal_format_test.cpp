// Ledgers that need a newer version, and what is written for older ones.
#include "model/journal_format.hpp"

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <rocksdb/env.h>

#include "schema/codec.hpp"
#include "storage/database.hpp"
#include "storage/directory.hpp"
#include "storage/journal_store.hpp"
#include "tests/storage/memory_disk.hpp"
#include "tests/storage/support.hpp"

namespace fairwater::test {
namespace {

using Catch::Matchers::Contains;

struct SharedJournal final : JournalStore {
  caf::error commit(const RecordGroup& group) override {
    committed = group;
    return {};
  }
  KnownFormat known_format() const override { return {known, "head2", "0.0"}; }
  JournalFormat known = kNewestFormat;
  RecordGroup committed;
};

std::string identity(rocksdb::Env* env) {
  std::string text;
  REQUIRE(rocksdb::ReadFileToString(env, "/ledger/FAIRWATER", &text).ok());
  return text;
}

void set_identity(rocksdb::Env* env, const std::string& text) {
  REQUIRE(rocksdb::WriteStringToFile(env, text, "/ledger/FAIRWATER").ok());
}

/// Every file of the ledger with its content.
std::map<std::string, std::string> files_of(rocksdb::Env* env) {
  std::map<std::string, std::string> files;
  for (const std::string directory : {"/ledger", "/ledger/db"}) {
    std::vector<std::string> names;
    REQUIRE(env->GetChildren(directory, &names).ok());
    for (const auto& name : names)
      (void)rocksdb::ReadFileToString(env, directory + "/" + name, &files[directory + "/" + name]);
  }
  return files;
}

/// The record as a version would have written it that has a kind which this one does not know.
std::string of_unknown_kind(JournalRecord record) {
  record.body = Checkpointed{};
  std::string bytes = to_bytes(record);
  constexpr std::size_t kKindAt = 8 + 16;  // behind the root pointer, number and time
  std::uint16_t kind = 0;
  std::memcpy(&kind, bytes.data() + kKindAt, sizeof kind);
  REQUIRE(kind == record.body.index() + 1);
  kind = 999;
  std::memcpy(bytes.data() + kKindAt, &kind, sizeof kind);
  return bytes;
}

JobSubmitted job_with_lease() {
  JobSubmitted job{{}, TenantId{1}, job_spec("a", 1)};
  job.spec.lease_ms = 60'000;
  return job;
}

TEST_CASE("a ledger says what one has to know who opens it", "[unit][ledger][format]") {
  const auto env = memory_disk();
  LedgerOptions options = options_for("/ledger", env.get());
  options.version = "1.2";
  auto ledger = must(Ledger::open(options));
  must(ledger->append(founding()));
  CHECK(identity(env.get()) == "fairwater ledger 1\n");
  must(ledger->append({job_with_lease()}));
  CHECK(identity(env.get()) == "fairwater ledger 2\nby 1.2\n");
  must(ledger->append({JobSubmitted{{}, TenantId{1}, job_spec("a", 1)}}));
  CHECK(identity(env.get()) == "fairwater ledger 2\nby 1.2\n");
  // So does a backup.
  must(ledger->backup("/backup"));
  std::string text;
  REQUIRE(rocksdb::ReadFileToString(env.get(), "/backup/FAIRWATER", &text).ok());
  CHECK(text == identity(env.get()));
  ledger.reset();
  ledger = must(Ledger::open(options));
  CHECK(ledger->verify().differences == std::vector<std::string>{});
}

TEST_CASE("a ledger of a newer version is refused, and not touched", "[unit][ledger][format]") {
  const auto env = memory_disk();
  LedgerOptions options = options_for("/ledger", env.get());
  must(must(Ledger::open(options))->append(founding()));
  options.version = "1.2";
  const auto refused = [&](const std::string& text) {
    set_identity(env.get(), text);
    const auto before = files_of(env.get());
    ErrorDetails error = open_error(options);
    CHECK(files_of(env.get()) == before);
    return error;
  };
  const ErrorDetails error = refused("fairwater ledger 8\nby 3.4\nand more\n");
  CHECK(error.code == ErrorCode::not_supported);
  CHECK(error.message ==
        "the ledger in /ledger has format 8, by Fairwater 3.4, and this program, Fairwater 1.2, "
        "knows formats up to 7: install Fairwater 3.4 or a later one, or begin with a backup from "
        "before the upgrade. Nothing was changed");
  CHECK_THAT(refused("fairwater ledger 8\n").message,
             Contains("by a newer version") && Contains("install the version that wrote it"));
  CHECK(code_of(Ledger::verify_directory("/ledger", env.get()).error()) ==
        ErrorCode::not_supported);
  for (const char* foreign : {"fairwater ledger 0\n", "fairwater ledger x\n", "fairwater ledger 1",
                              "fairwater ledger 1\nmore\n", "another"})
    CHECK(refused(foreign).code == ErrorCode::storage_damaged);
  set_identity(env.get(), "fairwater ledger 1\n");
  CHECK(must(Ledger::open(options))->verify().ok);
}

TEST_CASE("a follower takes no record of a kind that it does not know", "[unit][ledger][format]") {
  const auto env = memory_disk();
  LedgerOptions options = options_for("/ledger", env.get());
  options.version = "1.2";
  auto ledger = must(Ledger::open(options));
  must(ledger->append(founding()));
  const auto before = ledger->head();
  JournalRecord next{before.number + 1, wall_time_now(), before.hash, {}};
  const caf::error refused = ledger->follow({of_unknown_kind(next)});
  CHECK(code_of(refused) == ErrorCode::not_supported);
  CHECK(
      details(refused).message ==
      "record 6 of the leader is of kind 999, which this program, Fairwater 1.2, does not know: a "
      "newer version wrote it. Install that version or a later one, or begin with a backup from "
      "before the upgrade. Nothing was changed");
  CHECK(ledger->head() == before);
  next.body = JobSubmitted{JobId{1}, TenantId{1}, job_spec("a", 1)};
  REQUIRE(!ledger->follow({to_bytes(next)}));
}

TEST_CASE("a ledger that ends with a record of an unknown kind is refused",
          "[unit][ledger][format]") {
  const auto env = memory_disk();
  LedgerOptions options = options_for("/ledger", env.get());
  must(must(Ledger::open(options))->append(founding()));
  {
    const auto database = must(Database::open("/ledger", env.get(), Database::Mode::read_write));
    rocksdb::WriteBatch batch;
    REQUIRE(batch
                .Put(database->handle(Family::journal), journal_key(6),
                     of_unknown_kind(JournalRecord{6, wall_time_now(), {}, {}}))
                .ok());
    REQUIRE(database->write(batch, true).ok());
  }
  const ErrorDetails error = open_error(options);
  CHECK(error.code == ErrorCode::not_supported);
  CHECK_THAT(error.message, Contains("record 6 of the ledger in /ledger is of kind 999"));
}

TEST_CASE("nothing is written that a replica does not know", "[unit][ledger][format]") {
  const auto env = memory_disk();
  SharedJournal journal;
  LedgerOptions options = options_for("/ledger", env.get());
  options.store = &journal;
  auto ledger = must(Ledger::open(options));
  must(ledger->append(founding()));
  journal.known = kFirstFormat;
  const caf::error refused = ledger->admit({job_with_lease()});
  CHECK(code_of(refused) == ErrorCode::unavailable);
  CHECK(details(refused).message ==
        "the coordinator head2 (version 0.0) knows formats of the journal up to 1, and this needs "
        "format 2: try again when it has been upgraded");
  CHECK(code_of(ledger->admit({Checkpointed{}})) == ErrorCode::unavailable);
  JobSubmitted measured{{}, TenantId{1}, job_spec("a", 2)};
  measured.spec.job_class = "queue";
  measured.spec.gang = measured.spec.measures_tasks = true;
  CHECK(format_of(measured) == 3);
  CHECK(format_of(GrowthLimited{}) == 3);
  NodeAdmitted sharing;
  CHECK(format_of(sharing) == kFirstFormat);
  sharing.spec.capacity["gpu_milli"] = 2000;
  CHECK(format_of(sharing) == 3);
  JobSubmitted share{{}, TenantId{1}, job_spec("a", 1)};
  share.spec.resources["gpu_milli"] = 500;
  CHECK(format_of(share) == 3);
  share.spec.preempt = true;
  CHECK(format_of(share) == 4);
  share.spec.preempt = false;
  share.spec.gang = true;
  CHECK(format_of(share) == 4);
  share.spec.gang = false;
  share.spec.tasks_max = 4;
  CHECK(format_of(share) == 4);
  CHECK(code_of(ledger->admit({measured})) == ErrorCode::unavailable);
  CHECK(!ledger->admit({JobSubmitted{{}, TenantId{1}, job_spec("a", 1)}}));

  const LeaseTerms terms{60'000, 5'000, {7}, 15'000, {6}};
  const CoordinatorStarted started{2, "1", terms, {}, true};
  CHECK(!ledger->admit({started}));
  must(ledger->append({started}));
  const auto written = ledger->record(ledger->last_number());
  CHECK(std::get<CoordinatorStarted>(written->body).lease == LeaseTerms{60'000, 5'000, {7}});
  CHECK(journal.committed.needs.format == kFirstFormat);
  CHECK(identity(env.get()) == "fairwater ledger 1\n");

  journal.known = kNewestFormat;
  CHECK(!ledger->admit({job_with_lease(), Checkpointed{}}));
  must(ledger->append({CoordinatorStarted{3, "1", terms, {}, true}}));
  CHECK(ledger->lease_terms() == terms);
  CHECK(journal.committed.needs.format == format_of(started));
}

TEST_CASE("what a tenant's leaving and bounds of loans need is known since formats 4 and 6",
          "[unit][ledger][format]") {
  CHECK(format_of(TenantLeaves{}) == 4);
  TenantsChanged changed{{tenant(1, "a", 5), tenant(2, "b", 3)}, 0};
  CHECK(format_of(changed) == kFirstFormat);
  const auto with = [&](const auto& set) {
    TenantsChanged bounded = changed;
    set(bounded.tenants[1].spec);
    return format_of(bounded);
  };
  CHECK(kNewestFormat == 7);
  CHECK(with([](TenantSpec& spec) { spec.borrow_cap = "24h"; }) == 6);
  CHECK(with([](TenantSpec& spec) { spec.lend_cap = "24h"; }) == 6);
  CHECK(with([](TenantSpec& spec) { spec.may_lend = false; }) == 6);
  CHECK(with([](TenantSpec& spec) { spec.may_borrow = false; }) == 6);
  CHECK(with([](TenantSpec& spec) { spec.weights = {{"gpu", 2}}; }) == 7);
  const auto env = memory_disk();
  const auto options = options_for("/ledger", env.get());
  {
    auto ledger = must(Ledger::open(options));
    must(ledger->append(founding()));
    CHECK(identity(env.get()) == "fairwater ledger 1\n");
    must(ledger->append({TenantLeaves{TenantId{2}}}));
  }
  CHECK_THAT(identity(env.get()), Catch::StartsWith("fairwater ledger 4\n"));
  auto again = must(Ledger::open(options));
  CHECK(again->tenants().at(1).spec.leaving);
  CHECK(again->verify().ok);
}

TEST_CASE("a planned drain waits until all replicas know of plans", "[unit][ledger][format]") {
  const auto env = memory_disk();
  SharedJournal journal;
  journal.known = 4;
  LedgerOptions options = options_for("/ledger", env.get());
  options.store = &journal;
  auto ledger = must(Ledger::open(options));
  must(ledger->append(founding()));
  const NodeDrained plan{.node = NodeId{1}, .reason = "new disk", .begins = WallTime{7}};
  CHECK(format_of(plan) == 5);
  CHECK(code_of(ledger->admit({plan})) == ErrorCode::unavailable);
  journal.known = kNewestFormat;
  CHECK(!ledger->admit({plan}));
}

TEST_CASE("a drain with a deadline waits until all replicas know of deadlines",
          "[unit][ledger][format]") {
  const auto env = memory_disk();
  SharedJournal journal;
  journal.known = format_of(Checkpointed{});
  LedgerOptions options = options_for("/ledger", env.get());
  options.store = &journal;
  auto ledger = must(Ledger::open(options));
  must(ledger->append(founding()));
  const NodeDrained by_a_time{NodeId{1}, true, "new disk", false, WallTime{7}};
  const TasksReclaimed at_it{{}, true};
  CHECK(code_of(ledger->admit({by_a_time})) == ErrorCode::unavailable);
  CHECK(code_of(ledger->admit({at_it})) == ErrorCode::unavailable);
  CHECK(!ledger->admit({NodeDrained{NodeId{1}, true, "new disk"}, TasksReclaimed{}}));
  journal.known = kNewestFormat;
  CHECK(!ledger->admit({by_a_time, at_it}));
  must(ledger->append({by_a_time}));
  CHECK(journal.committed.needs.format == format_of(by_a_time));
}

}  // namespace
}  // namespace fairwater::test
