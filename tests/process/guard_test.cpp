// What ends when agent, fork server and supervisors cannot end it, and how memory is measured.
#include <fstream>
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "process/lease.hpp"
#include "process/memory_board.hpp"
#include "process/process_identity.hpp"
#include "task_host_fixture.hpp"

using namespace fairwater;

namespace {

std::vector<LimitMethod> methods_here() {
  const LimitProbe probe = probe_limits();
  std::vector<LimitMethod> methods{LimitMethod::rlimit};
  if (probe.method != LimitMethod::rlimit) methods.push_back(probe.method);
  return methods;
}

class GuardFixture : public HostFixture {
 public:
  explicit GuardFixture(LimitMethod method) : HostFixture(method) {
    REQUIRE(eventually([&] { return static_cast<bool>(open_process(guard())); }));
  }
  [[nodiscard]] ProcessIdentity guard() const {
    ProcessIdentity guard;
    std::ifstream(directory() / "guard") >> guard.pid >> guard.start_ticks >> guard.boot_id;
    return guard;
  }
  /// Launches it, waits until it has said `up`, and returns its supervisor.
  pid_t start(const LaunchOrder& order) {
    REQUIRE(!host().launch(order));
    REQUIRE(eventually([&] { return output(order.task) == "up\n"; }));
    return AttemptFile(directory(), order.task).read()->started->supervisor.pid;
  }
  /// The program that forks supervisors: this process's child.
  [[nodiscard]] pid_t fork_server() const {
    const ProcessTree tree;
    const auto servers = processes_with_argument(directory().string());
    for (const pid_t child : tree.descendants_of(::getpid()))
      if (std::ranges::find(servers, child) != servers.end()) return child;
    return 0;
  }
  [[nodiscard]] bool nothing_left() const { return processes_with_argument(marker()).empty(); }
  static void wait_until(std::int64_t moment_ms) {
    for (auto now_ms = boottime_ms(); now_ms < moment_ms; now_ms = boottime_ms())
      ::poll(nullptr, 0, static_cast<int>(moment_ms - now_ms));
  }
};

constexpr const char* kStubborn = "trap '' TERM; echo up; while :; do sleep 0.05; done";
/// The moment by which the guard has been at it.
constexpr std::int64_t kGuardAfterMs = kLeaseGraceMs + kGuardDelayMs;

}  // namespace

TEST_CASE("A command dies with its supervisor, and the rest of the task with the lease",
          "[process][guard]") {
  const LimitMethod method = GENERATE(from_range(methods_here()));
  CAPTURE(to_string(method));
  GuardFixture fixture(method);
  const std::int64_t deadline = boottime_ms() + 3000;
  fixture.host().extend_lease({deadline});
  // Only who has left the session says `up`: while it becomes another program it has no arguments
  // to be found by.
  const LaunchOrder order =
      fixture.shell("trap '' TERM; setsid sh -c 'echo up; while :; do sleep 0.05; done' $0 & wait");
  const pid_t supervisor = fixture.start(order);
  // The host is not asked from here on, as if its agent had been killed too.
  ::kill(fixture.fork_server(), SIGKILL);
  ::kill(supervisor, SIGKILL);
  CHECK(eventually([&] { return processes_with_argument(fixture.marker()).size() == 1; }));
  CHECK(boottime_ms() < deadline);
  CHECK(eventually([&] { return fixture.nothing_left(); }));
  const std::int64_t late_ms = boottime_ms() - deadline;
  WARN("figure guard.orphan_after_lease_ms " << late_ms);
  CHECK(late_ms >= kGuardAfterMs);
}

TEST_CASE("A stopped supervisor's task ends with the lease, and its supervisor with it",
          "[process][guard]") {
  const LimitMethod method = GENERATE(from_range(methods_here()));
  CAPTURE(to_string(method));
  GuardFixture fixture(method);
  fixture.host().extend_lease({boottime_ms() + 2500});
  const LaunchOrder order = fixture.shell(kStubborn);
  ::kill(fixture.start(order), SIGSTOP);
  CHECK(eventually([&] { return fixture.nothing_left(); }));
  CHECK(fixture.wait_for(order.task).reason == EndReason::supervisor_lost);
}

