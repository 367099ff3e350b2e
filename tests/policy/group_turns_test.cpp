// Where the ledger counts time: what those in a group leave idle is their siblings', over time to
// the task, however little belongs to each of the others.
#include <cmath>

#include <catch2/catch.hpp>

#include "timed_cluster.hpp"

namespace fairwater::test {
namespace {

constexpr std::uint32_t kGroup = 1;
constexpr std::uint32_t kInner = 2;
constexpr std::uint32_t kFirst = 1;
constexpr std::uint32_t kSecond = 2;
constexpr std::uint32_t kIdle = 3;
constexpr std::uint32_t kOutside = 10;
constexpr std::uint32_t kMostOutside = 19;

TenantTerms member_of(std::uint32_t group, Weight weight) {
  TenantTerms terms = terms_of(weight);
  terms.place = {.group = GroupId{group}, .weight = weight};
  return terms;
}

void add_group(TimedCluster& cluster, std::uint32_t id, std::uint32_t parent, Weight weight) {
  GroupTerms terms;
  terms.place = {.group = GroupId{parent}, .weight = weight};
  cluster.group(id, terms);
}

/// Of processors, which are dealt in thousandths.
AllocatorSettings settings() {
  AllocatorSettings settings;
  settings.granules[kCpu] = 1000;
  return settings;
}

class Shared {
 public:
  /// 21 processors: half of them are the group's, and of the rest each of ten tenants has a little
  /// more than one.
  Shared() : cluster(settings()) {
    add_group(cluster, kGroup, 0, 10);
    for (std::uint32_t other = kOutside; other <= kMostOutside; ++other)
      cluster.tenant(other, terms_of(1));
    cluster.node(1, slots(21'000));
  }
  void keep_busy(std::uint32_t tenant) {
    const LedgerMs run_ms = 50'000 + 1000 * static_cast<LedgerMs>(tenant);
    cluster.submit(tenant, 10'000,
                   {.demand = slots(1000), .run_ms = run_ms, .expected_ms = 60'000});
  }
  void keep_others_busy() {
    for (std::uint32_t other = kOutside; other <= kMostOutside; ++other) keep_busy(other);
  }
  /// Processors that it held on average from then on.
  [[nodiscard]] double mean_held(std::uint32_t tenant, LedgerMs from_ms, LedgerMs until_ms) {
    cluster.run_until(from_ms);
    const std::int64_t before = cluster.held_total(tenant);
    cluster.run_until(until_ms);
    return static_cast<double>(cluster.held_total(tenant) - before) /
           static_cast<double>(until_ms - from_ms);
  }
  TimedCluster cluster;
};

constexpr LedgerMs kHour = 3'600'000;

TEST_CASE("what a tenant leaves idle is its sibling's before it is anybody else's", "[tree]") {
  Shared shared;
  shared.cluster.tenant(kFirst, member_of(kGroup, 1));
  shared.cluster.tenant(kIdle, member_of(kGroup, 9));
  shared.keep_busy(kFirst);
  shared.keep_others_busy();
  CHECK(shared.mean_held(kFirst, kHour / 12, kHour) == Approx(10.5).margin(0.1));
  for (std::uint32_t other = kOutside; other <= kMostOutside; ++other) {
    INFO("tenant " << other);
    CHECK(std::abs(shared.cluster.net(other)) <= 2 * 70'000);
  }
}

TEST_CASE("siblings share what another leaves idle by their weights", "[tree]") {
  Shared shared;
  shared.cluster.tenant(kFirst, member_of(kGroup, 2));
  shared.cluster.tenant(kSecond, member_of(kGroup, 1));
  shared.cluster.tenant(kIdle, member_of(kGroup, 7));
  shared.keep_busy(kFirst);
  shared.keep_busy(kSecond);
  shared.keep_others_busy();
  SECTION("both are there from the start") {
    CHECK(shared.mean_held(kFirst, kHour / 12, kHour) == Approx(7).margin(0.1));
    CHECK(shared.mean_held(kSecond, kHour, 2 * kHour) == Approx(3.5).margin(0.1));
  }
  SECTION("until it comes back, with what they owe it") {
    shared.cluster.run_until(kHour / 6);
    CHECK(shared.cluster.net(kIdle) > 4'000'000);
    shared.keep_busy(kIdle);
    shared.cluster.run_until(kHour);
    CHECK(std::abs(shared.cluster.net(kIdle)) <= 8 * 70'000);
    CHECK(shared.mean_held(kIdle, kHour, 2 * kHour) == Approx(7.35).margin(0.2));
    CHECK(shared.mean_held(kFirst, 2 * kHour, 3 * kHour) == Approx(2.1).margin(0.2));
  }
}

TEST_CASE("a group leaves what it does not use to its own group first", "[tree]") {
  Shared shared;
  add_group(shared.cluster, kInner, kGroup, 4);
  shared.cluster.tenant(kFirst, member_of(kGroup, 1));
  shared.cluster.tenant(kSecond, member_of(kInner, 1));
  shared.cluster.tenant(kIdle, member_of(kInner, 3));
  shared.keep_busy(kFirst);
  shared.keep_others_busy();
  SECTION("all of it") {
    CHECK(shared.mean_held(kFirst, kHour / 12, kHour) == Approx(10.5).margin(0.1));
  }
  SECTION("or what one in it does not") {
    shared.keep_busy(kSecond);
    CHECK(shared.mean_held(kFirst, kHour, 2 * kHour) == Approx(2.1).margin(0.1));
    CHECK(shared.mean_held(kSecond, 2 * kHour, 3 * kHour) == Approx(8.4).margin(0.1));
  }
}

}  // namespace
}  // namespace fairwater::test
