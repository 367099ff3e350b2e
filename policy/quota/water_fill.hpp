// FuxiMaster's QuotaGroup water-fill for one resource, in whole and incremental form, one meaning:
//
//   eff  = min(request, max);  base = min(eff, min) is served first;
//   rest = capacity - sum(base) is poured by weight over the parts need = eff - base, every group
//   stopping at its own. Groups still asking are laid end to end in order of (need / weight, input
//   order); one with weights P before it and W in all gets floor(rest*(P+weight)/W) -
//   floor(rest*P/W) on top of its base, where rest and W are what is left for the groups that do
//   not reach their need. When the bases alone exceed the capacity they are scaled likewise, in
//   input order, with the bases as weights.
// The results add up to min(capacity, sum(eff)); a group of weight 0 gets its base alone. Exact in
// 128-bit integers for weights and amounts up to 2^62.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline quota {

struct QuotaGroup {
  Weight weight = 1;
  Amount min = 0;
  Amount max = kUnlimited;
  Amount request = 0;
  /// What it can use.
  [[nodiscard]] constexpr Amount wanted() const { return std::min(request, max); }
  /// What it is given before anything is poured.
  [[nodiscard]] constexpr Amount base() const { return std::min(wanted(), min); }
  friend bool operator==(const QuotaGroup&, const QuotaGroup&) = default;
};

/// The height at which pouring stopped, as the exact fraction poured / weight; none when all are
/// satisfied.
struct WaterMark {
  Wide poured = 0;
  Wide weight = 1;
};

struct WaterFillResult {
  std::vector<Amount> runtime;  ///< one per group, in input order
  std::optional<WaterMark> level;
};

/// One level in linear expected time.
[[nodiscard]] WaterFillResult water_fill(Amount capacity, std::span<const QuotaGroup> groups);

/// The same for many levels, one after the other: keeps its working memory, which for 100,000
/// groups is a quarter of the time.
class WaterFiller {
 public:
  WaterFiller();
  WaterFiller(WaterFiller&&) noexcept;
  WaterFiller& operator=(WaterFiller&&) noexcept;
  ~WaterFiller();

  /// Valid until the next call. `capacity` is not negative.
  const WaterFillResult& fill(Amount capacity, std::span<const QuotaGroup> groups);

 private:
  class Impl;
  friend WaterFillResult water_fill(Amount capacity, std::span<const QuotaGroup> groups);
  std::unique_ptr<Impl> impl_;
};

/// The same meaning under change: set, erase and runtime() in O(log n). Input order is the order of
/// `key`, which the caller chooses. Reading remembers where the water stood, so even constant
/// functions are not for several threads at once.
class WaterLevel {
 public:
  using Key = std::uint32_t;

  WaterLevel();
  WaterLevel(const WaterLevel& other);
  WaterLevel(WaterLevel&&) noexcept;
  WaterLevel& operator=(const WaterLevel& other);
  WaterLevel& operator=(WaterLevel&&) noexcept;
  ~WaterLevel();

  void set_capacity(Amount capacity);
  [[nodiscard]] Amount capacity() const;
  /// Adds the group or replaces what was known of it.
  void set(Key key, const QuotaGroup& group);
  /// Changes the request alone; the group must be there.
  void set_request(Key key, Amount request);
  void erase(Key key);
  [[nodiscard]] bool contains(Key key) const;
  [[nodiscard]] const QuotaGroup& group(Key key) const;
  [[nodiscard]] Amount runtime(Key key) const;
  [[nodiscard]] std::optional<WaterMark> level() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fairwater::inline policy::inline quota
