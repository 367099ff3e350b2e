#include "actors/coordinator/rivals.hpp"

#include <utility>

#include "policy/core/check.hpp"

namespace fairwater::inline actors::inline coordinator {

Rivals::Verdict Rivals::judge(const AgentRun& run, bool moved, const Holder& holder,
                              TimePoint now) {
  if (run == holder.run && !is_fenced_) return Verdict::let_in;
  if (run.starts < holder.run.starts) return Verdict::superseded;
  if (holder.is_lost) return Verdict::let_in;
  if (is_fenced_) return Verdict::fenced;
  if (run.starts == holder.run.starts || moved) return Verdict::copied;
  if (!holder.is_connected) return Verdict::let_in;
  if (!rival_) rival_since_ = now;
  rival_ = run;
  seen_ = now;
  return Verdict::connected;
}

bool Rivals::is_contested(TimePoint now, std::chrono::milliseconds lease,
                          std::chrono::milliseconds heartbeat_interval) {
  if (rival_ && now > seen_ + lease) rival_.reset();
  return rival_ && now >= rival_since_ + heartbeat_interval;
}

AgentRun Rivals::fence() {
  FAIRWATER_CHECK(rival_.has_value(), "a run is fenced for a later one");
  is_fenced_ = true;
  return *std::exchange(rival_, std::nullopt);
}

void Rivals::settle() {
  is_fenced_ = false;
  rival_.reset();
}

bool Rivals::note(std::string problem, TimePoint now) {
  seen_ = now;
  if (problem == problem_) return false;
  problem_ = std::move(problem);
  return true;
}

const std::string& Rivals::problem(TimePoint now) {
  if (now > seen_ + kGone) problem_.clear();
  return problem_;
}

}  // namespace fairwater::inline actors::inline coordinator
