// Departments with groups, of real processes: weights at both levels, siblings first, a change of a
// live tree, and a coordinator that is killed in between.
#include <csignal>

#include <catch2/catch.hpp>

#include "tests/scenario/pages.hpp"
#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

/// science and arts, with two groups each. Parents come last.
std::string departments(int weight_of_science) {
  return fmt::format(
      "tenants:\n"
      "  - {{name: optics, parent: science}}\n"
      "  - {{name: lasers, parent: science}}\n"
      "  - {{name: music, parent: arts}}\n"
      "  - {{name: drama, parent: arts}}\n"
      "  - {{name: science, weight: {}}}\n"
      "  - {{name: arts}}\n",
      weight_of_science);
}

std::map<std::string, int> running(const Cluster& cluster) {
  std::map<std::string, int> found;
  for (const auto& tenant : cluster.list("tenant"))
    found[tenant["name"]] = tenant["running_tasks"].get<int>();
  return found;
}

void wait_for(const Cluster& cluster, const std::map<std::string, int>& expected) {
  harness::wait_until("they run as many tasks: " + json(expected).dump(), Duration(30'000),
                      [&] { return running(cluster) == expected; });
}

}  // namespace

TEST_CASE("departments share by weights at both levels, siblings first, while their tree changes",
          "[scenario][crash]") {
  Cluster cluster({.agents = {{"node1", "cpu: 8, memory: 8GiB"}}});
  cluster.start_coordinator();
  cluster.apply_tenants(departments(1));
  std::map<std::string, std::uint64_t> jobs;
  for (const char* tenant : {"optics", "lasers", "music", "drama"})
    jobs[tenant] = cluster.submit(job_file(tenant, 2000, "command: [sleep, \"0.5\"]"));
  cluster.start_agents();
  wait_for(cluster,
           {{"science", 4}, {"optics", 2}, {"lasers", 2}, {"arts", 4}, {"music", 2}, {"drama", 2}});

  REQUIRE(cluster.fairwater({"job", "cancel", std::to_string(jobs["optics"])}).status == 0);
  const std::map<std::string, int> siblings_first{{"science", 4}, {"optics", 0}, {"lasers", 4},
                                                  {"arts", 4},    {"music", 2},  {"drama", 2}};
  wait_for(cluster, siblings_first);
  const auto optics = cluster.tenant("optics");
  CHECK(optics["parent"] == "science");
  CHECK(cluster.tenant("science")["parent"].is_null());

  const auto ended = [&] { return cluster.job(jobs["lasers"])["tasks"]["succeeded"].get<int>(); };
  cluster.stop_coordinator(SIGKILL);
  cluster.start_coordinator();
  const int ended_before = ended();
  harness::wait_until("lasers goes on", Duration(20'000),
                      [&] { return ended() > ended_before + 8; });
  wait_for(cluster, siblings_first);

  const auto refused =
      cluster.fairwater({"job", "submit", "-"}, job_file("science", 1, "command: [\"true\"]"));
  CHECK(refused.status == 2);
  CHECK_THAT(refused.errors, Catch::Contains("which run its jobs: optics, lasers"));

  cluster.apply_tenants(departments(3));
  wait_for(cluster,
           {{"science", 6}, {"optics", 0}, {"lasers", 6}, {"arts", 2}, {"music", 1}, {"drama", 1}});
  for (const char* tenant : {"lasers", "music", "drama"}) {
    const auto tasks = cluster.job(jobs[tenant])["tasks"];
    CHECK(tasks["failed"] == 0);
    CHECK(tasks["cancelled"] == 0);
  }
  for (const char* tenant : {"lasers", "music", "drama"})
    REQUIRE(cluster.fairwater({"job", "cancel", std::to_string(jobs[tenant])}).status == 0);
  CHECK(ledger_is_sound(cluster));
}

TEST_CASE("a tenant that is let go ends its jobs, repays and then is gone, over kills",
          "[scenario][crash]") {
  Cluster cluster(
      {.agents = {{"node1", "cpu: 8, memory: 8GiB"}}, .tenants = tenants({{"a", 1}, {"b", 1}})});
  cluster.start();
  const auto last = cluster.submit(job_file("b", 16, "command: [sleep, \"1.5\"]"));
  harness::wait_until("b holds what a leaves idle", Duration(20'000),
                      [&] { return cluster.tenant("b")["running_tasks"] == 8; });
  harness::wait_until("b owes", Duration(20'000),
                      [&] { return cluster.tenant("b")["net"].get<int>() < 0; });
  const json answer = cluster.ask({"tenant", "remove", "b"});
  CHECK(answer["removed"].is_null());
  CHECK(answer["leaving"] == "b");
  cluster.stop_coordinator(SIGKILL);
  cluster.start_coordinator();
  CHECK(cluster.tenant("b")["leaving"] == true);
  CHECK_THAT(cluster.fairwater({"tenant", "list"}).output, Catch::Contains("b (leaving)"));
  const auto refused =
      cluster.fairwater({"job", "submit", "-"}, job_file("b", 1, "command: [\"true\"]"));
  CHECK(refused.status == 1);
  CHECK_THAT(refused.errors, Catch::Contains("tenant b is leaving and takes no jobs any more"));
  CHECK(cluster.wait({last}) == 0);
  CHECK(cluster.job(last)["tasks"]["succeeded"] == 16);
  CHECK(cluster.tenant("b")["net"].get<int>() < 0);
  cluster.stop_coordinator(SIGKILL);
  cluster.start_coordinator();
  CHECK(cluster.tenant("b")["leaving"] == true);

  const auto others = cluster.submit(job_file("a", 2000, "command: [sleep, \"0.5\"]"));
  const auto names = [&] {
    std::vector<std::string> found;
    for (const auto& tenant : cluster.list("tenant")) found.push_back(tenant["name"]);
    return found;
  };
  harness::wait_until("b has repaid what it owed, and is gone", Duration(60'000),
                      [&] { return names() == std::vector<std::string>{"a"}; });
  CHECK(cluster.tenant("a")["net"] == 0);
  int marks = 0;
  for (const json& record : journal_of(cluster)) marks += record["kind"] == "tenant_leaves" ? 1 : 0;
  CHECK(marks == 1);
  REQUIRE(cluster.fairwater({"job", "cancel", std::to_string(others)}).status == 0);
  CHECK(ledger_is_sound(cluster));
}

TEST_CASE("docs/tenants.md does what it says", "[scenario]") {
  Cluster cluster({.agents = {{"node1", "cpu: 4, memory: 2GiB"}}});
  cluster.start();
  check_page(cluster, "docs/tenants.md");
  CHECK(ledger_is_sound(cluster));
}

}  // namespace fairwater::scenario
