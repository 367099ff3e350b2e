// Those who read the ledger: what is damaged, what takes long, and who waits for whom.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include <rocksdb/env.h>

#include "actors/coordinator/job_scan.hpp"
#include "process/temporary_directory.hpp"
#include "storage/database.hpp"
#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

using Catch::Matchers::Contains;
using Clock = std::chrono::steady_clock;

/// Puts bytes there that are no job.
void damage_job(rocksdb::Env* env, const std::string& directory, JobId job) {
  auto database = Database::open(directory, env, Database::Mode::read_write);
  REQUIRE(database.engaged());
  rocksdb::WriteBatch batch;
  REQUIRE(batch.Put((*database)->handle(Family::jobs), key_of(job), "garbage!").ok());
  REQUIRE((*database)->write(batch, true).ok());
}

TEST_CASE("a damaged record is an answer and an alarm, and everything else goes on", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  const auto damaged = cluster.submit("only", 1);
  const auto good = cluster.submit("only", 1);
  auto agent = cluster.join("node1", 2);
  for (const auto& order : agent.launches()) (void)cluster.report(agent, {succeeded(order.task)});
  cluster.restart([&](rocksdb::Env* env, const std::string& directory) {
    damage_job(env, directory, damaged);
  });
  const auto caller = cluster.tenant_caller("only");
  CHECK(cluster.ask<ClusterStatus>(GetStatus{})->storage_damage.empty());

  const auto code_of = [](const auto& answer) {
    return answer ? ErrorCode{} : details(answer.error()).code;
  };
  CHECK(code_of(cluster.ask<JobDetail>(ShowJob{caller, damaged})) == ErrorCode::storage_damaged);
  CHECK(code_of(cluster.ask<Explanation>(ExplainTask{caller, damaged, 0})) ==
        ErrorCode::storage_damaged);
  CHECK(code_of(cluster.ask<JobList>(ListJobs{caller, {}})) == ErrorCode::storage_damaged);
  const auto refused = cluster.ask<JobDetail>(ShowJob{caller, damaged});
  CHECK_THAT(details(refused.error()).message, Contains("of family jobs"));
  CHECK_THAT(cluster.ask<ClusterStatus>(GetStatus{})->storage_damage,
             Contains("4 times") && Contains("of family jobs"));

  CHECK(cluster.show(good).job.tasks.succeeded == 1);
  JobSpec after;
  after.tenant = "only";
  after.command = {"true"};
  after.resources = {{"cpu", 1000}};
  after.after = {damaged};
  CHECK_FALSE(cluster.reattach(agent));
  CHECK(code_of(cluster.ask<JobAccepted>(SubmitJob{caller, after})) == ErrorCode::storage_damaged);
  const auto next = cluster.submit("only", 1);
  CHECK(cluster.show(next).job.tasks.running == 1);
}

TEST_CASE("a listing that takes many slices is the same as in one", "[actor]") {
  constexpr std::size_t kJobs = 700;  // more than two slices
  ClusterFixture cluster;
  cluster.apply({tenant_spec("many", 1), tenant_spec("few", 1)});
  std::vector<JobId> few;
  for (std::size_t i = 0; i < kJobs; ++i)
    if (i % 100 == 0)
      few.push_back(cluster.submit("few", 1));
    else
      (void)cluster.submit("many", 1);
  std::reverse(few.begin(), few.end());
  const auto list = [&](const Caller& caller, const JobQuery& query) {
    std::vector<JobId> ids;
    const auto answer = cluster.ask<JobList>(ListJobs{caller, query});
    REQUIRE(answer.engaged());
    for (const auto& job : answer->jobs) ids.push_back(job.id);
    CHECK(std::is_sorted(ids.rbegin(), ids.rend()));
    return ids;
  };
  const auto everybody = cluster.operator_caller();
  CHECK(list(cluster.tenant_caller("few"), {}) == few);
  CHECK(list(everybody, {"few", {}, 1000, {}}) == few);
  CHECK(list(everybody, {"few", {}, 2, few[1]}) == std::vector{few[2], few[3]});
  CHECK(list(everybody, {"", {}, 1000, {}}).size() == kJobs);
  CHECK(list(everybody, {"", JobState::pending, 1000, {}}).size() == kJobs);
  CHECK(list(everybody, {"", JobState::failed, 1000, {}}).empty());
  (void)cluster.ask<Done>(CancelJob{everybody, few[3], "enough"});
  CHECK(list(everybody, {"", JobState::cancelled, 1000, {}}) == std::vector{few[3]});
  CHECK(list(everybody, {"few", JobState::cancelled, 1000, {}}) == std::vector{few[3]});
  CHECK(list(everybody, {"", JobState::pending, 1000, {}}).size() == kJobs - 1);
}

