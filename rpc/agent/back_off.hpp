// How long an agent waits before it tries again to reach a coordinator. Pure but for its seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

namespace fairwater::inline rpc::inline agent {

/// At random up to what doubles with each failure of all addresses. When a coordinator goes, all
/// agents of a cluster lose it in one instant: they must not come back in one, because it lets in
/// some thousand a second.
class BackOff {
 public:
  /// The first waits are `first_ms` in the mean; none is longer than `longest_ms`.
  BackOff(std::int64_t first_ms, std::int64_t longest_ms, std::uint64_t seed)
      : first_ms_(first_ms), longest_ms_(longest_ms), random_(seed) {}

  /// In milliseconds, after a failure at one of so many addresses.
  [[nodiscard]] std::int64_t next_ms(std::size_t addresses);
  /// The last try was no failure.
  void reset() { failures_ = 0; }
  [[nodiscard]] std::size_t failures() const { return failures_; }

 private:
  std::int64_t first_ms_;
  std::int64_t longest_ms_;
  std::mt19937_64 random_;
  std::size_t failures_ = 0;
};

}  // namespace fairwater::inline rpc::inline agent