TEST_CASE("The guard ends no task before its own lease is over", "[process][guard]") {
  const LimitMethod method = GENERATE(from_range(methods_here()));
  CAPTURE(to_string(method));
  GuardFixture fixture(method);
  LaunchOrder own = fixture.shell(kStubborn);
  own.lease_ms = 5000;
  LaunchOrder ordinary = fixture.shell(kStubborn);
  const std::int64_t heard = boottime_ms();
  fixture.host().extend_lease({heard + 2500, heard, heard + 10'000});
  for (const LaunchOrder* order : {&ordinary, &own}) ::kill(fixture.start(*order), SIGSTOP);
  CHECK(fixture.wait_for(ordinary.task).reason == EndReason::supervisor_lost);
  CHECK(boottime_ms() >= heard + 2500 + kGuardAfterMs);
  CHECK_FALSE(fixture.nothing_left());
  CHECK(fixture.host().runs(own.task));
  CHECK(fixture.wait_for(own.task).reason == EndReason::supervisor_lost);
  CHECK(boottime_ms() >= heard + 5000 + kGuardAfterMs);
  CHECK(fixture.nothing_left());
}

TEST_CASE("Who was frozen until after the lease is killed at once when thawed",
          "[process][guard]") {
  const LimitMethod method = GENERATE(from_range(methods_here()));
  CAPTURE(to_string(method));
  GuardFixture fixture(method);
  LaunchOrder order = fixture.shell(kStubborn);
  order.grace_ms = 60'000;
  const std::int64_t deadline = boottime_ms() + 2500;
  fixture.host().extend_lease({deadline});
  const pid_t supervisor = fixture.start(order);
  auto frozen = processes_with_argument(fixture.marker());
  frozen.push_back(supervisor);
  frozen.push_back(fixture.guard().pid);
  for (const pid_t pid : frozen) ::kill(pid, SIGSTOP);
  GuardFixture::wait_until(deadline + kGuardAfterMs + 100);
  for (const pid_t pid : frozen) ::kill(pid, SIGCONT);  // the task first
  const std::int64_t thawed = boottime_ms();
  CHECK(fixture.wait_for(order.task).reason == EndReason::lease_expired);
  CHECK(fixture.nothing_left());
  WARN("figure guard.thawed_task_lives_ms " << boottime_ms() - thawed);
  CHECK(boottime_ms() - thawed < 1500);
}

TEST_CASE("What ended well is no success once the lease is over", "[process][guard]") {
  GuardFixture fixture(LimitMethod::rlimit);
  const std::int64_t deadline = boottime_ms() + 2500;
  fixture.host().extend_lease({deadline});
  const LaunchOrder order = fixture.shell("echo up; sleep 1");
  const pid_t supervisor = fixture.start(order);
  ::kill(supervisor, SIGSTOP);
  GuardFixture::wait_until(deadline + 100);
  ::kill(supervisor, SIGCONT);
  CHECK(fixture.wait_for(order.task).reason == EndReason::lease_expired);
}

TEST_CASE("A host has one guard, the newest, for as long as it is needed", "[process][guard]") {
  const LimitMethod method = GENERATE(from_range(methods_here()));
  CAPTURE(to_string(method));
  GuardFixture fixture(method);
  const ProcessIdentity first = fixture.guard();
  SECTION("another one comes when it is killed") {
    ::kill(first.pid, SIGKILL);
    CHECK(eventually([&] { return fixture.guard().pid != first.pid; }));
    CHECK(eventually([&] { return static_cast<bool>(open_process(fixture.guard())); }));
  }
  SECTION("the next host's takes over") {
    const LaunchOrder order = fixture.shell("echo up; sleep 30");
    fixture.start(order);
    fixture.reopen();
    CHECK(eventually([&] { return !open_process(first); }));
    CHECK(eventually([&] { return static_cast<bool>(open_process(fixture.guard())); }));
    REQUIRE(fixture.host().scan()->front().running);
    REQUIRE(!fixture.host().stop(order.task, EndReason::cancelled));
    fixture.wait_for(order.task);
  }
  SECTION("it goes with its host") {
    fixture.close();
    CHECK(eventually([&] { return !open_process(first); }));
  }
  SECTION("it stays for a task that outlives its host") {
    const LaunchOrder order =
        fixture.shell("echo up; while [ ! -e " + (fixture.directory() / "go").string() +
                      " ]; do sleep 0.02; done");
    fixture.start(order);
    fixture.close();
    GuardFixture::wait_until(boottime_ms() + 1500);  // it has looked whether it is needed
    CHECK(open_process(first));
    std::ofstream(fixture.directory() / "go");
    CHECK(eventually([&] { return !open_process(first); }));
  }
}

TEST_CASE("The board measures a supervisor's descendants and tells it when they use too much",
          "[process][guard]") {
  const TemporaryDirectory directory;
  auto board = MemoryBoard::open(directory.path());
  auto same = MemoryBoard::open(directory.path());
  REQUIRE(board);
  CHECK_FALSE(board->in_use());
  const auto place = same->enter(own_identity(), 0);
  REQUIRE(place);
  CHECK(board->supervisors() == std::vector{own_identity()});
  const auto gone =
      same->enter({::getpid(), 1, current_boot_id()}, 0);  // by now somebody else's id
  board->measure(77);
  CHECK(same->measured_at_ms() == 77);
  CHECK(same->peak_kib(*place) == 0);
  CHECK(board->supervisors().size() == 1);
  CHECK(same->enter({::getpid(), 1, current_boot_id()}, 0) == gone);
  same->leave(*gone);

  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  board->measure(78);
  CHECK(same->peak_kib(*place) > 0);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  same->leave(*place);
  CHECK_FALSE(board->in_use());
}

TEST_CASE("Without room on the disk there is no board, instead of one that ends its users",
          "[process][guard]") {
  const TemporaryDirectory directory;
  if (::mount("none", directory.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
    WARN("mounting needs root");
    return;
  }
  CHECK(details(MemoryBoard::open(directory.path()).error()).code == ErrorCode::disk_full);
  CHECK(::umount2(directory.path().c_str(), 0) == 0);
}

TEST_CASE("Memory is held also while the guard cannot", "[process][guard]") {
  GuardFixture fixture(LimitMethod::rlimit);
  ::kill(fixture.guard().pid, SIGSTOP);
  LaunchOrder order =
      fixture.shell("x=$(head -c 80000000 /dev/zero | tr '\\0' x); echo up; sleep 30; echo $x");
  order.limits = {{"memory", 64}};
  CHECK(fixture.run(order).reason == EndReason::memory_limit);
  ::kill(fixture.guard().pid, SIGCONT);
}
