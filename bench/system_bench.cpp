// What a whole cluster of real processes does on this machine, one figure per line (see
// bench/README.md).
#include <chrono>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "bench/measure.hpp"
#include "bench/value_of.hpp"
#include "rpc/client.hpp"
#include "tests/harness/cluster.hpp"

namespace fairwater::bench {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

harness::ClusterSetup setup(int agents, const std::string& heartbeat_interval) {
  harness::ClusterSetup setup;
  for (int i = 1; i <= agents; ++i)
    setup.agents.push_back({fmt::format("node{}", i), "cpu: 16, memory: 16GiB"});
  setup.tenants = "tenants: [{name: steady, weight: 1}]\n";
  setup.heartbeat_interval = heartbeat_interval;
  return setup;
}

JobSpec no_work(std::uint32_t tasks) {
  JobSpec spec;
  spec.tenant = "steady";
  spec.command = {"/bin/true"};
  spec.tasks_min = spec.tasks_max = tasks;
  spec.resources = {{"cpu", 1000}, {"memory", 64}};
  return spec;
}

JobRecord wait_for(Client& client, JobId id) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    JobRecord job = value_of(client.wait_job(id, 60'000));
    if (is_terminal(state_of(job))) return job;
  }
  throw std::runtime_error("a job does not end");
}

/// Tasks per second from submission to the durable result of the last.
void throughput(int agents) {
  constexpr std::uint32_t kTasks = 2000;
  harness::Cluster cluster(setup(agents, "1s"));
  cluster.start();
  const auto client = value_of(Client::connect(cluster.address(), cluster.operator_token()));
  wait_for(*client, value_of(client->submit(no_work(50))));  // caches are warm
  const auto start = Clock::now();
  const JobRecord job = wait_for(*client, value_of(client->submit(no_work(kTasks))));
  if (job.tasks.succeeded != kTasks) throw std::runtime_error("not every task succeeded");
  figure(fmt::format("system_true_tasks_{}_agent{}", agents, agents == 1 ? "" : "s"),
         kTasks / seconds_since(start), "tasks/s");
}

/// On an idle cluster: until a submission is durable, and until its process runs.
void latency() {
  constexpr int kSamples = 300;
  harness::Cluster cluster(setup(3, "1s"));
  cluster.start();
  const auto client = value_of(Client::connect(cluster.address(), cluster.operator_token()));
  std::vector<double> submission_ms, start_ms;
  for (int i = 0; i < kSamples; ++i) {
    const WallTime asked = wall_time_now();
    const auto start = Clock::now();
    const JobId id = value_of(client->submit(no_work(1)));
    submission_ms.push_back(seconds_since(start) * 1e3);
    wait_for(*client, id);
    const JobDetail detail = value_of(client->show_job(id));
    const auto& result = detail.tasks.at(0).record.result;
    if (!result) throw std::runtime_error("a finished task has no result");
    start_ms.push_back(static_cast<double>(result->started_at.microseconds - asked.microseconds) /
                       1e3);
  }
  figure("system_submission_latency_median", quantile(submission_ms, 0.5), "ms");
  figure("system_submission_latency_p99", quantile(submission_ms, 0.99), "ms");
  figure("system_submit_to_start_latency_median", quantile(start_ms, 0.5), "ms");
  figure("system_submit_to_start_latency_p99", quantile(start_ms, 0.99), "ms");
}

/// What people and scripts pay for a command before it does anything.
void start_of_a_command() {
  constexpr int kStarts = 50;
  const harness::Cluster cluster(setup(0, "1s"));
  const double before = cpu_seconds_of_children();
  for (int i = 0; i < kStarts; ++i)
    if (cluster.fairwater({"--version"}).status != 0)
      throw std::runtime_error("fairwater does not say its version");
  figure("system_cpu_per_command", (cpu_seconds_of_children() - before) * 1e3 / kStarts, "ms");
}

/// What a heartbeat of an idle node costs the coordinator.
void heartbeat_cost() {
  constexpr int kAgents = 3;
  constexpr double kSeconds = 10, kHeartbeatsPerSecond = 20;
  harness::Cluster cluster(setup(kAgents, "50ms"));
  cluster.start();
  const double before = cpu_seconds(cluster.coordinator().pid());
  std::this_thread::sleep_for(std::chrono::duration<double>(kSeconds));  // the time under measure
  const double used = cpu_seconds(cluster.coordinator().pid()) - before;
  figure("system_coordinator_cpu_per_heartbeat",
         used * 1e6 / (kSeconds * kHeartbeatsPerSecond * kAgents), "us");
}

}  // namespace

}  // namespace fairwater::bench

int main() {
  try {
    fairwater::bench::throughput(1);
    fairwater::bench::throughput(3);
    fairwater::bench::latency();
    fairwater::bench::heartbeat_cost();
    fairwater::bench::start_of_a_command();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "system bench: " << error.what() << '\n';
    return 1;
  }
}
