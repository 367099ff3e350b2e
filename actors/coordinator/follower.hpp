// Stands in for the frontend while this coordinator follows another. Who accepts that at the login
// is shown what this one holds, and how old it may be; everybody else hears who leads.
//
//   takes  what the frontend takes                         from the gateway
//   sends  look-ups and listings                           to the ledger's reader and scanner
//   bound  as the frontend's
//
//              a call of FAIRWATER_FOLLOWER_CALLS: read
//   following ──────────────────────────────────────────> following
//              any other: `not_leader`
//
// Who wants in while the leader may be gone is told who leads as soon as that is known again, or
// after kLongestWait what is known then.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <caf/actor_system.hpp>

#include "actors/coordinator/frontend.hpp"
#include "actors/coordinator/ledger.hpp"

namespace fairwater::inline actors::inline coordinator {

/// Less than agents and clients wait for one of several addresses.
inline constexpr std::chrono::seconds kLongestWait{1};

/// Who leads is asked ten times in a second.
inline constexpr std::chrono::seconds kBlindAfter{2};

/// What a coordinator that follows knows of the others. From any thread.
class Following {
 public:
  using Clock = std::chrono::steady_clock;

  /// `held_at`: when the ledger held all that was durable, as far as its newest record tells.
  explicit Following(Clock::time_point held_at = Clock::now()) : held_at_(held_at) {}

  /// `may_be_gone`: it has not been heard of for longer than usual, or has left.
  void set_leader(std::string name, std::string address, bool may_be_gone = false);
  /// etcd has answered: who leads is known, or that nobody does.
  void note_seen();
  /// All that was durable at that moment is held; `end` is the newest record.
  void set_held(Clock::time_point at, std::uint64_t end);

  [[nodiscard]] std::string leader() const;
  [[nodiscard]] bool may_be_gone() const;
  /// The newest durable record, as far as is known.
  [[nodiscard]] std::uint64_t end() const;
  [[nodiscard]] std::int64_t age_ms(Clock::time_point now) const;
  /// The answer to what only a leader may do.
  [[nodiscard]] caf::error refusal(Clock::time_point now = Clock::now()) const;

 private:
  mutable std::mutex mutex_;
  std::string name_;                          // guarded by mutex_; empty: nobody is known to lead
  Clock::time_point seen_at_ = Clock::now();  // guarded by mutex_; when that was last asked
  std::string address_;                       // guarded by mutex_
  bool may_be_gone_ = false;                  // guarded by mutex_
  Clock::time_point held_at_;                 // guarded by mutex_
  std::uint64_t end_ = 0;                     // guarded by mutex_
};

struct FollowerSettings {
  std::string name;  ///< among the replicas
  std::string version;
  std::function<std::vector<ReplicaInfo>()> replicas;
  std::function<WallTime()> wall_clock = wall_time_now;
  Threading threading = Threading::own;
};

/// The actors of a coordinator that follows; they end with it.
class Follower {
 public:
  Follower(caf::actor_system& system, std::shared_ptr<const Ledger> ledger,
           std::shared_ptr<const Following> following, FollowerSettings settings);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  [[nodiscard]] const FrontendActor& frontend() const { return frontend_; }
  /// For those who follow the journal here.
  void grew(std::uint64_t number) const;
  /// For those who wait for who leads: that is known.
  void heard_leader() const;

 private:
  LedgerReader reader_;
  LedgerScanner scanner_;
  FrontendActor frontend_;
};

}  // namespace fairwater::inline actors::inline coordinator
