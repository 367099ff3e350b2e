// What one tenant's flood costs the others, on a coordinator that syncs its ledger.
#include <optional>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

#include "bench/load/rows.hpp"
#include "bench/load/workload.hpp"
#include "tests/harness/on_processor.hpp"

namespace fairwater::load {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t kFlooders = 8, kAtOnce = 1000;  ///< submissions open on each connection
constexpr int kRounds = 5;

/// What was measured in the stretches without a flood, or in those beside one.
struct Stretches {
  std::vector<double> submissions_ms, heartbeats_ms;
};

double mean(const std::vector<double>& samples) {
  double sum = 0;
  for (const double sample : samples) sum += sample;
  return sum / static_cast<double>(samples.size());
}

/// Submits jobs that wait for one of an hour.
Turn submit_for(Setting& setting, const std::string& tenant) {
  JobSpec spec = array_of(1, 3'600'000);
  spec.tenant = tenant;
  const JobId awaited = value_of(setting.client().submit(spec));
  spec.after = {awaited};
  return submit_and_maybe_cancel([spec](const Member&) { return spec; },
                                 [](const Member&) { return false; });
}

/// How long the crowd's turns and the nodes' reports took for so long, or until a node has reported
/// on a busy machine, once what came before is answered.
void measure(Setting& setting, Crowd& crowd, const Turn& turn, double seconds, Stretches& to) {
  (void)value_of(setting.client().status());
  (void)setting.fleet().take_samples();
  const auto reports_before = setting.fleet().seen().reports;
  crowd.repeat(turn, milliseconds(1));
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  setting.wait_for("a node reports",
                   [&](const FleetSeen& seen) { return seen.reports > reports_before; });
  const auto seen = crowd.finish();
  require_no_failure(seen);
  to.submissions_ms.insert(to.submissions_ms.end(), seen.turn_ms.begin(), seen.turn_ms.end());
  const auto beats = setting.fleet().take_samples().report_ms;
  to.heartbeats_ms.insert(to.heartbeats_ms.end(), beats.begin(), beats.end());
}

void print(const std::string& name, const std::string& what, const std::vector<double>& quiet,
           const std::vector<double>& flooded) {
  if (quiet.empty() || flooded.empty())
    throw std::runtime_error("no " + what + " was measured: give more --seconds");
  const auto row = [&](const char* which, double without, double beside) {
    bench::figure(fmt::format("{}.{}_{}_alone", name, what, which), without, "ms");
    bench::figure(fmt::format("{}.{}_{}", name, what, which), beside, "ms");
    bench::figure(fmt::format("{}.{}_{}_slower", name, what, which), 100 * (beside / without - 1),
                  "%");
  };
  row("p50", bench::quantile(quiet, 0.5), bench::quantile(flooded, 0.5));
  row("mean", mean(quiet), mean(flooded));
  row("p99", bench::quantile(quiet, 0.99), bench::quantile(flooded, 0.99));
}

/// By how many percent a mean submission takes longer beside the flood.
double measure_flood(const std::string& name, const Sizes& sizes, Coordinators coordinators) {
  // The flood comes from other machines in truth: it has a processor of its own, and coordinator,
  // nodes and the measured tenant share the other.
  const harness::OnProcessor here(0);
  Setting setting(sizes, 2, coordinators);
  FleetOptions options;
  options.nodes = sizes.nodes;
  setting.start_nodes(options);
  const auto& tokens = setting.tenant_tokens();
  Crowd other(setting.address(), {tokens[1]});
  std::optional<Crowd> flooders;
  std::thread([&] {
    const harness::OnProcessor there(1);
    flooders.emplace(setting.address(), std::vector<std::string>(kFlooders, tokens[0]));
  }).join();
  // Quiet and flooded stretches in turn, so that what else the machine does disturbs both alike.
  Stretches quiet, flooded;
  const Turn submission = submit_for(setting, "t1"), flooding = submit_for(setting, "t0");
  double accepted = 0, flooded_s = 0;
  const double seconds = sizes.seconds / kRounds;
  for (int round = 0; round < kRounds; ++round) {
    measure(setting, other, submission, seconds, quiet);
    const auto start = Clock::now();
    flooders->repeat(flooding, milliseconds(0), kAtOnce);
    harness::wait_until("the flood is under way", harness::Duration(60'000),
                        [&] { return flooders->taken() > 0; });
    measure(setting, other, submission, seconds, flooded);
    flooded_s += seconds_since(start);
    accepted += static_cast<double>(flooders->stop().turn_ms.size());
  }
  print(name, "submission", quiet.submissions_ms, flooded.submissions_ms);
  print(name, "heartbeat", quiet.heartbeats_ms, flooded.heartbeats_ms);
  bench::figure(name + ".accepted_of_flood", accepted / flooded_s, "1/s");
  return 100 * (mean(flooded.submissions_ms) / mean(quiet.submissions_ms) - 1);
}

/// Fails once the cluster is gone: nothing is wrong with it.
void judge_flood(const char* row, const Sizes& sizes, Coordinators coordinators) {
  const auto name = fmt::format("scale_{}/{}", row, sizes.nodes);
  const double slower = measure_flood(name, sizes, coordinators);
  if (slower > sizes.most_slower)
    throw TooSlow(fmt::format(
        "{}: beside a flood a submission takes {:.1f} % longer, {:g} % at most are good", name,
        slower, sizes.most_slower));
}

}  // namespace

void flood(const Sizes& sizes) { judge_flood("flood", sizes, Coordinators::one); }

void agreed_flood(const Sizes& sizes) {
  if (has_etcd_for("agreed_flood")) judge_flood("agreed_flood", sizes, Coordinators::three);
}

}  // namespace fairwater::load
