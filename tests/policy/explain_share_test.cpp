// Why a task waits where tenants within others are dealt by dominant shares.
#include <string>

#include <catch2/catch.hpp>

#include "share_cluster.hpp"

namespace fairwater::test {
namespace {

TEST_CASE("in a tree an explanation tells the level that decides, and its shares",
          "[unit][by_share]") {
  ShareCluster cluster;
  two_departments(cluster, 3);
  cluster.node(1, cpu(12));
  const JobId of_a1 = cluster.submit(kFirstOfA, waiting_tasks(30, cpu(1)));
  const JobId of_b = cluster.submit(kDeptB, waiting_tasks(30, cpu(1)));
  cluster.run();
  const JobId of_a2 = cluster.submit(kSecondOfA, waiting_tasks(5, cpu(1)));
  const ObstacleNames names{.resources = {},
                            .groups = {{GroupId{kDeptA}, "a"}},
                            .tenants = {{TenantId{kSecondOfA}, "a2"}}};
  const auto share_of = [&](std::uint32_t tenant, JobId job, std::uint32_t index) -> std::string {
    const auto obstacles =
        cluster.cycle().allocator().explain_waiting(TenantId{tenant}, job, index, names);
    if (obstacles.empty() || obstacles.back().code != "share") return {};
    return obstacles.back().message;
  };
  // Of the group the least counts by weight, which holds nothing.
  cluster.run();
  CHECK(share_of(kSecondOfA, of_a2, 0).empty());
  CHECK(share_of(kFirstOfA, of_a1, 6) ==
        "among the tenants of a its tenant has a dominant share of 500 thousandths by a weight of "
        "3, and a2 has a dominant share of 0 thousandths by a weight of 1: that is less, and comes "
        "first");
  CHECK(share_of(kDeptB, of_b, 6) ==
        "at the top of the tree of tenants its tenant has a dominant share of 500 thousandths by a "
        "weight of 1, and a has a dominant share of 0 thousandths by a weight of 1: that is less, "
        "and comes first (of those in a group that wait each counts as the least by weight)");
  for (int i = 0; i < 2; ++i) cluster.end({of_a1, static_cast<std::uint32_t>(i)});
  cluster.run();
  // 4 of weight 3 and 2 of weight 1 have 1/9 and 1/6 by weight: they count with 4/12 and 4/36.
  CHECK(cluster.held(kSecondOfA) == 2);
  CHECK(share_of(kDeptB, of_b, 6) ==
        "at the top of the tree of tenants its tenant has a dominant share of 500 thousandths by a "
        "weight of 1, and a has a dominant share of 444.444 thousandths by a weight of 1: that is "
        "less, and comes first (of those in a group that wait each counts as the least by weight)");
  SECTION("by which resource's weight") {
    TenantTerms terms = tenant_in(kDeptA, 3);
    terms.place->own_weights[kCpu] = 1;
    cluster.tenant(kFirstOfA, terms);
    cluster.run();
    CHECK(share_of(kFirstOfA, of_a1, 6) ==
          "among the tenants of a its tenant has a dominant share of 333.333 thousandths by a "
          "weight of 1 for cpu, and a2 has a dominant share of 166.666 thousandths by a weight of "
          "1: that is less, and comes first");
  }
  SECTION("where minima decide") {
    TenantTerms terms = tenant_in(kDeptA);
    terms.min = cpu(3);
    cluster.tenant(kSecondOfA, terms);
    cluster.run();
    CHECK(share_of(kDeptB, of_b, 6) ==
          "at the top of the tree of tenants its tenant comes after a: that, or somebody in it, is "
          "below a min");
    CHECK(share_of(kFirstOfA, of_a1, 6) ==
          "among the tenants of a its tenant comes after a2: that, or somebody in it, is below a "
          "min");
  }
}

}  // namespace
}  // namespace fairwater::test
