// Devices asked for by name: who gets which, who waits for whom, and what a restart knows of it.
#include <algorithm>

#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

using Catch::Matchers::Contains;
using Names = std::vector<std::string>;

NodeSpec gpu_node(const std::string& name, const Names& gpus, bool tells_names = true) {
  NodeSpec spec;
  spec.traits = {name, "here", {}};
  if (tells_names) spec.traits.devices = {{"gpu", gpus}};
  spec.capacity = {{"cpu", 8000}, {"memory", 1 << 20}, {"gpu", static_cast<Amount>(gpus.size())}};
  spec.instance = "instance of " + name;
  spec.limits = "none";
  return spec;
}

Expected<JobAccepted> submit_for(ClusterFixture& cluster, const Names& devices, Amount gpus = 0,
                                 std::uint32_t tasks = 1, const std::string& resource = "gpu") {
  JobSpec spec;
  spec.tenant = "physics";
  spec.command = {"true"};
  spec.tasks_min = spec.tasks_max = tasks;
  spec.resources = {{"cpu", 100}};
  if (gpus > 0) spec.resources[resource] = gpus;
  spec.devices = devices;
  auto accepted = cluster.ask<JobAccepted>(SubmitJob{cluster.operator_caller(), spec});
  cluster.run();
  return accepted;
}

Names devices_of(ClusterFixture& cluster, JobId job, std::uint32_t index = 0) {
  return cluster.show(job).tasks.at(index).record.devices;
}

TEST_CASE("a job gets the devices that it names, on the node that has them", "[actor][devices]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("physics", 1)});
  FakeAgent one = cluster.join(gpu_node("one", {"gpu0"}));
  FakeAgent two = cluster.join(gpu_node("two", {"gpu0", "gpu1", "card"}));
  for (FakeAgent* agent : {&one, &two}) REQUIRE(cluster.report(*agent).engaged());
  const auto pair = submit_for(cluster, {"card", "gpu1"});
  REQUIRE(pair.engaged());
  CHECK(cluster.show(pair->id).job.spec.resources.at("gpu") == 2);
  CHECK(devices_of(cluster, pair->id) == Names{"gpu1", "card"});
  REQUIRE(two.launches().size() == 1);
  CHECK(two.launches()[0].devices == Names{"gpu1", "card"});
  CHECK(one.launches().empty());

  const auto waits = submit_for(cluster, {"card"}, 1);
  REQUIRE(waits.engaged());
  CHECK(cluster.show(waits->id).job.tasks.running == 0);
  const auto why = cluster.ask<Explanation>(ExplainTask{cluster.operator_caller(), waits->id, 0});
  const auto& obstacles = why->obstacles;
  const auto device = std::find_if(obstacles.begin(), obstacles.end(),
                                   [](const Obstacle& known) { return known.code == "device"; });
  REQUIRE(device != obstacles.end());
  CHECK(device->message == "card of node two is held by task 0 of job 1");
  const auto shown = cluster.node("two").devices;
  REQUIRE(shown.size() == 3);
  CHECK_FALSE(shown[0].held);
  CHECK(shown[2] == DeviceState{"card", "gpu", true, {pair->id, 0, 1}});

  cluster.restart();
  two.running = {{pair->id, 0, 1}};
  for (FakeAgent* agent : {&one, &two}) REQUIRE_FALSE(cluster.reattach(*agent));
  cluster.run();
  CHECK(cluster.node("two").devices == shown);
  CHECK(cluster.show(waits->id).job.tasks.running == 0);
  TaskResult ended;
  ended.task = {pair->id, 0, 1};
  ended.started_at = ended.finished_at = wall_time_now();
  two.running.clear();
  REQUIRE(cluster.report(two, {ended}).engaged());
  CHECK(devices_of(cluster, waits->id) == Names{"card"});
  CHECK(cluster.verify().ok);
}

NodeSpec sharing_node(const std::string& name, const Names& gpus) {
  NodeSpec spec = gpu_node(name, {});
  spec.traits.devices = {{"gpu_milli", gpus}};
  spec.capacity.erase("gpu");
  spec.capacity["gpu_milli"] = 1000 * static_cast<Amount>(gpus.size());
  return spec;
}

