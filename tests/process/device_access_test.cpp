// Device files: which ones a device has, and that a task opens those of its own devices only.
#include "process/device_access.hpp"

#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

#include "task_host_fixture.hpp"

using namespace fairwater;

namespace {

const NamedDevices kAccessNode{{"fpga", {"left"}}, {"gpu", {"0", "1"}}};

std::string refusal(const DeviceFiles& configured) {
  const auto files = find_device_files(kAccessNode, configured);
  REQUIRE_FALSE(files);
  return details(files.error()).field + ": " + details(files.error()).message;
}

/// Opens each for reading and prints those that it could open.
std::string opening(const std::string& files) {
  return "for f in " + files + "; do (exec 3< $f) 2> /dev/null && echo $f; done; ";
}

}  // namespace

TEST_CASE("Devices have the files that are configured, and gpus those of their number",
          "[process][devices]") {
  const TemporaryDirectory directory;
  std::filesystem::create_symlink("/dev/zero", directory / "nvidia1");
  std::ofstream(directory / "nvidia0") << "no device";
  const std::filesystem::path zero = directory / "nvidia1";
  CHECK(*find_device_files(kAccessNode, {}, directory.path()) == DeviceFiles{{"gpu1", {zero}}});
  const DeviceFiles configured{{"left", {"/dev/full"}}, {"gpu1", {"/dev/full", "/dev/null"}}};
  CHECK(*find_device_files(kAccessNode, configured, directory.path()) == configured);
  CHECK(refusal({{"gpu7", {"/dev/full"}}}) ==
        "device_files.gpu7: this node has no device gpu7; its devices are left,gpu0,gpu1");
  CHECK(refusal({{"left", {directory / "nvidia0"}}}).starts_with("device_files.left: '"));
  CHECK(refusal({{"left", {"dev/full"}}}) ==
        "device_files.left: 'dev/full' is not a device; write the path of its file, as in "
        "[/dev/left]");
}

TEST_CASE("The files of others' devices are those that none of a task's own has",
          "[process][devices]") {
  const DeviceFiles files{{"gpu0", {"/dev/full", "/dev/null"}},
                          {"gpu1", {"/dev/zero", "/dev/null", "/nowhere"}}};
  const auto of_holder = [&](const std::vector<std::string>& gpus) {
    return joined(numbers_of_others(files, {{"gpu", gpus}}));
  };
  CHECK(of_holder({}) == "c 1:3,c 1:5,c 1:7");
  CHECK(of_holder({"0"}) == "c 1:5");
  CHECK(of_holder({"1"}) == "c 1:7");
  CHECK(of_holder({"0", "1"}).empty());
}

TEST_CASE("A machine says whether tasks are held to their devices", "[process][devices]") {
  const auto said = [](LimitMethod method, const NamedDevices& node, const DeviceFiles& files) {
    const auto control = probe_device_control(method, node, files);
    REQUIRE(control);
    CHECK(control->files.empty());
    return control->words;
  };
  const NamedDevices node{{"fpga", {"left", "right"}}};
  const DeviceFiles files{{"left", {"/dev/full"}}};
  CHECK(said(LimitMethod::cgroup_v1, {{"gpu", {}}}, {}).empty());
  CHECK(said(LimitMethod::cgroup_v1, node, {}) ==
        "not held to their devices: no device file of left,right is known");
  CHECK(said(LimitMethod::cgroup_v2, node, files) ==
        "not held to their devices: control groups of version 2 have no devices controller");
  CHECK(said(LimitMethod::rlimit, node, files) ==
        "not held to their devices: there is no control group");
  if (probe_limits().method != LimitMethod::cgroup_v1) return;
  const auto control = probe_device_control(LimitMethod::cgroup_v1, node, files);
  REQUIRE(control);
  CHECK(control->files == files);
  CHECK(control->words ==
        "held to their devices by a control group, but no device file of right is known");
}

TEST_CASE("Who may open a kind of devices as a whole cannot keep tasks from some of them",
          "[process][devices]") {
  if (probe_limits().method != LimitMethod::cgroup_v1) return;
  const NamedDevices node{{"fpga", {"left"}}};
  const DeviceFiles files{{"left", {"/dev/full"}}};
  // As in a container: its group lists what it may open.
  CgroupPaths group;
  REQUIRE(!add_device_control(group, "fairwater-test-" + std::to_string(::getpid())));
  const auto& directory = group["devices"];
  REQUIRE(!write_existing(directory / "devices.deny", "a"));
  const auto said_by_member = [&](const char* allowed) {
    REQUIRE(!write_existing(directory / "devices.allow", allowed));
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const FileDescriptor reader(ends[0]);
    FileDescriptor writer(ends[1]);
    if (const pid_t child = ::fork(); child == 0) {
      std::string words = "cannot enter the group";
      if (!write_existing(directory / "cgroup.procs", "0"))
        if (const auto control = probe_device_control(LimitMethod::cgroup_v1, node, files))
          words = control->words;
      ::_exit(write_all(writer.get(), words, "pipe") ? 1 : 0);
    } else {
      writer.reset();
      std::string words(512, '\0');
      words.resize(static_cast<std::size_t>(
          std::max<ssize_t>(::read(reader.get(), words.data(), words.size()), 0)));
      ::waitpid(child, nullptr, 0);
      return words;
    }
  };
  CHECK(said_by_member("c 1:7 rwm") == "held to their devices by a control group");
  CHECK(said_by_member("c 1:* rwm") ==
        "not held to their devices: the agent's own control group allows 'c 1:* rwm', which cannot "
        "be allowed in part");
  TaskCgroup(group).remove();
}

TEST_CASE("A task opens the devices that it was given, and no others", "[process][devices]") {
  if (probe_limits().method != LimitMethod::cgroup_v1) {
    WARN("not tried: this machine has no devices control group");
    return;
  }
  HostFixture fixture;
  fixture.options().devices = {{"gpu", {"0", "1"}}};
  fixture.options().device_files = {{"gpu0", {"/dev/full"}}, {"gpu1", {"/dev/zero"}}};
  fixture.reopen();
  const auto opened = [&](Amount gpus) {
    LaunchOrder order = fixture.shell(opening("/dev/null /dev/full /dev/zero") +
                                      "grep :devices: /proc/self/cgroup | cut -d: -f3 >&2");
    order.limits["gpu"] = gpus;
    CHECK(fixture.run(order).exit_code == 0);
    const std::string group = fixture.output(order.task, true);
    CHECK(group.ends_with(attempt_name(order.task) + "\n") == (gpus < 2));
    return fixture.output(order.task);
  };
  CHECK(opened(0) == "/dev/null\n");
  CHECK(opened(1) == "/dev/null\n/dev/full\n");
  CHECK(opened(2) == "/dev/null\n/dev/full\n/dev/zero\n");

  // Who runs on while the host is gone is held all the same.
  const std::string go = fixture.directory() / "go";
  LaunchOrder first = fixture.shell("until [ -e " + go + " ]; do sleep 0.01; done; " +
                                    opening("/dev/full /dev/zero"));
  first.limits["gpu"] = 1;
  fixture.launch_held(first);
  fixture.reopen();
  REQUIRE(fixture.host().scan());
  CHECK(opened(1) == "/dev/null\n/dev/zero\n");
  std::ofstream{go};
  fixture.wait_for(first.task);
  CHECK(fixture.output(first.task) == "/dev/full\n");
}
