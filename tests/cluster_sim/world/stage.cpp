#include "tests/cluster_sim/world/stage.hpp"

#include <cstdio>

namespace fairwater::cluster_sim {

std::int64_t Chance::spread(std::int64_t low, std::int64_t high) {
  std::uint64_t doublings = 0;
  while ((low << doublings) < high) ++doublings;
  const std::int64_t from = low << below(doublings + 1);
  return std::min(high, between(from, 2 * from));
}

WallTime Timeline::wall_time() const {
  constexpr std::int64_t kStart_us = 1'700'000'000'000'000;
  return {kStart_us + now_us_};
}

std::optional<std::int64_t> Timeline::next_us() const {
  return events_.empty() ? std::nullopt : std::optional(events_.begin()->first);
}

bool Timeline::run_one() {
  if (events_.empty() || events_.begin()->first > now_us_) return false;
  const Event event = std::move(events_.begin()->second);
  events_.erase(events_.begin());
  event();
  return true;
}

void EventLog::add(const std::string& text) {
  constexpr std::uint64_t kPrime = 0x100000001b3U;
  const auto mix = [&](std::uint64_t byte) { hash_ = (hash_ ^ byte) * kPrime; };
  for (const char c : text) mix(static_cast<unsigned char>(c));
  for (int shift = 0; shift < 64; shift += 8) mix((time_.now_us() >> shift) & 0xff);
  ++lines_;
  if (verbose_)
    std::printf("%11.6f  %s\n", static_cast<double>(time_.now_us()) / 1e6, text.c_str());
}

}  // namespace fairwater::cluster_sim
