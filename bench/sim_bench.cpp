// The simulator's speed on a real log and on a made one, with what it needs of memory.
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <malloc.h>
#include <string>

#include <benchmark/benchmark.h>

#include "policy/core/splitmix64.hpp"
#include "sim/engine/engine.hpp"
#include "sim/schedulers/list.hpp"
#include "sim/traces/generators.hpp"
#include "sim/traces/trace_workload.hpp"

namespace fairwater::sim {
namespace {

constexpr Amount kMillicores = 1000;  // of a processor
constexpr Amount kSmallestPart = 32;  // processors; the CM-5 gives 32, 64, .. 1024 to a job
constexpr Amount kAllProcessors = 1024;
constexpr std::size_t kMadeTenants = 200;
constexpr double kMadeJobs = 100'000;

// -- memory
// ----------------------------------------------------------------------------------------

/// From here on the peak is that of what follows, and of what the process still holds.
void forget_peak_memory() {
  malloc_trim(0);
  std::ofstream{"/proc/self/clear_refs"} << 5;
}

double peak_memory_mib() {
  std::ifstream status{"/proc/self/status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  return 0;
}

// -- runs
// ------------------------------------------------------------------------------------------

/// One node; 32 processors are a unit.
Cluster parallel_machine(std::size_t tenants) {
  Cluster cluster;
  cluster.resources = {"cpu"};
  cluster.settings.granules[kCpu] = kSmallestPart * kMillicores;
  cluster.nodes.emplace_back().capacity[kCpu] = kAllProcessors * kMillicores;
  cluster.tenants.resize(tenants);
  return cluster;
}

std::uint64_t simulate(benchmark::State& state, const PolicyOptions& policy, std::size_t tenants,
                       Workload workload) {
  const Cluster cluster = parallel_machine(tenants);
  remove_impossible_jobs(cluster, workload);
  const auto scheduler = make_scheduler(policy, cluster, workload);
  if (!scheduler) {
    state.SkipWithError(details(scheduler.error()).message.c_str());
    return 0;
  }
  Observer nobody;
  const auto result = run_engine(cluster, workload, **scheduler, nobody, {});
  if (result.waiting > 0) state.SkipWithError("tasks were left behind");
  return result.events;
}

void report(benchmark::State& state, std::uint64_t events) {
  state.counters["events_per_second"] = {static_cast<double>(events), benchmark::Counter::kIsRate};
  state.counters["peak_memory_mib"] = peak_memory_mib();
}

Expected<TraceWorkload> read_trace(const std::string& path) {
  const auto text = read_maybe_gzip(path, kMaxSwfBytes);
  if (!text) return text.error();
  const auto log = parse_swf(*text, 0);
  if (!log) return log.error();
  return workload_from(*log, {});
}

/// With the reading of the log, which a user waits for, too.
void simulate_trace(benchmark::State& state, const PolicyOptions& policy, const std::string& path) {
  forget_peak_memory();
  std::uint64_t events = 0;
  for (auto _ : state) {
    auto trace = read_trace(path);
    if (!trace) {
      state.SkipWithError(details(trace.error()).message.c_str());
      return;
    }
    const auto tenants = trace->tenants.size();
    events += simulate(state, policy, tenants, std::move(trace->workload));
  }
  report(state, events);
}

/// Jobs of 32 to 512 processors for an hour on average, which come by chance and ask for nine
/// tenths of the machine.
Workload made_workload() {
  constexpr double kMeanProcessors = kSmallestPart * (1 + 2 + 4 + 8 + 16) / 5.0;
  constexpr double kMeanRun_ms = 3'600'000;
  constexpr double kRate_per_ms = 0.9 * kAllProcessors / kMeanProcessors / kMeanRun_ms;
  SplitMix64 random(42);
  const auto duration_ms = static_cast<TimeMs>(kMadeJobs / kRate_per_ms);
  Workload workload;
  for (const TimeMs arrival : poisson_arrivals_ms(1000 * kRate_per_ms, duration_ms, random)) {
    Job job;
    job.submit_ms = arrival;
    job.tenant = static_cast<TenantIndex>(random.below(kMadeTenants));
    job.demand[kCpu] = (kSmallestPart << random.below(5)) * kMillicores;
    job.run_ms = job.estimate_ms = static_cast<TimeMs>(draw_exponential(kMeanRun_ms, random));
    workload.jobs.push_back(std::move(job));
  }
  return workload;
}

void BM_simulate_made_jobs(benchmark::State& state) {
  forget_peak_memory();
  std::uint64_t events = 0;
  for (auto _ : state)
    events += simulate(state, {.name = "sequence"}, kMadeTenants, made_workload());
  report(state, events);
}
BENCHMARK(BM_simulate_made_jobs)->Iterations(1)->Unit(benchmark::kSecond);

/// The whole LANL CM-5 log of 1994 to 1996, where it lies beside the source tree.
[[maybe_unused]] const bool lanl_is_registered = [] {
  const char* shared = std::getenv("FAIRWATER_SHARED");
  const std::string path = std::string(shared != nullptr ? shared : "../shared") +
                           "/traces/pwa-lanl-cm5/LANL-CM5-1994-4.1-cln.swf.gz";
  if (!std::filesystem::exists(path)) {
    std::cerr << "skipped: BM_simulate_lanl_cm5, _by_time: no " << path << '\n';
    return false;
  }
  const auto add = [&](const char* name, const PolicyOptions& policy) {
    benchmark::RegisterBenchmark(name, simulate_trace, policy, path)
        ->Iterations(1)
        ->Unit(benchmark::kSecond);
  };
  add("BM_simulate_lanl_cm5", {.name = "sequence"});
  add("BM_simulate_lanl_cm5_by_time", {.name = "sequence",
                                       .accounting = SequenceAccounting::time,
                                       .order = QueuePolicy::shortest_first});
  return true;
}();

}  // namespace
}  // namespace fairwater::sim
