// Sequence and water-fill: the figures that peers were measured by, as processor time, with their
// ratio to sorting and to adding up as many doubles, measured in the same run.
#include <algorithm>
#include <ctime>
#include <map>
#include <numeric>
#include <vector>

#include <benchmark/benchmark.h>

#include "policy/core/splitmix64.hpp"
#include "policy/quota/water_fill.hpp"
#include "policy/sequence/sequence.hpp"

namespace fairwater {
namespace {

constexpr std::uint64_t kSeed = 42;

// -- yardsticks -----------------------------------------------------------------------------------

std::vector<double> random_doubles(std::size_t count) {
  SplitMix64 random(kSeed);
  std::vector<double> doubles(count);
  for (double& value : doubles) value = static_cast<double>(random.next() >> 11);
  return doubles;
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The least time of several runs of `work` on a fresh copy of `count` doubles.
template <class Work>
double least_seconds(std::size_t count, const Work& work) {
  constexpr int kRuns = 9;
  const std::vector<double> original = random_doubles(count);
  double least = 1e9;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<double> doubles = original;
    const double start = processor_seconds();
    work(doubles);
    least = std::min(least, processor_seconds() - start);
  }
  return least;
}

void sort_doubles(std::vector<double>& doubles) {
  std::sort(doubles.begin(), doubles.end());
  benchmark::DoNotOptimize(doubles.data());
}

void add_up_doubles(std::vector<double>& doubles) {
  double sum = std::accumulate(doubles.begin(), doubles.end(), 0.0);
  benchmark::DoNotOptimize(sum);
}

/// `unit` seconds, or units per iteration, as processor time.
benchmark::Counter per(double unit) {
  return {unit, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert};
}

/// Time per item in ns, and the ratios to the yardsticks.
void report_per_item(benchmark::State& state, std::size_t items) {
  state.counters["ns_per_group"] = per(1e-9 * static_cast<double>(items));
  state.counters["of_sort"] = per(least_seconds(items, sort_doubles));
  state.counters["of_sum"] = per(least_seconds(items, add_up_doubles));
}

void BM_yardstick_sort(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(least_seconds(count, sort_doubles));
  state.counters["ns_per_double"] =
      least_seconds(count, sort_doubles) * 1e9 / static_cast<double>(count);
}

void BM_yardstick_sum(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(least_seconds(count, add_up_doubles));
  state.counters["ns_per_double"] =
      least_seconds(count, add_up_doubles) * 1e9 / static_cast<double>(count);
}

// -- water-fill -----------------------------------------------------------------------------------

struct Level {
  Amount capacity = 0;
  std::vector<QuotaGroup> groups;
};

/// What pouring up to the height `need / weight` takes in all.
Wide poured_at(const std::vector<QuotaGroup>& groups, const QuotaGroup& height) {
  Wide poured = 0;
  for (const QuotaGroup& group : groups)
    poured += std::min<Wide>(group.request, Wide{height.request} * group.weight / height.weight);
  return poured;
}

Level half_saturated(std::size_t count) {
  SplitMix64 random(kSeed);
  Level level;
  for (std::size_t i = 0; i < count; ++i) {
    QuotaGroup group;
    group.weight = 1 + static_cast<Weight>(random.next() % 100);
    group.request = 1 + static_cast<Amount>(random.next() % 1'000'000);
    level.groups.push_back(group);
  }
  std::vector<QuotaGroup> by_ratio = level.groups;
  const auto middle = by_ratio.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(by_ratio.begin(), middle, by_ratio.end(),
                   [](const QuotaGroup& a, const QuotaGroup& b) {
                     return Wide{a.request} * b.weight < Wide{b.request} * a.weight;
                   });
  level.capacity = static_cast<Amount>(poured_at(level.groups, *middle) - 1);
  return level;
}

/// 40 heavy groups, each half of the weight that remains, asking for a little more than the height
/// of the round before its own: every round of a naive algorithm satisfies one. The others are of
/// weight 1 and ask for more than there is.
Level adversarial(std::size_t count) {
  constexpr std::size_t kHeavy = 40;
  SplitMix64 random(kSeed);
  Level level;
  level.capacity = Amount{1} << 62;
  Wide weight = static_cast<Wide>(count - kHeavy) << kHeavy;
  Wide rest = level.capacity;
  double less = 0.3;
  for (std::size_t i = 0; i < kHeavy; ++i, less *= 0.9) {
    QuotaGroup group;
    group.weight = static_cast<Weight>(weight / 2);
    group.request = static_cast<Amount>(static_cast<double>(rest) / 2 * (1 - less));
    weight -= group.weight;
    rest -= group.request;
    level.groups.push_back(group);
  }
  const auto height = static_cast<Amount>(rest / weight);
  for (std::size_t i = kHeavy; i < count; ++i)
    level.groups.push_back({.request = height + 1 + static_cast<Amount>(random.next() % 1000)});
  return level;
}

void fill(benchmark::State& state, const Level& level) {
  Wide sum = 0;
  WaterFiller filler;
  for (auto _ : state) {
    const WaterFillResult& result = filler.fill(level.capacity, level.groups);
    sum = std::accumulate(result.runtime.begin(), result.runtime.end(), Wide{0});
  }
  if (sum != level.capacity) state.SkipWithError("the quotas do not add up to the capacity");
  report_per_item(state, level.groups.size());
}

void BM_water_fill(benchmark::State& state) {
  fill(state, half_saturated(static_cast<std::size_t>(state.range(0))));
}
void BM_water_fill_adversarial(benchmark::State& state) {
  fill(state, adversarial(static_cast<std::size_t>(state.range(0))));
}

/// One group's request changes and a quota is read: its own, or that of any group.
void change_and_read(benchmark::State& state, bool own) {
  const Level level = half_saturated(static_cast<std::size_t>(state.range(0)));
  WaterLevel water;
  water.set_capacity(level.capacity);
  for (std::size_t i = 0; i < level.groups.size(); ++i)
    water.set(static_cast<WaterLevel::Key>(i), level.groups[i]);
  struct Change {
    WaterLevel::Key changed;
    WaterLevel::Key read;
    Amount request;
  };
  SplitMix64 random(kSeed + 1);
  std::vector<Change> changes(1 << 16);
  for (Change& change : changes) {
    change.changed = static_cast<WaterLevel::Key>(random.next() % level.groups.size());
    change.read =
        own ? change.changed : static_cast<WaterLevel::Key>(random.next() % level.groups.size());
    change.request = 1 + static_cast<Amount>(random.next() % 1'000'000);
  }
  std::size_t next = 0;
  for (auto _ : state) {
    const Change& change = changes[next++ % changes.size()];
    water.set_request(change.changed, change.request);
    benchmark::DoNotOptimize(water.runtime(change.read));
  }
  state.counters["ns_per_change"] = per(1e-9);
}
void BM_water_level_change_and_read(benchmark::State& state) { change_and_read(state, true); }
void BM_water_level_change_and_read_other(benchmark::State& state) {
  change_and_read(state, false);
}

// -- sequence -------------------------------------------------------------------------------------

Sequence random_sequence(std::size_t members) {
  SplitMix64 random(kSeed);
  Sequence sequence;
  for (std::size_t i = 0; i < members; ++i)
    sequence.join(static_cast<Sequence::Member>(i),
                  1 + static_cast<Weight>(random.next() % 1'000'000));
  sequence.set_position(0);
  return sequence;
}

void BM_sequence_window(benchmark::State& state) {
  Sequence sequence = random_sequence(static_cast<std::size_t>(state.range(0)));
  SplitMix64 random(kSeed + 1);
  for (auto _ : state) {
    sequence.set_position(random.next() % sequence.cycle());
    benchmark::DoNotOptimize(sequence.advance(random.next() % sequence.cycle()));
  }
  state.counters["us_per_window"] = per(1e-6);
}

/// The window of one node's free units.
void BM_sequence_small_window(benchmark::State& state) {
  Sequence sequence = random_sequence(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(sequence.advance(64));
  state.counters["us_per_window"] = per(1e-6);
}

void BM_sequence_next(benchmark::State& state) {
  Sequence sequence = random_sequence(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(sequence.next());
  state.counters["ns_per_slot"] = per(1e-9);
}

void sizes(benchmark::internal::Benchmark* bench) {
  for (const std::int64_t size : {10, 1'000, 10'000, 100'000}) bench->Arg(size);
}
void sizes_to_a_million(benchmark::internal::Benchmark* bench) {
  sizes(bench);
  bench->Arg(1'000'000);
}

BENCHMARK(BM_yardstick_sort)->Arg(100'000)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_yardstick_sum)->Arg(100'000)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_water_fill)->Apply(sizes_to_a_million);
BENCHMARK(BM_water_fill_adversarial)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Arg(1'000'000);
BENCHMARK(BM_water_level_change_and_read)->Apply(sizes_to_a_million);
BENCHMARK(BM_water_level_change_and_read_other)->Apply(sizes_to_a_million);
BENCHMARK(BM_sequence_window)->Apply(sizes);
BENCHMARK(BM_sequence_small_window)->Apply(sizes);
BENCHMARK(BM_sequence_next)->Apply(sizes);

}  // namespace
}  // namespace fairwater
