// Real processes on one agent.

#include <fmt/format.h>

#include "bench/load/rows.hpp"
#include "bench/load/workload.hpp"
#include "tests/harness/replicas.hpp"

namespace fairwater::load {
namespace {

harness::ClusterSetup one_agent(const Sizes& sizes) {
  harness::ClusterSetup setup;
  setup.agents.push_back({"node1", "cpu: 16, memory: 16GiB"});
  setup.lease = "15s";
  setup.grace = "5s";
  setup.heartbeat_interval = "1s";
  setup.accounting = sizes.accounting;
  return setup;
}

JobSpec true_job(std::uint32_t tasks) {
  JobSpec spec;
  spec.tenant = "t0";
  spec.command = {"/bin/true"};
  spec.tasks_min = spec.tasks_max = tasks;
  spec.resources = {{"cpu", 1000}, {"memory", 64}};
  return spec;
}

void join_agent(harness::Cluster& cluster, Client& client) {
  require_count("tenants", value_of(client.apply_tenants(tenants(1), false)).size(), 1);
  cluster.start_agent("node1");
  harness::wait_until("the agent is up", harness::Duration(20'000),
                      [&] { return value_of(client.status()).nodes_up == 1; });
}

/// One array, then as many jobs of one task, each submitted by a program of its own.
void run_true(const std::string& row, const Sizes& sizes, harness::Cluster& cluster, Client& client,
              pid_t coordinator) {
  {
    const Watch watch(row, coordinator);
    const bench::Usage agent(cluster.agent("node1").pid());
    const auto id = value_of(client.submit(true_job(sizes.real)));
    const JobRecord job = value_of(client.wait_job(id, 60'000));
    const double took = watch.seconds();
    watch.print("tasks", sizes.real / took, "1/s");
    watch.print("cpu_per_task", watch.coordinator_cpu_seconds() * 1e6 / sizes.real, "us");
    watch.print("agent_cpu_per_task", agent.cpu_seconds() * 1e6 / sizes.real, "us");
    require_count("tasks that succeeded", job.tasks.succeeded, sizes.real);
  }
  const Watch watch(row, coordinator);
  const std::string file = "tenant: t0\ncommand: [/bin/true]\nresources: {cpu: 1, memory: 64MiB}\n";
  std::vector<std::uint64_t> jobs;
  jobs.reserve(sizes.real);
  for (std::uint32_t i = 0; i < sizes.real; ++i) jobs.push_back(cluster.submit(file));
  (void)value_of(client.wait_job(JobId{jobs.back()}, 60'000));
  harness::wait_until("nothing waits or runs any more", harness::Duration(60'000), [&] {
    const auto status = value_of(client.status());
    return status.tasks_pending == 0 && status.tasks_running == 0;
  });
  watch.print("jobs_one_by_one", sizes.real / watch.seconds(), "1/s");
  for (const auto id : jobs)
    require_count("tasks that succeeded",
                  value_of(client.wait_job(JobId{id}, 60'000)).tasks.succeeded, 1);
}

}  // namespace

void real_tasks(const Sizes& sizes) {
  harness::Cluster cluster(one_agent(sizes));
  cluster.start_coordinator();
  const auto client = value_of(Client::connect(cluster.address(), cluster.operator_token()));
  join_agent(cluster, *client);
  run_true("scale_real/1", sizes, cluster, *client, cluster.coordinator().pid());
}

void replicated_tasks(const Sizes& sizes) {
  if (!has_etcd_for("replicated")) return;
  harness::Replicas replicas({.configuration = "lease: 15s\ngrace: 5s\nheartbeat_interval: 1s\n"});
  replicas.start();
  harness::ClusterSetup setup = one_agent(sizes);
  setup.data = replicas.data("one");
  setup.addresses = replicas.addresses();
  harness::Cluster cluster(setup);
  const auto client = value_of(Client::connect(cluster.address(), cluster.operator_token()));
  join_agent(cluster, *client);
  run_true("scale_replicated/3", sizes, cluster, *client,
           replicas.coordinator(replicas.wait_for_leader()).pid());
}

}  // namespace fairwater::load
