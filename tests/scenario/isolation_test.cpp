// Tasks of different tenants on one node, with an agent that is root and left at its defaults.
#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

constexpr const char* kTenants =
    "tenants: [{name: alpha}, {name: beta}, {name: gamma, run_as: {user: daemon, groups: [tty]}}, "
    "{name: delta, run_as: root}, {name: epsilon, run_as: nobody-here}]\n";

std::string shell(const std::string& tenant, const std::string& script) {
  return job_file(tenant, 1, fmt::format("command: {}\n", json({"bash", "-c", script}).dump()));
}

/// A place for private directories that every user can reach.
class Reachable {
 public:
  Reachable() { chmod(directory_.path().c_str(), 0711); }
  [[nodiscard]] std::string work() const { return directory_ / "tasks"; }

 private:
  TemporaryDirectory directory_;
};

ClusterSetup kept_apart(const Reachable& place) {
  harness::AgentSetup node{.name = "node1"};
  node.configuration = "work_directory: " + place.work() + "\n";
  return {.agents = {node}, .tenants = kTenants};
}

std::string output_of(const Cluster& cluster, std::uint64_t job) {
  return cluster.fairwater({"job", "logs", std::to_string(job)}).output;
}

TEST_CASE("a task runs as its tenant's user, in a directory that is gone afterwards",
          "[scenario]") {
  if (!is_root_or_skips("running as other users")) return;
  const Reachable place;
  Cluster cluster(kept_apart(place));
  cluster.start();
  const std::string script = "id -u; id -G; touch mine; mkdir -p a/b; chmod 0 a; stat -c '%a %u' .";
  const auto alpha = cluster.submit(shell("alpha", script));
  const auto beta = cluster.submit(shell("beta", script));
  const auto gamma = cluster.submit(shell("gamma", script));
  CHECK(cluster.wait({alpha, beta, gamma}) == 0);
  CHECK(output_of(cluster, alpha) == "1900000001\n1900000001\n700 1900000001\n");
  CHECK(output_of(cluster, beta) == "1900000002\n1900000002\n700 1900000002\n");
  CHECK(output_of(cluster, gamma) == "1\n1 5\n700 1\n");
  harness::wait_until("their directories are gone", Duration(10'000),
                      [&] { return std::filesystem::is_empty(place.work()); });

  // Users that the node refuses are the tenant's trouble alone.
  const auto root = cluster.submit(shell("delta", "id -u"));
  const auto nobody = cluster.submit(shell("epsilon", "id -u"));
  CHECK(cluster.wait({root, nobody}) != 0);
  CHECK_THAT(cluster.job(root)["task_list"][0]["last_result"]["message"].get<std::string>(),
             Catch::Contains("tasks do not run as root"));
  CHECK_THAT(cluster.job(nobody)["task_list"][0]["last_result"]["message"].get<std::string>(),
             Catch::Contains("this node has no user 'nobody-here'"));
  CHECK(cluster.job(root)["task_list"][0]["attempts"] == 1);

  CHECK_THAT(cluster.node("node1")["isolation"].get<std::string>(),
             Catch::StartsWith("a user per tenant (1900000000-1900999999)"));
  CHECK_THAT(cluster.log_of("node1"), Catch::Contains("tasks run as a user per tenant"));
  struct stat status {};
  REQUIRE(stat((cluster.directory() / "node1").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777u) == 0700);
}

TEST_CASE("a task reaches neither another tenant's nor the node's nor the operator's secrets",
          "[scenario]") {
  if (!is_root_or_skips("running as other users")) return;
  const Reachable place;
  Cluster cluster(kept_apart(place));
  // Reachable, so that it is the files' own modes that are tested.
  chmod(cluster.directory().c_str(), 0755);
  cluster.start();
  const auto victim =
      cluster.submit(shell("beta", "echo $$ $PPID $PWD; echo secret > own; exec sleep 60") +
                     "environment: {PASSWORD: hidden}\n");
  harness::wait_until("the victim runs", Duration(10'000),
                      [&] { return !output_of(cluster, victim).empty(); });
  std::istringstream line(output_of(cluster, victim));
  std::string pid, supervisor, directory;
  line >> pid >> supervisor >> directory;
  const auto data = cluster.directory() / "node1";
  const auto attacker = cluster.submit(shell(
      "alpha",
      fmt::format("try() {{ \"$@\" >/dev/null 2>&1 && echo \"could: $*\"; }}\n"
                  "try cat /proc/{0}/environ; try kill -0 {0}; try kill -9 {1}; try kill -9 $PPID\n"
                  "try cat {2}/own; try ls {2}; try cat {3}/logs/{4}.0.1.stdout\n"
                  "try cat {3}/credential; try cat {5}/operator.token; try cat {5}/join.token\n"
                  "try bash -c 'echo x >> $FAIRWATER_ATTEMPT'; try bash -c 'echo x > {3}/lease*'\n"
                  "for c in memory pids cpu; do for f in tasks cgroup.procs; do\n"
                  "  try bash -c \"echo $$ > /sys/fs/cgroup/$c/$f\"; done; done\n"
                  "cat /proc/self/cgroup; echo done",
                  pid, supervisor, directory, data.string(), victim,
                  cluster.coordinator_data().string())));
  CHECK(cluster.wait({attacker}) == 0);
  const std::string seen = output_of(cluster, attacker);
  INFO(seen);
  CHECK(seen.find("could:") == std::string::npos);
  CHECK(seen.ends_with("done\n"));
  CHECK(cluster.job(victim)["state"] == "running");
}

TEST_CASE("an agent says that tasks are not kept apart, and refuses it unless it was told",
          "[scenario]") {
  if (!is_root_or_skips("an agent that is root")) return;
  Cluster cluster({.agents = {{"node1"}}, .tenants = tenants({{"steady", 1}})});
  cluster.start();
  CHECK_THAT(cluster.log_of("node1"), Catch::Contains("warning tasks run as root, as the agent"));
  CHECK_THAT(cluster.node("node1")["isolation"].get<std::string>(), Catch::StartsWith("root"));
  const auto refused = [&](const std::string& configuration) {
    const auto file = cluster.directory() / "refused.yaml";
    std::ofstream(file) << fmt::format(
        "data: {}\njoin_token_file: {}\n{}", (cluster.directory() / "refused").string(),
        (cluster.coordinator_data() / "join.token").string(), configuration);
    const Completed done =
        harness::run({.command = {harness::programs_directory() / "fairwaterd", "agent",
                                  "--coordinator", cluster.address(), "--config", file}});
    CHECK(done.status != 0);
    return done.errors;
  };
  CHECK_THAT(refused("run_as_default: agent\n"), Catch::Contains("allow_root_tasks: true as well"));
  CHECK_THAT(refused("run_as_default: agent\nallow_root_tasks: true\n"
                     "device_files: {left: [/dev/full]}\n"),
             Catch::Contains("device_files.left: this node has no device left"));
  CHECK_THAT(refused(""), Catch::Contains("work_directory: tasks cannot reach their directories"));
}

}  // namespace
}  // namespace fairwater::scenario
