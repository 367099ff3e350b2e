// Those who wait, so that a deal finds who comes first without a look at everybody. Tenants whose
// windows name tasks that any node may take are put into classes of alike demands: whether one of
// them has a task that fits a node, or could be held there, is so of all. Where the ledger counts
// units, a class has of each member next to each other what nearly always tells where it stands
// with its quota. Where it counts time, its members are ordered by a bound of their turns
// (policy/allocator/time_turns.hpp), which is true as long as what all turns depend on alike, the
// memory and the height of the water, stays within a band. Outside of it the class is ordered anew.
//
// The others (tasks of gangs, that take parts of GPUs, with a placement rule, or with a node of
// their own; windows of which a part is beyond the tenant's max) are a list, and deals look at each
// of them. So do the deals of a node that closes at all: which of a class's tasks end before that
// hangs on their limits.
//
// Invariants, after refresh()
//   - who waits is in one class, or among the others, or has no room below its own max for
//     anything in its window;
//   - a class's sums, its late ones and, while they are known, its order and who of it is in credit
//     follow its members' state.
//
// Internal to policy/allocator.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "policy/allocator/quotas.hpp"
#include "policy/allocator/tenant.hpp"
#include "policy/allocator/time_turns.hpp"
#include "policy/core/ranked_list.hpp"

namespace fairwater::inline policy::inline allocator {

class AllocatorState;

/// One of a class, in its order.
struct Contender {
  TurnClass at_best = TurnClass::has_claim;  ///< it is of this one, or of one after it
  double least = 0;  ///< its turn's value is this or more, for any memory within the band
  TurnTerms terms;
  RankKey rank;
  /// They come at once, and by rank.
  [[nodiscard]] bool is_like(const Contender& other) const {
    return at_best == other.at_best && terms == other.terms;
  }
  friend bool operator<(const Contender& a, const Contender& b);
};

/// Where one of a class stands with its next task, where the ledger counts units.
struct ClaimBounds {
  /// Resources that are told; of tasks that ask for more the first ones do.
  static constexpr std::size_t kResources = 2;
  Units deficit = 0;
  Units waits_for = 0;  ///< cost of the tasks of the first range in its window
  /// By resource, in the order in which the class's next tasks ask for them: while the water stands
  /// below, it is surely not within its quota; or surely at it.
  std::array<double, kResources> within{};
  std::array<double, kResources> straddling{};
};

class Contenders {
 public:
  using Order = std::set<Contender>;
  /// By the ledger's time of their first late task, and slot.
  using ByLateness = std::set<std::pair<LedgerMs, std::uint32_t>>;
  /// Some of those with a task that will be late: by minus the time for which they were kept from
  /// their parts (policy/allocator/late_order.hpp), which is not 0, when they are late, and slot.
  using ByCredit = std::set<std::tuple<std::int64_t, LedgerMs, std::uint32_t>>;
  /// What its members' windows ask for, in their order, neighbours that are alike once.
  struct Demands {
    QuotaTree::Group group = QuotaTree::kRoot;
    ResourceVector least;  ///< see TenantState::least_demand
    std::vector<ResourceVector> next;
    [[nodiscard]] bool are_of(const TenantState& tenant) const;
    friend std::strong_ordering operator<=>(const Demands& a, const Demands& b);
    friend bool operator==(const Demands&, const Demands&) = default;
  };
  struct Class {
    Demands demands;
    std::vector<std::uint32_t> members;  ///< slots, in no order
    std::vector<ClaimBounds> bounds;     ///< theirs, where the ledger counts units
    Wide expected_ms = 0;                ///< of next tasks, where known
    std::int64_t known = 0;              ///< so many are
    ByLateness late;                     ///< those with a task that will be late
    bool has_work = false;               ///< see look_for_work()
    /// Where the ledger counts units: where the water stands, by resource as in the bounds.
    std::array<double, ClaimBounds::kResources> heights{};
  };

  /// The tenant in the slot has changed, or left.
  void note(std::uint32_t slot);
  /// To be called before anything is read after a change. O(changed * log).
  void refresh(const AllocatorState& state);

  /// The largest cost of a next task of those who wait; 0: nobody does.
  [[nodiscard]] Units largest_next_cost() const;
  /// Deals look at each of them.
  [[nodiscard]] const RankedList& others() const { return others_; }
  [[nodiscard]] const ByLateness& late_others() const { return late_others_; }
  /// In a class, and below their min of something.
  [[nodiscard]] const std::set<RankKey>& below_min() const { return below_min_; }
  [[nodiscard]] const std::map<Demands, std::uint32_t>& classes() const { return class_of_; }
  [[nodiscard]] const Class& at(std::uint32_t number) const { return classes_[number]; }

