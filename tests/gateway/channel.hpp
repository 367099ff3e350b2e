// Where a test waits for what another thread does: an event, not a time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include <catch2/catch.hpp>

namespace fairwater::test {

/// Far longer than anything here takes; only a failing test waits for it.
inline constexpr std::chrono::seconds kPatience{60};

template <class Value>
class Channel {
 public:
  void put(Value value) {
    {
      const std::lock_guard lock(mutex_);
      values_.push_back(std::move(value));
    }
    changed_.notify_all();
  }
  /// The oldest value; fails the test when none comes.
  Value take() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, [&] { return !values_.empty(); }))
      FAIL("an event that should have happened did not");
    Value value = std::move(values_.front());
    values_.pop_front();
    return value;
  }
  /// For what should not happen: none when it did not for that long.
  std::optional<Value> take_within(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, time, [&] { return !values_.empty(); })) return std::nullopt;
    Value value = std::move(values_.front());
    values_.pop_front();
    return value;
  }
  [[nodiscard]] std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return values_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Value> values_;
};

}  // namespace fairwater::test
