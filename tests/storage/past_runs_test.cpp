// What a coordinator's start reads of how long tasks took.
#include "storage/past_runs.hpp"

#include <catch2/catch.hpp>

#include "process/temporary_directory.hpp"

namespace fairwater {
namespace {

constexpr TenantId kTenant{1};
constexpr NodeId kNode{1};

std::unique_ptr<Ledger> ledger_of_a_node(const std::string& directory) {
  LedgerOptions options;
  options.directory = directory;
  options.create = true;
  auto ledger = Ledger::open(options);
  REQUIRE(ledger.engaged());
  TenantRecord tenant;
  tenant.id = kTenant;
  tenant.spec.name = "only";
  NodeChanged node;
  node.node.id = kNode;
  node.node.spec.traits.name = "node";
  node.node.spec.capacity = {{"cpu", 100'000}};
  REQUIRE((*ledger)
              ->append({ClusterCreated{"test", ResourceCatalog{}.kinds(), {}},
                        TenantsChanged{{tenant}, 0}, node})
              .engaged());
  return std::move(*ledger);
}

/// Both tasks of the job run for so long; the second is stopped.
void run_job(Ledger& ledger, JobId job, const std::string& job_class, std::int64_t run_ms) {
  JobSpec spec;
  spec.tenant = "only";
  spec.job_class = job_class;
  spec.command = {"true"};
  spec.tasks_min = spec.tasks_max = 2;
  spec.resources = {{"cpu", 1000}};
  Deal deal;
  deal.node = kNode;
  deal.keeps_accounts = false;
  TasksFinished finished{kNode, {}};
  for (const std::uint32_t index : {0U, 1U}) {
    Grant grant;
    grant.task = {job, index, 1};
    grant.tenant = kTenant;
    grant.cost = 10;
    grant.demand[kCpu] = 1000;
    deal.grants.push_back(grant);
    TaskResult result;
    result.task = grant.task;
    result.finished_at = {run_ms * 1000};
    if (index == 1) result.reason = EndReason::time_limit;
    finished.results.push_back(result);
  }
  REQUIRE(ledger.append({JobSubmitted{job, kTenant, spec}, Cycle{{deal}}, finished}).engaged());
}

TEST_CASE("of a long history the newest jobs are read, and what ran to its end",
          "[unit][storage]") {
  const TemporaryDirectory directory;
  const auto ledger = ledger_of_a_node(directory / "ledger");
  for (std::uint64_t job = 1; job <= 5; ++job)
    run_job(*ledger, JobId{job}, "c" + std::to_string(job), static_cast<std::int64_t>(job) * 1000);
  const auto classes_of = [&](std::size_t max_tasks) {
    std::vector<PastRun> runs;
    CHECK_FALSE(add_past_runs(*ledger, kTenant, max_tasks, runs));
    std::string text;
    for (const PastRun& run : runs) text += run.task_class + ":" + std::to_string(run.run_ms) + " ";
    return text;
  };
  CHECK(classes_of(100) == "c5:5000 c4:4000 c3:3000 c2:2000 c1:1000 ");
  CHECK(classes_of(4) == "c5:5000 c4:4000 ");
  // Of a job that is cut off its last tasks are looked at.
  CHECK(classes_of(3) == "c5:5000 ");
}

}  // namespace
}  // namespace fairwater
