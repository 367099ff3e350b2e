// Tenants that come, change and go while others ask, in every interleaving of one call's steps.
#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

std::vector<std::string> names(const std::vector<TenantInfo>& tenants) {
  std::vector<std::string> result;
  for (const auto& tenant : tenants) result.push_back(tenant.record.spec.name);
  return result;
}

TEST_CASE("tenants of one name that are applied at once become one", "[actor]") {
  ClusterFixture cluster;
  const ApplyTenants request{cluster.operator_caller(), {tenant_spec("physics", 2)}, false};
  const auto answers = cluster.ask_at_once<TenantsApplied>(std::vector<ApplyTenants>(4, request));
  std::vector<ChangeKind> kinds;
  for (const auto& answer : answers) {
    REQUIRE(answer.engaged());
    kinds.push_back(answer->changes.at(0).kind);
  }
  CHECK(kinds == std::vector{ChangeKind::added, ChangeKind::unchanged, ChangeKind::unchanged,
                             ChangeKind::unchanged});
  CHECK(names(cluster.tenants()) == std::vector<std::string>{"physics"});
  cluster.restart();
  CHECK(names(cluster.tenants()) == std::vector<std::string>{"physics"});
  CHECK(cluster.verify().ok);
}

TEST_CASE("a tenant that is removed while its status is asked for is there or gone", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("stays", 1), tenant_spec("goes", 3)});
  const RemoveTenant request{cluster.operator_caller(), "goes"};
  SECTION("status") {
    CHECK(cluster.ask_beside<TenantDeparture>(request, DescribeCluster{}).engaged());
  }
  SECTION("listing") {
    CHECK(cluster.ask_beside<TenantDeparture>(request, DescribeTenants{}).engaged());
  }
  SECTION("a task of its that is asked about") {
    CHECK(cluster.ask_beside<TenantDeparture>(request, ExplainWaiting{TenantId{2}, JobId{1}, 0})
              .engaged());
  }
  CHECK(names(cluster.tenants()) == std::vector<std::string>{"stays"});
  CHECK(cluster.verify().ok);
}

TEST_CASE("a tenant that is removed twice at once is removed once", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("goes", 3)});
  const RemoveTenant request{cluster.operator_caller(), "goes"};
  const auto answers = cluster.ask_at_once<TenantDeparture>(std::vector<RemoveTenant>(2, request));
  CHECK(answers[0].engaged());
  REQUIRE_FALSE(answers[1].engaged());
  CHECK(details(answers[1].error()).code == ErrorCode::not_found);
}

}  // namespace
}  // namespace fairwater
