// What is the machine's fault and what the task's, when an attempt does not come to its end.
#include <cstdlib>
#include <fstream>
#include <signal.h>
#include <sys/mount.h>

#include "task_host_fixture.hpp"

using namespace fairwater;

namespace {

/// For the programs that the fixture starts from now on.
class Preloaded {
 public:
  explicit Preloaded(const char* failing_fsync) {
    ::setenv("LD_PRELOAD", FAILING_FSYNC_LIBRARY, 1);
    // In a build with AddressSanitizer, whose library wants to be the first.
    ::setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
    ::setenv("FAIRWATER_FAILING_FSYNC", failing_fsync, 1);
  }
  ~Preloaded() {
    ::unsetenv("LD_PRELOAD");
    ::unsetenv("ASAN_OPTIONS");
    ::unsetenv("FAIRWATER_FAILING_FSYNC");
  }
};

class TinyDisk {
 public:
  explicit TinyDisk(std::filesystem::path where) : where_(std::move(where)) {
    mounted_ = ::mount("fairwater-test", where_.c_str(), "tmpfs", 0, "size=256k") == 0;
  }
  ~TinyDisk() {
    if (mounted_) ::umount2(where_.c_str(), MNT_DETACH);
  }
  [[nodiscard]] bool mounted() const { return mounted_; }
  void fill() const {
    std::ofstream(where_ / "filler") << std::string(std::filesystem::space(where_).free, 'x');
  }
  void empty() const { std::filesystem::remove(where_ / "filler"); }

 private:
  std::filesystem::path where_;
  bool mounted_ = false;
};

}  // namespace

TEST_CASE("One fsync that fails costs a launch or a second, never the task", "[process]") {
  HostFixture fixture;
  SECTION("of the attempt's name: nothing was started") {
    const Preloaded preloaded("1");
    fixture.reopen();
    const TaskResult result = fixture.run("echo ran");
    CHECK(result.reason == EndReason::launch_failed);
    CHECK_THAT(result.message, Catch::Contains("cannot sync"));
    CHECK(fixture.output(result.task).empty());
  }
  SECTION("of the result: it is written and synced again") {
    const Preloaded preloaded("2");
    fixture.reopen();
    const TaskResult result = fixture.run("echo ran; exit 3");
    CHECK(result.reason == EndReason::exited);
    CHECK(result.exit_code == 3);
    CHECK(fixture.output(result.task) == "ran\n");
  }
}

TEST_CASE("A full disk is the node's fault, and over when there is room", "[process]") {
  HostFixture fixture;
  fixture.close();
  const TinyDisk disk(fixture.directory());
  if (!disk.mounted()) {
    WARN("skipped: a tmpfs can be mounted by root alone");
    return;
  }
  fixture.reopen();
  disk.fill();
  const LaunchOrder order = fixture.shell("exit 0");
  const auto error = fixture.host().launch(order);
  CHECK(details(error).code == ErrorCode::disk_full);
  for (const auto& entry : std::filesystem::directory_iterator(fixture.directory() / "tasks"))
    CHECK(entry.path().filename() == attempt_name(order.task));  // nothing half written
  disk.empty();
  CHECK(fixture.run("exit 4").exit_code == 4);
  fixture.close();
}

TEST_CASE("A supervisor program that is gone is the node's fault", "[process]") {
  HostFixture fixture;
  const auto program = fixture.directory() / "supervisor";
  std::filesystem::copy_file(TASK_HOST_PROGRAM, program);
  fixture.options().supervisor = program;
  fixture.reopen();
  REQUIRE(fixture.run("exit 0").exit_code == 0);
  for (const pid_t server : processes_with_argument(fixture.directory().string()))
    ::kill(server, SIGKILL);
  std::filesystem::remove(program);
  const LaunchOrder order = fixture.shell("exit 0");
  CHECK_THAT(details(fixture.host().launch(order)).message,
             Catch::Contains("cannot execute the supervisor"));
  const auto found_tasks = fixture.host().scan();
  REQUIRE(found_tasks);
  for (const FoundTask& found : *found_tasks)
    if (found.task == order.task) CHECK(found.result->reason == EndReason::launch_failed);
}

TEST_CASE("A task that kills its supervisor is lost, not gone with the machine", "[process]") {
  HostFixture fixture;
  CHECK(fixture.run("kill -9 $PPID; sleep 30").reason == EndReason::supervisor_lost);
  CHECK(fixture.run("kill $PPID; sleep 30").reason == EndReason::supervisor_lost);
  CHECK(processes_with_argument(fixture.marker()).empty());
}

TEST_CASE("A task that spoils its own file is lost, not failed by the node", "[process]") {
  HostFixture fixture;
  const char* spoil = GENERATE("echo garbled > $FAIRWATER_ATTEMPT", "rm -f $FAIRWATER_ATTEMPT");
  const LaunchOrder order = fixture.shell(std::string(spoil) + "; kill -9 $PPID; sleep 30");
  CHECK(fixture.run(order).reason == EndReason::supervisor_lost);
  CHECK(processes_with_argument(fixture.marker()).empty());
}

TEST_CASE("A machine that was booted since has lost its tasks", "[process]") {
  HostFixture fixture;
  const AttemptFile file(fixture.directory(), {JobId{1}, 0, 1});
  REQUIRE(!file.create(TaskOrder{}));
  REQUIRE(
      !AttemptFile::append(file.try_lock(), TaskStarted{{1, 1, "another boot"}, wall_time_now()}));
  CHECK(fixture.host().scan()->front().result->reason == EndReason::node_lost);
}

TEST_CASE(
    "What an earlier boot left is gone with the machine, also where its files were not on disk",
    "[process]") {
  const TemporaryDirectory directory;  // in which nobody has worked since this boot
  REQUIRE(!AttemptFile::make_directories(directory.path()));
  const auto leave_file = [&](std::uint64_t job, const char* content) {
    std::ofstream(AttemptFile(directory.path(), {JobId{job}, 0, 1}).path()) << content;
  };
  leave_file(1, "");
  leave_file(2, "fairwater-order 1\nepo");
  HostFixture fixture;
  fixture.options().directory = directory.path();
  fixture.reopen();
  const auto of_earlier_boot = *fixture.host().scan();
  CHECK(of_earlier_boot.size() == 2);
  for (const FoundTask& found : of_earlier_boot) {
    CHECK(found.result->reason == EndReason::node_lost);
    CHECK(found.result->message == "its machine went down");
  }
  // Of this boot, and found by the next host, it is its supervisor that is lost.
  leave_file(3, "");
  fixture.reopen();
  const auto found = *fixture.host().scan();
  REQUIRE(found.size() == 3);
  for (const FoundTask& one : found)
    CHECK(one.result->reason ==
          (one.task.job == JobId{3} ? EndReason::supervisor_lost : EndReason::node_lost));
  fixture.close();
}
