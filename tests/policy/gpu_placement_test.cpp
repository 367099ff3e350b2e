#include <catch2/catch.hpp>

#include "policy/core/splitmix64.hpp"
#include "policy/gpu/offer.hpp"
#include "policy/gpu/placement.hpp"
#include "tests/policy/property.hpp"

namespace fairwater {
namespace {

using test::check_property;
using test::draw;

constexpr std::array kAllGpuPolicies{GpuPolicy::random, GpuPolicy::best_fit, GpuPolicy::fgd,
                                     GpuPolicy::fgd_rounded, GpuPolicy::fairwater};

GpuNode gpu_node_of(std::uint32_t model, std::initializer_list<std::int64_t> free) {
  GpuNode node{.cpu_milli = 64'000, .memory_mib = 1000, .model = model};
  for (const std::int64_t milli : free) node.gpu_milli[node.gpus++] = milli;
  return node;
}

GpuRequest part_of_gpu(std::int64_t milli, std::uint64_t models = kAnyGpuModel) {
  return {.cpu_milli = 1000, .memory_mib = 1, .gpus = 1, .milli_per_gpu = milli, .models = models};
}

TEST_CASE("what one task may take of a node's devices tells whether it fits", "[property][gpu]") {
  check_property("most for one", 500, [] {
    GpuNode node{.gpus = draw(0U, 4U)};
    for (std::uint32_t i = 0; i < node.gpus; ++i)
      node.gpu_milli[i] = draw(0, 2) == 0 ? kMilliPerGpu : draw<std::int64_t>(0, 999);
    for (const std::int64_t milli : {draw<std::int64_t>(1, 999), std::int64_t{1000},
                                     std::int64_t{2000}, std::int64_t{4000}, most_for_one(node)})
      if (milli > 0) RC_ASSERT(gpus_fit(node, shared_gpus(milli)) == (milli <= most_for_one(node)));
  });
}

struct GpuProblem {
  std::vector<GpuNode> nodes;
  std::vector<GpuRequest> requests;

  [[nodiscard]] GpuTaskMix mix() const {
    std::vector<GpuTaskKind> kinds;
    for (const auto& request : requests) kinds.push_back({request, 1});
    return {kinds, nodes};
  }
};

GpuProblem draw_gpu_problem() {
  GpuProblem problem;
  for (int count = draw(1, 6); count > 0; --count) {
    GpuNode node{.cpu_milli = draw<std::int64_t>(0, 32),
                 .memory_mib = draw<std::int64_t>(0, 64),
                 .model = draw(0U, 2U),
                 .gpus = draw(0U, 4U)};
    for (std::uint32_t i = 0; i < node.gpus; ++i) node.gpu_milli[i] = kMilliPerGpu;
    problem.nodes.push_back(node);
  }
  for (int count = draw(1, 40); count > 0; --count) {
    GpuRequest request{.cpu_milli = draw<std::int64_t>(0, 6),
                       .memory_mib = draw<std::int64_t>(0, 6),
                       .gpus = draw(0U, 3U)};
    if (request.gpus > 0) request.milli_per_gpu = request.gpus > 1 ? 1000 : draw(1, 10) * 100;
    if (draw(0, 2) == 0) request.models = draw(1U, 7U);
    problem.requests.push_back(request);
  }
  return problem;
}

struct Free {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::int64_t gpu_milli = 0;
  friend bool operator==(const Free&, const Free&) = default;
};

Free sum_of_free(const std::vector<GpuNode>& nodes) {
  Free sum;
  for (const auto& node : nodes) {
    sum.cpu_milli += node.cpu_milli;
    sum.memory_mib += node.memory_mib;
    sum.gpu_milli += node.total_gpu_milli();
  }
  return sum;
}

bool within_bounds(const std::vector<GpuNode>& now, const std::vector<GpuNode>& empty) {
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i].cpu_milli < 0 || now[i].memory_mib < 0) return false;
    for (std::size_t gpu = 0; gpu < now[i].gpus; ++gpu)
      if (now[i].gpu_milli[gpu] < 0 || now[i].gpu_milli[gpu] > empty[i].gpu_milli[gpu])
        return false;
  }
  return true;
}

/// Algorithm 1 of the paper as it stands there: every node and device, all looked at anew.
std::optional<GpuPlacement> steepest_descent(const std::vector<GpuNode>& nodes,
                                             const GpuRequest& request, const GpuTaskMix& mix) {
  std::optional<GpuPlacement> best;
  std::int64_t least = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!fits(nodes[i], request)) continue;
    for (std::size_t gpu = 0; gpu < std::max(nodes[i].gpus, 1U); ++gpu) {
      if (request.gpus == 1 && nodes[i].gpu_milli[gpu] < request.milli_per_gpu) continue;
      const auto rest =
          request.gpus == 1 ? node_after(nodes[i], request, gpu) : node_after(nodes[i], request);
      const std::int64_t growth = mix.fragmentation(rest) - mix.fragmentation(nodes[i]);
      if (best && growth >= least) continue;
      least = growth;
      best = GpuPlacement{.node = i, .device = {}};
      if (request.gpus == 1 && request.milli_per_gpu < kMilliPerGpu) best->device = gpu;
    }
  }
  return best;
}

