// GPUs that tasks share: elastic jobs grow into what is free of single ones, and give back what
// leaves enough of one. Against a slow look at each GPU.
#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "elastic_model.hpp"
#include "shared_gpus.hpp"

namespace fairwater::test::gpus {
namespace {

ElasticModel two_gpus(Weight weight_of_second = 1) {
  ElasticModel model(sharing());
  model.tenant(1);
  model.tenant(2, {.weight = weight_of_second});
  model.tenant(3);
  model.node(1, capacity_of(2), node_sharing(2));
  return model;
}

std::multiset<std::string> gpus_of(const ElasticModel& model,
                                   const std::vector<Reclaim>& reclaims) {
  std::multiset<std::string> gpus;
  for (const Reclaim& reclaim : reclaims)
    for (const std::string& name : model.running().at(reclaim.task).grant.devices)
      gpus.insert(name);
  return gpus;
}

}  // namespace

TEST_CASE("an elastic job grows into parts of single GPUs", "[unit][growth][shares]") {
  ElasticModel model = two_gpus();
  model.submit(1, share(400), 1, 20);
  CHECK(model.run().empty());
  // Two of 400 on each: what is left of both together would be another.
  CHECK(model.claimed(1) == 1);
  CHECK(model.extras(1) == 3);
}

TEST_CASE("what has grown leaves as much of one GPU as is needed", "[unit][growth][shares]") {
  ElasticModel model = two_gpus(2);
  model.submit(1, share(400), 1, 20);
  model.run();
  REQUIRE(model.extras(1) == 3);
  SECTION("a whole one, which is not that of the task that it started with") {
    model.submit(2, share(1000), 1, 1);
    const auto reclaims = model.run();
    REQUIRE(reclaims.size() == 2);
    const auto gpus = gpus_of(model, reclaims);
    CHECK(std::set<std::string>(gpus.begin(), gpus.end()).size() == 1);
    model.end_reclaimed();
    CHECK(model.run().empty());
    CHECK(model.claimed(2) == 1);
    CHECK(model.extras(1) == 1);
  }
  SECTION("a part") {
    model.submit(2, share(600), 1, 1);
    CHECK(model.run().size() == 1);
    model.end_reclaimed();
    CHECK(model.run().empty());
    CHECK(model.claimed(2) == 1);
    CHECK(model.extras(1) == 2);
  }
  SECTION("several parts, each of its own GPU") {
    for (int i = 0; i < 2; ++i) model.submit(2, share(550, 1), 1, 1);
    const auto reclaims = model.run();
    CHECK(reclaims.size() == 2);
    const auto gpus = gpus_of(model, reclaims);
    CHECK(std::set<std::string>(gpus.begin(), gpus.end()).size() == 2);
    model.end_reclaimed();
    CHECK(model.run().empty());
    CHECK(model.claimed(2) == 2);
  }
}

TEST_CASE("nothing gives back where no single GPU would have room", "[unit][growth][shares]") {
  ElasticModel model = two_gpus(20);
  for (int i = 0; i < 2; ++i) model.submit(3, share(600), 1, 1);
  model.submit(1, share(150), 1, 20);
  model.run();
  REQUIRE(model.claimed(3) == 2);
  REQUIRE(model.extras(1) == 3);
  model.submit(2, share(450), 1, 1);  // all together would be left
  CHECK(model.run().empty());
  CHECK(model.claimed(2) == 0);
  CHECK(model.extras(1) == 3);
}

TEST_CASE("what has grown leaves room on as many GPUs as a gang needs, or stays",
          "[unit][growth][gang][shares]") {
  ElasticModel model = two_gpus(2);
  model.submit(1, share(400), 1, 20);
  model.run();
  REQUIRE(model.extras(1) == 3);
  SECTION("two") {
    const JobId gang = model.submit(2, share(600), 2, 2, true);
    const auto reclaims = model.run();
    CHECK(reclaims.size() == 2);
    CHECK(gpus_of(model, reclaims) == std::multiset<std::string>{"gpu0", "gpu1"});
    model.end_reclaimed();
    CHECK(model.run().empty());
    CHECK(model.claimed(2) == 2);
    CHECK(model.running().at(TaskKey{gang, 0, 1}).grant.devices !=
          model.running().at(TaskKey{gang, 1, 1}).grant.devices);
  }
  SECTION("more than there are") {
    model.submit(2, share(700), 2, 2, true);  // one on the one, and none beside the first task
    CHECK(model.run().empty());
    CHECK(model.extras(1) == 3);
  }
}

TEST_CASE("an elastic job starts with its least on single GPUs, and grows from there",
          "[unit][growth][gang][shares]") {
  ElasticModel model = two_gpus();
  model.submit(1, share(600), 2, 20, true);
  model.run();
  CHECK(model.claimed(1) == 2);
  CHECK(model.extras(1) == 0);
  model.submit(3, share(350), 1, 9);
  model.run();
  CHECK(model.claimed(3) == 1);
  CHECK(model.extras(3) == 1);
}

TEST_CASE("random elastic clusters that share GPUs grow, give back and keep all bounds",
          "[property][growth][shares]") {
  std::size_t reclaimed = 0;
  std::size_t grown = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const auto draw = [&](std::uint64_t from, std::uint64_t to) {
      return from + random() % (to - from + 1);
    };
    AllocatorSettings settings = sharing();
    settings.growth = draw(0, 1) == 0 ? GrowthRule::qrea : GrowthRule::crea;
    ElasticModel model(settings);
    const auto tenants = static_cast<std::uint32_t>(draw(1, 4));
    for (std::uint32_t id = 1; id <= tenants; ++id)
      model.tenant(id, {.weight = static_cast<Weight>(draw(1, 5))});
    const auto nodes = static_cast<std::uint32_t>(draw(1, 3));
    for (std::uint32_t id = 1; id <= nodes; ++id) {
      const std::size_t gpus = draw(1, 4);
      model.node(id, capacity_of(gpus), node_sharing(gpus));
    }
    for (int step = 0; step < 50; ++step) {
      switch (draw(0, 5)) {
        case 0:
        case 1: {
          const Amount milli = draw(0, 3) == 0 ? kMilliPerGpu * static_cast<Amount>(draw(1, 2))
                                               : static_cast<Amount>(draw(1, 999));
          const auto more = static_cast<std::uint32_t>(draw(0, 1) == 0 ? 0 : draw(1, 8));
          const auto least = static_cast<std::uint32_t>(draw(0, 3) == 0 ? 2 : 1);
          model.submit(static_cast<std::uint32_t>(draw(1, tenants)),
                       share(draw(0, 5) == 0 ? 0 : milli, static_cast<Amount>(draw(1, 20)) * 100),
                       least, least + more, least > 1);
          break;
        }
        case 2:
          model.end_reclaimed();
          break;
        case 3:
          model.settle(static_cast<std::int64_t>(draw(1, 5000)));
          break;
        default:
          if (model.running().empty()) break;
          const auto task =
              std::next(model.running().begin(),
                        static_cast<std::ptrdiff_t>(draw(0, model.running().size() - 1)));
          model.end(task->first, task->second.told_to_end || draw(0, 3) == 0);
      }
      reclaimed += model.run().size();
    }
    for (std::uint32_t id = 1; id <= tenants; ++id) grown += model.extras(id);
  }
  CHECK(reclaimed > 200);
  CHECK(grown > 200);
}

}  // namespace fairwater::test::gpus
