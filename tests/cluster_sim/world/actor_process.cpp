#include "tests/cluster_sim/world/actor_process.hpp"

#include <algorithm>

#include "policy/core/check.hpp"

namespace fairwater::cluster_sim {
namespace {

caf::behavior errand_runner(caf::event_based_actor* self) {
  return {[self](const Errand& errand) { errand.run(self); }};
}

}  // namespace

std::int64_t DriftingClock::when_us(std::int64_t local_us_wanted) const {
  constexpr std::int64_t kMargin_us = 10;  // of the estimate, for what rounding takes
  auto us = static_cast<std::int64_t>(static_cast<__int128>(local_us_wanted) * 1'000'000 /
                                      (1'000'000 + gain_ppm_)) -
            kMargin_us;
  while (local_us(us) < local_us_wanted) ++us;
  return us;
}

ActorProcess::ActorProcess(const Timeline& time, DriftingClock clock)
    : time_(time), clock_(clock), started_local_us_(clock.local_us(time.now_us())) {
  config_.set("scheduler.policy", caf::atom("testing"));
  system_ = std::make_unique<caf::actor_system>(config_);
  scheduler_ = &dynamic_cast<caf::scheduler::test_coordinator&>(system_->scheduler());
  first_moment_ = scheduler_->clock().now();
  errands_ = system_->spawn(errand_runner);
}

ActorProcess::~ActorProcess() {
  *ending_ = true;
  caf::anon_send_exit(errands_, caf::exit_reason::kill);
  errands_ = nullptr;
  for (auto& actor : owned_) caf::anon_send_exit(actor, caf::exit_reason::kill);
  owned_.clear();
  // Exits overtake all other mail; what they bounce may wake somebody once more.
  scheduler_->run();
  scheduler_->trigger_timeouts();
  scheduler_->run();
  FAIRWATER_CHECK(system_->registry().running() == 0, "a process ends with all of its actors");
}

void ActorProcess::adopt(caf::actor actor, std::function<void(const caf::error&)> ended) {
  if (ended) attach(actor, std::move(ended));
  owned_.push_back(std::move(actor));
}

void ActorProcess::attach(const caf::actor& actor, std::function<void(const caf::error&)> ended) {
  actor->attach_functor([ending = ending_, ended = std::move(ended)](const caf::error& reason) {
    if (!*ending) ended(reason);
  });
}

const caf::resumable* ActorProcess::run_one(Chance& chance, const caf::resumable* held_back) {
  // Who has mail waits in a queue, but on many processors the order is anybody's.
  constexpr std::size_t kProcessors = 4;
  auto& jobs = scheduler_->jobs;
  for (std::size_t tries = 0; tries < kProcessors; ++tries) {
    const auto chosen =
        static_cast<std::ptrdiff_t>(chance.below(std::min<std::size_t>(jobs.size(), kProcessors)));
    if (jobs[static_cast<std::size_t>(chosen)] == held_back) continue;
    std::rotate(jobs.begin(), jobs.begin() + chosen, jobs.begin() + chosen + 1);
    const auto* actor = jobs.front();
    mail_of_last_ = dynamic_cast<caf::scheduled_actor&>(*jobs.front()).mailbox().size();
    scheduler_->run_once();
    return actor;
  }
  return nullptr;
}

caf::actor_clock::time_point ActorProcess::local_now() const {
  return first_moment_ +
         std::chrono::microseconds(clock_.local_us(time_.now_us()) - started_local_us_);
}

std::optional<std::int64_t> ActorProcess::next_timeout_us() const {
  const auto& schedule = scheduler_->clock().schedule();
  if (schedule.empty()) return std::nullopt;
  const auto after =
      std::chrono::ceil<std::chrono::microseconds>(schedule.begin()->first - first_moment_);
  return clock_.when_us(started_local_us_ + after.count());
}

void ActorProcess::catch_up() {
  const auto behind = local_now() - scheduler_->clock().now();
  if (behind.count() > 0 || !scheduler_->clock().schedule().empty())
    scheduler_->advance_time(std::max(behind, caf::timespan{0}));
}

}  // namespace fairwater::cluster_sim
