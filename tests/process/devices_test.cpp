// Devices by id: which ones a task gets, and that nobody else gets them while it lives.
#include "process/devices.hpp"

#include <array>
#include <fstream>
#include <poll.h>
#include <random>
#include <set>
#include <signal.h>

#include "process/process_identity.hpp"
#include "task_host_fixture.hpp"

using namespace fairwater;

namespace {

const NamedDevices kNode{{"fpga", {"left", "right"}}, {"gpu", {"0", "1", "2", "3"}}};

LaunchOrder taking(LaunchOrder order, Amount gpus) {
  order.limits["gpu"] = gpus;
  return order;
}

}  // namespace

TEST_CASE("The first free devices of each resource are picked", "[process][devices]") {
  const auto first = pick_devices(kNode, {}, {{"cpu", 1000}, {"fpga", 1}, {"gpu", 2}});
  REQUIRE(first);
  CHECK(*first == NamedDevices{{"fpga", {"left"}}, {"gpu", {"0", "1"}}});
  CHECK(device_names(*first) == "left,gpu0,gpu1");
  const NamedDevices other{{"gpu", {"0", "3"}}};
  const auto second = pick_devices(kNode, {{&other}}, {{"gpu", 2}});
  CHECK(*second == NamedDevices{{"fpga", {}}, {"gpu", {"1", "2"}}});
  CHECK(device_names(NamedDevices{{"fpga", {}}, {"gpu", {}}}).empty());
  const auto none = pick_devices(kNode, {{&other}, {&*second}}, {{"gpu", 1}});
  REQUIRE_FALSE(none);
  CHECK(details(none.error()).code == ErrorCode::unavailable);
  CHECK(details(none.error()).message ==
        "the task takes 1 gpu, and of the node's 4 only 0 are free");
}

TEST_CASE("A task gets the devices that its order names, or does not start", "[process][devices]") {
  const NamedDevices other{{"gpu", {"1"}}};
  const NamedAmounts two{{"gpu", 2}};
  CHECK(*pick_devices(kNode, {{&other}}, two, {"gpu3", "gpu2"}) ==
        NamedDevices{{"fpga", {}}, {"gpu", {"2", "3"}}});
  CHECK(*pick_devices(kNode, {{&other}}, two, {"gpu3"}) ==
        NamedDevices{{"fpga", {}}, {"gpu", {"0", "3"}}});
  CHECK(*pick_devices(kNode, {}, {{"fpga", 1}, {"gpu", 1}}, {"right", "gpu1"}) ==
        NamedDevices{{"fpga", {"right"}}, {"gpu", {"1"}}});
  const auto said = [&](const std::vector<std::string>& names) {
    const auto picked = pick_devices(kNode, {{&other}}, two, names);
    REQUIRE_FALSE(picked);
    CHECK(details(picked.error()).code == ErrorCode::unavailable);
    return details(picked.error()).message;
  };
  CHECK(said({"gpu0", "gpu1"}) == "the task is to get gpu1, which another task has");
  CHECK(said({"gpu7"}) == "the task is to get gpu7, and this node does not have all of them");
  CHECK(said({"gpu0", "gpu2", "gpu3"}) == "the task is to get gpu0, and takes only 2 gpu");
  CHECK(told_devices({{"fpga", {}}, {"gpu", {"0", "card"}}}) ==
        std::vector<NodeDevices>{{"gpu", {"gpu0", "card"}}});
}

TEST_CASE("Of shared gpus the first of which enough is free is picked, whole ones are empty",
          "[process][devices]") {
  const NamedDevices node{{"gpu_milli", {"0", "1"}}};
  const NamedDevices zero{{"gpu_milli", {"0"}}};
  const std::vector<HeldDevices> held{{&zero, 600}};
  const auto picked = [&](Amount milli, const std::vector<std::string>& names = {}) {
    const auto devices = pick_devices(node, held, {{"gpu_milli", milli}}, names);
    return devices ? device_names(*devices) : details(devices.error()).message;
  };
  CHECK(picked(400) == "gpu0");
  CHECK(picked(500) == "gpu1");
  CHECK(picked(1000) == "gpu1");
  CHECK(picked(400, {"gpu1"}) == "gpu1");
  CHECK(picked(0).empty());
  CHECK(picked(500, {"gpu0"}) ==
        "the task is to get gpu0, of which others have too much for 500 thousandths of a gpu");
  CHECK(picked(1000, {"gpu0"}) ==
        "the task is to get gpu0, of which others have too much for 1 whole gpus");
  CHECK(picked(2000) == "the task takes 2 whole gpus, and of the node's 2 only 1 are free enough");
  CHECK(told_devices(node) == std::vector<NodeDevices>{{"gpu_milli", {"gpu0", "gpu1"}}});
  CHECK_FALSE(validate(node, {{"gpu_milli", 2000}}));
  CHECK(details(validate(node, {{"gpu_milli", 2}})).message ==
        "2 ids, of 1000 each, but resources.gpu_milli is 2; name as many, or leave the amount out");
  CHECK(details(validate(NamedDevices{{"gpu", {"0"}}, {"gpu_milli", {"0"}}}, {})).message ==
        "two devices are called gpu0");
}