TEST_CASE(
    "tasks share a gpu, a whole one waits for an empty one, and a restart knows who has which",
    "[actor][devices]") {
  for (const Accounting accounting : {Accounting::units, Accounting::time}) {
    ClusterFixture cluster(ClusterFixture::default_settings(), accounting);
    cluster.apply({tenant_spec("physics", 1)});
    FakeAgent agent = cluster.join(sharing_node("one", {"gpu0", "gpu1"}));
    REQUIRE(cluster.report(agent).engaged());
    const auto submit = [&](Amount milli, std::uint32_t tasks = 1, const Names& devices = {}) {
      const auto accepted = submit_for(cluster, devices, milli, tasks, "gpu_milli");
      REQUIRE(accepted.engaged());
      return accepted->id;
    };
    const JobId parts = submit(600, 2);
    CHECK(devices_of(cluster, parts, 0) == Names{"gpu0"});
    CHECK(devices_of(cluster, parts, 1) == Names{"gpu1"});
    REQUIRE(agent.launches().size() == 2);
    CHECK(agent.launches()[1].devices == Names{"gpu1"});
    CHECK(agent.launches()[1].limits.at("gpu_milli") == 600);
    const JobId named = submit(400, 1, {"gpu1"});
    CHECK(devices_of(cluster, named) == Names{"gpu1"});
    const JobId whole = submit(1000);
    const JobId whole_named = submit(0, 1, {"gpu0"});
    CHECK(cluster.show(whole_named).job.spec.resources.at("gpu_milli") == 1000);
    const JobId half = submit(500);
    for (const JobId job : {whole, whole_named, half})
      CHECK(cluster.show(job).job.tasks.running == 0);
    const auto why = cluster.ask<Explanation>(ExplainTask{cluster.operator_caller(), whole, 0});
    CHECK(std::any_of(why->obstacles.begin(), why->obstacles.end(),
                      [](const Obstacle& known) { return known.code == "node_busy"; }));
    const auto shown = cluster.node("one").devices;
    CHECK(shown == std::vector<DeviceState>{{"gpu0", "gpu_milli", true, {parts, 0, 1}, 600},
                                            {"gpu1", "gpu_milli", true, {parts, 1, 1}, 600},
                                            {"gpu1", "gpu_milli", true, {named, 0, 1}, 400}});

    cluster.restart();
    agent.running = {{parts, 0, 1}, {parts, 1, 1}, {named, 0, 1}};
    REQUIRE_FALSE(cluster.reattach(agent));
    cluster.run();
    CHECK(cluster.node("one").devices == shown);
    for (const JobId job : {whole, whole_named, half})
      CHECK(cluster.show(job).job.tasks.running == 0);
    const auto end = [&](const TaskKey& task) {
      TaskResult ended;
      ended.task = task;
      ended.started_at = ended.finished_at = wall_time_now();
      std::erase(agent.running, task);
      REQUIRE(cluster.report(agent, {ended}).engaged());
    };
    end({named, 0, 1});
    end({parts, 1, 1});
    // What comes first of those that wait has it: alone, or with others.
    CHECK(devices_of(cluster, whole) == Names{"gpu1"});
    end({parts, 0, 1});
    CHECK(devices_of(cluster, whole_named).size() + devices_of(cluster, half).size() == 1);
    CHECK(cluster.verify().ok);
  }
}

TEST_CASE("a tenant sees that others hold a device, and not by which task", "[actor][devices]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("physics", 1), tenant_spec("arts", 1)});
  FakeAgent whole = cluster.join(gpu_node("whole", {"gpu0", "gpu1"}));
  FakeAgent shared = cluster.join(sharing_node("shared", {"card"}));
  for (FakeAgent* agent : {&whole, &shared}) REQUIRE(cluster.report(*agent).engaged());
  const JobId job = submit_for(cluster, {"gpu0"}, 1)->id;
  const JobId part = submit_for(cluster, {}, 600, 1, "gpu_milli")->id;
  const auto devices_seen_by = [&](const Caller& caller) {
    std::vector<DeviceState> all;
    const auto list = cluster.ask<NodeList>(ListNodes{caller});
    for (const NodeInfo& node : list->nodes)
      all.insert(all.end(), node.devices.begin(), node.devices.end());
    return all;
  };
  const auto seen_with = [](const TaskKey& whole_by, const TaskKey& part_by) {
    return std::vector<DeviceState>{{"gpu0", "gpu", true, whole_by},
                                    {"gpu1", "gpu", false, {}},
                                    {"card", "gpu_milli", true, part_by, 600}};
  };
  const auto known = seen_with({job, 0, 1}, {part, 0, 1});
  CHECK(devices_seen_by(cluster.operator_caller()) == known);
  CHECK(devices_seen_by(cluster.tenant_caller("physics")) == known);
  CHECK(devices_seen_by(cluster.tenant_caller("arts")) == seen_with({}, {}));

  JobSpec spec;
  spec.tenant = "arts";
  spec.command = {"true"};
  spec.resources = {{"cpu", 100}};
  spec.devices = {"gpu0"};
  const auto waits = cluster.ask<JobAccepted>(SubmitJob{cluster.operator_caller(), spec});
  REQUIRE(waits.engaged());
  cluster.run();
  const auto holder_told_to = [&](const Caller& caller) {
    const auto why = cluster.ask<Explanation>(ExplainTask{caller, waits->id, 0});
    for (const Obstacle& obstacle : why->obstacles)
      if (obstacle.code == "device") return obstacle.message;
    return std::string{};
  };
  const std::string taken = "gpu0 of node whole is held by ";
  CHECK(holder_told_to(cluster.operator_caller()) ==
        taken + "task 0 of job " + std::to_string(job.value));
  CHECK(holder_told_to(cluster.tenant_caller("arts")) == taken + "a task of another tenant");
}

