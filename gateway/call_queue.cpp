#include "gateway/call_queue.hpp"

#include <algorithm>
#include <string>

#include "policy/core/check.hpp"

namespace fairwater::inline gateway {

/// Waits in its lane while it lives, until it begins.
class CallQueue::Turn {
 public:
  Turn(kj::PromiseFulfiller<void>& fulfiller, Call& call)
      : fulfiller_(fulfiller), call_(call), lane_(call.queue_.lanes_.at(call.tenant_)) {
    if (lane_.pace == Pace::steady && lane_.at_work == 0 && lane_.waiting.empty())
      call_.queue_.note_caller(call_.tenant_);
    place_ = lane_.waiting.insert(lane_.waiting.end(), this);
    call_.queue_.changed(call_.tenant_, lane_);
    call_.queue_.start_next();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (call_.at_work_) return;
    lane_.waiting.erase(place_);
    call_.queue_.changed(call_.tenant_, lane_);
  }

  void begin() {
    call_.queue_.begun(call_, lane_);
    lane_.waiting.erase(place_);
    fulfiller_.fulfill();
  }

 private:
  kj::PromiseFulfiller<void>& fulfiller_;
  Call& call_;
  Lane& lane_;
  std::list<Turn*>::iterator place_;
};

CallQueue::Call::Call(CallQueue& queue, TenantId tenant) : queue_(queue), tenant_(tenant) {
  ++queue_.open_;
  ++queue_.lanes_[tenant_].open;
}

CallQueue::Call::~Call() noexcept {
  auto& lane = queue_.lanes_.at(tenant_);
  FAIRWATER_CHECK(queue_.open_ > 0 && lane.open > 0, "a call is open until it ends");
  --queue_.open_;
  --lane.open;
  if (at_work_) queue_.ended(*this, lane);
  queue_.changed(tenant_, lane);
  queue_.start_next();
}

kj::Promise<void> CallQueue::Call::turn() { return kj::newAdaptedPromise<void, Turn>(*this); }

Expected<kj::Own<CallQueue::Call>> CallQueue::open(TenantId tenant) {
  if (open_ >= limits_.open)
    return make_error(ErrorCode::overloaded, "more than " + std::to_string(limits_.open) +
                                                 " calls at once; try again later");
  const auto lane = lanes_.find(tenant);
  if (lane != lanes_.end() && lane->second.open >= limits_.open_per_tenant)
    return make_error(ErrorCode::overloaded,
                      "more than " + std::to_string(limits_.open_per_tenant) +
                          " calls at once of one tenant; try again when some are answered");
  return kj::refcounted<Call>(*this, tenant);
}

void CallQueue::changed(TenantId tenant, const Lane& lane) {
  const bool in_pace =
      lane.pace == Pace::steady || (lane.pace == Pace::burst && lane.begun < limits_.burst);
  if (!lane.waiting.empty() && lane.at_work < limits_.at_work_per_tenant && in_pace)
    may_go_on_.insert(tenant);
  else
    may_go_on_.erase(tenant);
}

void CallQueue::start_next() {
  while (at_work_ < limits_.at_work && !may_go_on_.empty()) {
    auto next = may_go_on_.upper_bound(last_);
    if (next == may_go_on_.end()) next = may_go_on_.begin();
    last_ = *next;
    auto& lane = lanes_.at(last_);
    lane.waiting.front()->begin();
    changed(last_, lane);
  }
}

void CallQueue::begun(Call& call, Lane& lane) {
  if (lane.pace == Pace::steady && is_paced(call.tenant_, lane)) start_burst(call.tenant_, lane);
  if (lane.pace == Pace::burst) {
    call.burst_ = lane.burst;
    ++lane.begun;
    lane.at_once = std::max(lane.at_once, ++lane.unanswered);
  }
  call.at_work_ = true;
  ++at_work_;
  ++lane.at_work;
  FAIRWATER_CHECK(at_work_ <= limits_.at_work && lane.at_work <= limits_.at_work_per_tenant,
                  "the actors have no more calls before them than they may");
}

void CallQueue::ended(const Call& call, Lane& lane) {
  --at_work_;
  --lane.at_work;
  if (lane.pace != Pace::burst || call.burst_ != lane.burst || --lane.unanswered > 0) return;
  if (lane.at_once > limits_.without_rest)
    rest_after_burst(call.tenant_, lane);
  else
    lane.pace = Pace::steady;
}

void CallQueue::note_caller(TenantId tenant) {
  if (last_caller_ && last_caller_->tenant != tenant) caller_before_ = last_caller_;
  last_caller_ = Caller{tenant, timer_.now()};
}

bool CallQueue::somebody_else_calls(TenantId tenant) const {
  const auto& other =
      last_caller_ && last_caller_->tenant == tenant ? caller_before_ : last_caller_;
  return other && timer_.now() - other->called_at < kRecently;
}

bool CallQueue::is_paced(TenantId tenant, const Lane& lane) const {
  return lane.at_work + lane.waiting.size() > limits_.without_rest && somebody_else_calls(tenant);
}

void CallQueue::start_burst(TenantId tenant, Lane& lane) {
  lane.pace = Pace::burst;
  lane.begun = lane.unanswered = lane.at_once = 0;
  ++lane.burst;
  lane.burst_began = timer_.now();
  lane.burst_end = timer_.afterDelay(kMaxBurst)
                       .then([this, tenant, &lane, burst = lane.burst] {
                         if (lane.pace != Pace::burst || lane.burst != burst) return;
                         rest_after_burst(tenant, lane);
                         changed(tenant, lane);
                       })
                       .eagerlyEvaluate(nullptr);
}

void CallQueue::rest_after_burst(TenantId tenant, Lane& lane) {
  lane.pace = Pace::rest;
  const auto too_many = lane.at_once - std::min(lane.at_once, limits_.without_rest);
  const auto took = std::min(timer_.now() - lane.burst_began, kj::Duration(kMaxBurst));
  const auto rest = took * std::min(too_many, limits_.rests_per_burst);
  lane.rest_end = timer_.afterDelay(rest)
                      .then([this, tenant, &lane] {
                        lane.pace = Pace::steady;
                        changed(tenant, lane);
                        start_next();
                      })
                      .eagerlyEvaluate(nullptr);
}

kj::Promise<void> Refusals::next() {
  last_ = std::max(timer_.now() + kDelay, last_ + kInterval);
  return timer_.atTime(last_);
}

}  // namespace fairwater::inline gateway