TEST_CASE("Tasks share a gpu up to all of it, also when the agent was away", "[process][devices]") {
  HostFixture fixture;
  fixture.options().devices = {{"gpu_milli", {"0", "1"}}};
  fixture.reopen();
  const auto sharing = [&](const std::string& script, Amount milli) {
    LaunchOrder order = fixture.shell(script);
    order.limits["gpu_milli"] = milli;
    return order;
  };
  const std::string print =
      "echo $FAIRWATER_DEVICES $CUDA_VISIBLE_DEVICES ${FAIRWATER_GPU_SHARE-unset}";
  const auto holder = sharing(print + "; exec sleep 30", 700);
  REQUIRE(!fixture.host().launch(holder));
  const auto check = [&] {
    const auto part = sharing(print, 300);
    fixture.run(part);
    CHECK(fixture.output(part.task) == "gpu0 0 300\n");
    const auto larger = sharing(print, 301);
    fixture.run(larger);
    CHECK(fixture.output(larger.task) == "gpu1 1 301\n");
    const auto whole = sharing(print, 1000);
    fixture.run(whole);
    CHECK(fixture.output(whole.task) == "gpu1 1 1000\n");
    CHECK(details(fixture.host().launch(sharing(print, 2000))).code == ErrorCode::unavailable);
    const auto none = sharing(print, 0);
    fixture.run(none);
    CHECK(fixture.output(none.task) == "unset\n");
  };
  check();
  fixture.reopen();
  REQUIRE(fixture.host().scan());
  check();
}

TEST_CASE("Whoever comes and goes, no device is held twice and none is left out",
          "[process][devices][property]") {
  std::mt19937 random(7);
  for (int run = 0; run < 200; ++run) {
    std::map<int, NamedDevices> holders;
    for (int step = 0; step < 100; ++step) {
      if (random() % 3 == 0 && !holders.empty()) {
        holders.erase(std::next(holders.begin(), static_cast<int>(random() % holders.size())));
        continue;
      }
      const NamedAmounts amounts{{"fpga", static_cast<Amount>(random() % 3)},
                                 {"gpu", static_cast<Amount>(random() % 4)}};
      std::vector<HeldDevices> held;
      std::map<std::string, std::set<std::string>> busy;
      for (const auto& [holder, devices] : holders) {
        held.push_back({&devices});
        for (const auto& [resource, ids] : devices) busy[resource].insert(ids.begin(), ids.end());
      }
      const auto picked = pick_devices(kNode, held, amounts);
      bool enough = true;
      for (const auto& [resource, amount] : amounts)
        enough = enough && busy[resource].size() + static_cast<std::size_t>(amount) <=
                               kNode.at(resource).size();
      REQUIRE(static_cast<bool>(picked) == enough);
      if (!picked) continue;
      for (const auto& [resource, ids] : *picked) {
        REQUIRE(ids.size() == static_cast<std::size_t>(amounts.at(resource)));
        std::vector<std::string> smallest;
        for (const auto& id : kNode.at(resource))
          if (!busy[resource].contains(id) && smallest.size() < ids.size()) smallest.push_back(id);
        REQUIRE(ids == smallest);
      }
      holders[run * 100 + step] = *picked;
    }
  }
}

TEST_CASE("Lists of devices that cannot be meant are refused", "[process][devices]") {
  const auto said = [](const NamedDevices& devices, const NamedAmounts& amounts = {}) {
    const auto error = validate(devices, amounts);
    return error ? details(error).field + ": " + details(error).message : std::string();
  };
  CHECK(said(kNode, {{"cpu", 4000}, {"gpu", 4}}).empty());
  CHECK(said({{"gpu", {}}}).empty());
  CHECK(said({{"gpu", {"0"}}}, {{"gpu", 2}}) ==
        "devices.gpu: 1 ids, but resources.gpu is 2; name as many, or leave the amount out");
  CHECK(said({{"gpu", {"0", "0"}}}) == "devices.gpu: two devices are called gpu0");
  CHECK(said({{"gpu", {"00", "0"}}}) ==
        "devices.gpu: '00' is a number with a zero before it, which is another name of the same "
        "device; leave the zero out");
  CHECK(said({{"gpu", {"0", "10", "0a", "00a"}}}).empty());
  CHECK(said({{"gpu", {"12"}}, {"gpu1", {"2"}}}) == "devices.gpu1: two devices are called gpu12");
  CHECK(said({{"gpu", {"a"}}, {"nic", {"a"}}}) == "devices.nic: two devices are called a");
  CHECK_THAT(said({{"gpu", {"0,1"}}}), Catch::StartsWith("devices.gpu: '0,1' is not an id"));
  CHECK(said({{"memory", {"0"}}}) ==
        "devices.memory: devices are of countable resources, and memory is none");
}

