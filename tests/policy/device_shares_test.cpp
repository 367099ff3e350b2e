// GPUs that tasks share in thousandths: which one of a node's a task gets.
#include "policy/allocator/device_shares.hpp"

#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "shared_gpus.hpp"

namespace fairwater::test::gpus {
namespace {

/// What of four GPUs is held, by tasks of jobs 1, 2, ..
DeviceUses held_by(const std::vector<std::pair<Amount, Names>>& tasks) {
  DeviceUses held;
  for (const auto& [milli, names] : tasks)
    held.emplace(TaskKey{JobId{held.size() + 1}, 0, 1}, DeviceUse{share(milli), names});
  return held;
}

std::optional<Names> gpus_for(const DeviceUses& held, Amount milli, const Names& names = {},
                              const std::set<std::string>& left_for_last = {},
                              const std::set<std::string>& kept = {}) {
  const ResourceVector demand = share(milli);
  const auto shares = choose_shares(node_sharing(4).devices[0], kGpuMilli, held, capacity_of(4),
                                    ShareMix{}.mix(), {demand, names, left_for_last, kept});
  if (!shares) return std::nullopt;
  return shares->names;
}

}  // namespace

TEST_CASE("a part goes where it fits most tightly, a whole GPU is one that nobody has a part of",
          "[unit][devices][shares]") {
  CHECK(gpus_for({}, 500) == Names{"gpu0"});
  const DeviceUses held =
      held_by({{300, {"gpu1"}}, {400, {"gpu2"}}, {200, {"gpu2"}}, {1000, {"gpu3"}}});
  CHECK(gpus_for(held, 400) == Names{"gpu2"});
  CHECK(gpus_for(held, 500) == Names{"gpu1"});
  CHECK(gpus_for(held, 800) == Names{"gpu0"});
  CHECK(gpus_for(held, 1000) == Names{"gpu0"});
  CHECK(gpus_for(held, 2000) == std::nullopt);
  CHECK(gpus_for({}, 2000) == Names{"gpu0", "gpu1"});
  CHECK(gpus_for({}, 5000) == std::nullopt);
  CHECK(gpus_for(held_by({{600, {"gpu0"}}, {600, {"gpu1"}}, {600, {"gpu2"}}, {600, {"gpu3"}}}),
                 500) == std::nullopt);
}

TEST_CASE("of shared GPUs those that are named are given, others' named ones last",
          "[unit][devices][shares]") {
  const DeviceUses held = held_by({{300, {"gpu1"}}});
  CHECK(gpus_for(held, 500, {"gpu2"}) == Names{"gpu2"});
  CHECK(gpus_for(held, 700, {"gpu1"}) == Names{"gpu1"});
  CHECK(gpus_for(held, 800, {"gpu1"}) == std::nullopt);
  CHECK(gpus_for(held, 500, {"gpu2", "gpu3"}) == std::nullopt);  // a part is of one
  CHECK(gpus_for(held, 2000, {"gpu3"}) == Names{"gpu0", "gpu3"});
  CHECK(gpus_for(held, 500, {}, {"gpu1"}) == Names{"gpu0"});
  CHECK(gpus_for({}, 4000, {}, {"gpu0"}) == Names{"gpu0", "gpu1", "gpu2", "gpu3"});
  CHECK(gpus_for(held, 500, {}, {}, {"gpu0", "gpu1"}) == Names{"gpu2"});
  CHECK(gpus_for(held, 3000, {}, {}, {"gpu0"}) == std::nullopt);
}

TEST_CASE("beside a task whose shared GPUs nobody knows none is given", "[unit][devices][shares]") {
  CHECK(gpus_for(held_by({{500, {}}}), 100) == std::nullopt);
  CHECK(gpus_for(held_by({{0, {}}}), 100) == Names{"gpu0"});
}

TEST_CASE("what runs tells which room is of use to the tasks to come", "[unit][devices][shares]") {
  ShareMix mix;
  CHECK(mix.note(share(470), kGpuMilli, true));
  CHECK(mix.mix().typical_count() == 1);
  for (int i = 0; i < 98; ++i) (void)mix.note(share(530), kGpuMilli, true);
  CHECK(mix.mix().typical_count() == 64);
  // Another of 530 will come, and nothing for what is smaller.
  CHECK(mix.mix().leftover_micro(530) < mix.mix().leftover_micro(470));
  for (int i = 0; i < 98; ++i) (void)mix.note(share(530), kGpuMilli, false);
  CHECK(mix.mix().typical_count() <= 12);
}

TEST_CASE("the mix is of what runs, whatever ran before", "[unit][devices][shares]") {
  GpuNode room;
  room.gpus = 2;
  room.gpu_milli[0] = 400;
  room.gpu_milli[1] = kMilliPerGpu;
  room.cpu_milli = 8000;
  ShareMix without;
  for (int i = 0; i < 5; ++i) (void)without.note(share(300), kGpuMilli, true);
  (void)without.note(share(1000), kGpuMilli, true);
  ShareMix with;
  for (int i = 0; i < 9; ++i) (void)with.note(share(700), kGpuMilli, true);
  (void)with.note(share(1000), kGpuMilli, true);
  for (int i = 0; i < 5; ++i) (void)with.note(share(300), kGpuMilli, true);
  for (int i = 0; i < 9; ++i) (void)with.note(share(700), kGpuMilli, false);
  CHECK(with.mix().typical_count() == without.mix().typical_count());
  CHECK(with.mix().expected_loss(room) == without.mix().expected_loss(room));
  // Between two powers of two it is the same.
  CHECK_FALSE(with.note(share(300), kGpuMilli, true));
  CHECK_FALSE(with.note(share(300), kGpuMilli, true));
  CHECK(with.note(share(300), kGpuMilli, true));
}

}  // namespace fairwater::test::gpus
