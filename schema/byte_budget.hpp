// How much one message may hold. Cap'n Proto's RPC refuses to send a message above the sender's own
// limit (8 MiB in the coordinator) and closes the connection with it, so every list that grows with
// work is cut into messages by this budget, wherever it is made.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <capnp/message.h>

namespace fairwater::inline schema {

/// For one message's list. Far enough below the limit for what a message has beside its list and
/// for a last element that is large itself: one job is bounded by kMaxSpecBytes.
inline constexpr std::size_t kMessageBudgetBytes = 1u << 20;

class ByteBudget {
 public:
  explicit ByteBudget(std::size_t bytes = kMessageBudgetBytes) : left_(bytes) {}

  /// Whether another element of this size fits. The first always does: a page has to make progress.
  [[nodiscard]] bool take(std::size_t bytes) {
    if (bytes > left_ && !first_) return false;
    first_ = false;
    left_ -= std::min(left_, bytes);
    taken_ += bytes;
    return true;
  }
  [[nodiscard]] std::size_t taken() const { return taken_; }

 private:
  std::size_t left_;
  std::size_t taken_ = 0;
  bool first_ = true;
};

/// What the value takes in a message: wire_bytes<wire::JobRecord>(job). O(size), it encodes it.
template <class Wire, class Value>
[[nodiscard]] std::size_t wire_bytes(const Value& value) {
  constexpr capnp::uint kFirstWords = 128;  // most values are small, and what is reserved is zeroed
  capnp::MallocMessageBuilder message(kFirstWords);
  encode(value, message.initRoot<Wire>());
  return message.sizeInWords() * sizeof(capnp::word);
}

/// How many of `values`, from `first` on, fit one message; at least one where there is one.
template <class Wire, class Value>
[[nodiscard]] std::size_t count_fitting(const std::vector<Value>& values, std::size_t first = 0,
                                        ByteBudget budget = ByteBudget{}) {
  std::size_t last = first;
  while (last < values.size() && budget.take(wire_bytes<Wire>(values[last]))) ++last;
  return last - first;
}

}  // namespace fairwater::inline schema
