#include <csignal>

#include <catch2/catch.hpp>

#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

ClusterSetup one_node() {
  return {.agents = {{"node1", "cpu: 4, memory: 2GiB"}}, .tenants = tenants({{"steady", 1}})};
}

/// Process ids that tasks wrote into a file, one per line.
std::vector<pid_t> pids_in(const std::filesystem::path& path) {
  std::vector<pid_t> pids;
  std::ifstream file(path);
  for (pid_t pid = 0; file >> pid;) pids.push_back(pid);
  return pids;
}

bool all_gone(const std::vector<pid_t>& pids) {
  for (const pid_t pid : pids) {
    const std::string state = read_file(fmt::format("/proc/{}/stat", pid));
    if (!state.empty() && state.find(") Z ") == std::string::npos) return false;
  }
  return true;
}

std::string shell(const std::string& script) {
  return fmt::format("command: {}\n", json({"bash", "-c", script}).dump());
}

TEST_CASE("cancel ends a task and everything that it started, waiting tasks never start",
          "[scenario]") {
  Cluster cluster(one_node());
  const auto pids = cluster.directory() / "pids";
  cluster.start();
  // A child that left the session and a grandchild in the background: a signal to the group misses
  // the first.
  const std::string script = fmt::format(
      "echo $$ >> {0}; setsid bash -c 'echo $$ >> {0}; sleep 60' & (sleep 60 & echo $! >> {0}; "
      "wait) & wait",
      pids.string());
  const auto id = cluster.submit(job_file("steady", 6, shell(script)));
  harness::wait_until("four tasks run", Duration(10'000),
                      [&] { return pids_in(pids).size() == 12; });
  CHECK(cluster.fairwater({"job", "cancel", std::to_string(id), "--reason", "changed my mind"})
            .status == 0);
  CHECK(cluster.wait({id}) == 125);
  const json job = cluster.job(id);
  CHECK(job["state"] == "cancelled");
  CHECK(job["tasks"]["cancelled"] == 6);
  CHECK(pids_in(pids).size() == 12);
  harness::wait_until("no process is left", Duration(10'000),
                      [&] { return all_gone(pids_in(pids)); });
}

TEST_CASE("of several jobs one that has ended keeps none of the others from being cancelled",
          "[scenario]") {
  Cluster cluster(one_node());
  cluster.start();
  const auto first = cluster.submit(job_file("steady", 1, shell("sleep 60")));
  const auto ended = cluster.submit(job_file("steady", 1, shell("true")));
  const auto last = cluster.submit(job_file("steady", 1, shell("sleep 60")));
  CHECK(cluster.wait({ended}) == 0);
  const auto outcome = cluster.fairwater({"job", "cancel", fmt::format("{}-{}", first, last)});
  CHECK(outcome.status == 1);
  CHECK(outcome.errors.find(fmt::format("job {} has ended already", ended)) != std::string::npos);
  CHECK(cluster.wait({first}) == 125);
  CHECK(cluster.wait({last}) == 125);
}

TEST_CASE("a task that ignores SIGTERM is killed after the grace", "[scenario]") {
  Cluster cluster(one_node());
  const auto pids = cluster.directory() / "pids";
  cluster.start();
  const auto id = cluster.submit(
      job_file("steady", 1,
               shell(fmt::format("trap '' TERM; echo $$ >> {}; while :; do sleep 0.1; done",
                                 pids.string()))));
  harness::wait_until("it runs", Duration(10'000), [&] { return pids_in(pids).size() == 1; });
  const auto cancelled = std::chrono::steady_clock::now();
  CHECK(cluster.fairwater({"job", "cancel", std::to_string(id)}).status == 0);
  CHECK(cluster.wait({id}) == 125);
  harness::wait_until("it is gone", Duration(10'000), [&] { return all_gone(pids_in(pids)); });
  CHECK(std::chrono::steady_clock::now() - cancelled >= Duration(4'500));
}

TEST_CASE("standard output and error are captured apart, bounded, and readable while the task runs",
          "[scenario]") {
  Cluster cluster(one_node());
  cluster.start();
  const auto gate = cluster.directory() / "gate";
  const auto id = cluster.submit(
      job_file("steady", 1,
               shell("echo to output; echo to errors >&2; yes 0123456789 | head -c 5000000; "
                     "echo last words >&2; until [ -e " +
                     gate.string() + " ]; do sleep 0.1; done")));
  const std::string job = std::to_string(id);
  harness::wait_until("its first line can be read", Duration(10'000), [&] {
    return cluster.fairwater({"job", "logs", job}).output.starts_with("to output\n");
  });
  CHECK(cluster.job(id)["state"] == "running");
  std::ofstream(gate) << "open";
  CHECK(cluster.wait({id}) == 0);
  const std::string output = cluster.fairwater({"job", "logs", job}).output;
  const std::string errors = cluster.fairwater({"job", "logs", job, "--stderr"}).output;
  CHECK(output.size() > 900'000);
  CHECK(output.size() < 1'100'000);  // log_limit: 1MiB, and a marker
  CHECK(errors == "to errors\nlast words\n");
}

TEST_CASE("a task sees its index, count, job, environment and directory, and reports its own exit",
          "[scenario]") {
  Cluster cluster(one_node());
  cluster.start();
  const auto id = cluster.submit(fmt::format(
      "tenant: steady\nname: curious\ntasks: 3\nenvironment: {{COLOUR: blue}}\ndirectory: {}\n{}",
      cluster.directory().string(),
      shell("echo $FAIRWATER_JOB_ID $FAIRWATER_TASK_INDEX $FAIRWATER_TASK_COUNT $COLOUR $PWD; "
            "[ $FAIRWATER_TASK_INDEX != 1 ] || exit 3; [ $FAIRWATER_TASK_INDEX != 2 ] || kill "
            "-SEGV $$")));
  CHECK(cluster.wait({id}) == 128 + SIGSEGV);
  const std::string job = std::to_string(id);
  CHECK(cluster.fairwater({"job", "logs", job, "--task", "1"}).output ==
        fmt::format("{} 1 3 blue {}\n", id, cluster.directory().string()));
  const json shown = cluster.job(id);
  CHECK(shown["state"] == "failed");
  CHECK(shown["tasks"]["succeeded"] == 1);
  CHECK(shown["tasks"]["failed"] == 2);
  CHECK(shown["task_list"][1]["exit_code"] == 3);
  CHECK(shown["task_list"][2]["exit_code"] == 128 + SIGSEGV);
}

TEST_CASE("a command that is not there could not run, which is 125, and does not stop the others",
          "[scenario]") {
  Cluster cluster(one_node());
  cluster.start();
  const auto absent = cluster.submit(job_file("steady", 1, "command: [/no/such/program]\n"));
  const auto good = cluster.submit(job_file("steady", 1, "command: [\"true\"]\n"));
  CHECK(cluster.wait({absent}) == 125);
  CHECK(cluster.job(absent)["task_list"][0]["exit_code"] == 127);
  CHECK(cluster.wait({good}) == 0);
}

TEST_CASE("a task over its memory limit is killed and says so, its neighbour is not",
          "[scenario]") {
  if (!is_root_or_skips("a memory limit by control group")) return;
  Cluster cluster(one_node());
  cluster.start();
  // bash holds the whole text in memory
  const std::string hungry = shell("x=$(head -c 100000000 /dev/zero | tr '\\0' x); echo ${#x}");
  const auto over = cluster.submit("tenant: steady\nresources: {cpu: 1, memory: 64MiB}\n" + hungry);
  const auto within =
      cluster.submit("tenant: steady\nresources: {cpu: 1, memory: 1900MiB}\n" + hungry);
  CHECK(cluster.wait({over}) == 128 + SIGKILL);
  CHECK(cluster.wait({within}) == 0);
  const json task = cluster.job(over)["task_list"][0];
  INFO(task.dump());
  CHECK(task["last_result"]["reason"] == "memory_limit");
}

TEST_CASE("a task over its time limit is stopped; retries run it again", "[scenario]") {
  Cluster cluster(one_node());
  const WorkLog log(cluster.directory() / "work");
  cluster.start();
  const auto id = cluster.submit(job_file("steady", 1, log.command_line("exec sleep 30")) +
                                 "time_limit: 2s\nretries: 1\n");
  CHECK(cluster.wait({id}) != 0);
  const json task = cluster.job(id)["task_list"][0];
  CHECK(task["last_result"]["reason"] == "time_limit");
  CHECK(task["attempts"] == 2);
  CHECK(log.runs().size() == 2);
}

TEST_CASE("waiting says why a job failed and how its output ended; attaching prints it as it comes",
          "[scenario]") {
  Cluster cluster(one_node());
  cluster.start();
  const auto run = [&](std::vector<std::string> flags, const std::string& script) {
    std::vector<std::string> arguments{"job", "run", "--tenant", "steady", "--memory", "64MiB"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    arguments.insert(arguments.end(), {"--", "sh", "-c", script});
    return cluster.fairwater(arguments);
  };
  const Completed failed = run({"--wait", "--name", "sums"}, "seq 20 >&2; exit 3");
  CHECK(failed.status == 3);
  CHECK(failed.errors.find("(sums) failed: 1 of 1 task failed\n") != std::string::npos);
  CHECK(failed.errors.find(", attempt 1: exit 3\n") != std::string::npos);
  CHECK(failed.errors.find("the end of its standard error:\n    11\n") != std::string::npos);
  const Completed silent = run({"--wait"}, "echo only here; exit 4");
  CHECK(silent.errors.find("the end of its standard output:\n    only here\n") !=
        std::string::npos);
  CHECK(run({"--wait"}, "true").errors.empty());

  const Completed attached =
      run({"--attach"}, "echo out; echo err >&2; sleep 1; echo late; exit 5");
  CHECK(attached.status == 5);
  CHECK(attached.output == "out\nlate\n");
  CHECK(attached.errors.starts_with("err\njob "));
  CHECK(attached.errors.find("the end of its") == std::string::npos);
  const Completed several = run({"--attach", "--tasks", "2"}, "echo $FAIRWATER_TASK_INDEX");
  CHECK(several.status == 0);
  CHECK((several.output == "[0] 0\n[1] 1\n" || several.output == "[1] 1\n[0] 0\n"));

  // What has no effect is said, and does not hinder.
  const Completed warned = run({"--priority", "5", "--wait"}, "true");
  CHECK(warned.status == 0);
  CHECK(warned.errors.find("warning: priority 5 has no effect: tenant steady runs its jobs in the "
                           "order fifo") != std::string::npos);
  const json told =
      cluster.ask({"job", "submit", "-"}, "tenant: steady\ncommand: [\"true\"]\npriority: 5\n");
  REQUIRE(told.contains("warnings"));
  CHECK(told["warnings"].size() == 1);
}

TEST_CASE("a followed log of a waiting task begins when the task does", "[scenario]") {
  Cluster cluster(one_node());
  cluster.start();
  const auto first = cluster.submit(job_file("steady", 4, "command: [sleep, \"2\"]\n"));
  const auto second = cluster.submit(job_file("steady", 1, "command: [echo, \"at last\"]\n"));
  const Completed followed = cluster.fairwater({"job", "logs", std::to_string(second), "--follow"});
  INFO(followed.errors);
  CHECK(followed.status == 0);
  CHECK(followed.output == "at last\n");
  const Completed beyond =
      cluster.fairwater({"job", "logs", std::to_string(second), "--task", "5", "--follow"});
  CHECK(beyond.status == 2);
  CHECK(beyond.errors.find("the job has one task, number 0") != std::string::npos);
  CHECK(cluster.wait({first}) == 0);
}

TEST_CASE("who follows ends when nobody reads on", "[scenario]") {
  Cluster cluster(one_node());
  cluster.start();
  for (const char* what : {"events", "ledger journal"}) {
    const std::string follow =
        "\"$0\" " + std::string(what) + " --follow | head -n 1; exit ${PIPESTATUS[0]}";
    harness::ChildProcess shell(
        {.command = {"bash", "-c", follow, harness::programs_directory() / "fairwater"},
         .environment = {{"FAIRWATER_ADDRESS", cluster.address()},
                         {"FAIRWATER_TOKEN", cluster.operator_token()}}});
    CHECK_FALSE(shell.read_line(Duration(30'000)).empty());
    // What comes while `head` ends still finds its reader.
    harness::wait_until("it has ended", Duration(30'000), [&] {
      CHECK(cluster.wait({cluster.submit(job_file("steady", 1, "command: [\"true\"]\n"))}) == 0);
      return !shell.running();
    });
    CHECK(shell.wait(Duration(30'000)) == 1);
  }
}

TEST_CASE("a closed standard output is not the connection's", "[scenario]") {
  Cluster cluster(one_node());
  cluster.start();
  const Completed closed =
      harness::run({.command = {"bash", "-c", "exec \"$0\" status >&-",
                                harness::programs_directory() / "fairwater"},
                    .environment = {{"FAIRWATER_ADDRESS", cluster.address()},
                                    {"FAIRWATER_TOKEN", cluster.operator_token()}}});
  CHECK(closed.status == 1);
  CHECK(closed.errors == "fairwater: standard output: not all could be written\n");
}

TEST_CASE("explain names what keeps a task waiting, and the arithmetic of a grant", "[scenario]") {
  Cluster cluster(one_node());
  cluster.start();
  const auto running = cluster.submit(job_file("steady", 4, "command: [sleep, \"30\"]\n"));
  const auto waiting = cluster.submit(job_file("steady", 1, "command: [\"true\"]\n"));
  harness::wait_until("the node is full", Duration(10'000),
                      [&] { return cluster.job(running)["tasks"]["running"] == 4; });
  const Completed why = cluster.fairwater({"job", "explain", std::to_string(waiting)});
  INFO(why.output);
  CHECK(why.status == 0);
  CHECK(why.output.find("node") != std::string::npos);
  const Completed grant =
      cluster.fairwater({"job", "explain", std::to_string(running), "--task", "0"});
  INFO(grant.output);
  CHECK(grant.status == 0);
  CHECK(grant.output.find("cycle") != std::string::npos);
}

}  // namespace
}  // namespace fairwater::scenario
