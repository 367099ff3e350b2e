// A process of the simulated cluster: an actor system of its own, on virtual time, whose actors run
// only when and in the order in which the simulator says. It dies with all that its mailboxes hold.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include "model/errors.hpp"
#include "tests/cluster_sim/world/stage.hpp"

namespace fairwater::cluster_sim {

/// Runs in the process, for a request whose answer is waited for.
struct Errand {
  std::function<void(caf::event_based_actor*)> run;
};

}  // namespace fairwater::cluster_sim

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::cluster_sim::Errand)

namespace fairwater::cluster_sim {

/// A quarter of an hour in a day.
inline constexpr std::int64_t kMaxDrift_ppm = 10'000;
/// The dates that coordinators' machines show may be wrong by so much.
inline constexpr std::int64_t kMostApart_us = 10 * kSecond;

/// A machine's clock: it gains or loses against the simulator's.
class DriftingClock {
 public:
  explicit DriftingClock(std::int64_t gain_ppm = 0) : gain_ppm_(gain_ppm) {}
  [[nodiscard]] std::int64_t local_us(std::int64_t us) const {
    return us + us / 1'000'000 * gain_ppm_ + us % 1'000'000 * gain_ppm_ / 1'000'000;
  }
  /// The first moment at which the clock shows `local_us` or more.
  [[nodiscard]] std::int64_t when_us(std::int64_t local_us) const;

 private:
  std::int64_t gain_ppm_;
};

class ActorProcess {
 public:
  ActorProcess(const Timeline& time, DriftingClock clock);
  ~ActorProcess();
  ActorProcess(const ActorProcess&) = delete;
  ActorProcess& operator=(const ActorProcess&) = delete;

  [[nodiscard]] caf::actor_system& system() { return *system_; }
  /// The actor ends with the process. When it ends before, `ended` is called from within it.
  template <class Handle>
  void own(const Handle& actor, std::function<void(const caf::error&)> ended = {}) {
    adopt(caf::actor_cast<caf::actor>(actor), std::move(ended));
  }
  /// When the actor ends before the process does, `ended` is called from within it.
  template <class Handle>
  void watch(const Handle& actor, std::function<void(const caf::error&)> ended) {
    attach(caf::actor_cast<caf::actor>(actor), std::move(ended));
  }
  /// `answer` is called from within an actor.
  template <class Result, class Target, class Request>
  void ask(const Target& target, Request request, std::function<void(Expected<Result>)> answer) {
    caf::anon_send(errands_, Errand{[target, request = std::move(request),
                                     answer = std::move(answer)](caf::event_based_actor* self) {
                     self->request(target, caf::infinite, request)
                         .then([answer](Result& result) { answer(std::move(result)); },
                               [answer](caf::error& error) { answer(std::move(error)); });
                   }});
  }

  /// Whether an actor but `held_back` has mail.
  [[nodiscard]] bool has_work(const caf::resumable* held_back = nullptr) const {
    const auto& jobs = scheduler_->jobs;
    return jobs.size() > 1 || (jobs.size() == 1 && jobs.front() != held_back);
  }
  /// Lets one of the actors that have mail take one message, but not `held_back`. False when there
  /// is none. Returns the actor that ran.
  const caf::resumable* run_one(Chance& chance, const caf::resumable* held_back);
  /// Messages that the actor that ran last had before it, that one included.
  [[nodiscard]] std::size_t mail_of_last() const { return mail_of_last_; }
  /// The process is slow, or stopped: it runs nothing before.
  std::int64_t paused_until_us = 0;

  /// When the next timeout of an actor is due.
  [[nodiscard]] std::optional<std::int64_t> next_timeout_us() const;
  /// The clock of the process goes on to the present.
  void catch_up();

 private:
  void adopt(caf::actor actor, std::function<void(const caf::error&)> ended);
  void attach(const caf::actor& actor, std::function<void(const caf::error&)> ended);
  [[nodiscard]] caf::actor_clock::time_point local_now() const;

  const Timeline& time_;
  DriftingClock clock_;
  std::int64_t started_local_us_;
  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  caf::scheduler::test_coordinator* scheduler_;
  caf::actor_clock::time_point first_moment_;
  std::size_t mail_of_last_ = 0;
  caf::actor errands_;
  std::vector<caf::actor> owned_;
  std::shared_ptr<bool> ending_ = std::make_shared<bool>(false);
};

template <class Handle>
[[nodiscard]] const caf::resumable* resumable_of(const Handle& actor) {
  return dynamic_cast<const caf::resumable*>(caf::actor_cast<caf::abstract_actor*>(actor));
}

}  // namespace fairwater::cluster_sim
