// kill -9 at random instants: what was acknowledged is there, and the accounts still add up.
//
// A child appends random traffic and tells each number once append() returned. The parent kills it
// at a random instant, opens the ledger, checks, and lets the next child go on in the same
// directory.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/storage/child_process.hpp"
#include "tests/storage/support.hpp"

namespace fairwater::test {
namespace {

constexpr int kDefaultKills = 200;
constexpr int kVerifyEvery = 10;  // the cheap checks run after every kill

int kills_wanted() {
  const char* wanted = std::getenv("FAIRWATER_KILLS");
  return wanted ? std::max(1, std::atoi(wanted)) : kDefaultKills;
}

std::uint64_t last_line_number(const std::string& told, std::uint64_t otherwise) {
  // A line that was cut off was not told.
  const std::size_t end = told.rfind('\n');
  if (end == std::string::npos || end == 0) return otherwise;
  const std::size_t before = told.rfind('\n', end - 1);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return std::stoull(told.substr(begin, end - begin));
}

/// Lets a child write until it is killed; returns the last number that it acknowledged.
std::uint64_t run_until_killed(const std::string& directory, std::uint64_t seed,
                               std::mt19937_64& random, std::uint64_t acknowledged) {
  ChildProcess child("crash writer", directory + " " + std::to_string(seed));
  std::string told = child.read_some(60'000);  // it is writing
  REQUIRE_FALSE(told.empty());
  // The instant of the kill is what this test draws; nothing is awaited.
  std::this_thread::sleep_for(std::chrono::microseconds(random() % 30'000));
  child.kill();
  CHECK(child.wait() == 128 + 9);
  told += child.read_all();
  return last_line_number(told, acknowledged);
}

/// Counts of every job follow from its tasks, and a task runs only where a record of the journal
/// put it.
void check_invariants(const Ledger& ledger) {
  Units net_sum = 0;
  IouBook book;
  for (const IouBook::Iou& iou : ledger.ious()) book.restore(iou);
  Units deficit_sum = 0;
  for (const TenantRecord& tenant : ledger.tenants()) {
    net_sum += book.net(tenant.id.value);
    deficit_sum += tenant.deficit;
  }
  CHECK(net_sum == 0);
  CHECK(deficit_sum == 0);
  for (const JobId id : ledger.live_jobs()) {
    const JobRecord job = *ledger.job(id);
    TaskCounts counts{.total = job.tasks.total};
    for (const StoredTask& task : ledger.tasks(id)) {
      counts.running += task.record.state == TaskState::running;
      counts.succeeded += task.record.state == TaskState::succeeded;
      counts.failed += task.record.state == TaskState::failed;
      counts.cancelled += task.record.state == TaskState::cancelled;
    }
    CHECK(counts.running == job.tasks.running);
    CHECK(counts.succeeded == job.tasks.succeeded);
    CHECK(counts.failed == job.tasks.failed);
    if (!job.cancelled) CHECK(counts.cancelled == job.tasks.cancelled);
    CHECK_FALSE(is_terminal(state_of(job)));
  }
}

TEST_CASE("crash writer", "[.child]") {
  const std::string argument = child_argument();
  if (argument.empty()) return;
  std::istringstream words(argument);
  std::string directory;
  std::uint64_t seed = 0;
  words >> directory >> seed;
  auto ledger = must(Ledger::open(options_for(directory)));
  Traffic traffic(*ledger, seed);
  for (;;) tell_parent(std::to_string(must(ledger->append(traffic.next_batch(5))).back().number));
}

TEST_CASE("nothing that was acknowledged is lost by kill -9", "[crash][ledger]") {
  const TemporaryDirectory directory;
  const int kills = kills_wanted();
  std::mt19937_64 random(20240607);
  std::uint64_t acknowledged = 0;
  {
    auto ledger = must(Ledger::open(options_for(directory.path())));
    acknowledged = must(ledger->append(founding())).back().number;
  }
  std::uint64_t kills_between_sync_and_word = 0;
  for (int kill = 1; kill <= kills; ++kill) {
    INFO("kill " << kill);
    acknowledged = run_until_killed(directory.path(), random(), random, acknowledged);
    auto ledger = must(Ledger::open(options_for(directory.path())));
    REQUIRE(ledger->last_number() >= acknowledged);
    kills_between_sync_and_word += ledger->last_number() > acknowledged;
    REQUIRE(ledger->record(acknowledged));
    check_invariants(*ledger);
    if (kill % kVerifyEvery == 0 || kill == kills) {
      const VerifyReport report = ledger->verify();
      REQUIRE(report.differences == std::vector<std::string>{});
      REQUIRE(report.records == ledger->last_number());
    }
    acknowledged = ledger->last_number();
  }
  std::cout << kills << " kills, " << acknowledged << " records, " << kills_between_sync_and_word
            << " kills fell between the sync and its acknowledgement\n";
}

}  // namespace
}  // namespace fairwater::test
