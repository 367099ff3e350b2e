// A ledger that counts time, with real processes: a debt costs what it was, however long the tasks
// are.
#include <cmath>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

constexpr int kProcessors = 16;
constexpr double kUnitsPerProcessor = 10;  // one processor, at 100 millicores the unit

double seconds_at(const json& record) { return harness::seconds_since_1970(record["time"]); }

/// When so many tasks of the job had been granted, by the journal.
double granted_at(const std::vector<json>& journal, std::uint64_t job, int tasks) {
  for (const json& record : journal) {
    if (record["kind"] != "cycle") continue;
    for (const json& deal : record["deals"])
      for (const json& grant : deal["grants"])
        if (grant["job"] == job && --tasks == 0) return seconds_at(record);
  }
  FAIL("job " << job << " was granted too few tasks");
  return 0;
}

/// Slot-seconds of the tenant's net: the sum of its settlements in the journal.
double net_of(const std::vector<json>& journal, const std::string& tenant) {
  double unit_ms = 0;
  for (const json& record : journal) {
    if (record["kind"] != "time_settled") continue;
    for (const json& line : record["lines"])
      if (line["tenant"] == tenant) unit_ms += line["lent_unit_ms"].get<double>();
  }
  return unit_ms / 1000 / kUnitsPerProcessor;
}

TEST_CASE("a debt of half a second on 16 slots costs half a second, not 2 minutes of every slot",
          "[scenario]") {
  Cluster cluster({.agents = {{"node1", "cpu: 16, memory: 16GiB"}},
                   .tenants = "tenants:\n  - {name: a, weight: 1, repay: 0.5}\n"
                              "  - {name: b, weight: 1, repay: 0.5}\n"});
  cluster.start();
  const auto short_tasks =
      cluster.submit(job_file("a", 4000, "time_limit: 1m\ncommand: [sleep, '1']\n"));
  harness::wait_until("a has all slots", Duration(20'000),
                      [&] { return cluster.tenant("a")["running_tasks"] == kProcessors; });
  // Half a second is over before a's first tasks end, or else its next ones: the journal tells.
  const auto long_tasks =
      cluster.submit(job_file("b", 100, "time_limit: 2m\ncommand: [sleep, '120']\n"));
  harness::wait_until("b has its half", Duration(20'000),
                      [&] { return cluster.tenant("b")["running_tasks"] == kProcessors / 2; });

  const json even = cluster.job(short_tasks)["tasks"]["succeeded"];
  const json settled_by = cluster.ask({"status"})["cluster"]["cycle"];
  harness::wait_until("a has run four rounds more", Duration(20'000), [&] {
    const json listed = cluster.list("tenant");
    INFO(listed.dump());
    REQUIRE(listed[0]["running_tasks"].get<int>() <= kProcessors / 2);
    REQUIRE(listed[1]["running_tasks"].get<int>() == kProcessors / 2);
    return cluster.job(short_tasks)["tasks"]["succeeded"].get<int>() >=
           even.get<int>() + 4 * kProcessors / 2;
  });

  // It held half of the slots too many until b had that half, and owes so many slot-seconds.
  const auto journal = journal_of(cluster);
  const double alone =
      granted_at(journal, long_tasks, kProcessors / 2) - granted_at(journal, short_tasks, 1);
  const double owed = -net_of(journal, "a");
  INFO("alone for " << alone << " s, owes " << owed << " slot-seconds");
  CHECK(owed > 0.9 * kProcessors / 2);
  CHECK(owed < (alone + 0.5) * kProcessors / 2);
  CHECK(net_of(journal, "b") == Approx(owed));
  // From then on nobody borrows: but for the second in which b came, there is nothing to settle.
  int settlements_after = 0;
  for (const json& record : journal)
    settlements_after += record["kind"] == "time_settled" && record["cycle"] > settled_by ? 1 : 0;
  CHECK(settlements_after <= 1);

  for (const auto job : {short_tasks, long_tasks})
    cluster.ask({"job", "cancel", std::to_string(job)});
  cluster.wait({short_tasks, long_tasks});
  CHECK(ledger_is_sound(cluster));
}

}  // namespace
}  // namespace fairwater::scenario
