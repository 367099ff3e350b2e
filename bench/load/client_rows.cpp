// Rows about clients that read while others work.
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

#include "bench/load/rows.hpp"
#include "bench/load/workload.hpp"

namespace fairwater::load {
namespace {

constexpr std::uint32_t kLanes = 32;  ///< jobs that one client has submitted and waits for

JobSpec one_task(std::int64_t claimed_ms) {
  JobSpec spec = array_of(1, claimed_ms);
  spec.tenant = "t0";
  return spec;
}

void measure(const Sizes& sizes) {
  std::this_thread::sleep_for(std::chrono::duration<double>(sizes.seconds));
}

void start_idle_nodes(Setting& setting, const Sizes& sizes) {
  FleetOptions options;
  options.nodes = sizes.nodes;
  setting.start_nodes(options);
}

/// Single jobs of a tenant from submission to the answer that they have ended, per second.
double submit_to_done(Setting& setting, const Sizes& sizes, const std::string& name) {
  Crowd crowd(setting.address(), {setting.tenant_tokens().front()});
  const Watch watch(name, setting.coordinator());
  crowd.repeat(submit_and_wait(one_task(0)), std::chrono::milliseconds(0), kLanes);
  measure(sizes);
  const auto took = watch.seconds();
  const auto done = crowd.stop();
  if (done.turn_ms.empty())
    throw std::runtime_error(fmt::format("no job ended within {} s: give more --seconds", took));
  const auto jobs = static_cast<double>(done.turn_ms.size());
  watch.print("submit_to_done", jobs / took, "1/s");
  watch.print("submit_to_done_p99", bench::quantile(done.turn_ms, 0.99), "ms");
  watch.print("cpu_per_job", watch.coordinator_cpu_seconds() * 1e6 / jobs, "us");
  watch.print();
  require_no_failure(done);
  return jobs / took;
}

}  // namespace

void followers(const Sizes& sizes) {
  Setting setting(sizes, 1);
  start_idle_nodes(setting, sizes);
  const double alone =
      submit_to_done(setting, sizes, fmt::format("scale_followers/{}/0", sizes.nodes));
  const auto name = fmt::format("scale_followers/{}/{}", sizes.nodes, sizes.followers);
  Crowd crowd(setting.address(), setting.operator_tokens(sizes.followers));
  crowd.repeat(follow_journal(value_of(setting.client().status()).cycle + 1),
               std::chrono::milliseconds(0));
  const double followed = submit_to_done(setting, sizes, name);
  const auto seen = crowd.stop();
  bench::figure(name + ".kept_of_rate", 100 * followed / alone, "%");
  bench::figure(name + ".pages", static_cast<double>(seen.turn_ms.size()) / sizes.seconds, "1/s");
  require_no_failure(seen);
}

void pollers(const Sizes& sizes) {
  Setting setting(sizes, 1);
  start_idle_nodes(setting, sizes);
  Crowd crowd(setting.address(), setting.operator_tokens(sizes.pollers));
  setting.fleet().take_samples();
  const Watch watch(fmt::format("scale_pollers/{}/{}", sizes.nodes, sizes.pollers),
                    setting.coordinator());
  crowd.repeat(ask_status(), std::chrono::milliseconds(1000));
  measure(sizes);
  const auto took = watch.seconds();
  const auto asked = crowd.stop();
  const auto reports = setting.fleet().take_samples().report_ms;
  watch.print("status_p50", bench::quantile(asked.turn_ms, 0.5), "ms");
  watch.print("status_p99", bench::quantile(asked.turn_ms, 0.99), "ms");
  watch.print("answers", static_cast<double>(asked.turn_ms.size()) / took, "1/s");
  watch.print("heartbeat_p99", bench::quantile(reports, 0.99), "ms");
  watch.print();
  require_no_failure(asked);
}

void scans(const Sizes& sizes) {
  constexpr std::uint32_t kScanners = 4, kLogins = 50;
  Setting setting(sizes, 1);
  FleetOptions options;
  options.nodes = 20;
  options.slots = 64;
  setting.start_nodes(options);
  Crowd submitter(setting.address(), {setting.tenant_tokens().front()});
  submitter.submit([](std::uint32_t, std::uint32_t) { return one_task(0); }, sizes.jobs, kLanes);
  setting.wait_for("every job has ended",
                   [&](const FleetSeen& seen) { return seen.durable_ends >= sizes.jobs; });
  const auto alone = submitter.log_in_ms(kLogins);
  Crowd scanners(setting.address(), setting.operator_tokens(kScanners));
  const Watch watch(fmt::format("scale_scans/{}", sizes.jobs), setting.coordinator());
  // None failed: each listing reads all that have ended.
  scanners.repeat(list_jobs(JobState::failed), std::chrono::milliseconds(0));
  const auto beside = submitter.log_in_ms(kLogins);
  measure(sizes);
  const auto took = watch.seconds();
  const auto scanned = scanners.stop();
  watch.print("login_alone_p50", bench::quantile(alone, 0.5), "ms");
  watch.print("login_p50", bench::quantile(beside, 0.5), "ms");
  watch.print("login_max", bench::quantile(beside, 1), "ms");
  watch.print("scans", static_cast<double>(scanned.turn_ms.size()) / took, "1/s");
  watch.print("scan_p50", bench::quantile(scanned.turn_ms, 0.5), "ms");
  watch.print();
  require_no_failure(scanned);
}

}  // namespace fairwater::load
