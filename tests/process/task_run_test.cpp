// How a task is started, what it is given, and what is told of its end.
#include <chrono>
#include <limits>
#include <signal.h>

#include "model/job.hpp"
#include "task_host_fixture.hpp"

using namespace fairwater;

TEST_CASE("A task's exit code is its result", "[process]") {
  HostFixture fixture;
  const TaskResult good = fixture.run("exit 0");
  CHECK(good.reason == EndReason::exited);
  CHECK(good.exit_code == 0);
  const TaskResult bad = fixture.run("exit 42");
  CHECK(bad.reason == EndReason::exited);
  CHECK(bad.exit_code == 42);
  CHECK(bad.message.empty());
}

TEST_CASE("A task that dies of a signal says which", "[process]") {
  HostFixture fixture;
  const TaskResult result = fixture.run("kill -SEGV $$");
  CHECK(result.reason == EndReason::signalled);
  CHECK(result.signal == SIGSEGV);
  CHECK(result.exit_code == 128 + SIGSEGV);
}

TEST_CASE("What cannot be started says why", "[process]") {
  HostFixture fixture;
  LaunchOrder order = fixture.shell("");
  SECTION("no such program") {
    order.command = {"no-such-program-anywhere"};
    const TaskResult result = fixture.run(order);
    CHECK(result.reason == EndReason::could_not_start);
    CHECK(result.exit_code == 127);
    CHECK(result.message == "no-such-program-anywhere: No such file or directory");
  }
  SECTION("a file that is no program") {
    order.command = {"/etc/passwd"};
    const TaskResult result = fixture.run(order);
    CHECK(result.reason == EndReason::could_not_start);
    CHECK(result.exit_code == 126);
    CHECK(result.message == "/etc/passwd: Permission denied");
  }
  SECTION("no such directory") {
    order.directory = "/no/such/directory";
    const TaskResult result = fixture.run(order);
    CHECK(result.reason == EndReason::could_not_start);
    CHECK(result.exit_code == 126);
    CHECK(result.message == "directory /no/such/directory: No such file or directory");
  }
  SECTION("no command at all") {
    order.command = {};
    const auto error = fixture.host().launch(order);
    CHECK(details(error).code == ErrorCode::invalid_input);
    CHECK(details(error).field == "command");
  }
}

TEST_CASE("An order with numbers that no job can have is refused by field and value", "[process]") {
  HostFixture fixture;
  LaunchOrder order = fixture.shell("true");
  std::string field;
  SECTION("a time limit that no moment can be added to") {
    field = "time_limit_ms";
    order.time_limit_ms = std::numeric_limits<std::int64_t>::max();
  }
  SECTION("a grace of days") {
    field = "grace_ms";
    order.grace_ms = kMaxGrace_ms + 1;
  }
  SECTION("a lease below zero") {
    field = "lease_ms";
    order.lease_ms = -1;
  }
  SECTION("processors below zero") {
    field = "cpu";
    order.limits["cpu"] = -1000;
    order.exclusive_cpus = true;
  }
  SECTION("memory of more bytes than a number holds") {
    field = "memory";
    order.limits["memory"] = Amount{1} << 44;
  }
  const auto error = fixture.host().launch(order);
  CHECK(details(error).code == ErrorCode::invalid_input);
  CHECK(details(error).field == field);
  CHECK_THAT(details(error).message, Catch::Matchers::Contains(field + " is ") &&
                                         Catch::Matchers::Contains("between 0 and"));
  CHECK(std::filesystem::is_empty(fixture.directory() / "tasks"));
}

