// Identifiers and amounts that every layer shares. Value types only: no I/O, clock or global.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

namespace fairwater::inline policy::inline core {

/// An identifier that cannot be mixed up with another kind. `value` 0 means "none" for every id
/// that the runtime hands out.
template <class Tag, class Rep>
struct StrongId {
  using rep = Rep;
  Rep value{};
  friend constexpr auto operator<=>(StrongId, StrongId) = default;
  constexpr explicit operator bool() const { return value != 0; }
};

using TenantId = StrongId<struct TenantTag, std::uint32_t>;
using NodeId = StrongId<struct NodeTag, std::uint32_t>;
using JobId = StrongId<struct JobTag, std::uint64_t>;

/// One run of one task. `attempt` starts at 1 and grows whenever the task is given out anew, so a
/// late word about an earlier run can be told from the current one.
struct TaskKey {
  JobId job;
  std::uint32_t index = 0;
  std::uint32_t attempt = 1;
  std::uint32_t incarnation = 0;  ///< of the ledger that granted it; Allocator::set_incarnation
  friend constexpr auto operator<=>(const TaskKey&, const TaskKey&) = default;
};

/// The ledger's currency: one granule of the scarcest resource asked for.
using Units = std::int64_t;
/// An amount of one resource in base units: millicores, MiB, or a count.
using Amount = std::int64_t;
/// A share's relative size; 1 to 10^9 for tenants.
using Weight = std::int64_t;
using Wide = __int128;
/// Millionths of a ledger unit: parts of a whole by weight are rarely whole units.
using MicroUnits = std::int64_t;
inline constexpr MicroUnits kMicroUnitsPerUnit = 1'000'000;

/// Upper bound on resource kinds in one cluster; a vector of them is a value without allocation.
inline constexpr std::size_t kMaxResources = 8;
inline constexpr std::size_t kCpu = 0;
inline constexpr std::size_t kMemory = 1;
/// "No limit" in a `max`: large, and safe to add to another amount.
inline constexpr Amount kUnlimited = Amount{1} << 61;

/// Of one sharer, by the index of each resource.
using ResourceWeights = std::array<Weight, kMaxResources>;
[[nodiscard]] constexpr ResourceWeights alike(Weight weight) {
  ResourceWeights weights{};
  weights.fill(weight);
  return weights;
}

/// Amounts per resource, by the index that the cluster's ResourceCatalog gives each name.
struct ResourceVector {
  std::array<Amount, kMaxResources> amount{};

  constexpr Amount& operator[](std::size_t i) { return amount[i]; }
  constexpr Amount operator[](std::size_t i) const { return amount[i]; }
  friend constexpr bool operator==(const ResourceVector&, const ResourceVector&) = default;

  constexpr ResourceVector& operator+=(const ResourceVector& other) {
    for (std::size_t i = 0; i < kMaxResources; ++i) amount[i] += other.amount[i];
    return *this;
  }
  constexpr ResourceVector& operator-=(const ResourceVector& other) {
    for (std::size_t i = 0; i < kMaxResources; ++i) amount[i] -= other.amount[i];
    return *this;
  }
  friend constexpr ResourceVector operator+(ResourceVector a, const ResourceVector& b) {
    return a += b;
  }
  friend constexpr ResourceVector operator-(ResourceVector a, const ResourceVector& b) {
    return a -= b;
  }
  friend constexpr ResourceVector operator*(ResourceVector a, Amount times) {
    for (Amount& amount : a.amount) amount *= times;
    return a;
  }
  /// True when every amount of `this` is at most that of `room`.
  [[nodiscard]] constexpr bool fits(const ResourceVector& room) const {
    for (std::size_t i = 0; i < kMaxResources; ++i)
      if (amount[i] > room.amount[i]) return false;
    return true;
  }
  [[nodiscard]] constexpr bool is_zero() const { return *this == ResourceVector{}; }
  [[nodiscard]] static constexpr ResourceVector filled(Amount value) {
    ResourceVector result;
    result.amount.fill(value);
    return result;
  }
};

/// `cost(task) = max over r of ceil(d_r * units_r / granule_r)`, at least 1: a
/// granule of resource r costs `units_r` ledger units, so that one gpu can cost 10 while amounts
/// stay plain counts. A granule of 0 marks a resource that the cluster does not have. Saturates at
/// the largest Units. O(kMaxResources).
constexpr Units cost_in_units(const ResourceVector& demand, const ResourceVector& granules,
                              const ResourceVector& units) {
  Wide cost = 1;
  for (std::size_t i = 0; i < kMaxResources; ++i)
    if (granules[i] > 0 && demand[i] > 0)
      cost = std::max(cost, (Wide{demand[i]} * units[i] - 1) / granules[i] + 1);
  return static_cast<Units>(std::min(cost, Wide{std::numeric_limits<Units>::max()}));
}

/// The same with one unit per granule of every resource.
constexpr Units cost_in_units(const ResourceVector& demand, const ResourceVector& granules) {
  return cost_in_units(demand, granules, ResourceVector::filled(1));
}

/// What an amount of one resource is in millionths of a unit, rounded down: what fits a room costs
/// no more than it. 0 where the cluster does not have the resource.
constexpr MicroUnits micro_units(Amount amount, Amount granule, Amount units) {
  if (granule <= 0) return 0;
  const Wide micro = Wide{amount} * units * kMicroUnitsPerUnit / granule;
  return static_cast<MicroUnits>(std::min(micro, Wide{kUnlimited}));
}

}  // namespace fairwater::inline policy::inline core

template <class Tag, class Rep>
struct std::hash<fairwater::StrongId<Tag, Rep>> {
  std::size_t operator()(fairwater::StrongId<Tag, Rep> id) const noexcept {
    return std::hash<Rep>{}(id.value);
  }
};
