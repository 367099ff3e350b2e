#include "gateway/call_queue.hpp"

#include <algorithm>
#include <string>

#include "policy/core/check.hpp"

namespace fairwater {

/// Waits in its lane while it lives, until it begins.
class CallQueue::Turn {
 public:
  Turn(kj::PromiseFulfiller<void>& fulfiller, Call& call)
      : fulfiller_(fulfiller), call_(call), lane_(call.queue_.lanes_.at(call.tenant_)) {
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
    lane_.waiting.erase(place_);
    ++lane_.at_work;
    call_.at_work_ = true;
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
  const auto lane = queue_.lanes_.find(tenant_);
  --queue_.open_;
  --lane->second.open;
  if (at_work_) {
    --queue_.at_work_;
    --lane->second.at_work;
  }
  queue_.changed(tenant_, lane->second);
  if (lane->second.open == 0) queue_.lanes_.erase(lane);
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
  return kj::heap<Call>(*this, tenant);
}

void CallQueue::changed(TenantId tenant, const Lane& lane) {
  if (!lane.waiting.empty() && lane.at_work < limits_.at_work_per_tenant)
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
    ++at_work_;
    lane.waiting.front()->begin();
    changed(last_, lane);
  }
}

kj::Promise<void> Refusals::next() {
  last_ = std::max(timer_.now() + kDelay, last_ + kInterval);
  return timer_.atTime(last_);
}

}  // namespace fairwater
