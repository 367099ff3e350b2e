// The ledger through its public interface: what was appended is there, now and after it is opened
// again.
#include <catch2/catch.hpp>
#include <rocksdb/env.h>

#include "tests/storage/support.hpp"

namespace fairwater::test {
namespace {

std::unique_ptr<rocksdb::Env> memory() {
  return std::unique_ptr<rocksdb::Env>(rocksdb::NewMemEnv(rocksdb::Env::Default()));
}

/// Everything that a coordinator reads when it starts.
struct Contents {
  std::uint64_t last_number;
  std::uint64_t position;
  std::vector<TenantRecord> tenants;
  std::vector<NodeRecord> nodes;
  std::vector<IouBook::Iou> ious;
  std::vector<JobId> live;
  std::vector<JobRecord> jobs;
  std::vector<std::pair<JobId, TaskRecord>> tasks;
  friend bool operator==(const Contents&, const Contents&) = default;
};

Contents contents_of(const Ledger& ledger) {
  Contents contents{ledger.last_number(),
                    ledger.position(),
                    ledger.tenants(),
                    ledger.nodes(),
                    ledger.ious(),
                    ledger.live_jobs(),
                    {},
                    {}};
  ledger.visit_jobs(JobId{1}, false, [&](const JobRecord& job) {
    contents.jobs.push_back(job);
    for (const StoredTask& task : ledger.tasks(job.id))
      contents.tasks.emplace_back(task.job, task.record);
    return true;
  });
  return contents;
}

TEST_CASE("a new ledger numbers records and gives out job ids", "[unit][ledger]") {
  const auto env = memory();
  auto ledger = must(Ledger::open(options_for("/ledger", env.get())));
  CHECK(ledger->last_number() == 0);
  must(ledger->append(founding()));
  const auto receipts = must(ledger->append({JobSubmitted{{}, TenantId{1}, job_spec("a", 2)},
                                             JobSubmitted{{}, TenantId{2}, job_spec("b", 1)}}));
  REQUIRE(receipts.size() == 2);
  CHECK(receipts[0].number == 6);
  CHECK(receipts[0].job == JobId{1});
  CHECK(receipts[1].number == 7);
  CHECK(receipts[1].job == JobId{2});
  CHECK(ledger->last_number() == 7);
  CHECK(ledger->cluster() == small_cluster());
  CHECK(ledger->epoch() == 1);
  CHECK(ledger->next_tenant_id() == TenantId{4});
  CHECK(ledger->next_node_id() == NodeId{3});
  CHECK(ledger->live_jobs() == std::vector{JobId{1}, JobId{2}});
  CHECK(std::get<JobSubmitted>(ledger->record(7)->body).tenant == TenantId{2});
  CHECK_FALSE(ledger->record(8));
}

TEST_CASE("random traffic reads the same after opening again, and verifies", "[property][ledger]") {
  const auto env = memory();
  Contents before;
  for (std::uint64_t round = 0; round < 8; ++round) {
    auto ledger = must(Ledger::open(options_for("/ledger", env.get())));
    if (round == 0)
      must(ledger->append(founding()));
    else
      CHECK(contents_of(*ledger) == before);
    Traffic traffic(*ledger, round);
    for (int i = 0; i < 60; ++i) must(ledger->append(traffic.next_batch(4)));
    before = contents_of(*ledger);
    const VerifyReport report = ledger->verify();
    CHECK(report.differences == std::vector<std::string>{});
    CHECK(report.ok);
    CHECK(report.records == before.last_number);
    CHECK(report.net_sum == 0);
  }
  CHECK(before.ious.size() > 0);
  CHECK(before.jobs.size() > before.live.size());
}

TEST_CASE("a refused record leaves nothing behind", "[unit][ledger]") {
  const auto env = memory();
  auto ledger = must(Ledger::open(options_for("/ledger", env.get())));
  must(ledger->append(founding()));
  const Contents before = contents_of(*ledger);
  const auto refused = ledger->append({JobSubmitted{{}, TenantId{1}, job_spec("a", 1)},
                                       JobSubmitted{{}, TenantId{9}, job_spec("x", 1)}});
  REQUIRE_FALSE(refused);
  CHECK(code_of(refused.error()) == ErrorCode::internal);
  CHECK(details(refused.error()).message == "journal record 7 is refused: tenant 9 does not exist");
  CHECK(contents_of(*ledger) == before);
  CHECK(must(ledger->append({JobSubmitted{{}, TenantId{1}, job_spec("a", 1)}}))[0].job == JobId{1});
  CHECK(ledger->verify().ok);
}

TEST_CASE("jobs are listed in both directions", "[unit][ledger]") {
  const auto env = memory();
  auto ledger = must(Ledger::open(options_for("/ledger", env.get())));
  must(ledger->append(founding()));
  for (int i = 0; i < 5; ++i)
    must(ledger->append({JobSubmitted{{}, TenantId{1}, job_spec("a", 1)}}));
  const auto list = [&](JobId from, bool newest_first) {
    std::vector<std::uint64_t> ids;
    ledger->visit_jobs(from, newest_first, [&](const JobRecord& job) {
      ids.push_back(job.id.value);
      return ids.size() < 3;
    });
    return ids;
  };
  CHECK(list(JobId{1}, false) == std::vector<std::uint64_t>{1, 2, 3});
  CHECK(list(JobId{4}, false) == std::vector<std::uint64_t>{4, 5});
  CHECK(list(JobId{~0ull}, true) == std::vector<std::uint64_t>{5, 4, 3});
  CHECK(list(JobId{2}, true) == std::vector<std::uint64_t>{2, 1});
}

TEST_CASE("tokens are found by their hash alone", "[unit][ledger]") {
  const auto env = memory();
  auto ledger = must(Ledger::open(options_for("/ledger", env.get())));
  must(ledger->append(founding()));
  Hash hash{};
  hash[0] = 7;
  must(ledger->append({TokenIssued{Role::tenant, TenantId{2}, hash}}));
  REQUIRE(ledger->token(hash));
  CHECK(*ledger->token(hash) == TokenGrant{Role::tenant, TenantId{2}});
  hash[31] = 1;
  CHECK_FALSE(ledger->token(hash));
}

}  // namespace
}  // namespace fairwater::test
