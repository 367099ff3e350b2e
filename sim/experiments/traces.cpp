// `traces`: real workloads under five policies, weeks of virtual time.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/experiments/list.hpp"
#include "sim/report/run_report.hpp"

namespace fairwater::sim {
namespace {

constexpr TimeMs kHour = 3'600'000;
const std::vector<std::string>& compared_policies() {
  static const std::vector<std::string> names{"sequence", "fifo", "easy", "fair", "drf"};
  return names;
}

struct TraceSetup {
  std::string title;
  std::string file;
  TraceOptions trace;
  std::int64_t processors = 0;  ///< of the one node; 0: the nodes of `wagap`
  Amount granule = 1000;
};

std::vector<TraceSetup> setups() {
  const std::string kth = "/pwa-kth-sp2/KTH-SP2-1996-2.1-cln.swf.gz";
  const std::string lanl = "/pwa-lanl-cm5/LANL-CM5-1994-4.1-cln.swf.gz";
  TraceOptions users, groups;
  groups.tenants = TenantColumn::group;
  TraceOptions memory;
  memory.shape = JobShape::nodes;
  memory.memory_in_bytes_per_node = true;
  memory.clusters_as_sites = true;
  return {{"KTH SP2 by user", kth, users, 100, 1'000},
          {"KTH SP2 by group", kth, groups, 100, 1'000},
          {"LANL CM-5 by user", lanl, users, 1024, 32'000},
          {"LANL CM-5 by group", lanl, groups, 1024, 32'000},
          {"CERIT-SC by user, with memory", "/metacentrum-wagap-2013/wagap-2013.swf.gz", memory, 0,
           1'000}};
}

/// 20 zewura and 48 zegox, as the log's list of machines has them.
std::vector<SimNode> cerit_nodes() {
  std::vector<SimNode> nodes;
  const auto add = [&](const char* site, int count, Amount processors, Amount memory_mib) {
    for (int i = 1; i <= count; ++i) {
      SimNode node;
      node.traits.name = fmt::format("{}-{}", site, i);
      node.traits.site = site;
      node.capacity[kCpu] = processors * 1'000;
      node.capacity[kMemory] = memory_mib;
      nodes.push_back(std::move(node));
    }
  };
  add("zewura", 20, 80, 517'018);
  add("zegox", 48, 12, 91'832);
  return nodes;
}

Expected<Scenario> scenario_of_trace(const TraceSetup& setup, const std::string& folder,
                                     std::size_t& impossible) {
  const auto text = read_maybe_gzip(folder + setup.file, kMaxSwfBytes);
  if (!text) return text.error();
  const auto log = parse_swf(*text, 0);
  if (!log) return log.error();
  auto traced = workload_from(*log, setup.trace);
  if (!traced) return traced.error();
  Scenario scenario;
  scenario.trace = std::move(traced->workload);
  for (const auto& name : traced->tenants) scenario.cluster.tenants.push_back({name, {}, 0});
  scenario.cluster.resources = {"cpu", "memory"};
  scenario.cluster.settings.granules[kCpu] = setup.granule;
  if (setup.processors > 0) {
    SimNode node;
    node.traits.name = "machine";
    node.capacity[kCpu] = setup.processors * 1'000;
    scenario.cluster.nodes = {node};
  } else {
    scenario.cluster.settings.granules[kMemory] = 7'000;  // about what a processor has here
    scenario.cluster.nodes = cerit_nodes();
  }
  impossible = remove_impossible_jobs(scenario.cluster, scenario.trace);
  scenario.metrics.windows_ms = {kHour, 24 * kHour, 7 * 24 * kHour};
  return scenario;
}

struct TraceOutcome {
  std::string title;
  std::vector<PolicyRuns> policies;
};

double figure(const PolicyRuns& runs, const std::string& key) {
  for (const auto& figure : figures_of(runs.runs))
    if (figure.key == key) return figure.estimate.mean;
  return 0;
}

const PolicyRuns& runs_of(const TraceOutcome& outcome, const std::string& policy) {
  return *std::find_if(outcome.policies.begin(), outcome.policies.end(),
                       [&](const PolicyRuns& runs) { return runs.policy == policy; });
}

/// Ours: the sequence is nearest to the entitled shares among those that kill nothing.
Claim deviation_claim(const std::vector<TraceOutcome>& outcomes) {
  Claim claim;
  claim.paper = "Fairwater";
  claim.statement =
      "on real workloads tenants are nearer to their entitled shares under sequence than under "
      "fifo and easy";
  std::size_t nearer = 0;
  for (const auto& outcome : outcomes) {
    const auto distance = [&](const char* policy) {
      return figure(runs_of(outcome, policy), "mean_deviation");
    };
    const double ours = distance("sequence"), fifo = distance("fifo"), easy = distance("easy");
    nearer += ours < fifo && ours < easy ? 1 : 0;
    claim.measured +=
        fmt::format("{}{}: {:.3f} (fifo {:.3f}, easy {:.3f})", claim.measured.empty() ? "" : "; ",
                    outcome.title, ours, fifo, easy);
  }
  claim.verdict = nearer == outcomes.size() ? Verdict::holds
                  : nearer > 0              ? Verdict::holds_in_part
                                            : Verdict::does_not_hold;
  return claim;
}

Claim wait_claim(const std::vector<TraceOutcome>& outcomes) {
  Claim claim;
  claim.paper = "Fairwater";
  claim.statement = "the mean wait is shorter under sequence than under fifo and easy";
  std::size_t shorter = 0;
  for (const auto& outcome : outcomes) {
    const auto wait = [&](const char* policy) {
      return figure(runs_of(outcome, policy), "mean_wait_s");
    };
    const double ours = wait("sequence"), fifo = wait("fifo"), easy = wait("easy");
    shorter += ours < fifo && ours < easy ? 1 : 0;
    claim.measured +=
        fmt::format("{}{}: {:.0f} s (fifo {:.0f}, easy {:.0f})", claim.measured.empty() ? "" : "; ",
                    outcome.title, ours, fifo, easy);
  }
  claim.verdict = shorter == outcomes.size() ? Verdict::holds
                  : shorter > 0              ? Verdict::holds_in_part
                                             : Verdict::does_not_hold;
  return claim;
}

}  // namespace

Expected<ExperimentReport> run_traces(const ExperimentOptions& options) {
  if (options.traces.empty())
    return make_error(ErrorCode::not_found, "needs the folder of workload traces", "traces");
  ExperimentReport report;
  report.title = "Real workloads";
  report.assumptions = {
      "A job is one task that needs all its processors on one node (KTH and LANL: one node with "
      "all processors), or a task on each of its nodes (CERIT-SC, with memory and the sites it "
      "asked for). All tenants have weight 1.",
      "Policies are told the requested time where the log has one; jobs run as long as the log "
      "says. Nothing is random, so there is one run of each.",
      "fair runs on one pool without nodes, and kills jobs to preempt: killed work is lost. It "
      "starts killed jobs anew."};
  std::vector<TraceOutcome> outcomes;
  const auto all = setups();
  const double steps = static_cast<double>(all.size() * compared_policies().size());
  for (const auto& setup : all) {
    std::size_t impossible = 0;
    auto scenario = scenario_of_trace(setup, options.traces, impossible);
    if (!scenario) return scenario.error();
    TraceOutcome outcome;
    outcome.title = setup.title;
    std::vector<std::optional<Expected<RunMetrics>>> runs(compared_policies().size());
    for_each_parallel(runs.size(), options.threads, [&](std::size_t i) {
      Scenario mine = *scenario;
      mine.policy.name = compared_policies()[i];
      runs[i] = run_once(mine, 1);
    });
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (!*runs[i]) return runs[i]->error();
      outcome.policies.push_back({compared_policies()[i], {std::move(**runs[i])}});
    }
    report.items.push_back(Heading{setup.title});
    report.items.push_back(Paragraph{
        fmt::format("{} jobs of {} tenants over {} days; {} jobs fit no node and are left out.",
                    scenario->trace.jobs.size(), scenario->cluster.tenants.size(),
                    scenario->trace.jobs.back().submit_ms / (24 * kHour), impossible)});
    report.items.push_back(figures_table(outcome.policies));
    outcomes.push_back(std::move(outcome));
    options.progress(static_cast<double>(outcomes.size() * compared_policies().size()) / steps);
  }
  report.claims = {deviation_claim(outcomes), wait_claim(outcomes)};
  return report;
}

}  // namespace fairwater::sim
