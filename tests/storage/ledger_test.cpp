// The ledger through its public interface: what was appended is there, now and after it is opened
// again.
#include <catch2/catch.hpp>
#include <rocksdb/env.h>

#include "tests/storage/memory_disk.hpp"
#include "tests/storage/support.hpp"

namespace fairwater::test {
namespace {

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
  const auto env = memory_disk();
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
  const auto env = memory_disk();
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
  const auto env = memory_disk();
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
  const auto env = memory_disk();
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

TEST_CASE("the jobs of a tenant's class are listed by their amounts", "[unit][ledger]") {
  const auto env = memory_disk();
  auto ledger = must(Ledger::open(options_for("/ledger", env.get())));
  must(ledger->append(founding()));
  const auto submit = [&](std::uint32_t tenant, const std::string& job_class, Amount cpu,
                          JobKind kind = JobKind::batch) {
    JobSpec spec = job_spec("a", 1);
    spec.job_class = job_class;
    spec.resources = {{"cpu", cpu}, {"memory", 64}};
    spec.kind = kind;
    must(ledger->append({JobSubmitted{{}, TenantId{tenant}, spec}}));
  };
  submit(1, "render", 1000);                    // 1
  submit(1, "render", 2000);                    // 2
  submit(1, "render", 1000);                    // 3
  submit(1, "render2", 3000);                   // 4
  submit(2, "render", 4000);                    // 5
  submit(1, "", 5000);                          // 6
  submit(1, "render", 6000, JobKind::service);  // 7
  submit(1, "rende", 7000);                     // 8
  using Listed = std::vector<std::pair<Amount, std::uint64_t>>;
  const auto list = [&](std::uint32_t tenant, const std::string& job_class) {
    Listed jobs;
    std::optional<NamedAmounts> amounts;
    while ((amounts = ledger->class_amounts_before(TenantId{tenant}, job_class, amounts))) {
      CHECK(amounts->at("memory") == 64);
      ledger->visit_class_jobs(TenantId{tenant}, job_class, *amounts, [&](JobId job) {
        jobs.emplace_back(amounts->at("cpu"), job.value);
        return true;
      });
    }
    return jobs;
  };
  CHECK(list(1, "render") == Listed{{2000, 2}, {1000, 3}, {1000, 1}});
  CHECK(list(2, "render") == Listed{{4000, 5}});
  CHECK(list(1, "render2") == Listed{{3000, 4}});
  CHECK(list(3, "render").empty());
  // Whole jobs are listed by their tasks, too.
  JobSpec whole = job_spec("render", 3);
  whole.job_class = "render";
  whole.resources = {{"cpu", 1000}, {"memory", 64}};
  whole.gang = whole.measures_tasks = true;
  must(ledger->append({JobSubmitted{{}, TenantId{1}, whole}}));
  CHECK(list(1, "render") == Listed{{2000, 2}, {1000, 9}, {1000, 3}, {1000, 1}});
  int visited = 0;
  ledger->visit_class_jobs(TenantId{1}, "render", {{"cpu", 1000}, {"memory", 64}}, [&](JobId) {
    ++visited;
    return false;
  });
  CHECK(visited == 1);
  CHECK(ledger->verify().differences.empty());
}

TEST_CASE("a tenant's jobs are listed without the others', with their states", "[unit][ledger]") {
  const auto env = memory_disk();
  auto ledger = must(Ledger::open(options_for("/ledger", env.get())));
  must(ledger->append(founding()));
  for (const std::uint32_t tenant : {1, 2, 1, 2, 1})
    must(ledger->append({JobSubmitted{{}, TenantId{tenant}, job_spec("a", 1)}}));
  must(ledger->append(
      {JobCancelled{JobId{3}, "enough"}, Cycle{{plain_deal(0, TenantId{1}, {{JobId{1}, 0, 1}})}}}));
  const auto list = [&](TenantId tenant, JobId from) {
    std::vector<std::pair<std::uint64_t, JobState>> jobs;
    ledger->visit_tenant_jobs(tenant, from, [&](JobId job, JobState state) {
      jobs.emplace_back(job.value, state);
      return true;
    });
    return jobs;
  };
  using Jobs = std::vector<std::pair<std::uint64_t, JobState>>;
  CHECK(list(TenantId{1}, JobId{~0ull}) ==
        Jobs{{5, JobState::pending}, {3, JobState::cancelled}, {1, JobState::running}});
  CHECK(list(TenantId{2}, JobId{3}) == Jobs{{2, JobState::pending}});
  CHECK(list(TenantId{3}, JobId{~0ull}).empty());
  std::vector<JobId> live;
  ledger->visit_live_jobs(JobId{4}, [&](JobId job) {
    live.push_back(job);
    return live.size() < 2;
  });
  CHECK(live == std::vector{JobId{4}, JobId{2}});
}

TEST_CASE("a job's tasks are read from any on", "[unit][ledger]") {
  const auto env = memory_disk();
  auto ledger = must(Ledger::open(options_for("/ledger", env.get())));
  must(ledger->append(founding()));
  must(ledger->append(
      {JobSubmitted{{}, TenantId{1}, job_spec("a", 9)},
       Cycle{
           {plain_deal(0, TenantId{1}, {{JobId{1}, 1, 1}, {JobId{1}, 4, 1}, {JobId{1}, 5, 1}})}}}));
  const auto indices = [&](std::uint32_t first, std::uint32_t count) {
    std::vector<std::uint32_t> found;
    for (const auto& task : ledger->tasks(JobId{1}, first, count)) found.push_back(task.index);
    return found;
  };
  using Indices = std::vector<std::uint32_t>;
  CHECK(indices(0, 9) == Indices{1, 4, 5});
  CHECK(indices(1, 4) == Indices{1, 4});
  CHECK(indices(2, 3) == Indices{4});
  CHECK(indices(6, 3).empty());
  CHECK(indices(0, 0).empty());
}

TEST_CASE("tokens are kept by their hash until they are revoked", "[unit][ledger]") {
  const auto env = memory_disk();
  auto ledger = must(Ledger::open(options_for("/ledger", env.get())));
  must(ledger->append(founding()));
  Hash hash{};
  hash[0] = 7;
  Hash named{};
  named[31] = 1;
  must(ledger->append({TokenIssued{Role::tenant, TenantId{2}, hash, {}, {}, {}, "ada"},
                       TokenIssued{Role::operator_role, {}, named, "alice", {5}, {9}}}));
  const TokenGrant alice{Role::operator_role, {}, "alice", {5}, {9}};
  CHECK(ledger->tokens() ==
        std::map<Hash, TokenGrant>{{hash, {Role::tenant, TenantId{2}, {}, {}, {}, "ada"}},
                                   {named, alice}});
  must(ledger->append({TokenRevoked{hash}, TokenRevoked{hash}}));  // the second changes nothing
  CHECK(ledger->tokens() == std::map<Hash, TokenGrant>{{named, alice}});
  CHECK(ledger->verify().ok);
}

TEST_CASE("when users were served last is kept, from a tenant's first user on", "[unit][ledger]") {
  const auto env = memory_disk();
  auto ledger = must(Ledger::open(options_for("/ledger", env.get())));
  must(ledger->append(founding()));
  using Served = std::map<std::string, std::uint64_t>;
  const auto grant = [&](std::uint64_t job, std::uint32_t index) {
    const Deal deal = plain_deal(ledger->position(), TenantId{1}, {{JobId{job}, index, 1}});
    return must(ledger->append({Cycle{{deal}}})).front().number;
  };
  must(ledger->append({JobSubmitted{{}, TenantId{1}, job_spec("a", 3)}}));
  (void)grant(1, 0);
  CHECK(ledger->served_users(TenantId{1}).empty());
  JobSpec of_ada = job_spec("a", 2);
  of_ada.user = "ada";
  must(ledger->append({JobSubmitted{{}, TenantId{1}, of_ada}}));
  CHECK(ledger->served_users(TenantId{1}) == Served{{"", 0}, {"ada", 0}});
  const std::uint64_t first = grant(2, 0);
  const std::uint64_t second = grant(1, 1);
  CHECK(ledger->served_users(TenantId{1}) == Served{{"", second}, {"ada", first}});
  CHECK(ledger->served_users(TenantId{2}).empty());
  CHECK(ledger->verify().ok);
}

TEST_CASE("a node that was removed is gone, and its id is not given again", "[unit][ledger]") {
  const auto env = memory_disk();
  auto ledger = must(Ledger::open(options_for("/ledger", env.get())));
  must(ledger->append(founding()));
  must(ledger->append({NodeRemoved{NodeId{2}}}));
  REQUIRE(ledger->nodes().size() == 1);
  CHECK(ledger->nodes()[0].id == NodeId{1});
  CHECK(ledger->next_node_id() == NodeId{3});
  CHECK(ledger->verify().ok);
  CHECK(code_of(ledger->append({NodeRemoved{NodeId{2}}}).error()) == ErrorCode::internal);
}

}  // namespace
}  // namespace fairwater::test
