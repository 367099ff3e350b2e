#include <catch2/catch.hpp>

#include "policy/gpu/fragmentation.hpp"

namespace fairwater {
namespace {

GpuRequest gpu_share(std::int64_t cpu_milli, std::int64_t milli, std::uint32_t gpus = 1) {
  return {.cpu_milli = cpu_milli, .memory_mib = 0, .gpus = gpus, .milli_per_gpu = milli};
}

GpuNode node_with(std::int64_t cpu_milli, std::initializer_list<std::int64_t> free) {
  GpuNode node{.cpu_milli = cpu_milli, .memory_mib = 1000};
  for (const std::int64_t milli : free) node.gpu_milli[node.gpus++] = milli;
  return node;
}

const GpuRequest kNoGpu{.cpu_milli = 1000};

}  // namespace

TEST_CASE("a request fits when enough devices have room for it", "[unit][gpu]") {
  const GpuNode node = node_with(8000, {1000, 400, 500});
  CHECK(fits(node, gpu_share(8000, 1000)));
  CHECK_FALSE(fits(node, gpu_share(8001, 1000)));
  CHECK(fits(node, gpu_share(0, 400, 3)));
  CHECK_FALSE(fits(node, gpu_share(0, 450, 3)));
  CHECK_FALSE(fits(node, {.memory_mib = 1001}));
  GpuRequest other_model = gpu_share(0, 100);
  other_model.models = 0b10;
  CHECK_FALSE(fits(node, other_model));
  other_model.models = 0b11;
  CHECK(fits(node, other_model));
}

TEST_CASE("a request takes the tightest devices unless one is named", "[unit][gpu]") {
  const GpuNode node = node_with(8000, {1000, 400, 500});
  CHECK(tightest_gpu(node, gpu_share(0, 450)) == 2);
  CHECK(node_after(node, gpu_share(3000, 300)) == node_with(5000, {1000, 100, 500}));
  CHECK(node_after(node, gpu_share(3000, 300), 0) == node_with(5000, {700, 400, 500}));
  CHECK(node_after(node, gpu_share(0, 300, 2)) == node_with(8000, {1000, 100, 200}));
  CHECK(node_after(node, kNoGpu) == node_with(7000, {1000, 400, 500}));
}

TEST_CASE("devices hold as many alike shares whichever each of them gets", "[unit][gpu]") {
  const GpuNode node = node_with(0, {1000, 400, 999, 1000, 300});
  CHECK(shares_that_fit(node, 1) == 3699);
  CHECK(shares_that_fit(node, 300) == 3 + 1 + 3 + 3 + 1);
  CHECK(shares_that_fit(node, 500) == 5);
  CHECK(shares_that_fit(node, 600) == 3);
  CHECK(shares_that_fit(node, 1000) == 2);
  CHECK(shares_that_fit(node, 2000) == 1);
  CHECK(shares_that_fit(node, 3000) == 0);
}

TEST_CASE("fragmentation is what a typical task could not use", "[unit][gpu]") {
  const GpuTaskMix mix({{gpu_share(4000, 1000), 3}, {gpu_share(20000, 500), 1}, {kNoGpu, 1}}, {});
  REQUIRE(mix.typical_count() == 5);
  // Three tasks cannot use the 400 milli, one lacks cpu for any of the 1400, one wants no GPU.
  CHECK(mix.fragmentation(node_with(10000, {1000, 400})) == (3 * 400 + 1400 + 1400) * 1000);
  CHECK(mix.fragmentation(node_with(3000, {1000, 400})) == 5 * 1400 * 1000);
  CHECK(mix.fragmentation(node_with(10000, {0, 0})) == 0);
  CHECK(mix.fragmentation(node_with(10000, {})) == 0);
}

TEST_CASE("the expected loss counts what stays free of a device in the end", "[unit][gpu]") {
  const GpuTaskMix mix({{gpu_share(4000, 1000), 3}, {gpu_share(20000, 500), 1}, {kNoGpu, 1}}, {});
  CHECK(mix.leftover_micro(0) == 0);
  CHECK(mix.leftover_micro(400) == 400'000);
  // One draw of two takes the 500, the other ends it.
  CHECK(mix.leftover_micro(500) == 250'000);
  CHECK(mix.leftover_micro(600) == (600'000 + 100'000) / 2);
  // Of five draws three leave nothing, one leaves 500 to be filled, one ends it.
  CHECK(mix.leftover_micro(1000) == (1'000'000 + 250'000) / 5);
  CHECK(mix.expected_loss(node_with(10000, {1000, 400})) ==
        3 * (250'000 + 400'000) + 2 * 1'400'000);
}

TEST_CASE("typical are the most frequent kinds up to 95 percent", "[unit][gpu]") {
  GpuRequest with_memory = gpu_share(1000, 1000);
  with_memory.memory_mib = 7;
  const GpuTaskMix mix({{gpu_share(1000, 1000), 50},
                        {gpu_share(1000, 200), 44},
                        {gpu_share(1000, 300), 4},
                        {with_memory, 1},
                        {gpu_share(1000, 100), 1}},
                       {});
  // 51 and 44 are 95 of 100: memory does not make a kind of its own, 300 and 100 do not count.
  CHECK(mix.typical_count() == 95);
}

TEST_CASE("a model is wanted more when tasks will do with nothing else", "[unit][gpu]") {
  GpuRequest only_first = gpu_share(0, 1000);
  only_first.models = 0b01;
  GpuNode second = node_with(0, {1000, 1000, 1000, 1000, 1000, 1000});
  second.model = 1;
  const GpuTaskMix mix({{gpu_share(0, 1000), 8}, {only_first, 2}},
                       {node_with(0, {1000, 1000}), second});
  // Eight GPUs for eight tasks that take any, and two for two that take the first model.
  CHECK(mix.wanted_micro(0) == 1'600'000);
  CHECK(mix.wanted_micro(1) == 800'000);
  CHECK(mix.wanted_micro(2) == 0);
}

}  // namespace fairwater
