#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "allocator_cluster.hpp"
#include "policy/allocator/quotas.hpp"

namespace fairwater::test {
namespace {

TEST_CASE("what a quota is at least is what it is", "[property][allocator]") {
  std::mt19937_64 random(11);
  const auto draw = [&](std::uint64_t from, std::uint64_t to) {
    return static_cast<Amount>(from + random() % (to - from + 1));
  };
  std::size_t at_least = 0;
  std::size_t asked = 0;
  for (int round = 0; round < 400; ++round) {
    AllocatorQuotas quotas(cpu(draw(1, 300)), cpu(draw(1, 7)));
    (void)quotas.set_capacity(cpu(draw(1, 20'000)));
    std::vector<TenantState> tenants(static_cast<std::size_t>(draw(1, 8)));
    for (std::size_t i = 0; i < tenants.size(); ++i) {
      TenantState& tenant = tenants[i];
      tenant.id = TenantId{static_cast<std::uint32_t>(i + 1)};
      tenant.terms.weight = tenant.rank.weight = draw(1, 9);
      if (draw(0, 3) == 0) {
        tenant.terms.place = place_of(tenant.terms);
        tenant.terms.place->own_weights[kCpu] = draw(1, 9);
      }
      if (draw(0, 3) == 0) tenant.terms.min = cpu(draw(1, 5000));
      if (draw(0, 3) == 0) tenant.terms.max = cpu(draw(1, 9000));
      tenant.pending = cpu(draw(0, 9000));
      quotas.join(tenant);
    }
    const auto marks = quotas.water_marks();
    for (const TenantState& tenant : tenants) {
      const MicroUnits exact = quotas.micro_units_of(quotas.exact_quota(tenant, kCpu), kCpu);
      for (const MicroUnits near : {exact - 1, exact, exact + 1, draw(0, 1'000'000'000)}) {
        const bool is_at_least = quotas.quota_is_at_least_micro(tenant, kCpu, near, marks);
        REQUIRE(is_at_least == (exact >= near));
        at_least += is_at_least ? 1 : 0;
        ++asked;
      }
    }
  }
  CHECK(at_least > asked / 4);
  CHECK(at_least < asked * 3 / 4);
}

}  // namespace
}  // namespace fairwater::test
