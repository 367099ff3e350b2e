// What was used: the sums that the ledger keeps for each day, tenant and user, what is asked of
// them, and what is answered.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/core/types.hpp"

namespace fairwater::inline model {

/// Base units of a resource times milliseconds: no sum of them overflows.
using AmountMs = unsigned __int128;

/// Days since 1970-01-01, UTC.
using DayNumber = std::uint32_t;
/// 9999-12-31.
inline constexpr DayNumber kLastDay = 2'932'896;

/// What was held of one resource: low + high * 2^64.
struct UsedResource {
  std::string name;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  [[nodiscard]] AmountMs total() const { return AmountMs{high} << 64 | low; }
  friend bool operator==(const UsedResource&, const UsedResource&) = default;
};

/// Sums over attempts and jobs.
struct UsageRecord {
  std::vector<UsedResource> used;  ///< by name
  std::uint64_t succeeded = 0;     ///< attempts that ended so, likewise the next three
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;     ///< stopped on order
  std::uint64_t lost = 0;          ///< given back, or ended by what is not the task's doing
  std::uint64_t submitted = 0;     ///< jobs
  std::uint64_t first_starts = 0;  ///< tasks that were granted for the first time
  std::uint64_t waited_ms = 0;     ///< of these, from the job's submission
  friend bool operator==(const UsageRecord&, const UsageRecord&) = default;
};

void add_used(UsageRecord& usage, const std::string& resource, AmountMs used);
/// Adds every sum of `more`.
void add(UsageRecord& usage, const UsageRecord& more);

/// Whose sums they are. In a listing what is not told apart is 0, no tenant and no user.
struct UsageGroup {
  DayNumber day = 0;
  TenantId tenant;
  std::string user;  ///< of the tenant; empty: jobs that have none
  friend auto operator<=>(const UsageGroup&, const UsageGroup&) = default;
};

enum class UsagePeriod : std::uint8_t { whole = 0, day = 1, month = 2 };
inline constexpr UsagePeriod kLastUsagePeriod = UsagePeriod::month;

/// As `2026-11-23`.
[[nodiscard]] std::string iso_date(DayNumber day);
/// The first day of the month that the day is in.
[[nodiscard]] DayNumber month_of(DayNumber day);

struct UsageQuery {
  DayNumber first_day = 0;
  DayNumber last_day = 0;   ///< included
  std::string tenant = {};  ///< and all that are in it; empty: all that the caller may see
  std::string user = {};    ///< empty: all users', and what has none
  // What is told apart:
  UsagePeriod period = UsagePeriod::whole;
  bool by_tenant = false;
  bool by_user = false;
  std::optional<UsageGroup> after = {};  ///< only groups that follow it, for the next page
  friend bool operator==(const UsageQuery&, const UsageQuery&) = default;
};
/// The group that these sums are counted in.
[[nodiscard]] UsageGroup group_of(const UsageGroup& sums, const UsageQuery& query);

struct UsageRow {
  UsageGroup group;    ///< its day is the first of its period
  std::string tenant;  ///< its name; empty when it was removed, or is not told apart
  UsageRecord usage;
  friend bool operator==(const UsageRow&, const UsageRow&) = default;
};

}  // namespace fairwater::inline model
