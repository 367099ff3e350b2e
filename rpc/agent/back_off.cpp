#include "rpc/agent/back_off.hpp"

#include <algorithm>

namespace fairwater::inline rpc::inline agent {

std::int64_t BackOff::next_ms(std::size_t addresses) {
  const std::size_t rounds = failures_++ / addresses;
  std::int64_t most_ms = 2 * first_ms_;
  for (std::size_t i = 0; i < rounds && most_ms < longest_ms_; ++i) most_ms *= 2;
  most_ms = std::clamp<std::int64_t>(most_ms, 1, longest_ms_);
  return std::uniform_int_distribution<std::int64_t>(0, most_ms)(random_);
}

}  // namespace fairwater::inline rpc::inline agent
