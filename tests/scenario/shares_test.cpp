#include <algorithm>
#include <cmath>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

constexpr int kUnitsPerTask = 10;  // one processor, at 100 millicores the unit
constexpr int kSlots = 16;

struct Share {
  std::string tenant;
  int weight;
  int tasks;
};

/// The largest distance, in tasks, of any tenant from its exact part of the slots in use.
double worst_distance(const json& listed, const std::vector<Share>& shares) {
  double total = 0, weights = 0;
  for (const Share& share : shares) weights += share.weight;
  for (const auto& tenant : listed) total += tenant["running_tasks"].get<double>();
  double worst = 0;
  for (const Share& share : shares) {
    for (const auto& tenant : listed) {
      if (tenant["name"] != share.tenant) continue;
      const double exact = total * share.weight / weights;
      worst = std::max(worst, std::abs(tenant["running_tasks"].get<double>() - exact));
    }
  }
  return worst;
}

bool all_have_waiting_tasks(const json& listed) {
  return std::all_of(listed.begin(), listed.end(),
                     [](const json& tenant) { return tenant["pending_tasks"] > 0; });
}

/// Submits everything before the first node is there, so that no tenant has a head start; asks all
/// the time.
void check_exact_shares(const std::vector<Share>& shares, const std::string& tenant_file) {
  Cluster cluster(
      {.agents = {{"node1", "cpu: 8, memory: 8GiB"}, {"node2", "cpu: 8, memory: 8GiB"}}});
  const WorkLog log(cluster.directory() / "work");
  cluster.start_coordinator();
  cluster.apply_tenants(tenant_file);
  std::map<std::uint64_t, std::uint32_t> jobs;
  for (const Share& share : shares) {
    const auto id =
        cluster.submit(job_file(share.tenant, share.tasks, log.command_line("sleep 1")));
    jobs[id] = static_cast<std::uint32_t>(share.tasks);
  }
  cluster.start_agents();

  int samples_of_full_cluster = 0;
  for (;;) {
    const json listed = cluster.list("tenant");
    if (!all_have_waiting_tasks(listed)) break;
    int running = 0;
    for (const auto& tenant : listed) running += tenant["running_tasks"].get<int>();
    if (running != kSlots) continue;
    ++samples_of_full_cluster;
    INFO(listed.dump());
    REQUIRE(worst_distance(listed, shares) < 1.0);
  }
  CHECK(samples_of_full_cluster >= 2);

  std::vector<std::uint64_t> ids;
  for (const auto& [id, tasks] : jobs) ids.push_back(id);
  CHECK(cluster.wait(ids) == 0);
  CHECK(each_ran_once(log, jobs));
  CHECK(ledger_is_sound(cluster));
}

TEST_CASE("two tenants of weights 1 and 3 hold 25 and 75 % of 16 slots from the first second",
          "[scenario]") {
  check_exact_shares({{"art", 1, 28}, {"botany", 3, 84}}, tenants({{"art", 1}, {"botany", 3}}));
}

TEST_CASE("three tenants of weights 5, 3 and 2 share 16 slots exactly at every moment",
          "[scenario]") {
  check_exact_shares({{"art", 5, 50}, {"botany", 3, 30}, {"chemistry", 2, 20}},
                     tenants({{"art", 5}, {"botany", 3}, {"chemistry", 2}}));
}

TEST_CASE("what an idle tenant lends comes back when it has work, to the unit", "[scenario]") {
  Cluster cluster({.agents = {{"node1", "cpu: 8, memory: 8GiB"}},
                   .tenants = tenants({{"borrower", 1}, {"lender", 1}}),
                   .accounting = "units"});
  const WorkLog log(cluster.directory() / "work");
  cluster.start();

  const auto borrowing = cluster.submit(job_file("borrower", 192, log.command_line("sleep 0.5")));
  harness::wait_until("the borrower holds the whole cluster and owes for half of three rounds",
                      Duration(15'000),
                      [&] { return cluster.tenant("borrower")["net"] <= -3 * 4 * kUnitsPerTask; });
  CHECK(cluster.tenant("borrower")["running_tasks"] >= 5);
  const json owed = cluster.ask({"ledger", "show"});
  REQUIRE(owed["ious"].size() == 1);
  CHECK(owed["ious"][0]["debtor"] == "borrower");
  CHECK(owed["ious"][0]["creditor"] == "lender");
  CHECK(owed["net"]["borrower"].get<int>() + owed["net"]["lender"].get<int>() == 0);

  const auto returning = cluster.submit(job_file("lender", 128, log.command_line("sleep 0.5")));
  harness::wait_until("the debt is repaid while both have work", Duration(20'000), [&] {
    const json listed = cluster.list("tenant");
    REQUIRE(all_have_waiting_tasks(listed));
    return listed[0]["net"] == 0 && listed[1]["net"] == 0;
  });
  // Without a debt both have had the same, from the beginning on: each within one task of half.
  const json even = cluster.list("tenant");
  const auto granted = [&](int i) { return even[i]["granted_units_total"].get<int>(); };
  CHECK(std::abs(granted(0) - granted(1)) <= 2 * kUnitsPerTask);

  CHECK(cluster.wait({borrowing, returning}, Duration(120'000)) == 0);
  CHECK(each_ran_once(log, {{borrowing, 192}, {returning, 128}}));
  CHECK(ledger_is_sound(cluster));
}

}  // namespace
}  // namespace fairwater::scenario
