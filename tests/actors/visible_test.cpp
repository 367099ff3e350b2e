// What a tenant's token shows of what others have.
#include "actors/coordinator/visible.hpp"

#include <algorithm>
#include <set>

#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

constexpr TenantId kSelf{1};
constexpr TenantId kPartner{2};
constexpr TenantId kStranger{3};

Deal deal_of_three() {
  Deal deal;
  deal.free_units = 9;
  for (const TenantId tenant : {kSelf, kPartner, kStranger}) {
    TenantLine& line = deal.lines.emplace_back();
    line.tenant = tenant;
    line.granted = 3;
    Grant& grant = deal.grants.emplace_back();
    grant.task = {JobId{10 + tenant.value}, 0, 1};
    grant.tenant = tenant;
  }
  deal.repayments = {{.debtor = kSelf, .creditor = kPartner, .units = 1},
                     {.debtor = kPartner, .creditor = kStranger, .units = 1}};
  deal.loans = {{.lender = kPartner, .borrower = kSelf, .units = 2},
                {.lender = kStranger, .borrower = kPartner, .units = 2}};
  deal.reservation = Reservation{kStranger, {}};
  return deal;
}

TEST_CASE("of a deal a tenant sees what is its own and whom it trades with", "[unit][visible]") {
  const Deal deal = deal_of_three();
  const Caller self{Role::tenant, kSelf, "self"};
  const Deal seen = visible_part(self, deal);
  REQUIRE(seen.lines.size() == 1);
  CHECK(seen.lines[0] == deal.lines[0]);
  REQUIRE(seen.grants.size() == 1);
  CHECK(seen.grants[0] == deal.grants[0]);
  CHECK(seen.repayments == std::vector<Repayment>{deal.repayments[0]});
  CHECK(seen.loans == std::vector<Loan>{deal.loans[0]});
  CHECK_FALSE(seen.reservation);
  CHECK(seen.free_units == 9);
  CHECK(visible_part({Role::tenant, kStranger, "stranger"}, deal).reservation == deal.reservation);
  CHECK(visible_part({Role::operator_role, {}, ""}, deal) == deal);
}

TEST_CASE("job explain shows a tenant nothing of who else was dealt with", "[actor][visible]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("a", 1), tenant_spec("b", 1), tenant_spec("c", 1)});
  const JobId job = cluster.submit("a", 2);
  (void)cluster.submit("b", 2);
  (void)cluster.submit("c", 2);
  (void)cluster.join("node1", 6);
  const auto whole = cluster.ask<Explanation>(ExplainTask{cluster.operator_caller(), job, 0});
  REQUIRE(whole);
  REQUIRE(whole->deal);
  CHECK(whole->deal->lines.size() == 3);
  CHECK(whole->deal->grants.size() == 6);
  CHECK(whole->names.tenants.size() == 3);
  const Caller caller = cluster.tenant_caller("a");
  const auto own = cluster.ask<Explanation>(ExplainTask{caller, job, 0});
  REQUIRE(own);
  REQUIRE(own->deal);
  CHECK(own->deal == visible_part(caller, *whole->deal));
  CHECK(own->deal->grants.size() == 2);
  REQUIRE(own->deal->lines.size() == 1);
  CHECK(own->deal->lines[0].tenant == caller.tenant);
  std::set<TenantId> partners{caller.tenant};
  for (const Repayment& paid : own->deal->repayments) partners.insert({paid.debtor, paid.creditor});
  for (const Loan& loan : own->deal->loans) partners.insert({loan.lender, loan.borrower});
  std::set<TenantId> named;
  for (const auto& [tenant, name] : own->names.tenants) named.insert(tenant);
  CHECK(named == partners);
  CHECK_FALSE(named.contains(cluster.tenant_caller("c").tenant));
}

}  // namespace
}  // namespace fairwater
