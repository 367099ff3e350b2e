// The sized mode of sequence deployment (Wang, Hong, Feng): tenants declare the size of each task
// on one resource, and a heartbeat's free units are dealt, settled, pooled, filled, backfilled and
// rolled back. For any number of tenants. Exact: whole units throughout.
//
// The runtime's allocator (policy/allocator/allocator.hpp) is built from the same steps
// (policy/allocator/deal_steps.hpp); what it adds is nodes, several resources, quotas, and the
// deficit of parts too small for a task.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/allocator/deal.hpp"
#include "policy/allocator/turns.hpp"
#include "policy/core/types.hpp"
#include "policy/ledger/iou_book.hpp"
#include "policy/quota/water_fill.hpp"
#include "policy/sequence/sequence.hpp"

namespace fairwater::inline policy::inline allocator {

struct SizedSettings {
  Amount granule = 1;                          ///< amount per unit; sizes are rounded up
  std::uint32_t repay_millionths = 1'000'000;  ///< mu, 1..1'000'000
  std::uint32_t backups = 1;                   ///< next tasks per tenant that the backfill looks at
};

struct SizedTenant {
  Weight weight = 1;
  std::vector<Amount> tasks;  ///< sizes in the tenant's own order
};

/// What one heartbeat meant for one tenant, in units.
struct SizedLine {
  Units granted = 0;
  Units allowance = 0;  ///< after the settlement
  std::vector<Units> placed;
  Units entitled = 0;  ///< allowance less the slots rolled back
  Units balance = 0;
  Units total = 0;  ///< placed so far
  friend bool operator==(const SizedLine&, const SizedLine&) = default;
};

struct SizedHeartbeat {
  Units units = 0;
  Units unused = 0;
  std::uint64_t position = 0;    ///< in [0, period)
  std::vector<SizedLine> lines;  ///< in the order in which the tenants were given
};

class SizedDeal {
 public:
  /// Granule, sizes and weights must be positive, weights at most 10^9.
  SizedDeal(const SizedSettings& settings, const std::vector<SizedTenant>& tenants);

  /// Deals `units` (0 to 10^12) free units of one node. O(tenants * log + tasks placed * (log +
  /// backups)).
  SizedHeartbeat heartbeat(Units units);

  /// Members are the tenants' indices.
  [[nodiscard]] const IouBook& book() const { return book_; }

 private:
  struct Queue {
    Weight weight = 1;
    std::vector<Units> costs;  ///< of the waiting tasks
    std::size_t head = 0;      ///< costs before it are placed
    Units demand = 0;          ///< sum of what waits
    Units total = 0;
    [[nodiscard]] bool waits() const { return head < costs.size(); }
  };
  /// One heartbeat's working state: lines in the order of the tenants.
  struct Heartbeat {
    Units free = 0;
    std::vector<TenantLine> lines;
    std::vector<std::vector<Units>> placed;
  };

  struct Fill;
  struct Backfill;
  void settle_debts(Heartbeat& heartbeat);
  void pool_and_fill(Heartbeat& heartbeat);
  void backfill(Heartbeat& heartbeat);
  void close(Heartbeat& heartbeat);
  void place(Heartbeat& heartbeat, std::size_t tenant, std::size_t task);

  SizedSettings settings_;
  std::vector<Queue> queues_;
  Sequence sequence_;
  std::vector<std::size_t> ranked_;  ///< tenant indices
  std::uint64_t period_ = 1;
  IouBook book_;
  WaterFiller filler_;
  std::vector<QueuedTurn> turns_;
};

}  // namespace fairwater::inline policy::inline allocator
