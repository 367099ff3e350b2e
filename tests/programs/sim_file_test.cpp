// Simulation files: what they say, and what is refused with its line. What they say of generated
// jobs is in sim_file_jobs_test.cpp.
#include <algorithm>
#include <fstream>

#include <catch2/catch.hpp>

#include "cli/sim/file.hpp"
#include "model/job.hpp"
#include "process/temporary_directory.hpp"
#include "tests/programs/sim_file_support.hpp"

namespace fairwater {
namespace {

/// With other tenants in the place of `a`; theirs begin in line 5.
std::string with_tree(const std::string& tenants) {
  return changed("  - {name: a, weight: 3, quota: 7}\n",
                 tenants.substr(tenants.starts_with('\n') ? 1 : 0));
}

}  // namespace

TEST_CASE("a simulation file is read whole", "[unit][sim-file]") {
  const auto scenario = parse_sim_file(kSmallFile, "s.yaml");
  REQUIRE(scenario);
  REQUIRE(scenario->cluster.nodes.size() == 2);
  CHECK(scenario->cluster.nodes[1].traits.name == "rack-2");
  CHECK(scenario->cluster.nodes[1].traits.site == "north");
  CHECK(scenario->cluster.nodes[1].capacity[kMemory] == 16 * 1024);
  REQUIRE(scenario->cluster.tenants.size() == 2);
  CHECK(scenario->cluster.tenants[0].terms.weight == 3);
  CHECK(scenario->cluster.tenants[0].quota == 7);
  CHECK(scenario->cluster.tenants[1].terms.max[kCpu] == 4000);
  REQUIRE(scenario->generators.size() == 1);
  const auto& generator = scenario->generators[0];
  CHECK(generator.tenant == 1);
  CHECK(generator.arrivals == sim::ArrivalProcess::self_similar);
  CHECK(generator.hurst == 0.8);
  CHECK(generator.period_ms == 10'000);
  CHECK(generator.tasks == sim::Range{1, 4});
  CHECK(generator.demand.at(kMemory) == sim::Range{512, 2048});
  CHECK(generator.run_ms == sim::Range{20'000, 30'000});
  CHECK(generator.estimate_factor == 1.5);
  CHECK(scenario->policy.name == "easy");
  CHECK(scenario->engine.cycle_ms == 1000);
  CHECK(scenario->engine.end_ms == 7'200'000);
  CHECK(scenario->metrics.windows_ms == std::vector<sim::TimeMs>{60'000, 3'600'000});
  CHECK(scenario->seeds == 3);
}

TEST_CASE("a simulation file says by which rule elastic jobs grow", "[unit][sim-file]") {
  const auto scenario =
      parse_sim_file(changed("name: easy", "name: sequence, elastic: crea"), "s.yaml");
  REQUIRE(scenario);
  CHECK(scenario->policy.growth == GrowthRule::crea);
  for (const char* policy : {"name: easy", "name: sequence, accounting: resource-time",
                             "name: sequence, allocation: drf"})
    CHECK_THAT(refusal_of(changed("name: easy", std::string{policy} + ", elastic: qrea")),
               Catch::StartsWith("policy.elastic: is for policy sequence"));
}

TEST_CASE("a simulation file may allocate by dominant shares", "[unit][sim-file]") {
  // Ghodsi and others, NSDI 2011, section 4.1: 3 tasks of <1 processor, 4 GB> and 2 of <3, 1 GB>.
  const std::string text = R"(
resources: [{name: cpu, granule: 1}, {name: memory, granule: 1GiB}]
nodes: [{resources: {cpu: 9, memory: 18GiB}}]
tenants: [{name: a}, {name: b}]
workload:
  generators:
    - {tenant: a, arrivals: backlog, jobs: 10, resources: {cpu: 1, memory: 4GiB}, run: 2h}
    - {tenant: b, arrivals: backlog, jobs: 10, resources: {cpu: 3, memory: 1GiB}, run: 2h}
policy: {name: sequence, allocation: drf}
metrics: {sample: 10m}
end: 1h
)";
  const auto run_of = [](const std::string& file) {
    const auto scenario = parse_sim_file(file, "s.yaml");
    if (!scenario) FAIL(details(scenario.error()).message);
    auto run = run_once(*scenario, 1);
    REQUIRE(run);
    return *run;
  };
  const auto held_of = [&](const std::string& file) {
    const sim::RunMetrics run = run_of(file);
    std::vector<std::pair<Amount, Amount>> held;
    for (const auto& tenant : run.samples.back())
      held.emplace_back(tenant.held[kCpu] / 1000, tenant.held[kMemory] / 1024);
    return held;
  };
  using Held = std::vector<std::pair<Amount, Amount>>;
  CHECK(held_of(text) == Held{{3, 12}, {6, 2}});
  CHECK(held_of(changed_in(text, "{name: a}", "{name: a, max: {cpu: 1}}")) == Held{{1, 4}, {6, 2}});
  // Alone at first, a borrows from nobody: there is no ledger.
  const std::string alone = changed_in(text, "{tenant: b,", "{tenant: b, start: 30m,");
  CHECK(run_of(alone).lent == 0);
  CHECK(run_of(changed_in(alone, ", allocation: drf", "")).lent > 0);
  for (const char* policy :
       {"name: drf, allocation: drf", "name: sequence, accounting: resource-time, allocation: drf"})
    CHECK_THAT(refusal_of(changed_in(text, "name: sequence, allocation: drf", policy)),
               Catch::StartsWith("policy.allocation: is for policy sequence"));
}

TEST_CASE("a tree's leaves share as their parents do", "[unit][sim-file]") {
  const auto scenario = parse_sim_file(
      changed("  - {name: a, weight: 3, quota: 7}\n",
              "  - name: a\n    weight: 3\n    tenants: [{name: x, weight: 2}, {name: y}]\n"),
      "s.yaml");
  REQUIRE(scenario);
  REQUIRE(scenario->cluster.tenants.size() == 3);
  CHECK(scenario->cluster.tenants[0].terms.weight == 500'000'000);
  CHECK(scenario->cluster.tenants[1].terms.weight == 250'000'000);
  CHECK(scenario->cluster.tenants[2].terms.weight == 250'000'000);
  REQUIRE(scenario->cluster.groups.size() == 1);
  CHECK(scenario->cluster.groups[0].place == QuotaPlace{.group = {}, .weight = 3});
  CHECK(scenario->cluster.tenants[0].terms.place == QuotaPlace{.group = GroupId{1}, .weight = 2});
  CHECK(scenario->cluster.tenants[1].terms.place == QuotaPlace{.group = GroupId{1}, .weight = 1});
  CHECK(scenario->cluster.tenants[2].terms.place == QuotaPlace{.group = {}, .weight = 1});
}

TEST_CASE("what a parent says of jobs is said for those within", "[unit][sim-file]") {
  const auto scenario = parse_sim_file(with_tree(R"(
  - name: lab
    queue: fair
    repay: 0.5
    placement: spread
    tenants:
      - {name: x}
      - {name: inner, queue: priority, tenants: [{name: y}, {name: z, queue: fifo, repay: 1, placement: pack}]}
)"),
                                       "s.yaml");
  REQUIRE(scenario);
  const auto check = [&](std::size_t at, QueuePolicy queue, std::uint32_t repay, Placement rule) {
    const auto& tenant = scenario->cluster.tenants.at(at);
    CHECK(tenant.queue == queue);
    CHECK(tenant.terms.repay_millionths == repay);
    CHECK(tenant.placement == rule);
  };
  check(0, QueuePolicy::fair, 500'000, Placement::spread);
  check(1, QueuePolicy::priority, 500'000, Placement::spread);
  check(2, QueuePolicy::fifo, 1'000'000, Placement::pack);
}

TEST_CASE("a parent keeps its weight, min and max", "[unit][sim-file]") {
  const auto scenario = parse_sim_file(with_tree(R"(
  - name: lab
    weight: 5
    min: {cpu: 3}
    max: {cpu: 6}
    tenants:
      - {name: x, min: {cpu: 1, memory: 1GiB}}
      - name: inner
        weight: 2
        tenants: [{name: y, min: {cpu: 2}}]
)"),
                                       "s.yaml");
  REQUIRE(scenario);
  const auto& groups = scenario->cluster.groups;
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].place == QuotaPlace{.group = {}, .weight = 5});
  CHECK(groups[0].min[kCpu] == 3000);
  CHECK_FALSE(groups[0].min[kMemory]);
  CHECK(groups[0].max[kCpu] == 6000);
  CHECK(groups[0].max[kMemory] == kUnlimited);
  CHECK(groups[1].place == QuotaPlace{.group = GroupId{1}, .weight = 2});
  CHECK_FALSE(groups[1].min[kCpu]);
}

TEST_CASE("what a parent cannot have is refused with its path", "[golden][sim-file]") {
  const auto lab = [](const std::string& keys) {
    return refusal_of(
        with_tree("  - name: lab\n" + keys +
                  "    tenants: [{name: x, min: {cpu: 2}}, {name: y, min: {cpu: 1}}]\n"));
  };
  for (const std::string key : {"quota: 3"})
    CHECK_THAT(lab("    " + key + "\n"),
               Catch::StartsWith("tenants[0]." + key.substr(0, key.find(':')) + ": ") &&
                   Catch::Contains("is for tenants that run jobs") && Catch::Contains("line 6"));
  CHECK_THAT(lab("    min: {cpu: 2}\n"),
             Catch::StartsWith("tenants[0].min.cpu: ") &&
                 Catch::Contains("2 is below the min of its tenants together, which is 3") &&
                 Catch::Contains("line 6"));
  CHECK_THAT(lab("    max: {cpu: 2}\n"),
             Catch::StartsWith("tenants[0].max.cpu: ") &&
                 Catch::Contains("2 is below the min of its tenants together, which is 3"));
  CHECK_THAT(
      lab("    min: {cpu: 5}\n    max: {cpu: 4}\n"),
      Catch::StartsWith("tenants[0].max.cpu: ") && Catch::Contains("4 is below min, which is 5"));
  CHECK_THAT(lab("    max: {fish: 4}\n"), Catch::StartsWith("tenants[0].max"));
  CHECK_THAT(
      refusal_of(with_tree("  - name: lab\n    tenants: [{name: x}, {name: lab}]\n")),
      Catch::StartsWith("tenants[0].tenants[1].name: ") && Catch::Contains("'lab' is given twice"));
  CHECK_THAT(refusal_of(with_tree("  - name: b2\n    tenants: [{name: x}]\n"
                                  "  - name: b2\n    tenants: [{name: y}]\n")),
             Catch::StartsWith("tenants[1].name: ") && Catch::Contains("'b2' is given twice"));
  CHECK_THAT(refusal_of(changed("{name: b, max: {cpu: 4}}", "{name: b, tenants: [{name: x}]}")),
             Catch::StartsWith("workload.generators[0].tenant: ") &&
                 Catch::Contains("'b' has tenants to run its jobs"));
}

TEST_CASE("a simulation's ledger bounds debts as a coordinator's does", "[unit][sim-file]") {
  const auto scenario = parse_sim_file(
      changed("name: easy",
              "name: sequence, accounting: time, debts: {cap: 2core-h, half_life: 1d}"),
      "s.yaml");
  if (!scenario) FAIL(details(scenario.error()).message);
  CHECK(scenario->policy.debts ==
        DebtTerms{.cap_unit_ms = 2 * 10 * 3'600'000, .half_life_ms = 86'400'000});
}

TEST_CASE("a simulation's tenants have caps as a cluster's", "[unit][sim-file]") {
  const auto scenario = parse_sim_file(
      changed("{name: b, max: {cpu: 4}}", "{name: b, lend_cap: 24h, borrow_cap: 2core-h}"),
      "s.yaml");
  if (!scenario) FAIL(details(scenario.error()).message);
  CHECK(scenario->cluster.tenants[1].terms.caps ==
        LoanCaps{{86'400'000, 0}, {0, 2 * 10 * 3'600'000}});
  const auto without = parse_sim_file(
      changed("{name: b, max: {cpu: 4}}", "{name: b, lend_cap: none, borrow_cap: none}"), "s.yaml");
  if (!without) FAIL(details(without.error()).message);
  CHECK(without->cluster.tenants[1].terms.caps == LoanCaps{});
  CHECK_THAT(refusal_of(changed("{name: b, max: {cpu: 4}}", "{name: b, lend_cap: much}")),
             Catch::StartsWith("tenants[1].lend_cap: ") &&
                 Catch::Contains("is neither how long of a tenant's own part"));
}

TEST_CASE("a simulation's tenants have weights of single resources as a cluster's",
          "[unit][sim-file]") {
  const auto scenario = parse_sim_file(
      changed("{name: b, max: {cpu: 4}}",
              "{name: b, weights: {cpu: 2}}\n"
              "  - {name: g, weights: {memory: 7}, tenants: [{name: c, weights: {cpu: 3}}]}"),
      "s.yaml");
  if (!scenario) FAIL(details(scenario.error()).message);
  const QuotaPlace& group = scenario->cluster.groups.at(0).place;
  CHECK(group.weight_of(kMemory) == 7);
  CHECK(group.weight_of(kCpu) == group.weight);
  const auto place = [&](std::size_t tenant) {
    return scenario->cluster.tenants.at(tenant).terms.place.value();
  };
  CHECK_FALSE(place(1).group);
  CHECK(place(1).weight_of(kCpu) == 2);
  const QuotaPlace inner = place(2);
  CHECK(inner.group == GroupId{1});
  CHECK(inner.weight_of(kCpu) == 3);
  CHECK_THAT(refusal_of(changed("{name: b, max: {cpu: 4}}", "{name: b, weights: {cpu: 0}}")),
             Catch::StartsWith("tenants[1].weights.cpu: "));
}

TEST_CASE("a simulation predicts run times as a coordinator does", "[unit][sim-file]") {
  const auto scenario = parse_sim_file(
      changed("name: easy", "name: sequence, accounting: time, predict: history"), "s.yaml");
  if (!scenario) FAIL(details(scenario.error()).message);
  CHECK(scenario->policy.predict == Predict::history);
  CHECK_THAT(
      refusal_of(changed("name: easy", "name: sequence, predict: history")),
      Catch::StartsWith("policy.predict: ") && Catch::Contains("with 'accounting: time' alone"));
}

TEST_CASE("a bad simulation file is refused with key and line", "[golden][sim-file]") {
  CHECK_THAT(refusal_of(changed("seeds: 3", "sedes: 3")),
             Catch::StartsWith("sedes: ") && Catch::Contains("line 23"));
  CHECK_THAT(refusal_of(changed("tenant: b", "tenant: c")),
             Catch::StartsWith("workload.generators[0].tenant: ") &&
                 Catch::Contains("'c' is not one of the tenants"));
  CHECK_THAT(refusal_of(changed("name: easy", "name: lottery")),
             Catch::StartsWith("policy.name: ") && Catch::Contains("'lottery' is not one of"));
  CHECK_THAT(
      refusal_of(changed("cpu: 1,", "cpu: 9,")),
      Catch::StartsWith("workload.generators[0].resources: ") && Catch::Contains("fits no node"));
  CHECK_THAT(refusal_of(changed("[20s, 30s]", "[30s, 20s]")),
             Catch::Contains("the smaller one first"));
  CHECK_THAT(refusal_of(changed("hurst: 0.8", "hurst: 1.8")),
             Catch::Contains("'1.8' is not a number from 0.01 to 0.99"));
  CHECK_THAT(refusal_of(changed("hurst: 0.8", "hurst: nan")), Catch::Contains("'nan'"));
  CHECK_THAT(refusal_of(changed("name: a,", "name: b,")), Catch::Contains("'b' is given twice"));
  CHECK_THAT(refusal_of(changed("      duration: 1h\n", "")),
             Catch::Contains("arrivals need a duration"));
  CHECK_THAT(refusal_of(changed_in(changed("name: easy", "accounting: time"), "seeds: 3",
                                   "seeds: 3\nmode: slots")),
             Catch::StartsWith("policy.accounting: ") && Catch::Contains("line 20") &&
                 Catch::Contains("with 'mode: slots', 'units' alone"));
  CHECK_THAT(refusal_of(changed("name: easy", "name: sequence, debts: {cap: 1h}")),
             Catch::StartsWith("policy.debts: caps and half-lives are of ledgers that count time"));
  CHECK_THAT(refusal_of(changed("name: easy",
                                "name: sequence, accounting: time, debts: {cap: everything}")),
             Catch::StartsWith("policy.debts: 'everything' is neither"));
  CHECK_THAT(refusal_of("seeds: 1\n"), Catch::StartsWith("nodes: "));
}

TEST_CASE("a simulation file says when nodes drain", "[unit][sim-file]") {
  const auto with = [](const std::string& drain) {
    return changed("site: north,", "site: north, drain: " + drain + ",");
  };
  const auto scenario = parse_sim_file(with("{at: 2h, until: 150m}"), "s.yaml");
  REQUIRE(scenario);
  for (const sim::SimNode& node : scenario->cluster.nodes) {
    REQUIRE(node.drain);
    CHECK(node.drain->at_ms == 7'200'000);
    CHECK(node.drain->until_ms == 9'000'000);
  }
  CHECK_FALSE(parse_sim_file(with("{at: 2h}"), "s.yaml")->cluster.nodes[0].drain->until_ms);
  CHECK_THAT(refusal_of(with("{until: 2h}")), Catch::StartsWith("nodes[0].drain.at: "));
  CHECK_THAT(refusal_of(with("{at: 2h, until: 2h}")),
             Catch::StartsWith("nodes[0].drain.until: '2h' is not after at"));
  CHECK_THAT(refusal_of(with("{at: never}")), Catch::StartsWith("nodes[0].drain.at: 'never'"));
}

TEST_CASE("a simulation's nodes have sites and labels that jobs can name", "[unit][sim-file]") {
  CHECK_THAT(refusal_of(changed("site: north,", "site: north, labels: {a b: x},")),
             Catch::StartsWith("nodes[0].labels.a b: the label is called 'a b'"));
  CHECK_THAT(refusal_of(changed("site: north,", "site: my north,")),
             Catch::StartsWith("nodes[0].site: 'my north'"));
}

TEST_CASE("a simulation file's trace is looked for beside it", "[unit][sim-file]") {
  const TemporaryDirectory directory;
  const std::string file = directory / "s.yaml";
  const std::string text = R"(
nodes: [{resources: {cpu: 64}}]
tenants: [{name: u5, weight: 4}]
workload: {trace: {file: log.swf}}
)";
  CHECK_FALSE(parse_sim_file(text, file));
  std::ofstream{directory / "log.swf"} << "1 10 0 60 64 -1 -1 64 600 -1 1 5 2 1 1 -1 -1 -1\n"
                                          "2 20 0 60 32 -1 -1 32 600 -1 1 6 2 1 1 -1 -1 -1\n";
  const auto scenario = parse_sim_file(text, file);
  REQUIRE(scenario);
  REQUIRE(scenario->trace.jobs.size() == 2);
  CHECK(scenario->cluster.tenants.at(0).terms.weight == 4);
  CHECK(scenario->cluster.tenants.at(1).name == "u6");
  CHECK(scenario->trace.jobs[1].tenant == 1);
  CHECK(scenario->trace.jobs[1].submit_ms == 10'000);
  const auto faster =
      parse_sim_file(changed_in(text, "file: log.swf", "file: log.swf, load_factor: 2.5"), file);
  REQUIRE(faster);
  CHECK(faster->trace.jobs[1].submit_ms == 4'000);
  CHECK(faster->trace.jobs[1].run_ms == 60'000);
  std::ofstream{directory / "log.swf"} << "1 10 0 60 128 -1 -1 64 600 -1 1 5 2 1 1 -1 -1 -1\n";
  CHECK_THAT(details(parse_sim_file(text, file).error()).message,
             Catch::StartsWith("1 jobs of the trace fit no node"));
  std::ofstream{directory / "log.swf"} << "1 10 0 60 128 -1 -1 64 600 -1 1 5 2 1 1 -1 -1 -1\n"
                                          "2 20 0 60 32 -1 -1 32 600 -1 1 6 2 1 1 -1 -1 -1\n"
                                          "3 20 0 -1 32 -1 -1 32 600 -1 1 6 2 1 1 -1 -1 -1\n";
  const auto partly = parse_sim_file(
      changed_in(text, "file: log.swf", "file: log.swf, leave_out_impossible: true"), file);
  REQUIRE(partly);
  CHECK(partly->trace.jobs.size() == 1);
  CHECK(partly->left_out.fit_no_node == 1);
  CHECK(partly->left_out.never_ran == 1);
  std::ofstream{directory / "log.swf"} << "1 10 0 60 64 -1 -1 64 600 -1 1 5 2 1 1 -1 -1 -1\n";
  CHECK_THAT(details(parse_sim_file(R"(
nodes: [{resources: {cpu: 64}}]
tenants: [{name: u5, tenants: [{name: u6}]}]
workload: {trace: {file: log.swf}}
)",
                                    file)
                         .error())
                 .message,
             Catch::StartsWith("has jobs of 'u5', which has tenants to run its jobs"));
  const auto tree = parse_sim_file(R"(
nodes: [{resources: {cpu: 64}}]
tenants: [{name: lab, tenants: [{name: u6}, {name: u7}]}]
workload: {trace: {file: log.swf}}
)",
                                   file);
  REQUIRE(tree);
  CHECK(tree->cluster.tenants.at(2).name == "u5");
  CHECK(tree->cluster.tenants[2].terms.weight == 500'000'000);
  std::ofstream{directory / "log.swf"} << "; fine\n1 10 x\n";
  CHECK_THAT(details(parse_sim_file(text, file).error()).message,
             Catch::Contains("line 2: column 3"));
  std::ofstream{directory / "log.swf"}
      << "; a head\n1 10 0 -1 0 -1 -1 0 -1 -1 1 5 2 1 1 -1 -1 -1\n";
  const auto empty = details(parse_sim_file(text, file).error());
  CHECK(empty.field == "workload.trace.file");
  CHECK_THAT(empty.message, Catch::Contains("'log.swf' has no job that ran"));
}

TEST_CASE("an openb trace brings its nodes and GPUs in thousandths", "[unit][sim-file]") {
  const TemporaryDirectory directory;
  const std::string file = directory / "s.yaml";
  const std::string text =
      "tenants: [{name: LS, weight: 3}]\n"
      "workload: {trace: {format: openb, file: pods.csv, nodes: nodes.csv}}\n";
  std::ofstream{directory / "nodes.csv"} << "sn,cpu_milli,memory_mib,gpu,model\n"
                                            "n0,8000,4096,2,T4\nn1,16000,8192,0,\n";
  const std::string head =
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
      "deletion_time,scheduled_time\n";
  std::ofstream{directory / "pods.csv"} << head
                                        << "p0,1000,512,1,460,T4,LS,Running,10,40,20\n"
                                           "p1,2000,256,0,0,,BE,Failed,15,16,15\n";
  const auto scenario = parse_sim_file(text, file);
  REQUIRE(scenario);
  CHECK(scenario->cluster.resources == std::vector<std::string>{"cpu", "memory", "gpu_milli"});
  REQUIRE(scenario->cluster.nodes.size() == 2);
  CHECK(scenario->cluster.nodes[0].capacity[2] == 2000);
  REQUIRE(scenario->cluster.tenants.size() == 2);
  CHECK(scenario->cluster.tenants[0].terms.weight == 3);
  CHECK(scenario->cluster.tenants[1].name == "BE");
  REQUIRE(scenario->trace.jobs.size() == 2);
  // A GPU costs ten units, as by default.
  CHECK(sim::cost_of(scenario->cluster, scenario->trace.jobs[0]) == 10);
  CHECK(scenario->trace.jobs[0].demand[2] == 460);

  const auto refusal = [&](const std::string& changed_text) {
    const auto refused = parse_sim_file(changed_text, file);
    REQUIRE_FALSE(refused);
    const ErrorDetails said = details(refused.error());
    return said.field + ": " + said.message;
  };
  CHECK_THAT(refusal("workload: {trace: {format: openb, file: pods.csv}}\n"),
             Catch::StartsWith("workload.trace.nodes: ") && Catch::Contains("is missing"));
  CHECK_THAT(refusal("resources: [{name: cpu}, {name: memory}]\n" + text),
             Catch::StartsWith("resources: ") && Catch::Contains("must have gpu_milli"));
  CHECK_THAT(refusal("workload: {trace: {format: csv, file: pods.csv}}\nnodes: []\n"),
             Catch::Contains("'csv' is not one of swf, openb"));
  std::ofstream{directory / "pods.csv"} << head << "p0,1000,512,1,460,T4,LS,Running,10,x,20\n";
  CHECK_THAT(refusal(text), Catch::Contains("pods.csv: line 2: column 10"));
  std::ofstream{directory / "nodes.csv"} << "sn\n";
  CHECK_THAT(refusal(text), Catch::Contains("nodes.csv: line 1: the head must be"));
}

}  // namespace fairwater
