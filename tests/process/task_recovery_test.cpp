// What is found again after an agent, a supervisor or the fork server has died.
#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <thread>

#include "process/process_identity.hpp"
#include "task_host_fixture.hpp"

using namespace fairwater;

namespace {

const TaskKey kHelpersTask{JobId{1}, 0, 1};

TaskStarted started(const HostFixture& fixture, const TaskKey& task) {
  const AttemptFile file(fixture.directory(), task);
  REQUIRE(eventually([&] { return file.read()->started.has_value(); }));
  return *file.read()->started;
}

/// Starts an agent's task host with one task, and kills it with SIGKILL once a supervisor holds it.
void launch_and_kill_agent(const HostFixture& fixture, LimitMethod method,
                           const std::string& script) {
  std::array<int, 2> ends;
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t agent = ::fork();
  if (agent == 0) {
    ::dup2(ends[1], 1);
    ::execl(TASK_HOST_PROGRAM, TASK_HOST_PROGRAM, "host", fixture.directory().c_str(),
            std::to_string(static_cast<int>(method)).c_str(), script.c_str(), nullptr);
    ::_exit(1);
  }
  ::close(ends[1]);
  std::array<char, 16> word{};
  REQUIRE(::read(ends[0], word.data(), word.size()) > 0);
  started(fixture, kHelpersTask);
  ::kill(agent, SIGKILL);
  ::waitpid(agent, nullptr, 0);
  // Nothing that outlives the agent may hold its standard output.
  CHECK(::read(ends[0], word.data(), word.size()) == 0);
  ::close(ends[0]);
}

}  // namespace

TEST_CASE("Tasks go on through a kill -9 of the agent", "[process]") {
  HostFixture fixture;
  fixture.close();
  SECTION("and are found running, with their exit status later") {
    launch_and_kill_agent(fixture, probe_limits().method,
                          "while [ ! -e " + (fixture.directory() / "go").string() +
                              " ]; do sleep 0.02; done; echo went; exit 9");
    fixture.reopen();
    const auto found = fixture.host().scan();
    REQUIRE(found);
    REQUIRE(found->size() == 1);
    CHECK(found->front().task == kHelpersTask);
    CHECK(found->front().running);
    std::ofstream(fixture.directory() / "go");
    const TaskResult result = fixture.wait_for(kHelpersTask);
    CHECK(result.reason == EndReason::exited);
    CHECK(result.exit_code == 9);
    CHECK(fixture.output(kHelpersTask) == "went\n");
  }
  SECTION("and can be stopped by the next one") {
    launch_and_kill_agent(fixture, probe_limits().method, "sleep 30");
    fixture.reopen();
    REQUIRE(fixture.host().scan()->front().running);
    REQUIRE(!fixture.host().stop(kHelpersTask, EndReason::cancelled));
    CHECK(fixture.wait_for(kHelpersTask).reason == EndReason::cancelled);
  }
  SECTION("and when they ended meanwhile, so is their exit status") {
    launch_and_kill_agent(fixture, probe_limits().method, "exit 11");
    const AttemptFile file(fixture.directory(), kHelpersTask);
    REQUIRE(eventually([&] { return file.read()->result.has_value(); }));
    fixture.reopen();
    const auto found = fixture.host().scan();
    REQUIRE(found->size() == 1);
    CHECK_FALSE(found->front().running);
    CHECK(found->front().result->exit_code == 11);
  }
}

TEST_CASE("A host on a copy of the directory leaves the tasks of the other alone", "[process]") {
  HostFixture fixture;
  const auto go = fixture.directory() / "go";
  const LaunchOrder order =
      fixture.shell("while [ ! -e " + go.string() + " ]; do sleep 0.02; done; exit 9");
  REQUIRE(!fixture.host().launch(order));
  (void)started(fixture, order.task);
  // The guard replaces its file when it starts: what is copied has to stay meanwhile.
  REQUIRE(eventually([&] { return std::filesystem::exists(fixture.directory() / "guard"); }));
  const TemporaryDirectory elsewhere;
  TaskHostOptions options = fixture.options();
  options.directory = elsewhere / "copy";
  options.work_directory = elsewhere / "work";
  std::filesystem::copy(fixture.directory(), options.directory,
                        std::filesystem::copy_options::recursive);
  auto copy = TaskHost::open(options);
  REQUIRE(copy);
  const auto found = (*copy)->scan();
  REQUIRE(found);
  REQUIRE(found->size() == 1);
  CHECK(found->front().running);
  std::ofstream(go) << "now\n";
  CHECK(fixture.wait_for(order.task).exit_code == 9);
  std::vector<TaskResult> results;
  REQUIRE(eventually([&] { return !(results = (*copy)->collect()).empty(); }));
  CHECK(results.front().reason == EndReason::supervisor_lost);  // its end is in the other's file
}

