// The cluster's resource kinds: names, granules, and amounts as people write them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/errors.hpp"
#include "policy/core/types.hpp"

namespace fairwater::inline model {

/// Largest amount of a resource that anybody may name: exact in JSON, and sums of thousands cannot
/// overflow.
inline constexpr Amount kMaxAmount = Amount{1} << 50;
inline constexpr Amount kMillicoresPerCpu = 1000;
inline constexpr Units kMaxUnitsPerGranule = 1'000'000;

struct ResourceKind {
  std::string name;
  Amount granule = 1;  ///< in base units; > 0
  Units units = 1;     ///< ledger units that one granule costs; > 0
  friend bool operator==(const ResourceKind&, const ResourceKind&) = default;
};

/// Amounts by resource name, as they travel and are stored: a reader needs no catalogue to
/// understand them.
using NamedAmounts = std::map<std::string, Amount>;

/// Gives every resource name its index in a ResourceVector. The first is `cpu` (millicores), the
/// second `memory` (MiB); up to kMaxResources in all. Fixed when a cluster is created.
class ResourceCatalog {
 public:
  /// cpu: 100 millicores for a unit; memory: 256 MiB for a unit; gpu: 1 for 10 units.
  ResourceCatalog();
  /// `invalid_input` for more than kMaxResources kinds, duplicate names, granules or units below 1,
  /// or when cpu and memory do not come first.
  [[nodiscard]] static Expected<ResourceCatalog> make(std::vector<ResourceKind> kinds);

  [[nodiscard]] const std::vector<ResourceKind>& kinds() const { return kinds_; }
  [[nodiscard]] std::optional<std::size_t> index_of(std::string_view name) const;
  [[nodiscard]] ResourceVector granules() const;  ///< 0 for indices beyond the kinds
  [[nodiscard]] ResourceVector units() const;     ///< ledger units per granule

  /// `invalid_input` naming `field.NAME` for a resource that the cluster does not have or an amount
  /// outside 0 .. kMaxAmount.
  [[nodiscard]] Expected<ResourceVector> to_vector(const NamedAmounts& amounts,
                                                   std::string_view field) const;
  /// For a `max`: resources that are not named are unlimited.
  [[nodiscard]] Expected<ResourceVector> to_limit(const NamedAmounts& amounts,
                                                  std::string_view field) const;
  /// Leaves out zero and unlimited amounts.
  [[nodiscard]] NamedAmounts to_named(const ResourceVector& vector) const;

 private:
  explicit ResourceCatalog(std::vector<ResourceKind> kinds) : kinds_(std::move(kinds)) {}
  std::vector<ResourceKind> kinds_;
};

/// Reads an amount as people write it: `cpu` as `1`, `0.5`, `1500m`; `memory` as `512MiB`, `2GiB`,
/// `1TiB`, or a plain number of MiB; others as whole numbers. Returns base units; `invalid_input`
/// naming the resource for anything else, also for fractions of a base unit.
[[nodiscard]] Expected<Amount> parse_amount(std::string_view resource, std::string_view text);
/// `cpu=8,memory=16GiB,gpu=2`
[[nodiscard]] Expected<NamedAmounts> parse_amounts(std::string_view text);
/// `1.5`, `512 MiB`, `2 GiB`: the inverse, for tables.
[[nodiscard]] std::string format_amount(std::string_view resource, Amount amount);
/// `1h30m`, `90s`, `500ms`, `1.5s`, `2d`: numbers with units, larger units first. In milliseconds.
[[nodiscard]] Expected<std::int64_t> parse_duration_ms(std::string_view text);
/// How long something is good: a duration above zero, or `never`, which is 0.
[[nodiscard]] Expected<std::int64_t> parse_lifetime_ms(std::string_view text);

}  // namespace fairwater::inline model
