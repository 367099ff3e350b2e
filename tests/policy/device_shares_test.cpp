// GPUs that tasks share in thousandths: which one of a node's a task gets.
#include "policy/allocator/device_shares.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "policy/allocator/state.hpp"
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
  const NodeDevices gpus = node_sharing(4).devices[0];
  const auto room = shared_room(gpus, kGpuMilli, held);
  if (!room) return std::nullopt;
  const auto shares = choose_shares(gpus, kGpuMilli, *room, capacity_of(4), ShareMix{}.mix(),
                                    {demand, names, left_for_last, kept});
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

/// By a look at each GPU of a node: of which so much is held.
bool has_gpus(const std::map<std::string, Amount>& held, std::size_t gpus, Amount milli) {
  const Amount each = std::min(milli, kMilliPerGpu);
  Amount enough = 0;
  for (std::size_t i = 0; i < gpus; ++i) {
    const auto known = held.find("gpu" + std::to_string(i));
    if ((known == held.end() ? 0 : known->second) + each <= kMilliPerGpu) enough += each;
  }
  return enough >= milli;
}

TEST_CASE("nodes with room for shares are found as by a look at each of their GPUs",
          "[property][devices][shares]") {
  constexpr std::uint32_t kNodes = 12;
  std::size_t found = 0;
  std::size_t with_room_in_all = 0;  // and none by its GPUs
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const auto draw = [&](std::uint64_t from, std::uint64_t to) {
      return from + random() % (to - from + 1);
    };
    AllocatorState state(sharing());
    state.set_tenant(TenantId{1}, {});
    struct Known {
      std::size_t gpus = 0;
      bool accepts = true;
      std::map<std::string, Amount> held{};
      std::size_t unknown = 0;  ///< tasks whose GPUs nobody knows
    };
    std::map<NodeId, Known> nodes;
    std::map<TaskKey, HeldTask> running;
    const auto set_node = [&](std::uint32_t id) {
      Known& node = nodes[NodeId{id}];
      if (node.gpus == 0) node.gpus = draw(1, 4);
      node.accepts = draw(0, 9) > 0;
      state.set_node(NodeId{id}, node_sharing(node.gpus), capacity_of(node.gpus), node.accepts);
    };
    for (std::uint32_t id = 1; id <= kNodes; ++id) set_node(id);
    const auto milli_of = [&] {
      return draw(0, 3) == 0 ? kMilliPerGpu * static_cast<Amount>(draw(1, 2))
                             : static_cast<Amount>(draw(1, 999));
    };
    for (std::uint64_t step = 1; step <= 150; ++step) {
      const NodeId on{static_cast<std::uint32_t>(draw(1, kNodes))};
      Known& node = nodes[on];
      const Amount milli = milli_of();
      if (draw(0, 9) == 0) set_node(on.value);
      if (draw(0, 2) == 0 && !running.empty()) {
        const auto ended =
            std::next(running.begin(), static_cast<std::ptrdiff_t>(draw(0, running.size() - 1)));
        const HeldTask& task = ended->second;
        Known& was_on = nodes[task.node];
        for (const std::string& name : task.grant.devices)
          was_on.held[name] -= std::min(task.grant.demand[kGpuMilli], kMilliPerGpu);
        if (task.grant.devices.empty()) --was_on.unknown;
        REQUIRE(state.release(ended->first));
        running.erase(ended);
      } else if (has_gpus(node.held, node.gpus, milli) &&
                 share(milli).fits(state.node(on).free())) {
        HeldTask task{on,
                      {.task = {JobId{step}, 0, 1},
                       .tenant = TenantId{1},
                       .cost = 1,
                       .demand = share(milli)}};
        if (draw(0, 19) > 0) {
          for (std::size_t i = 0; i < node.gpus; ++i) {
            const std::string name = "gpu" + std::to_string(i);
            const auto count = static_cast<std::size_t>((milli + kMilliPerGpu - 1) / kMilliPerGpu);
            if (task.grant.devices.size() == count) break;
            if (node.held[name] + std::min(milli, kMilliPerGpu) > kMilliPerGpu) continue;
            node.held[name] += std::min(milli, kMilliPerGpu);
            task.grant.devices.push_back(name);
          }
        } else {
          ++node.unknown;
        }
        state.restore_held({&task, 1});
        running.emplace(task.grant.task, task);
      }
      const Amount asked = milli_of();
      std::vector<NodeId> by_index;
      for (auto id = state.next_with_room(NodeId{}, nullptr, share(asked)); id;
           id = state.next_with_room(NodeId{id->value + 1}, nullptr, share(asked)))
        by_index.push_back(*id);
      std::vector<NodeId> by_look;
      for (const auto& [id, known] : nodes) {
        if (!known.accepts || !share(asked).fits(state.node(id).free())) continue;
        if (known.unknown == 0 && has_gpus(known.held, known.gpus, asked))
          by_look.push_back(id);
        else
          ++with_room_in_all;
      }
      REQUIRE(by_index == by_look);
      found += by_look.size();
      for (const NodeId id : by_look)
        REQUIRE(state.shares_for(state.node(id), share(asked), nullptr, {}));
    }
  }
  CHECK(found > 5000);
  CHECK(with_room_in_all > 1000);
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