TEST_CASE("A supervisor that vanished leaves no process and a lost task", "[process]") {
  const LimitMethod method =
      GENERATE(LimitMethod::rlimit, LimitMethod::cgroup_v1, LimitMethod::cgroup_v2);
  if (method != LimitMethod::rlimit && method != probe_limits().method) return;
  CAPTURE(to_string(method));
  HostFixture fixture(method);
  const LaunchOrder order =
      fixture.shell("setsid sh -c 'echo up; while :; do sleep 0.1; done' $0 & wait");
  REQUIRE(!fixture.host().launch(order));
  REQUIRE(eventually([&] { return fixture.output(order.task) == "up\n"; }));
  const pid_t supervisor = started(fixture, order.task).supervisor.pid;
  SECTION("under the agent's eyes") {
    ::kill(supervisor, SIGKILL);
    const TaskResult result = fixture.wait_for(order.task);
    CHECK(result.reason == EndReason::supervisor_lost);
    CHECK(result.message == "its supervisor vanished without recording how it ended");
    CHECK(result.started_at);
  }
  SECTION("while there was no agent") {
    const FileDescriptor watched = open_process(started(fixture, order.task).supervisor);
    fixture.close();
    ::kill(supervisor, SIGKILL);
    pollfd ended{watched.get(), POLLIN, 0};
    REQUIRE(::poll(&ended, 1, 10'000) == 1);  // a signal takes its time on a busy machine
    fixture.reopen();
    const auto found = fixture.host().scan();
    REQUIRE(found);
    REQUIRE(found->size() == 1);
    REQUIRE(found->front().result);
    CHECK(found->front().result->reason == EndReason::supervisor_lost);
  }
  CHECK(processes_with_argument(fixture.marker()).empty());
  const auto again = fixture.host().scan();
  CHECK(again->front().result->reason == EndReason::supervisor_lost);
}

TEST_CASE("A supervisor told to end by somebody else gives its task back", "[process]") {
  HostFixture fixture;
  const LaunchOrder order = fixture.shell("sleep 30");
  REQUIRE(!fixture.host().launch(order));
  ::kill(started(fixture, order.task).supervisor.pid, SIGTERM);
  CHECK(fixture.wait_for(order.task).reason == EndReason::supervisor_lost);
}

TEST_CASE("What forks while an attempt is ended is ended too", "[process]") {
  HostFixture fixture(LimitMethod::rlimit);
  // Each is another process every 100 ms.
  const LaunchOrder order = fixture.shell(
      "hop() { sleep 0.1; hop & }; for i in $(seq 30); do hop & done; echo up; sleep 30");
  REQUIRE(!fixture.host().launch(order));
  REQUIRE(eventually([&] { return fixture.output(order.task) == "up\n"; }));
  ::kill(started(fixture, order.task).supervisor.pid, SIGKILL);
  CHECK(fixture.wait_for(order.task).reason == EndReason::supervisor_lost);
  CHECK(processes_with_argument(fixture.marker()).empty());
}

TEST_CASE("An attempt whose supervisor takes its time is waited for", "[process]") {
  HostFixture fixture;
  const AttemptFile file(fixture.directory(), kHelpersTask);
  REQUIRE(!file.create(TaskOrder{}));
  FileDescriptor lock = file.try_lock();
  REQUIRE(lock);
  const std::jthread supervisor([lock = std::move(lock)]() mutable {
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    lock = {};
  });
  const auto found = fixture.host().scan();
  REQUIRE(found);
  REQUIRE(found->size() == 1);
  CHECK(found->front().result);
}

TEST_CASE("A process that merely has a supervisor's pid is left alone", "[process]") {
  HostFixture fixture;
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    ::pause();
    ::_exit(0);
  }
  const AttemptFile file(fixture.directory(), kHelpersTask);
  REQUIRE(!file.create(TaskOrder{}));
  REQUIRE(!AttemptFile::append(file.try_lock(),
                               TaskStarted{{stranger, 1, current_boot_id()}, wall_time_now()}));
  const auto found = fixture.host().scan();
  REQUIRE(found);
  CHECK(found->front().result->reason == EndReason::supervisor_lost);
  CHECK(::waitpid(stranger, nullptr, WNOHANG) == 0);
  ::kill(stranger, SIGKILL);
  ::waitpid(stranger, nullptr, 0);
}

TEST_CASE("A file that a crash left without an order is a lost task", "[process]") {
  HostFixture fixture;
  std::ofstream(AttemptFile(fixture.directory(), kHelpersTask).path()) << "fairwater-order 1\nepo";
  const auto found = fixture.host().scan();
  REQUIRE(found);
  REQUIRE(found->size() == 1);
  CHECK(found->front().result->reason == EndReason::supervisor_lost);
  fixture.reopen();
  CHECK(fixture.host().scan()->front().result == found->front().result);
}

TEST_CASE("A host whose fork server was killed starts another", "[process]") {
  HostFixture fixture;
  REQUIRE(fixture.run("exit 0").exit_code == 0);
  // The guard, which is a fork of it, is nobody's child.
  const auto children = ProcessTree().descendants_of(::getpid());
  const auto servers = processes_with_argument(fixture.directory().string());
  const auto server = std::ranges::find_first_of(servers, children);
  REQUIRE(server != servers.end());
  ::kill(*server, SIGKILL);
  CHECK(fixture.run("exit 4").exit_code == 4);
}

TEST_CASE("A supervisor program that is not there is a clear error", "[process]") {
  TemporaryDirectory directory;
  TaskHostOptions options;
  options.directory = directory.path();
  options.supervisor = "/no/such/program";
  const auto host = TaskHost::open(options);
  REQUIRE_FALSE(host);
  CHECK(details(host.error()).message ==
        "cannot execute the supervisor /no/such/program: No such file or directory");
}
