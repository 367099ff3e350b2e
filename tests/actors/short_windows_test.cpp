// What a tenant's window does not show yet is not dealt to others.
#include <algorithm>
#include <variant>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

TEST_CASE("jobs of one task beside a job of many hold their part of a node that joins",
          "[actor][window]") {
  ClusterFixture cluster(ClusterFixture::default_settings(),
                         GENERATE(Accounting::units, Accounting::time));
  cluster.apply({tenant_spec("array", 1), tenant_spec("single", 3)});
  const JobId array = cluster.submit("array", 400);
  for (int i = 0; i < 400; ++i) cluster.submit("single", 1);
  const std::size_t records = cluster.journal().size();
  const FakeAgent agent = cluster.join("node1", 400);
  cluster.run();
  const std::vector<LaunchOrder> launches = agent.launches();
  CHECK(launches.size() == 400);
  CHECK(std::count_if(launches.begin(), launches.end(),
                      [&](const LaunchOrder& order) { return order.task.job == array; }) == 100);
  // Windows of 64 jobs, then of twice as many as were granted.
  const std::vector<JournalRecord> journal = cluster.journal();
  CHECK(std::count_if(journal.begin() + static_cast<std::ptrdiff_t>(records), journal.end(),
                      [](const JournalRecord& record) {
                        return std::holds_alternative<Cycle>(record.body);
                      }) <= 4);
  CHECK(cluster.verify().ok);
}

}  // namespace
}  // namespace fairwater