TEST_CASE("a node that counts shared gpus has to name them", "[unit][devices]") {
  NodeSpec spec = sharing_node("one", {"gpu0", "gpu1"});
  CHECK_FALSE(validate(spec.traits.devices, spec.capacity));
  spec.capacity["gpu_milli"] = 1500;
  CHECK(details(validate(spec.traits.devices, spec.capacity)).message ==
        "2 names of 1500 thousandths of devices, 1000 of each");
  spec.traits.devices.clear();
  const auto unnamed = validate(spec.traits.devices, spec.capacity);
  CHECK(details(unnamed).field == "resources.gpu_milli");
  CHECK_THAT(details(unnamed).message, Contains("devices: {gpu_milli: [0, 1]}"));
  Names many;
  for (int i = 0; i < 17; ++i) many.push_back("gpu" + std::to_string(i));
  spec = sharing_node("one", many);
  CHECK_THAT(details(validate(spec.traits.devices, spec.capacity)).message,
             Contains("17 gpus that tasks share are more than 16"));
}

TEST_CASE("tasks that name no device get names, too, and leave what others name for last",
          "[actor][devices]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("physics", 1)});
  FakeAgent agent = cluster.join(gpu_node("one", {"gpu0", "gpu1"}));
  REQUIRE(cluster.report(agent).engaged());
  const auto first = submit_for(cluster, {}, 1);
  CHECK(devices_of(cluster, first->id) == Names{"gpu0"});
  const auto named = submit_for(cluster, {"gpu0"});
  CHECK(devices_of(cluster, named->id).empty());
  const auto other = submit_for(cluster, {}, 1);
  CHECK(devices_of(cluster, other->id) == Names{"gpu1"});
}

TEST_CASE("a node that tells no names is given no task by name", "[actor][devices]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("physics", 1)});
  FakeAgent agent = cluster.join(gpu_node("one", {"gpu0", "gpu1"}, false));
  REQUIRE(cluster.report(agent).engaged());
  const auto refused = submit_for(cluster, {"gpu0"});
  REQUIRE_FALSE(refused.engaged());
  CHECK(details(refused.error()).field == "devices");
  CHECK_THAT(details(refused.error()).message, Contains("no node that the job allows has gpu0"));
  const auto job = submit_for(cluster, {}, 1);
  CHECK(cluster.show(job->id).job.tasks.running == 1);
  CHECK(agent.launches()[0].devices.empty());
}

TEST_CASE("devices of nodes that nobody knows yet are refused", "[actor][devices]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("physics", 1)});
  CHECK(submit_for(cluster, {}, 1).engaged());
  const auto refused = submit_for(cluster, {"gpu0"});
  REQUIRE_FALSE(refused.engaged());
  CHECK(details(refused.error()).field == "devices");
}

TEST_CASE("an amount below the devices that are named is refused", "[actor][devices]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("physics", 1)});
  FakeAgent agent = cluster.join(gpu_node("one", {"gpu0", "gpu1"}));
  const auto refused = submit_for(cluster, {"gpu0", "gpu1"}, 1);
  REQUIRE_FALSE(refused.engaged());
  CHECK(details(refused.error()).field == "resources.gpu");
  CHECK_THAT(details(refused.error()).message,
             Contains("a task asks for 1, and devices names 2 of them; leave the amount out, or "
                      "write 2"));
}

TEST_CASE("thousandths below the gpus that are named are refused with what would be enough",
          "[actor][devices]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("physics", 1)});
  FakeAgent agent = cluster.join(sharing_node("one", {"gpu0", "gpu1"}));
  const auto refused = submit_for(cluster, {"gpu0", "gpu1"}, 500, 1, "gpu_milli");
  REQUIRE_FALSE(refused.engaged());
  CHECK(details(refused.error()).field == "resources.gpu_milli");
  CHECK(details(refused.error()).message ==
        "a task asks for 500 thousandths of a gpu, and devices names 2 gpus; leave the amount out, "
        "or write 2000");
  CHECK(submit_for(cluster, {"gpu0", "gpu1"}, 2000, 1, "gpu_milli").engaged());
}

TEST_CASE("a node whose devices and amount differ is refused", "[unit][devices]") {
  NodeSpec spec = gpu_node("one", {"gpu0", "gpu1"});
  spec.capacity["gpu"] = 3;
  const auto wrong = validate(spec.traits.devices, spec.capacity);
  CHECK(details(wrong).field == "devices.gpu");
  CHECK_THAT(details(wrong).message, Contains("2 names of 3 devices"));
  spec.capacity["gpu"] = 2;
  CHECK_FALSE(validate(spec.traits.devices, spec.capacity));
  spec.traits.devices[0].names[1] = "gpu0";
  CHECK_THAT(details(validate(spec.traits.devices, spec.capacity)).message,
             Contains("'gpu0' is no name for a device, or is given twice"));
  spec.traits.devices[0].names[1] = "gpu\x1b[2J";
  CHECK_THAT(details(validate(spec.traits.devices, spec.capacity)).message,
             Contains("'gpu\\x1b[2J' is no name"));
  spec.traits.devices[0] = {"card\n", {}};
  CHECK(details(validate(spec.traits.devices, spec.capacity)).message ==
        "the node's resources have no 'card\\x0a'; write how many there are, or leave their names "
        "out");
}

}  // namespace
}  // namespace fairwater