/// Fairwater's rule as docs/reproduction.md has it: every node and device, all looked at anew.
std::optional<GpuPlacement> cheapest(const std::vector<GpuNode>& nodes, const GpuRequest& request,
                                     const GpuTaskMix& mix) {
  std::optional<GpuPlacement> best;
  __int128 least = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!fits(nodes[i], request)) continue;
    const bool is_part = request.gpus == 1 && request.milli_per_gpu < kMilliPerGpu;
    GpuPlacement here{.node = i, .device = {}};
    std::int64_t rest_loss = 0;
    for (std::size_t gpu = 0; gpu < (is_part ? nodes[i].gpus : 1); ++gpu) {
      if (is_part && nodes[i].gpu_milli[gpu] < request.milli_per_gpu) continue;
      const std::int64_t loss = mix.expected_loss(
          node_after(nodes[i], request, is_part ? std::optional(gpu) : std::nullopt));
      if (here.device && loss >= rest_loss) continue;
      rest_loss = loss;
      if (is_part) here.device = gpu;
    }
    const std::int64_t wanted =
        request.gpu_milli() * mix.wanted_micro(nodes[i].model) / kMilliPerGpu * 3 / 10;
    const __int128 step = __int128{100'000} * mix.typical_count();
    __int128 steps =
        __int128{rest_loss} - mix.expected_loss(nodes[i]) + __int128{wanted} * mix.typical_count();
    steps = (steps + step * 1'000'000) / step;  // of what is not negative: rounds down
    if (best && steps >= least) continue;
    least = steps;
    best = here;
  }
  return best;
}

/// Where nothing is known of the tasks to come: every device of every node.
std::optional<GpuPlacement> tightest(const std::vector<GpuNode>& nodes, const GpuRequest& part) {
  std::optional<GpuPlacement> best;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (std::size_t gpu = 0; gpu < nodes[i].gpus; ++gpu) {
      const bool will_do = fits(nodes[i], part) && nodes[i].gpu_milli[gpu] >= part.milli_per_gpu;
      if (will_do &&
          (!best || nodes[i].gpu_milli[gpu] < nodes[best->node].gpu_milli[*best->device]))
        best = GpuPlacement{.node = i, .device = gpu};
    }
  return best;
}

}  // namespace

TEST_CASE("best fit takes the node with the least left over", "[unit][gpu]") {
  GpuPlacer placer(
      GpuPolicy::best_fit,
      {gpu_node_of(0, {1000, 1000}), gpu_node_of(0, {700}), gpu_node_of(0, {600, 300})},
      {{{part_of_gpu(500), 1}}, {}});
  const auto placement = placer.place(part_of_gpu(500), 0);
  REQUIRE(placement);
  CHECK(placement->node == 1);
  CHECK(placer.nodes()[1].gpu_milli[0] == 200);
}

TEST_CASE("random placement is decided by the number alone", "[unit][gpu]") {
  const std::vector<GpuNode> nodes(3, gpu_node_of(0, {1000, 300, 500}));
  std::array<std::array<int, 3>, 3> times{};
  for (std::uint64_t number = 0; number < 600; ++number) {
    const GpuTaskMix mix({{part_of_gpu(400), 1}}, {});
    GpuPlacer placer(GpuPolicy::random, nodes, mix);
    const auto placement = placer.place(part_of_gpu(400), number);
    REQUIRE(placement);
    CHECK(placement == GpuPlacer(GpuPolicy::random, nodes, mix).place(part_of_gpu(400), number));
    ++times[placement->node][*placement->device];
  }
  for (const auto& node : times) {
    CHECK(node[0] > 70);
    CHECK(node[1] == 0);
    CHECK(node[2] > 70);
  }
}

TEST_CASE("FGD shares a device that is shared already", "[unit][gpu]") {
  const std::vector<GpuTaskKind> kinds{{part_of_gpu(1000), 5}, {part_of_gpu(500), 5}};
  GpuPlacer placer(GpuPolicy::fgd, {gpu_node_of(0, {1000, 1000}), gpu_node_of(0, {1000, 500})},
                   {kinds, {}});
  CHECK(placer.place(part_of_gpu(500), 0) == GpuPlacement{.node = 1, .device = 1});
}

TEST_CASE("Fairwater shares a shared device, however much its node has free", "[unit][gpu]") {
  const std::vector<GpuTaskKind> kinds{{part_of_gpu(1000), 50}, {part_of_gpu(500), 50}};
  const std::vector<GpuNode> nodes{gpu_node_of(0, {1000}), gpu_node_of(0, {1000, 1000, 500})};
  GpuPlacer fairwater(GpuPolicy::fairwater, nodes, {kinds, nodes});
  CHECK(fairwater.place(part_of_gpu(500), 0) == GpuPlacement{.node = 1, .device = 2});
  GpuPlacer best_fit(GpuPolicy::best_fit, nodes, {kinds, nodes});
  CHECK(best_fit.place(part_of_gpu(500), 0)->node == 0);
}

