// Simulation files: what they say of the jobs that generators draw.
#include <algorithm>
#include <fstream>

#include <catch2/catch.hpp>

#include "cli/sim/file.hpp"
#include "model/job.hpp"
#include "process/temporary_directory.hpp"
#include "tests/programs/sim_file_support.hpp"

namespace fairwater {
namespace {

/// With services as the jobs of its generator.
std::string as_service(const std::string& text) {
  const std::string without_run =
      changed_in(text, "      run: [20s, 30s]\n      estimate: 1.5\n", "");
  return changed_in(without_run, "arrivals: self-similar",
                    "kind: service\n      arrivals: self-similar");
}

}  // namespace

TEST_CASE("a generator's arrivals may start later", "[unit][sim-file]") {
  const auto scenario =
      parse_sim_file(changed("duration: 1h\n", "duration: 1h\n      start: 2m\n"), "s.yaml");
  REQUIRE(scenario);
  CHECK(scenario->generators.at(0).start_ms == 120'000);
}

TEST_CASE("a generator's jobs may ask for labels and sites", "[unit][sim-file]") {
  const auto asking = [](const std::string& keys) {
    return changed_in(changed("site: north,", "site: north, labels: {ssd: \"true\"},"),
                      "duration: 1h\n", "duration: 1h\n" + keys);
  };
  const auto scenario =
      parse_sim_file(asking("      labels: ssd == true\n      sites: [south, north]\n"), "s.yaml");
  if (!scenario) FAIL(details(scenario.error()).message);
  const auto jobs = draw_workload(*scenario, 1).jobs;
  REQUIRE_FALSE(jobs.empty());
  for (const auto& job : jobs) {
    REQUIRE(job.rule);
    CHECK(job.rule->sites == std::vector<std::string>{"south", "north"});
    CHECK(job.rule->allows(scenario->cluster.nodes[0].traits));
    CHECK_FALSE(job.rule->allows({"other", "north", {}}));
  }
  CHECK_THAT(refusal_of(asking("      sites: [south]\n")),
             Catch::StartsWith("workload.generators[0].resources: ") &&
                 Catch::Contains("fits no node that labels and sites allow"));
  CHECK_THAT(refusal_of(asking("      labels: ssd ==\n")),
             Catch::StartsWith("workload.generators[0].labels: "));
}

TEST_CASE("a generator's jobs may be gangs, and a trace's", "[unit][sim-file][gang]") {
  const auto scenario =
      parse_sim_file(changed("tasks: [1, 4]", "tasks: [2, 16]\n      gang: true"), "s.yaml");
  REQUIRE(scenario);
  CHECK(scenario->generators.at(0).is_gang);
  CHECK(has_gangs(*scenario));
  for (const auto& job : draw_workload(*scenario, 1).jobs) CHECK(job.is_gang);
  const TemporaryDirectory directory;
  std::ofstream{directory / "log.swf"} << "1 10 0 60 12 -1 -1 12 600 -1 1 5 2 1 1 -1 -1 -1\n";
  const std::string text = R"(
nodes: [{count: 3, resources: {cpu: 4}}]
workload: {trace: {file: log.swf, shape: gang, processors_per_task: 2}}
)";
  const auto traced = parse_sim_file(text, directory / "s.yaml");
  if (!traced) FAIL(details(traced.error()).message);
  CHECK(has_gangs(*traced));
  CHECK(traced->trace.jobs.at(0).tasks == 6);
  CHECK_THAT(
      details(
          parse_sim_file(changed_in(text, "count: 3", "count: 2"), directory / "s.yaml").error())
          .message,
      Catch::StartsWith("1 jobs of the trace fit no node"));
}

TEST_CASE("gpus that tasks share have names, and parts are of one", "[unit][sim-file]") {
  const auto text = [](const std::string& node, const std::string& task, const std::string& more) {
    return R"(
resources:
  - {name: cpu, granule: 0.1, units: 1}
  - {name: memory, granule: 256MiB, units: 1}
  - {name: gpu_milli, granule: 100, units: 1}
nodes: [{count: 2, resources: {cpu: 8, gpu_milli: )" +
           node + R"(}}]
tenants: [{name: a}]
workload:
  generators:
    - {tenant: a, arrivals: backlog, jobs: 4, run: 1m, resources: {cpu: 1, gpu_milli: )" +
           task + "}" + more + "}\n";
  };
  const auto scenario = parse_sim_file(text("2000", "[200, 600]", ""), "s.yaml");
  if (!scenario) FAIL(details(scenario.error()).message);
  CHECK(scenario->cluster.nodes.at(1).traits.devices ==
        std::vector<NodeDevices>{{"gpu_milli", {"gpu0", "gpu1"}}});
  CHECK(scenario->cluster.settings.resources.at(2) == "gpu_milli");
  CHECK(parse_sim_file(text("2000", "2000", ""), "s.yaml"));
  const auto refused = [&](const std::string& node, const std::string& task,
                           const std::string& more = "") {
    return details(parse_sim_file(text(node, task, more), "s.yaml").error()).message;
  };
  CHECK_THAT(refused("1500", "500"), Catch::Contains("1500 is not 1000 for each"));
  CHECK_THAT(refused("2000", "[500, 1500]"), Catch::Contains("500 to 1500 is neither a part"));
  CHECK(parse_sim_file(text("2000", "500", ", tasks: {min: 1, max: 4}"), "s.yaml"));
  CHECK(parse_sim_file(text("2000", "[200, 600]", ", tasks: 4, gang: true"), "s.yaml"));
  CHECK_THAT(refused("2000", "[200, 600]", ", tasks: 5, gang: true"),
             Catch::Contains("a gang of 5 tasks fits not even all nodes together"));
  CHECK(parse_sim_file(text("2000", "600", ", tasks: {min: 4, max: 9}"), "s.yaml"));
  CHECK_THAT(refused("2000", "600", ", tasks: {min: 5, max: 9}"),
             Catch::Contains("5 times as much fits not even all nodes together"));
}

TEST_CASE("gangs that could never start are refused", "[golden][sim-file][gang]") {
  const auto gang = [](const std::string& keys) {
    return changed("tasks: [1, 4]", keys + "\n      gang: true");
  };
  CHECK_THAT(refusal_of(gang("tasks: 17")),
             Catch::StartsWith("workload.generators[0].tasks: a gang of 17 tasks fits not even all "
                               "nodes together"));
  CHECK_THAT(refusal_of(gang("tasks: [1, 1001]")),
             Catch::StartsWith("workload.generators[0].tasks: 1001 is above 1000, the most"));
  for (const char* elastic : {"units: [1, 4]", "tasks: {min: 1, max: 4}"})
    CHECK_THAT(refusal_of(gang(elastic)), Catch::StartsWith("workload.generators[0].gang: "));
  CHECK_THAT(refusal_of(gang("placement: pack")),
             Catch::StartsWith("workload.generators[0].placement: is not for gangs"));
}

TEST_CASE("what asks at once for more than a max is refused where the policy knows it",
          "[unit][sim-file]") {
  const auto file = [](const std::string& max, const std::string& job,
                       const std::string& policy = "sequence") {
    return "nodes: [{resources: {cpu: 8}}]\n"
           "tenants:\n"
           "  - {name: all, " +
           max +
           ", tenants: [{name: a, max: {cpu: 4}}]}\n"
           "workload: {generators: [{tenant: a, arrivals: backlog, jobs: 1, run: 1s, " +
           job +
           "}]}\n"
           "policy: {name: " +
           policy + "}\n";
  };
  const auto is_refused = [&](const std::string& text) {
    const auto scenario = parse_sim_file(text, "s.yaml");
    return !scenario && details(scenario.error()).field == "workload.generators[0].resources.cpu";
  };
  const std::string wide = "max: {cpu: 8}";
  CHECK_FALSE(is_refused(file(wide, "resources: {cpu: 4}")));
  CHECK(is_refused(file(wide, "resources: {cpu: [1, 5]}")));
  CHECK_FALSE(is_refused(file(wide, "resources: {cpu: 2}, tasks: 2, gang: true")));
  CHECK(is_refused(file(wide, "resources: {cpu: 2}, tasks: 3, gang: true")));
  CHECK_FALSE(is_refused(file(wide, "resources: {cpu: 2}, tasks: 3")));
  CHECK(is_refused(file(wide, "resources: {cpu: 2}, tasks: {min: 3, max: 4}")));
  CHECK_FALSE(is_refused(file(wide, "resources: {cpu: 2}, tasks: {min: 2, max: 4}")));
  CHECK(is_refused(file("max: {cpu: 3}", "resources: {cpu: 4}")));
  CHECK_FALSE(is_refused(file("max: {cpu: 3}", "resources: {cpu: 4}", "fifo")));
}

TEST_CASE("elastic jobs have units or tasks from a least to a most", "[unit][sim-file]") {
  for (const char* elastic : {"units: [2, 4]", "tasks: {min: 2, max: 4}"}) {
    const auto scenario = parse_sim_file(changed("tasks: [1, 4]", elastic), "s.yaml");
    if (!scenario) FAIL(details(scenario.error()).message);
    CHECK(scenario->generators.at(0).tasks == sim::Range{1, 1});
    CHECK(scenario->generators.at(0).min_units == 2);
    CHECK(scenario->generators.at(0).max_units == 4);
    CHECK(has_elastic_jobs(*scenario));
  }
  CHECK_THAT(refusal_of(changed("tasks: [1, 4]", "tasks: {min: 5, max: 4}")),
             Catch::StartsWith("workload.generators[0].tasks: min is above max"));
  CHECK_THAT(refusal_of(changed("tasks: [1, 4]", "tasks: {min: 1, max: 4}\n      units: [1, 4]")),
             Catch::StartsWith("workload.generators[0].tasks: says what units says"));
  CHECK_THAT(refusal_of(changed("tasks: [1, 4]", "tasks: {min: 17, max: 40}")),
             Catch::StartsWith("workload.generators[0].resources: 17 times as much fits not even"));
}

TEST_CASE("where jobs grow by single units a unit of them costs one", "[unit][sim-file]") {
  const auto file = [](const std::string& resources, const std::string& policy) {
    const std::string text = changed("tasks: [1, 4]", "units: [1, 4]");
    return changed_in(
        changed_in(text, "resources: {cpu: 1, memory: [512MiB, 2GiB]}", "resources: " + resources),
        "name: easy", "name: " + policy);
  };
  for (const char* policy : {"qrea", "crea", "bra", "qrea-rebalance", "fair"})
    CHECK_THAT(refusal_of(file("{cpu: [0.1, 1]}", policy)),
               Catch::StartsWith("workload.generators[0].resources.cpu: 1 costs 10 units of the "
                                 "ledger, and policy " +
                                 std::string(policy) +
                                 " has elastic jobs that grow by one; write 0.1 or less") &&
                   Catch::Contains("(line 17 of s.yaml)"));
  CHECK_THAT(refusal_of(file("{cpu: 0.1, memory: 1GiB}", "qrea")),
             Catch::StartsWith("workload.generators[0].resources.memory: 1 GiB costs 4 units"));
  CHECK(parse_sim_file(file("{cpu: 0.1, memory: 256MiB}", "qrea"), "s.yaml"));
  CHECK(parse_sim_file(file("{cpu: 1}", "sequence"), "s.yaml"));
}

TEST_CASE("a simulation file says how long tasks of elastic jobs take to give back",
          "[unit][sim-file]") {
  const auto grace_of = [](const std::string& keys) {
    const auto scenario = parse_sim_file(changed("tasks: [1, 4]", keys), "s.yaml");
    if (!scenario) FAIL(details(scenario.error()).message);
    const auto jobs = draw_workload(*scenario, 1).jobs;
    const auto elastic = std::find_if(jobs.begin(), jobs.end(), [](const sim::Job& job) {
      return job.max_units > job.min_units;
    });
    REQUIRE(elastic != jobs.end());
    CHECK(spread_over_nodes(*elastic, true).grace_ms == elastic->grace_ms);
    return elastic->grace_ms;
  };
  CHECK(grace_of("tasks: {min: 1, max: 4}") == JobSpec{}.grace_ms);
  CHECK(grace_of("tasks: {min: 1, max: 4}\n      grace: 1500ms") == 1500);
  CHECK(grace_of("units: [2, 4]\n      grace: 0s") == 0);
  CHECK_THAT(refusal_of(changed("tasks: [1, 4]", "units: [1, 4]\n      grace: 2h")),
             Catch::StartsWith("workload.generators[0].grace: '2h' is not from 0s to 1h"));
  const auto of_gangs = parse_sim_file(
      changed("tasks: [1, 4]", "tasks: [2, 4]\n      grace: 1s\n      gang: true"), "s.yaml");
  if (!of_gangs) FAIL(details(of_gangs.error()).message);
  for (const char* keys : {"preemptible: false", "kind: service"}) {
    CAPTURE(keys);
    const bool is_service = keys == std::string_view("kind: service");
    const std::string more = is_service ? "grace: 1s" : std::string("grace: 1s\n      ") + keys;
    const auto text = changed("tasks: [1, 4]", "tasks: [2, 4]\n      " + more);
    CHECK_THAT(refusal_of(is_service ? as_service(text) : text),
               Catch::StartsWith("workload.generators[0].grace: is how long a task takes to end "
                                 "that is told to make room, which those of"));
  }
}

TEST_CASE("a generator's jobs may name devices", "[unit][sim-file][devices]") {
  const auto asking = [](const std::string& keys, const char* gpus = ", gpu: 2") {
    return changed_in(changed_in(changed("memory: 16GiB", std::string("memory: 16GiB") + gpus),
                                 "tasks: [1, 4]", "tasks: 2"),
                      "duration: 1h\n", "duration: 1h\n      " + keys + "\n");
  };
  const auto scenario = parse_sim_file(asking("devices: [gpu1]"), "s.yaml");
  if (!scenario) FAIL(details(scenario.error()).message);
  const auto& nodes = scenario->cluster.nodes;
  CHECK(nodes.at(0).traits.devices == std::vector<NodeDevices>{{"gpu", {"gpu0", "gpu1"}}});
  const auto gpu = ResourceCatalog{}.index_of("gpu");
  for (const auto& job : draw_workload(*scenario, 1).jobs) {
    CHECK(job.rule->devices == std::vector<std::string>{"gpu1"});
    CHECK(job.demand[*gpu] == 1);
  }
  const auto of_none = parse_sim_file(changed("memory: 16GiB", "memory: 16GiB, gpu: 2"), "s.yaml");
  REQUIRE(of_none);
  CHECK(of_none->cluster.nodes.at(0).traits.devices.empty());
  CHECK_THAT(refusal_of(asking("devices: [gpu2]")),
             Catch::StartsWith("workload.generators[0].devices: no node that the jobs allow"));
  CHECK_THAT(refusal_of(asking("devices: [gpu1]\n      gang: true")),
             Catch::StartsWith("workload.generators[0].devices: each task takes all of them"));
  CHECK_THAT(refusal_of(asking("devices: [gpu1, gpu1]")),
             Catch::StartsWith("workload.generators[0].devices: 'gpu1' is named twice"));
  CHECK_THAT(
      refusal_of(changed_in(asking("devices: [gpu0, gpu1]"), "memory: [512MiB, 2GiB]", "gpu: 1")),
      Catch::StartsWith("workload.generators[0].resources.gpu: a task asks for 1, and "
                        "devices names 2 of them"));
}

TEST_CASE("a simulation's tenants have queues, and users whose jobs these are",
          "[unit][sim-file]") {
  const auto asking = [](const std::string& queue, const std::string& keys) {
    return changed_in(changed("duration: 1h\n", "duration: 1h\n" + keys), "quota: 7",
                      "quota: 7, queue: " + queue);
  };
  const auto scenario = parse_sim_file(asking("fair", "      user: ann\n"), "s.yaml");
  if (!scenario) FAIL(details(scenario.error()).message);
  const auto& tenants = scenario->cluster.tenants;
  CHECK(std::count_if(tenants.begin(), tenants.end(), [](const sim::SimTenant& tenant) {
          return tenant.queue == QueuePolicy::fair;
        }) == 1);
  CHECK(std::count_if(tenants.begin(), tenants.end(),
                      [](const sim::SimTenant& tenant) { return !tenant.queue; }) +
            1 ==
        static_cast<std::ptrdiff_t>(tenants.size()));
  for (const auto& job : draw_workload(*scenario, 1).jobs) CHECK(job.user == "ann");
  CHECK_THAT(refusal_of(asking("random", "")),
             Catch::Contains("queue: ") && Catch::Contains("shortest-first"));
  CHECK_THAT(refusal_of(asking("fair", "      user: ann smith\n")),
             Catch::StartsWith("workload.generators[0].user: 'ann smith' is not a user's name"));
}

TEST_CASE("a simulation file says what preempts what", "[unit][sim-file][preemption]") {
  const auto text = [](const std::string& keys, const std::string& policy) {
    return changed_in(changed("tasks: [1, 4]", "tasks: [1, 4]\n      " + keys), "name: easy",
                      policy);
  };
  const auto scenario = parse_sim_file(text("priority: 5\n      preempt: true\n      grace: 2s",
                                            "name: sequence, preempt_after: 10s, order: priority"),
                                       "s.yaml");
  if (!scenario) FAIL(details(scenario.error()).message);
  CHECK(scenario->policy.preempt_after_ms == 10'000);
  CHECK(scenario->policy.order == QueuePolicy::priority);
  CHECK(has_preempting_jobs(*scenario));
  for (const auto& job : draw_workload(*scenario, 1).jobs) {
    CHECK(job.preemption ==
          PreemptionTerms{.priority = 5, .preempts = true, .is_preemptible = true});
    CHECK(job.grace_ms == 2000);
  }
  const auto spared =
      parse_sim_file(text("priority: -1\n      preemptible: false", "name: sequence"), "s.yaml");
  REQUIRE(spared);
  CHECK(spared->policy.preempt_after_ms == 30'000);
  CHECK(spared->policy.preempts_for_min);
  CHECK_FALSE(has_preempting_jobs(*spared));
  for (const auto& job : draw_workload(*spared, 1).jobs)
    CHECK(job.preemption == PreemptionTerms{.priority = -1});
  CHECK_THAT(refusal_of(text("priority: nine", "name: sequence")),
             Catch::StartsWith("workload.generators[0].priority: 'nine' is not"));
  CHECK_THAT(refusal_of(text("preempt: true", "name: easy, preempt_after: 10s")),
             Catch::StartsWith("policy.preempt_after: is for policy sequence with accounting"));
  const auto patient =
      parse_sim_file(text("priority: -1", "name: sequence, preempt_for_min: false"), "s.yaml");
  REQUIRE(patient);
  CHECK_FALSE(patient->policy.preempts_for_min);
  CHECK_THAT(refusal_of(text("priority: 1", "name: fifo, preempt_for_min: true")),
             Catch::StartsWith("policy.preempt_for_min: is for policy sequence with accounting"));
  CHECK_THAT(refusal_of(text("priority: 1", "name: sequence, preempt_for_min: 1")),
             Catch::StartsWith("policy.preempt_for_min: "));
  CHECK_THAT(refusal_of(text("preempt: true", "name: sequence, preempt_after: soon")),
             Catch::StartsWith("policy.preempt_after: 'soon' is not a duration"));
}

TEST_CASE("a generator's jobs may be services, with an end to run to", "[unit][sim-file]") {
  const std::string text = as_service(kSmallFile);
  const auto scenario = parse_sim_file(text, "s.yaml");
  if (!scenario) FAIL(details(scenario.error()).message);
  CHECK(has_services(*scenario));
  for (const auto& job : draw_workload(*scenario, 1).jobs) {
    CHECK(job.is_service);
    CHECK(job.submit_ms + job.run_ms == scenario->engine.end_ms);
  }
  CHECK_THAT(refusal_of(changed_in(text, "end: 2h\n", "")),
             Catch::StartsWith("end: is missing: services run until then, as in end: 2h"));
  for (const char* key : {"run: 5s", "run_per_unit: 5s", "estimate: 2"}) {
    const std::string name(key, std::string_view(key).find(':'));
    CHECK_THAT(
        refusal_of(changed_in(text, "kind: service", std::string("kind: service\n      ") + key)),
        Catch::StartsWith("workload.generators[0]." + name +
                          ": a service runs until the simulation's end; leave " + name + " out"));
  }
  CHECK_THAT(
      refusal_of(changed_in(text, "kind: service", "kind: service\n      gang: true")),
      Catch::StartsWith("workload.generators[0].gang: the tasks of a service are started again"));
  CHECK_THAT(refusal_of(changed_in(text, "tasks: [1, 4]", "tasks: {min: 1, max: 4}")),
             Catch::StartsWith("workload.generators[0].tasks: an elastic job is done when its"));
  CHECK_THAT(
      refusal_of(changed_in(text, "kind: service", "kind: daemon")),
      Catch::StartsWith("workload.generators[0].kind: 'daemon' is not one of batch, service"));
}

}  // namespace fairwater
