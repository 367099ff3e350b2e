// The openb trace as a workload: what a pod becomes, and what is left out.
#include "sim/traces/openb_workload.hpp"

#include <filesystem>

#include <catch2/catch.hpp>

#include "sim/report/scenario.hpp"
#include "sim/traces/swf.hpp"
#include "tests/programs/shared_files.hpp"

namespace fairwater::sim {
namespace {

constexpr std::size_t kGpu = 2;
const std::vector<std::string> kModels{"T4", "G2", "P100"};

OpenbPod pod_at(std::int64_t creation_s, std::int64_t scheduled_s, std::int64_t deletion_s) {
  return {.request = {.cpu_milli = 500, .memory_mib = 64, .gpus = 2, .milli_per_gpu = 1000},
          .qos = "LS",
          .creation_s = creation_s,
          .scheduled_s = scheduled_s,
          .deletion_s = deletion_s};
}

bool allowed_on(const Job& job, const std::string& model) {
  const NodeTraits node{.name = "n", .site = {}, .labels = {{"gpu_model", model}}};
  return !job.rule || job.rule->allows(node);
}

}  // namespace

TEST_CASE("openb nodes become nodes with their model as label", "[unit][openb]") {
  const auto cluster =
      parse_openb_nodes("sn,cpu_milli,memory_mib,gpu,model\nn0,8000,4096,2,T4\nn1,16000,8192,0,\n");
  REQUIRE(cluster);
  const auto nodes = openb_nodes(*cluster, kGpu);
  REQUIRE(nodes.size() == 2);
  CHECK(nodes[0].traits.name == "n0");
  CHECK(nodes[0].traits.labels.at("gpu_model") == "T4");
  CHECK(nodes[0].capacity[kCpu] == 8000);
  CHECK(nodes[0].capacity[kMemory] == 4096);
  CHECK(nodes[0].capacity[kGpu] == 2000);
  CHECK(nodes[1].traits.labels.empty());
  CHECK(nodes[1].capacity[kGpu] == 0);
}

TEST_CASE("openb pods become jobs by creation, for the time they ran", "[unit][openb]") {
  std::vector<OpenbPod> pods{pod_at(50, 60, 70), pod_at(20, 25, 100), pod_at(30, 30, 31)};
  pods[1].qos = "BE";
  pods[2].qos = "";
  pods[2].request.models = 0b101;
  const auto traced = openb_workload(pods, kModels, kGpu, 0);
  REQUIRE(traced);
  CHECK(traced->tenants == std::vector<std::string>{"BE", "none", "LS"});
  const auto& jobs = traced->workload.jobs;
  REQUIRE(jobs.size() == 3);
  CHECK(jobs[0].submit_ms == 0);
  CHECK(jobs[0].run_ms == 75'000);
  CHECK(jobs[0].estimate_ms == 75'000);
  CHECK_FALSE(jobs[0].has_estimate);
  CHECK(jobs[0].demand[kCpu] == 500);
  CHECK(jobs[0].demand[kMemory] == 64);
  CHECK(jobs[0].demand[kGpu] == 2000);
  CHECK(allowed_on(jobs[0], "G2"));
  CHECK(jobs[1].submit_ms == 10'000);
  CHECK(allowed_on(jobs[1], "T4"));
  CHECK(allowed_on(jobs[1], "P100"));
  CHECK_FALSE(allowed_on(jobs[1], "G2"));
  CHECK(jobs[2].tenant == 2);
  const auto first_two = openb_workload(pods, kModels, kGpu, 2);
  REQUIRE(first_two);
  CHECK(first_two->workload.jobs.size() == 2);
}

TEST_CASE("openb pods that never ran are left out", "[unit][openb]") {
  std::vector<OpenbPod> pods{pod_at(50, 40, 70), pod_at(50, 60, 60), pod_at(50, 60, 70)};
  pods.push_back(pod_at(1, 2, 3));
  pods.back().scheduled_s.reset();
  const auto traced = openb_workload(pods, kModels, kGpu, 0);
  REQUIRE(traced);
  CHECK(traced->workload.jobs.size() == 1);
  CHECK(traced->skipped == 3);
  pods.erase(pods.begin() + 2);
  const auto nobody = openb_workload(pods, kModels, kGpu, 0);
  REQUIRE_FALSE(nobody);
  CHECK(details(nobody.error()).message == "no pod has the times of a run");
}

TEST_CASE("a GPU model that is no label's value is refused", "[unit][openb]") {
  std::vector<OpenbPod> pods{pod_at(1, 2, 3)};
  pods[0].request.models = 1;
  const auto refused = openb_workload(pods, {"T 4"}, kGpu, 0);
  REQUIRE_FALSE(refused);
  CHECK_THAT(details(refused.error()).message, Catch::StartsWith("models T 4: "));
}

TEST_CASE("the published lists run to their end under every kind of policy", "[property][openb]") {
  const auto folder = shared_file("traces/alibaba-gpu-v2023");
  if (!folder) return;
  const auto read = [&](const std::string& name) {
    const auto text = read_maybe_gzip(*folder + "/" + name + ".csv.gz", kMaxSwfBytes);
    REQUIRE(text);
    return *text;
  };
  auto cluster = parse_openb_nodes(read("openb_node_list_all_node"));
  REQUIRE(cluster);
  REQUIRE(cluster->nodes.size() == 1523);
  const auto pods = parse_openb_pods(read("openb_pod_list_gpuspec33"), cluster->models);
  REQUIRE(pods);
  REQUIRE(pods->size() == 8152);
  auto traced = openb_workload(*pods, cluster->models, kGpu, 0);
  REQUIRE(traced);
  CHECK(traced->workload.jobs.size() == 7255);

  Scenario scenario;
  scenario.cluster.resources = {"cpu", "memory", "gpu_milli"};
  scenario.cluster.settings.granules[kCpu] = 100;
  scenario.cluster.settings.granules[kMemory] = 256;
  scenario.cluster.settings.granules[kGpu] = 100;
  for (const auto& name : traced->tenants) scenario.cluster.tenants.push_back({name, {}, 0});
  // A quarter of the nodes, and everybody two hundred times as fast: pods must wait.
  const auto nodes = openb_nodes(*cluster, kGpu);
  for (std::size_t i = 0; i < nodes.size(); i += 4) scenario.cluster.nodes.push_back(nodes[i]);
  scenario.trace = std::move(traced->workload);
  for (auto& job : scenario.trace.jobs) job.submit_ms /= 200;
  CHECK(remove_impossible_jobs(scenario.cluster, scenario.trace) < 10);
  for (const char* policy : {"sequence", "fifo", "easy", "drf"}) {
    INFO(policy);
    scenario.policy.name = policy;
    const auto run = run_once(scenario, 1);
    REQUIRE(run);
    CHECK(run->unfinished_jobs == 0);
    CHECK(run->jobs.jobs == scenario.trace.jobs.size());
    CHECK(run->jobs.max_wait_s > 0);
  }
}

}  // namespace fairwater::sim
