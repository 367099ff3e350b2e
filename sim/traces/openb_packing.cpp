#include <algorithm>
#include <numeric>

#include "policy/core/check.hpp"
#include "policy/core/splitmix64.hpp"
#include "sim/traces/openb.hpp"

namespace fairwater::sim::inline traces {
namespace {

/// Streams of random numbers that one seed gives.
enum class OpenbDraw : std::uint64_t { arrivals = 0, nodes = 1, placement = 2 };

SplitMix64 random_stream(std::uint64_t seed, OpenbDraw draw) {
  SplitMix64 mixer{seed};
  std::uint64_t state = mixer.next();
  for (auto i = static_cast<std::uint64_t>(draw); i > 0; --i) state = mixer.next();
  return SplitMix64{state};
}

template <class Value>
void shuffle_in_place(std::vector<Value>& values, SplitMix64& random) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random.below(i)]);
}

std::int64_t gpu_capacity(const std::vector<GpuNode>& nodes) {
  return std::accumulate(
      nodes.begin(), nodes.end(), std::int64_t{0},
      [](std::int64_t sum, const GpuNode& node) { return sum + node.total_gpu_milli(); });
}

std::vector<GpuTaskKind> kinds_of(const std::vector<GpuRequest>& pods) {
  std::vector<GpuTaskKind> kinds;
  kinds.reserve(pods.size());
  for (const auto& pod : pods) kinds.push_back({pod, 1});
  return kinds;
}

/// Allocations seen at one load: exact sums, so that the mean does not depend on their order.
struct OpenbSamples {
  std::int64_t milli = 0;
  std::int64_t count = 0;
};

OpenbAllocation in_percent(const std::array<OpenbSamples, kMaxOpenbLoad + 1>& samples,
                           std::int64_t capacity_milli) {
  OpenbAllocation allocation{};
  for (std::size_t load = 0; load <= kMaxOpenbLoad; ++load) {
    if (samples[load].count > 0)
      allocation[load] = 100.0 * static_cast<double>(samples[load].milli) /
                         static_cast<double>(samples[load].count) /
                         static_cast<double>(capacity_milli);
    else if (load > 0)
      allocation[load] = allocation[load - 1];
  }
  return allocation;
}

}  // namespace

std::vector<GpuRequest> openb_arrivals(const std::vector<GpuRequest>& pods,
                                       std::int64_t capacity_milli, std::uint64_t seed) {
  const std::int64_t most = capacity_milli * static_cast<std::int64_t>(kMaxOpenbLoad) / 100;
  auto random = random_stream(seed, OpenbDraw::arrivals);
  std::vector<GpuRequest> arrivals = pods;
  shuffle_in_place(arrivals, random);
  std::int64_t requested = 0;
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    requested += arrivals[i].gpu_milli();
    if (requested > most) {
      arrivals.resize(i);
      return arrivals;
    }
  }
  FAIRWATER_CHECK(requested > 0, "no pod wants a GPU");
  for (;;) {
    const auto& pod = pods[random.below(pods.size())];
    requested += pod.gpu_milli();
    if (requested > most) return arrivals;
    arrivals.push_back(pod);
  }
}

OpenbAllocation pack_openb(const std::vector<GpuNode>& nodes, const std::vector<GpuRequest>& pods,
                           GpuPolicy policy, std::uint64_t seed) {
  const std::int64_t capacity = gpu_capacity(nodes);
  FAIRWATER_CHECK(capacity > 0, "no GPU");
  std::vector<GpuNode> shuffled = nodes;
  auto random_nodes = random_stream(seed, OpenbDraw::nodes);
  shuffle_in_place(shuffled, random_nodes);
  GpuPlacer placer(policy, std::move(shuffled), GpuTaskMix(kinds_of(pods), nodes));
  auto random = random_stream(seed, OpenbDraw::placement);
  std::array<OpenbSamples, kMaxOpenbLoad + 1> samples{};
  std::int64_t arrived = 0;
  std::int64_t allocated = 0;
  for (const auto& pod : openb_arrivals(pods, capacity, seed)) {
    arrived += pod.gpu_milli();
    if (placer.place(pod, random.next())) allocated += pod.gpu_milli();
    const auto load = static_cast<std::size_t>((arrived * 200 + capacity) / (2 * capacity));
    samples[load].milli += allocated;
    ++samples[load].count;
  }
  return in_percent(samples, capacity);
}

}  // namespace fairwater::sim::inline traces