TEST_CASE("Fairwater spares the model that others depend on", "[unit][gpu]") {
  const std::vector<GpuTaskKind> kinds{{part_of_gpu(1000), 5}, {part_of_gpu(1000, 0b01), 5}};
  const std::vector<GpuNode> nodes{gpu_node_of(0, {1000}), gpu_node_of(1, {1000})};
  GpuPlacer placer(GpuPolicy::fairwater, nodes, {kinds, nodes});
  CHECK(placer.place(part_of_gpu(1000), 0)->node == 1);
  CHECK(placer.place(part_of_gpu(1000, 0b01), 0)->node == 0);
  CHECK_FALSE(placer.place(part_of_gpu(100), 0));
}

TEST_CASE("without a word on the tasks to come a part goes where it fits tightest", "[unit][gpu]") {
  const std::vector<GpuNode> nodes{gpu_node_of(0, {1000, 700}), gpu_node_of(0, {1000, 500, 400})};
  GpuPlacer placer(GpuPolicy::fairwater, nodes, {{}, {}});
  CHECK(placer.place(part_of_gpu(450), 0) == GpuPlacement{.node = 1, .device = 1});
  CHECK(placer.place(part_of_gpu(600), 0) == GpuPlacement{.node = 0, .device = 1});
  CHECK(placer.place(part_of_gpu(1000), 0)->node == 0);
  CHECK(placer.nodes()[0].gpu_milli[0] == 0);
}

TEST_CASE("a whole device is offered only where nothing shares it", "[unit][gpu]") {
  const GpuTaskMix mix({{part_of_gpu(500), 1}, {part_of_gpu(1000), 1}}, {});
  for (const GpuTaskMix& known : {mix, GpuTaskMix{{}, {}}}) {
    const GpuNode shared = gpu_node_of(0, {500, 500});
    CHECK_FALSE(offer_of(known, shared, part_of_gpu(1000), known.expected_loss(shared)));
    CHECK(offer_of(known, shared, part_of_gpu(500), known.expected_loss(shared))->device == 0);
    CHECK_FALSE(offer_of(known, shared, part_of_gpu(501), known.expected_loss(shared)));
  }
}

TEST_CASE("no placement overfills a node, and what was taken adds up", "[property][gpu]") {
  for (const GpuPolicy policy : kAllGpuPolicies)
    check_property("GPU placement", 300, [policy] {
      const GpuProblem problem = draw_gpu_problem();
      GpuPlacer placer(policy, problem.nodes, problem.mix());
      SplitMix64 random{draw<std::uint64_t>(0, 1000)};
      Free expected = sum_of_free(problem.nodes);
      for (const auto& request : problem.requests) {
        bool has_room = false;
        for (const auto& node : placer.nodes()) has_room = has_room || fits(node, request);
        const auto placement = placer.place(request, random.next());
        RC_ASSERT(placement.has_value() == has_room);
        if (placement) {
          expected.cpu_milli -= request.cpu_milli;
          expected.memory_mib -= request.memory_mib;
          expected.gpu_milli -= request.gpu_milli();
        }
        RC_ASSERT(sum_of_free(placer.nodes()) == expected);
        RC_ASSERT(within_bounds(placer.nodes(), problem.nodes));
      }
    });
}

TEST_CASE("FGD with kept scores places as the paper's algorithm", "[property][gpu]") {
  check_property("FGD", 500, [] {
    const GpuProblem problem = draw_gpu_problem();
    const GpuTaskMix mix = problem.mix();
    GpuPlacer placer(GpuPolicy::fgd, problem.nodes, mix);
    for (const auto& request : problem.requests) {
      const auto expected = steepest_descent(placer.nodes(), request, mix);
      RC_ASSERT(placer.place(request, 0) == expected);
    }
  });
}

TEST_CASE("Fairwater with kept scores places by its rule", "[property][gpu]") {
  check_property("Fairwater's rule", 500, [] {
    const GpuProblem problem = draw_gpu_problem();
    const GpuTaskMix mix = problem.mix();
    GpuPlacer placer(GpuPolicy::fairwater, problem.nodes, mix);
    for (const auto& request : problem.requests) {
      const auto expected = cheapest(placer.nodes(), request, mix);
      RC_ASSERT(placer.place(request, 0) == expected);
    }
  });
}

TEST_CASE("a part of a device goes where it fits tightest of all", "[property][gpu]") {
  check_property("tightest fit", 500, [] {
    const GpuProblem problem = draw_gpu_problem();
    GpuPlacer placer(GpuPolicy::fairwater, problem.nodes, {{}, problem.nodes});
    for (const auto& request : problem.requests) {
      const bool is_part = request.gpus == 1 && request.milli_per_gpu < kMilliPerGpu;
      const auto expected = tightest(placer.nodes(), request);
      const auto placement = placer.place(request, 0);
      if (is_part) RC_ASSERT(placement == expected);
    }
  });
}

}  // namespace fairwater
