// Calls of clients that are open, and whose turn it is to be worked on.
//
//   open ──turn()──> waiting ──its turn──> at work ──answered or cancelled──> gone
//
// Tenants take turns, and only some calls of each are at work at a time. So a tenant with thousands
// of open calls delays another's no more than one with a few does, and what the actors have before
// them is never long. Agents do not come here: a heartbeat is passed on when it arrives.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <set>

#include <kj/async.h>
#include <kj/timer.h>

#include "model/errors.hpp"
#include "policy/core/types.hpp"

namespace fairwater {

struct CallLimits {
  std::uint32_t open = 16'384;
  std::uint32_t open_per_tenant = 4'096;
  /// Enough to fill a group commit, few enough to be done within a heartbeat's patience.
  std::uint32_t at_work = 256;
  std::uint32_t at_work_per_tenant = 64;
};

class CallQueue {
 public:
  /// Counts as open while it lives; as at work from its turn on.
  class Call {
   public:
    Call(CallQueue& queue, TenantId tenant);
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() noexcept;
    /// Resolves when it is the call's turn, at once where nobody has to be waited for. Once; the
    /// call outlives the promise.
    [[nodiscard]] kj::Promise<void> turn();

   private:
    friend class CallQueue;
    CallQueue& queue_;
    const TenantId tenant_;
    bool at_work_ = false;
  };

  explicit CallQueue(CallLimits limits) : limits_(limits) {}

  /// Operators are one tenant among others, with id 0. `overloaded` beyond the limits.
  [[nodiscard]] Expected<kj::Own<Call>> open(TenantId tenant);
  [[nodiscard]] std::uint32_t open_calls() const { return open_; }
  [[nodiscard]] std::uint32_t calls_at_work() const { return at_work_; }

 private:
  class Turn;
  struct Lane {
    std::uint32_t open = 0;
    std::uint32_t at_work = 0;
    std::list<Turn*> waiting;  ///< in order of arrival; borrowed from the promises that wait
  };

  /// Keeps may_go_on_ true after a change of the lane.
  void changed(TenantId tenant, const Lane& lane);
  void start_next();

  const CallLimits limits_;
  std::map<TenantId, Lane> lanes_;  ///< with open calls
  std::set<TenantId> may_go_on_;    ///< whose next call waits for nothing but its turn
  TenantId last_;                   ///< who had the last turn
  std::uint32_t open_ = 0;
  std::uint32_t at_work_ = 0;
};

/// When refusals are answered: late, so that a client that asks again on refusal is slowed by it,
/// and in all not more often than the loop can afford beside its work (a call costs it some 50 us).
class Refusals {
 public:
  static constexpr auto kDelay = 100 * kj::MILLISECONDS;
  static constexpr auto kInterval = 1 * kj::MILLISECONDS;

  explicit Refusals(kj::Timer& timer) : timer_(timer), last_(timer.now()) {}
  [[nodiscard]] kj::Promise<void> next();

 private:
  kj::Timer& timer_;
  kj::TimePoint last_;
};

}  // namespace fairwater
