#include "rpc/agent/back_off.hpp"

#include <algorithm>
#include <vector>

#include <catch2/catch.hpp>

#include "rpc/agent/agent_client.hpp"

using namespace fairwater;

namespace {

constexpr std::size_t kAgents = 5'000;

/// When agents that lost their coordinator at 0 reach one that is back after `away_ms`.
std::vector<std::int64_t> arrivals_ms(std::size_t addresses, std::int64_t away_ms) {
  const AgentClientOptions options;
  std::vector<std::int64_t> arrivals;
  for (std::size_t agent = 0; agent < kAgents; ++agent) {
    BackOff back_off(options.reconnect_min_ms, options.reconnect_max_ms, agent);
    std::int64_t now_ms = 0;
    do now_ms += back_off.next_ms(addresses);
    while (now_ms < away_ms);
    arrivals.push_back(now_ms);
  }
  return arrivals;
}

std::size_t most_within(std::int64_t window_ms, std::vector<std::int64_t> arrivals) {
  std::sort(arrivals.begin(), arrivals.end());
  std::size_t most = 0;
  for (auto first = arrivals.begin(), last = first; last != arrivals.end(); ++last) {
    while (*last - *first >= window_ms) ++first;
    most = std::max(most, static_cast<std::size_t>(last - first) + 1);
  }
  return most;
}

}  // namespace

TEST_CASE("agents that lost their coordinator in one instant come back spread out", "[gateway]") {
  for (const std::size_t addresses : {1, 3})
    for (const std::int64_t away_ms : {0, 150, 1'000, 10'000}) {
      const auto arrivals = arrivals_ms(addresses, away_ms);
      INFO(addresses << " addresses, away for " << away_ms << " ms");
      CHECK(most_within(10, arrivals) < kAgents / 8);
      CHECK(*std::max_element(arrivals.begin(), arrivals.end()) <= away_ms + 3'000);
    }
  // After a long outage there is time to spread them over most of the longest wait.
  CHECK(most_within(100, arrivals_ms(1, 60'000)) < kAgents / 10);
}

TEST_CASE("waits for a coordinator grow with each failure of all addresses, and begin anew",
          "[gateway]") {
  const auto most_ms = [](std::size_t failures, bool reset) {
    std::int64_t most = 0;
    for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
      BackOff back_off(100, 3'000, seed);
      for (std::size_t i = 0; i < failures; ++i) (void)back_off.next_ms(3);
      if (reset) back_off.reset();
      most = std::max(most, back_off.next_ms(3));
    }
    return most;
  };
  CHECK(most_ms(0, false) == Approx(200).epsilon(0.02));
  CHECK(most_ms(2, false) == Approx(200).epsilon(0.02));
  CHECK(most_ms(3, false) == Approx(400).epsilon(0.02));
  CHECK(most_ms(6, false) == Approx(800).epsilon(0.02));
  CHECK(most_ms(100, false) == Approx(3'000).epsilon(0.02));
  CHECK(most_ms(100, true) == Approx(200).epsilon(0.02));
}