TEST_CASE("a rare state is found by the states of jobs, not in the jobs", "[actor]") {
  constexpr std::uint64_t kJobs = 6'000;
  TemporaryDirectory directory;
  LedgerOptions options;
  options.directory = directory / "ledger";
  options.create = true;
  auto ledger = Ledger::open(options);
  REQUIRE(ledger.engaged());
  std::vector<TenantRecord> tenants(3);
  for (std::uint32_t i = 0; i < tenants.size(); ++i) {
    tenants[i].id = TenantId{i + 1};
    tenants[i].spec = tenant_spec("t" + std::to_string(i + 1), 1);
  }
  std::vector<JournalBody> bodies{ClusterCreated{"test", ResourceCatalog{}.kinds(), {}},
                                  TenantsChanged{tenants, 0}};
  JobSpec spec;
  spec.command = {"true"};
  spec.resources = {{"cpu", 1000}};
  // Every 500th is cancelled, the others wait: to the scan a state is like another.
  std::vector<JobId> cancelled;
  for (std::uint64_t id = 1; id <= kJobs; ++id) {
    spec.tenant = tenants[id % 3].spec.name;
    bodies.emplace_back(JobSubmitted{JobId{id}, tenants[id % 3].id, spec});
    if (id % 500 != 0) continue;
    bodies.emplace_back(JobCancelled{JobId{id}, "rare"});
    cancelled.insert(cancelled.begin(), JobId{id});
  }
  REQUIRE((*ledger)->append(std::move(bodies)).engaged());
  const auto list = [&](std::uint32_t limit, JobId before) {
    JobScan scan(QueryJobs{{}, {"", JobState::cancelled, limit, before}});
    while (!scan.read_slice(**ledger)) {
    }
    CHECK(scan.jobs_read() < 1'400);
    std::vector<JobId> ids;
    for (const auto& job : scan.take().jobs) ids.push_back(job.id);
    return ids;
  };
  CHECK(list(1000, {}) == cancelled);
  CHECK(list(5, {}) == std::vector(cancelled.begin(), cancelled.begin() + 5));
  CHECK(list(2, cancelled[2]) == std::vector{cancelled[3], cancelled[4]});
  CHECK(list(1000, cancelled[9]) == std::vector{cancelled[10], cancelled[11]});
}

// -- with real threads ----------------------------------------------------------------------------

Hash token_hash() {
  Hash hash{};
  hash.fill(9);
  return hash;
}

/// A cluster whose ledger holds that many jobs that succeeded.
class ClusterWithHistory {
 public:
  explicit ClusterWithHistory(std::uint64_t jobs) : system_(config_) {
    LedgerOptions options;
    options.directory = directory_ / "ledger";
    options.create = true;
    auto ledger = Ledger::open(options);
    REQUIRE(ledger.engaged());
    TenantRecord tenant;
    tenant.id = TenantId{1};
    tenant.spec = tenant_spec("only", 1);
    REQUIRE((*ledger)
                ->append({ClusterCreated{"test", ResourceCatalog{}.kinds(), {}},
                          TokenIssued{Role::operator_role, {}, token_hash()},
                          TenantsChanged{{tenant}, 0}})
                .engaged());
    JobSpec spec;
    spec.tenant = "only";
    spec.command = {"true"};
    spec.environment = {{"SOME", std::string(500, 'x')}};
    spec.resources = {{"cpu", 1000}};
    for (std::uint64_t made = 0; made < jobs;) {
      std::vector<JournalBody> bodies;
      for (int i = 0; i < 1000 && made < jobs; ++i) {
        bodies.emplace_back(JobSubmitted{JobId{++made}, TenantId{1}, spec});
        bodies.emplace_back(JobCancelled{JobId{made}, "history"});
      }
      REQUIRE((*ledger)->append(std::move(bodies)).engaged());
    }
    auto cluster = start_cluster(system_, std::move(*ledger), {}, [](const caf::error&) {});
    REQUIRE(cluster.engaged());
    cluster_ = std::move(*cluster);
  }
  ~ClusterWithHistory() { stop_cluster(cluster_); }
  ClusterWithHistory(const ClusterWithHistory&) = delete;
  ClusterWithHistory& operator=(const ClusterWithHistory&) = delete;

  /// How long the frontend takes. From any thread: what it refuses is counted, as assertions are
  /// for one thread alone.
  template <class Result, class Request>
  double ask_ms(const Request& request) {
    caf::scoped_actor self{system_};
    const auto begin = Clock::now();
    self->request(cluster_.frontend, std::chrono::minutes(1), request)
        .receive([](const Result&) {}, [&](const caf::error&) { ++refused_; });
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  }

  [[nodiscard]] int refused() const { return refused_; }

 private:
  TemporaryDirectory directory_;
  caf::actor_system_config config_;
  caf::actor_system system_;
  Cluster cluster_;
  std::atomic<int> refused_ = 0;
};

struct Latencies {
  std::vector<double> login_ms;
  std::vector<double> show_ms;
  std::vector<double> scan_ms;
};

double median(std::vector<double> of) {
  REQUIRE_FALSE(of.empty());
  std::sort(of.begin(), of.end());
  return of[of.size() / 2];
}

/// Logs in again and again while four others list what is nowhere in that many jobs.
Latencies latencies_beside_scans(std::uint64_t jobs) {
  ClusterWithHistory cluster(jobs);
  const Caller caller{Role::operator_role, {}, ""};
  const ListJobs scan{caller, {"", JobState::failed, 1000, {}}};
  std::atomic<bool> over = false;
  std::mutex mutex;
  Latencies result;
  std::vector<std::thread> scans;
  for (int i = 0; i < 4; ++i)
    scans.emplace_back([&] {
      while (!over) {
        const double took = cluster.ask_ms<JobList>(scan);
        const std::lock_guard lock(mutex);
        result.scan_ms.push_back(took);
      }
    });
  for (int i = 0; i < 20; ++i) {
    result.login_ms.push_back(cluster.ask_ms<Caller>(Login{token_hash()}));
    result.show_ms.push_back(cluster.ask_ms<JobDetail>(ShowJob{caller, JobId{1}}));
  }
  over = true;
  for (auto& thread : scans) thread.join();
  CHECK(cluster.refused() == 0);
  return result;
}

TEST_CASE("logins and look-ups do not wait behind listings", "[actor]") {
  const auto took = latencies_beside_scans(5'000);
  // Of one call each a busy machine may make anything.
  CHECK(median(took.login_ms) < median(took.scan_ms));
  CHECK(median(took.show_ms) < median(took.scan_ms));
}

TEST_CASE("how long a login takes beside four listings of 60,000 jobs", "[.figure]") {
  const auto took = latencies_beside_scans(60'000);
  const auto longest = [](const std::vector<double>& of) {
    return *std::max_element(of.begin(), of.end());
  };
  WARN("login " << longest(took.login_ms) << " ms at most, job show " << longest(took.show_ms)
                << " ms at most, a listing "
                << *std::min_element(took.scan_ms.begin(), took.scan_ms.end()) << " ms at least");
}

}  // namespace
}  // namespace fairwater
