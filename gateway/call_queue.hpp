// Calls of clients that are open, and whose turn it is to be worked on.
//
//   open ──turn()──> waiting ──its turn──> at work ──answered by the actors──> gone
//                        └── cancelled ────────────────────────────────────────^
//
// Who goes within a call does not end it: the actors are at it still, so it keeps its place. Else
// whoever calls and goes, over and over, would fill their mailboxes.
//
// Tenants take turns, and only some calls of each are at work at a time, so what the actors have
// before them is never long. Agents do not come here: a heartbeat is passed on when it arrives.
//
// Turns alone are not enough: the loop takes its events in order, and a few calls at work at all
// times keep some hundred before it. So while somebody else calls now and then, a tenant with
// several calls at once is served in bursts, with rests between them that leave the loop, the
// actors and the disk to others:
//
//   steady ──several at once──> burst ──all answered──> rest ──> steady
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>

#include <kj/async.h>
#include <kj/refcount.h>
#include <kj/timer.h>

#include "model/errors.hpp"
#include "policy/core/types.hpp"

namespace fairwater::inline gateway {

struct CallLimits {
  std::uint32_t open = 16'384;
  std::uint32_t open_per_tenant = 4'096;
  /// Enough to fill a group commit, few enough to be done within a heartbeat's patience.
  std::uint32_t at_work = 256;
  std::uint32_t at_work_per_tenant = 64;
  /// Calls of a burst, and how many at once do not make one.
  std::uint32_t burst = 32;
  std::uint32_t without_rest = 2;
  /// A rest is as many times as long as its burst as there were more calls at work at once, but at
  /// most so many times: a flood takes a sixth of the time.
  std::uint32_t rests_per_burst = 5;
};

class CallQueue {
 public:
  /// A burst is taken for done by then: calls that take long keep no more than their places.
  static constexpr auto kMaxBurst = 10 * kj::MILLISECONDS;
  /// Somebody calls who has done so within this time while none other of its calls was open.
  static constexpr auto kRecently = 1 * kj::SECONDS;

  /// Counts as open while anybody has it; as at work from its turn on.
  class Call final : public kj::Refcounted {
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
    std::uint64_t burst_ = 0;  ///< its number in the lane; 0 when not of a burst
  };

  CallQueue(CallLimits limits, kj::Timer& timer) : limits_(limits), timer_(timer) {}

  /// Operators are one tenant among others, with id 0. `overloaded` beyond the limits.
  [[nodiscard]] Expected<kj::Own<Call>> open(TenantId tenant);
  [[nodiscard]] std::uint32_t open_calls() const { return open_; }
  [[nodiscard]] std::uint32_t calls_at_work() const { return at_work_; }

 private:
  class Turn;
  enum class Pace { steady, burst, rest };
  struct Lane {
    std::uint32_t open = 0;
    std::uint32_t at_work = 0;
    std::list<Turn*> waiting;  ///< in order of arrival; borrowed from the promises that wait
    Pace pace = Pace::steady;
    std::uint32_t begun = 0;       ///< calls of the burst
    std::uint32_t unanswered = 0;  ///< of them
    std::uint32_t at_once = 0;     ///< of them, at most
    std::uint64_t burst = 0;       ///< number of the last one
    kj::TimePoint burst_began = kj::origin<kj::TimePoint>();
    kj::Promise<void> burst_end = nullptr;  ///< at the latest
    kj::Promise<void> rest_end = nullptr;
  };
  struct Caller {
    TenantId tenant;
    kj::TimePoint called_at;
  };

  /// Keeps may_go_on_ true after a change of the lane.
  void changed(TenantId tenant, const Lane& lane);
  void start_next();
  void begun(Call& call, Lane& lane);
  void ended(const Call& call, Lane& lane);

  void note_caller(TenantId tenant);
  [[nodiscard]] bool somebody_else_calls(TenantId tenant) const;
  [[nodiscard]] bool is_paced(TenantId tenant, const Lane& lane) const;
  void start_burst(TenantId tenant, Lane& lane);
  void rest_after_burst(TenantId tenant, Lane& lane);

  const CallLimits limits_;
  kj::Timer& timer_;
  std::optional<Caller> last_caller_;
  std::optional<Caller> caller_before_;  ///< the last other tenant than that
  std::map<TenantId, Lane> lanes_;       ///< of all tenants that have called
  std::set<TenantId> may_go_on_;         ///< whose next call waits for nothing but its turn
  TenantId last_;                        ///< who had the last turn
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

}  // namespace fairwater::inline gateway