  /// Notes of each class whether its members have tasks that fit `free`.
  void look_for_work(const AllocatorState& state, const ResourceVector& free);
  /// As if no class had any.
  void look_for_no_work();
  /// Whether the tenant in the slot is in a class that had work by the last look.
  [[nodiscard]] bool has_work(std::uint32_t slot) const;
  /// False: it is in such a class, and whatever a deal does, its deficit pays for no task there and
  /// is not left to others.
  [[nodiscard]] bool deficit_may_matter(const TenantState& tenant) const;

  /// What a class's members could hold on a node with so much free.
  enum class Possible : std::uint8_t {
    nothing,
    next,   ///< their next tasks
    other,  ///< not those, but others in their windows
  };
  [[nodiscard]] Possible possible(const AllocatorState& state, const Class& of,
                                  const ResourceVector& free) const;
  /// The members in order, true for that memory. O(1), or O(members * log) outside of the band.
  [[nodiscard]] const Order& in_order(const AllocatorState& state, std::uint32_t number,
                                      std::int64_t memory_ms);
  /// Those of the late ones that are owed something. O(1), or O(members * log) after debts changed.
  [[nodiscard]] const ByCredit& in_credit(const AllocatorState& state, std::uint32_t number);

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  /// Where all turns are bounded by the entries' bounds.
  struct Band {
    bool is_known = false;
    std::int64_t least_memory_ms = 1;
    std::int64_t most_memory_ms = 1;
    AllocatorQuotas::WaterMarks lowest{};
    AllocatorQuotas::WaterMarks highest{};
  };
  struct Ordered {
    Order order;
    Band band;
    std::optional<ByCredit> in_credit;  ///< once it has been asked for
  };
  /// What is known of the tenant in a slot.
  struct Place {
    bool is_stale = false;
    std::uint32_t number = kNone;  ///< of its class
    std::uint32_t at = 0;          ///< among the members
    std::optional<RankKey> among_others;
    std::optional<RankKey> below_min;
    std::optional<Contender> in_order;  ///< while the class is ordered
    std::int64_t less_kept_ms = 0;      ///< as the class has it in credit; 0: it does not
    Units next_cost = 0;
    std::int64_t expected_ms = 0;
    LedgerMs late_ms = kNever;        ///< in its class
    LedgerMs other_late_ms = kNever;  ///< among the others
  };
  enum class Kind : std::uint8_t { of_class, other, beyond_max };

  [[nodiscard]] static Kind kind_of(const AllocatorState& state, const TenantState& tenant);
  void refresh(const AllocatorState& state, std::uint32_t slot);
  // Null: it is not to be there.
  void put_among_others(std::uint32_t slot, const TenantState* tenant);
  void put_below_min(Place& place, const TenantState* tenant);
  void put_in_class(const AllocatorState& state, std::uint32_t slot, const TenantState* tenant);
  void join(std::uint32_t slot, const TenantState& tenant);
  void leave(std::uint32_t slot);
  /// What the class has of the member's state goes, and comes anew.
  void strike(std::uint32_t slot);
  void enter(const AllocatorState& state, std::uint32_t slot);
  void put_in_credit(const AllocatorState& state, std::uint32_t slot, ByCredit& credit);
  [[nodiscard]] static bool is_within(const Band& band, const AllocatorQuotas::WaterMarks& marks,
                                      std::int64_t memory_ms);
  [[nodiscard]] static ClaimBounds bounds_of(const AllocatorState& state,
                                             const TenantState& tenant);
  [[nodiscard]] static Contender contender_of(const AllocatorState& state,
                                              const TenantState& tenant, const Band& band);

  std::vector<Place> places_;  ///< by slot
  std::vector<std::uint32_t> stale_;
  std::uint64_t debts_round_ = 0;              ///< of the order: nets and parts
  std::map<Units, std::uint32_t> next_costs_;  ///< of how many who wait
  RankedList others_;
  ByLateness late_others_;
  std::set<RankKey> below_min_;
  std::vector<Class> classes_;    ///< numbers of those that went are used again
  std::vector<Ordered> ordered_;  ///< by class
  std::vector<std::uint32_t> free_numbers_;
  std::map<Demands, std::uint32_t> class_of_;
};

}  // namespace fairwater::inline policy::inline allocator
