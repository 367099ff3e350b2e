// From log lines to jobs: shapes, memory, sites, and what is refused.
#include "sim/traces/trace_workload.hpp"

#include <catch2/catch.hpp>

namespace fairwater::sim {
namespace {

constexpr const char* kTwoJobs =
    "7 100 3 60 64 -1 -1 64 600 2048 1 5 2 1 1 -1 -1 -1\n"
    "8 160 0 30 32 -1 -1 32 -1 -1 1 6 2 1 1 -1 -1 -1\n";

TraceWorkload traced(const char* text, const TraceOptions& options) {
  const auto log = parse_swf(text, 0);
  REQUIRE(log);
  auto result = workload_from(*log, options);
  REQUIRE(result);
  return *std::move(result);
}

}  // namespace

TEST_CASE("a log's jobs start at 0 and keep their estimates", "[unit][sim]") {
  const auto traced_jobs = traced(kTwoJobs, {});
  CHECK(traced_jobs.tenants == std::vector<std::string>{"u5", "u6"});
  const auto& jobs = traced_jobs.workload.jobs;
  REQUIRE(jobs.size() == 2);
  CHECK(jobs[0].submit_ms == 0);
  CHECK(jobs[0].run_ms == 60'000);
  CHECK(jobs[0].estimate_ms == 600'000);
  CHECK(jobs[0].has_estimate);
  CHECK(jobs[0].tasks == 1);
  CHECK(jobs[0].demand[kCpu] == 64'000);
  CHECK(jobs[1].submit_ms == 60'000);
  CHECK(jobs[1].estimate_ms == 30'000);
  CHECK_FALSE(jobs[1].has_estimate);
  CHECK(jobs[1].tenant == 1);
  CHECK(jobs[0].user.empty());
  TraceOptions options;
  options.tenants = TenantColumn::queue;
  const auto of_queues = traced(kTwoJobs, options);
  CHECK(of_queues.workload.jobs.at(0).user == "u5");
  CHECK(of_queues.workload.jobs.at(1).user == "u6");
}

TEST_CASE("a job can be split into tasks of a width", "[unit][sim]") {
  TraceOptions options;
  options.shape = JobShape::split;
  options.processors_per_task = 32;
  const auto split = traced(kTwoJobs, options);
  CHECK(split.workload.jobs[0].tasks == 2);
  CHECK(split.workload.jobs[0].demand[kCpu] == 32'000);
  options.processors_per_task = 48;
  const auto refused = workload_from(*parse_swf(kTwoJobs, 0), options);
  REQUIRE_FALSE(refused);
  CHECK(details(refused.error()).message == "job 7: 64 processors are not a multiple of 48");
}

TEST_CASE("a job can be a gang of tasks of a width", "[unit][sim][gang]") {
  TraceOptions options;
  options.shape = JobShape::gang;
  auto gangs = traced(kTwoJobs, options);
  CHECK(gangs.workload.jobs[0].is_gang);
  CHECK(gangs.workload.jobs[0].tasks == 64);
  CHECK(gangs.workload.jobs[0].demand[kCpu] == 1'000);
  options.processors_per_task = 16;
  gangs = traced(kTwoJobs, options);
  CHECK(gangs.workload.jobs[0].tasks == 4);
  CHECK(gangs.workload.jobs[0].demand[kCpu] == 16'000);
  Cluster cluster;
  for (int i = 0; i < 4; ++i) cluster.nodes.emplace_back().capacity[kCpu] = 31'000;
  CHECK(remove_impossible_jobs(cluster, gangs.workload) == 0);
  cluster.nodes.pop_back();
  CHECK(remove_impossible_jobs(cluster, gangs.workload) == 1);
}

TEST_CASE("an extended log says nodes, memory per node and site", "[unit][sim]") {
  TraceOptions options;
  options.shape = JobShape::nodes;
  options.memory_in_bytes_per_node = true;
  options.clusters_as_sites = true;
  const std::string line =
      "1 100 0 60 64 -1 1024 64 600 8589934593 1 5 2 1 1 -1 -1 -1 {3,3,4} q 8:ppn=8:cl_north#excl";
  const auto extended = traced(line.c_str(), options);
  const Job& job = extended.workload.jobs.at(0);
  CHECK(job.tasks == 8);
  CHECK(job.demand[kCpu] == 8'000);
  CHECK(job.demand[kMemory] == 8193);
  NodeTraits node;
  node.site = "north";
  REQUIRE(job.rule);
  CHECK(job.rule->allows(node));
  node.site = "south";
  CHECK_FALSE(job.rule->allows(node));
  const std::string host =
      "1 100 0 60 12 -1 1024 12 600 -1 1 5 2 1 1 -1 -1 -1 {3} q north-19.example:ppn=1.5";
  const auto on_host = traced(host.c_str(), options);
  CHECK(on_host.workload.jobs.at(0).tasks == 1);
  CHECK(on_host.workload.jobs.at(0).demand[kCpu] == 12'000);
  const auto plain = workload_from(*parse_swf(kTwoJobs, 0), options);
  REQUIRE_FALSE(plain);
  CHECK(details(plain.error()).message ==
        "job 7: '' does not begin with a host or a number of nodes up to 64");
}

TEST_CASE("jobs that fit no node are taken out", "[unit][sim]") {
  auto traced_jobs = traced(kTwoJobs, {});
  Cluster cluster;
  SimNode node;
  node.capacity[kCpu] = 63'000;
  cluster.nodes = {node};
  CHECK(remove_impossible_jobs(cluster, traced_jobs.workload) == 1);
  CHECK(traced_jobs.workload.jobs.at(0).demand[kCpu] == 32'000);
}

}  // namespace fairwater::sim
