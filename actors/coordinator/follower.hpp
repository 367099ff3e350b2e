// Stands in for the frontend while this coordinator follows another.
//
//   takes  what the frontend takes                         from the gateway
//   sends  nothing: every answer is `not_leader` and says who leads
//   bound  as the frontend's
//
//              any call
//   following ──────────> following
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <caf/actor_system.hpp>

#include "actors/coordinator/frontend.hpp"

namespace fairwater {

/// Who leads, as far as this coordinator knows. From any thread.
class KnownLeader {
 public:
  void set(std::string name, std::string address) {
    const std::lock_guard lock(mutex_);
    name_ = std::move(name);
    address_ = std::move(address);
  }
  /// The answer to every call.
  [[nodiscard]] caf::error refusal() const;

 private:
  mutable std::mutex mutex_;
  std::string name_;     // guarded by mutex_; empty: nobody is known to
  std::string address_;  // guarded by mutex_
};

[[nodiscard]] FrontendActor spawn_follower(caf::actor_system& system,
                                           std::shared_ptr<const KnownLeader> leader);

}  // namespace fairwater