TEST_CASE("Standard output and standard error are kept apart", "[process]") {
  HostFixture fixture;
  const LaunchOrder order = fixture.shell("echo out; echo err >&2; read line || echo no input");
  fixture.run(order);
  CHECK(fixture.output(order.task) == "out\nno input\n");
  CHECK(fixture.output(order.task, true) == "err\n");
  const auto piece = fixture.host().read_log(order.task, false, 4, 2);
  REQUIRE(piece);
  CHECK(*piece == "no");
  for (const std::uint64_t behind :
       {std::uint64_t{1000}, std::uint64_t{1} << 62, (std::uint64_t{1} << 63) - 1,
        std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    const auto nothing = fixture.host().read_log(order.task, false, behind, 10);
    REQUIRE(nothing);
    CHECK(nothing->empty());
  }
}

TEST_CASE("A log is bounded and marked, and the task goes on", "[process]") {
  HostFixture fixture;
  fixture.options().log_limit_bytes = 1000;
  fixture.reopen();
  const LaunchOrder order = fixture.shell("head -c 3000000 /dev/zero; exit 7");
  const TaskResult result = fixture.run(order);
  CHECK(result.exit_code == 7);
  const std::string text = fixture.output(order.task);
  CHECK(text.substr(0, 1000) == std::string(1000, '\0'));
  CHECK(text.substr(1000) ==
        "\n[fairwater: output limit of 1000 bytes reached, the rest is dropped]\n");
}

TEST_CASE("A task that closes its own pipes runs on", "[process]") {
  HostFixture fixture;
  const LaunchOrder order = fixture.shell("echo first; exec >&- 2>&-; sleep 0.05; exit 3");
  CHECK(fixture.run(order).exit_code == 3);
  CHECK(fixture.output(order.task) == "first\n");
}

TEST_CASE("A task sees its environment, directory and place in the job", "[process]") {
  HostFixture fixture;
  LaunchOrder order = fixture.shell(
      "echo $FAIRWATER_JOB_ID $FAIRWATER_TASK_INDEX $FAIRWATER_TASK_COUNT; echo \"$GIVEN\"; pwd; "
      "echo ${SECRET_OF_THE_AGENT-unset}; ps -o sid=,pgid= -p $$ | tr -d '\\n'; echo; echo $$");
  ::setenv("SECRET_OF_THE_AGENT", "1", 1);
  order.task = {JobId{77}, 3, 2};
  order.task_count = 9;
  order.environment.change()["GIVEN"] = "two words\nand a line";
  order.directory = "/usr";
  fixture.run(order);
  std::istringstream text(fixture.output(order.task));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  REQUIRE(lines.size() == 7);
  CHECK(lines[0] == "77 3 9");
  CHECK(lines[1] + "\n" + lines[2] == "two words\nand a line");
  CHECK(lines[3] == "/usr");
  CHECK(lines[4] == "unset");
  std::istringstream ids(lines[5]);
  std::string session, group;
  ids >> session >> group;
  CHECK(session == lines[6]);
  CHECK(group == lines[6]);
}

TEST_CASE("A task has a directory of its own, which is gone afterwards", "[process]") {
  HostFixture fixture;
  const auto work = fixture.directory() / "work";
  LaunchOrder order = fixture.shell(
      "pwd; echo $HOME; echo $TMPDIR; stat -c %a . $TMPDIR; echo $PATH | grep -c /usr/bin; mkdir "
      "-p "
      "a/b; touch a/b/c; chmod 500 a/b a; ln -s / a-link");
  const std::string own = work / attempt_name(order.task);
  SECTION("in which it starts") {
    CHECK(fixture.run(order).exit_code == 0);
    CHECK(fixture.output(order.task) == own + "\n" + own + "\n" + own + "/tmp\n700\n700\n1\n");
  }
  SECTION("unless its job names another") {
    order.directory = "/usr";
    order.command.change()[2] = "pwd; echo $HOME; touch $TMPDIR/x";
    CHECK(fixture.run(order).exit_code == 0);
    CHECK(fixture.output(order.task) == "/usr\n" + own + "\n");
  }
  SECTION("also when its supervisor is killed") {
    order.command.change()[2] = "touch here; echo up; sleep 30";
    REQUIRE(!fixture.host().launch(order));
    REQUIRE(eventually([&] { return fixture.output(order.task) == "up\n"; }));
    const AttemptFile file(fixture.directory(), order.task);
    ::kill(file.read()->started->supervisor.pid, SIGKILL);
    CHECK(fixture.wait_for(order.task).reason == EndReason::supervisor_lost);
  }
  CHECK(eventually([&] { return !std::filesystem::exists(own); }));
  CHECK(std::filesystem::is_empty(work));
}

TEST_CASE("What a task left while nobody could remove it goes with the next start", "[process]") {
  HostFixture fixture;
  const auto work = fixture.directory() / "work";
  std::filesystem::create_directories(work / "7.0.1" / "deep" / "er");
  std::filesystem::create_directories(work / "no attempt");
  REQUIRE(fixture.host().scan());
  CHECK(eventually([&] { return !std::filesystem::exists(work / "7.0.1"); }));
  CHECK(std::filesystem::exists(work / "no attempt"));
}

TEST_CASE("A task is told to use as many threads as it has processors", "[process]") {
  HostFixture fixture;
  LaunchOrder order = fixture.shell("nproc; echo $OMP_NUM_THREADS $GOMAXPROCS");
  order.limits = {{"cpu", 1100}};
  SECTION("rounded up") {
    fixture.run(order);
    CHECK(fixture.output(order.task) == "2\n2 2\n");  // nproc says what OMP_NUM_THREADS does
  }
  SECTION("unless its job says otherwise") {
    order.environment = {{"OMP_NUM_THREADS", "1"}, {"GOMAXPROCS", "7"}};
    fixture.run(order);
    CHECK(fixture.output(order.task) == "1\n1 7\n");
  }
}

TEST_CASE("A task starts with no inherited descriptors, signals or core dumps", "[process]") {
  HostFixture fixture;
  const LaunchOrder order = fixture.shell(
      "ls /proc/self/fd | wc -l; grep -E '^Sig(Blk|Ign)' /proc/self/status; ulimit -c");
  fixture.run(order);
  // 0, 1, 2, and the one with which ls reads the directory.
  CHECK(fixture.output(order.task) ==
        "4\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n0\n");
}

TEST_CASE("Times, cpu and memory of a run are measured", "[process]") {
  HostFixture fixture;
  LaunchOrder order = fixture.shell(
      "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; head -c 40000000 /dev/zero | tail -c "
      "30000000 "
      "> /dev/null; sleep 0.3");
  order.limits = {{"memory", 256}};
  const auto before = std::chrono::steady_clock::now();
  const TaskResult result = fixture.run(order);
  const auto waited = std::chrono::steady_clock::now() - before;
  REQUIRE(result.exit_code == 0);
  const auto wall_ms = (result.finished_at.microseconds - result.started_at.microseconds) / 1000;
  CHECK(wall_ms >= 300);
  CHECK(wall_ms <= std::chrono::duration_cast<std::chrono::milliseconds>(waited).count());
  CHECK(result.cpu_ms >= 50);
  CHECK(result.cpu_ms <= wall_ms * 2);
  CHECK(result.peak_memory_kib >= 29000);
  CHECK(result.peak_memory_kib <= 256 * 1024);
}

TEST_CASE("An attempt is started once, ever", "[process]") {
  HostFixture fixture;
  const LaunchOrder order = fixture.shell("echo run");
  fixture.run(order);
  CHECK(details(fixture.host().launch(order)).code == ErrorCode::already_exists);
  fixture.host().forget(order.task);
  CHECK(details(fixture.host().launch(order)).code == ErrorCode::already_exists);
  fixture.reopen();
  CHECK(details(fixture.host().launch(order)).code == ErrorCode::already_exists);
  CHECK(fixture.output(order.task) == "run\n");
  LaunchOrder again = order;
  again.task.attempt = 2;
  CHECK(fixture.run(again).exit_code == 0);
}
