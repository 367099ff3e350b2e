// Real processes on one agent.
#include <fmt/format.h>

#include "bench/load/rows.hpp"
#include "bench/load/workload.hpp"

namespace fairwater::load {

void real_tasks(const Sizes& sizes) {
  harness::ClusterSetup setup;
  setup.agents.push_back({"node1", "cpu: 16, memory: 16GiB"});
  setup.lease = "15s";
  setup.grace = "5s";
  setup.heartbeat_interval = "1s";
  setup.accounting = sizes.accounting;
  harness::Cluster cluster(setup);
  cluster.start_coordinator();
  const auto client = value_of(Client::connect(cluster.address(), cluster.operator_token()));
  require_count("tenants", value_of(client->apply_tenants(tenants(1), false)).size(), 1);
  cluster.start_agent("node1");
  harness::wait_until("the agent is up", harness::Duration(20'000),
                      [&] { return value_of(client->status()).nodes_up == 1; });
  JobSpec spec;
  spec.tenant = "t0";
  spec.command = {"/bin/true"};
  spec.tasks_min = spec.tasks_max = sizes.real;
  spec.resources = {{"cpu", 1000}, {"memory", 64}};
  const Watch watch("scale_real/1", cluster.coordinator().pid());
  const bench::Usage agent(cluster.agent("node1").pid());
  const auto id = value_of(client->submit(spec));
  JobRecord job = value_of(client->wait_job(id, 60'000));
  const double took = watch.seconds();
  watch.print("tasks", sizes.real / took, "1/s");
  watch.print("cpu_per_task", watch.coordinator_cpu_seconds() * 1e6 / sizes.real, "us");
  watch.print("agent_cpu_per_task", agent.cpu_seconds() * 1e6 / sizes.real, "us");
  require_count("tasks that succeeded", job.tasks.succeeded, sizes.real);
}

}  // namespace fairwater::load