TEST_CASE("NVIDIA's devices are found by their files", "[process][devices]") {
  const TemporaryDirectory directory;
  for (const char* name : {"nvidia10", "nvidia2", "nvidia0", "nvidiactl", "nvidia-uvm", "nvidia",
                           "nvidia1x", "anvidia3"})
    std::ofstream(directory / name) << "";
  CHECK(find_gpus(directory.path()) == std::vector<std::string>{"0", "2", "10"});
  CHECK(find_gpus(directory / "none").empty());
}

TEST_CASE("A task is told which devices it has", "[process][devices]") {
  HostFixture fixture;
  LaunchOrder order = fixture.shell(
      "echo ${FAIRWATER_DEVICES-unset} ${CUDA_VISIBLE_DEVICES-unset} ${CUDA_DEVICE_ORDER-unset}");
  SECTION("where the node knows none, nothing") {
    order.limits["gpu"] = 1;
    fixture.run(order);
    CHECK(fixture.output(order.task) == "unset unset unset\n");
  }
  SECTION("several of several resources, whatever its job says of another machine") {
    fixture.options().devices = kNode;
    fixture.reopen();
    order.limits = {{"fpga", 1}, {"gpu", 2}};
    order.environment.change()["CUDA_VISIBLE_DEVICES"] = "7";
    fixture.run(order);
    CHECK(fixture.output(order.task) == "left,gpu0,gpu1 0,1 PCI_BUS_ID\n");
  }
  SECTION("none, where it took none") {
    fixture.options().devices = kNode;
    fixture.reopen();
    order.command.change()[2] = "echo \"[$FAIRWATER_DEVICES][${CUDA_VISIBLE_DEVICES-unset}]\"";
    fixture.run(order);
    CHECK(fixture.output(order.task) == "[][]\n");
  }
}

TEST_CASE("A device is nobody else's until its task is over", "[process][devices]") {
  HostFixture fixture;
  fixture.options().devices = {{"gpu", {"0", "1", "2"}}};
  fixture.reopen();
  const auto print = "echo $FAIRWATER_DEVICES";
  const auto hold = "echo $FAIRWATER_DEVICES; exec sleep 30";
  const auto first = taking(fixture.shell(hold), 1);
  const auto second = taking(fixture.shell(hold), 1);
  fixture.launch_held(first);
  fixture.launch_held(second);
  const auto third = taking(fixture.shell(print), 1);
  fixture.run(third);
  CHECK(fixture.output(third.task) == "gpu2\n");
  const auto large = taking(fixture.shell(print), 2);
  const auto refused = fixture.host().launch(large);
  CHECK(details(refused).code == ErrorCode::unavailable);
  CHECK_FALSE(fixture.host().runs(large.task));
  auto again = first;
  again.limits["gpu"] = 3;
  CHECK(details(fixture.host().launch(again)).code == ErrorCode::already_exists);

  SECTION("and goes to the next when it is") {
    REQUIRE(!fixture.host().stop(first.task, EndReason::cancelled));
    fixture.wait_for(first.task);
    fixture.run(large);  // the refused order used up nothing
    CHECK(fixture.output(large.task) == "gpu0,gpu2\n");
  }
  SECTION("also when the agent was away") {
    fixture.reopen();
    REQUIRE(fixture.host().scan());
    const auto after = taking(fixture.shell(print), 1);
    fixture.run(after);
    CHECK(fixture.output(after.task) == "gpu2\n");
    CHECK(fixture.host().launch(taking(fixture.shell(print), 2)));
  }
  SECTION("also when its supervisor was killed and the agent was away") {
    REQUIRE(eventually([&] { return fixture.output(first.task) == "gpu0\n"; }));
    const AttemptFile file(fixture.directory(), first.task);
    const ProcessIdentity supervisor = file.read()->started->supervisor;
    const FileDescriptor watched = open_process(supervisor);
    fixture.close();
    ::kill(supervisor.pid, SIGKILL);
    pollfd ended{watched.get(), POLLIN, 0};
    REQUIRE(::poll(&ended, 1, 10'000) == 1);  // a signal takes its time on a busy machine
    fixture.reopen();
    REQUIRE(fixture.host().scan());
    const auto after = taking(fixture.shell(print), 2);
    fixture.run(after);
    CHECK(fixture.output(after.task) == "gpu0,gpu2\n");
  }
}
