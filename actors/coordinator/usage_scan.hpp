// A listing of what was used, read in slices: the days that are asked for, in their order, added up
// by group. Pure, but for the ledger that it reads.
//
// It holds a bounded number of groups, those that come first, whatever the days hold: the others
// are left to the next page, which reads on after these, or the same days again where days are not
// told apart.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "actors/coordinator/ledger.hpp"
#include "model/usage.hpp"

namespace fairwater::inline actors::inline coordinator {

class UsageScan {
 public:
  using Answer = UsageList;
  static constexpr std::size_t kMostGroups = 4096;

  /// `not_found` naming `tenant` for a tenant that never was. One that was removed is called
  /// `tenant-N`.
  [[nodiscard]] static Expected<UsageScan> make(const Ledger& ledger, const QuerySums& request,
                                                std::size_t most_groups = kMostGroups);

  /// Reads on for about ten milliseconds; true when the listing is complete.
  [[nodiscard]] bool read_slice(const Ledger& ledger);
  [[nodiscard]] UsageList take();

 private:
  UsageScan(const QuerySums& request, std::size_t most_groups);

  /// Counts the sums, if they are wanted; false when the slice has to go on elsewhere, or nowhere.
  bool take_sums(const UsageGroup& sums, const UsageRecord& usage);
  void count(const UsageGroup& group, const UsageRecord& usage);
  /// The next that may be wanted, from `sums` on, which is not.
  [[nodiscard]] UsageGroup next_wanted(const UsageGroup& sums) const;
  [[nodiscard]] bool is_beyond(const UsageGroup& group) const {
    return beyond_ && group >= *beyond_;
  }

  UsageQuery query_;
  std::optional<TenantId> shown_as_;  ///< whose all sums are, for one who sees no others
  std::size_t most_groups_;
  std::optional<std::set<TenantId>> tenants_;  ///< wanted; none: all
  std::map<TenantId, std::string> names_;
  std::optional<UsageGroup> next_;    ///< to be read; none: nothing
  std::optional<UsageGroup> beyond_;  ///< the first group that was left out
  std::map<UsageGroup, UsageRecord> sums_;
};

}  // namespace fairwater::inline actors::inline coordinator
