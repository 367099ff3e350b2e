// A backup that is made at work, the loss of the ledger, and a cluster that goes on from the
// backup.
#include <thread>

#include <catch2/catch.hpp>

#include "tests/scenario/pages.hpp"
#include "tests/scenario/steady_jobs.hpp"
#include "tests/scenario/support.hpp"
#include "tests/storage/free_ports.hpp"

namespace fairwater::scenario {
namespace {

namespace fs = std::filesystem;

/// Starts a coordinator that should refuse: what it said.
Completed refused_start(const Cluster& cluster, const std::vector<std::string>& flags) {
  CommandOptions options = cluster.coordinator_command(flags);
  options.error_file.clear();
  return harness::run(options, {}, Duration(30'000));
}

/// Both nodes are told, and keep, what is durable now.
void wait_until_told(const Cluster& cluster) {
  const std::uint64_t cycle = cluster.ask({"status"})["cluster"]["cycle"];
  for (const auto* node : {"node1", "node2"})
    harness::wait_until(std::string(node) + " is told", Duration(20'000), [&] {
      return std::stoull(read_file(cluster.directory() / node / "high-water")) >= cycle;
    });
}

void wait_until_granting(const Cluster& cluster) {
  harness::wait_until("the ledger is trusted", Duration(60'000),
                      [&] { return cluster.ask({"status"})["cluster"]["granting"] == true; });
}

void lose_ledger(Cluster& cluster) {
  CHECK(cluster.stop_coordinator(SIGKILL) == 128 + SIGKILL);
  fs::remove_all(cluster.coordinator_data());
}

std::string state_of(const Cluster& cluster, std::uint64_t job) {
  return cluster.job(job)["state"];
}

TEST_CASE("a cluster that lost its ledger goes on from a backup that was made at work",
          "[scenario][slow]") {
  Cluster cluster({.agents = {{"node1"}, {"node2"}},
                   .tenants = tenants({{"steady", 1}}),
                   .lease = "15s",
                   .grace = "4s"});
  const WorkLog log(cluster.directory() / "work");
  cluster.start();
  const fs::path life = cluster.directory() / "life";
  std::ofstream(life) << "first\n";
  const std::string says_its_life = "cat " + life.string();
  const auto runs_through = cluster.submit(job_file("steady", 1, log.command_line("sleep 45")));
  const fs::path gate = cluster.directory() / "gate";
  const auto awaited = cluster.submit(job_file(
      "steady", 1, log.command_line("until [ -e " + gate.string() + " ]; do sleep 0.1; done")));
  const auto waits = cluster.submit(job_file(
      "steady", 1,
      fmt::format("after: [{}]\n", awaited) +
          log.command_line(says_its_life + "; grep -q second " + life.string() + " || sleep 600")));
  harness::wait_until("it runs", Duration(10'000),
                      [&] { return state_of(cluster, runs_through) == "running"; });

  // A backup under load.
  const std::string backup = cluster.directory() / "backup";
  SteadyJobs load(cluster, job_file("steady", 1, log.command_line("sleep 0.1")));
  std::this_thread::sleep_for(Duration(1'000));  // of work
  const json made = cluster.ask({"ledger", "backup", backup})["backup"];
  std::ofstream(gate) << "open";
  std::this_thread::sleep_for(Duration(1'000));
  const auto& accepted = load.stop();
  CHECK(made["directory"] == backup);
  CHECK(made["cycle"] > 10);
  CHECK(made["bytes"] > 1000);
  const Completed verified = cluster.fairwater({"ledger", "verify", "--data", backup, "--json"});
  CHECK(json::parse(verified.output)["cycles"] == made["cycle"]);
  CHECK(cluster.wait(accepted) == 0);

  // A life that will be lost: one job ends, two run on, and both nodes are told of it.
  const auto lost =
      cluster.submit(job_file("steady", 1, log.command_line("echo of the lost life")));
  CHECK(cluster.wait({lost}) == 0);
  const auto runs_on = cluster.submit(job_file("steady", 1, log.command_line("sleep 600")));
  harness::wait_until("both run", Duration(20'000), [&] {
    return state_of(cluster, runs_on) == "running" && state_of(cluster, waits) == "running";
  });
  wait_until_told(cluster);
  harness::ChildProcess events(cluster.fairwater_command({"events", "--follow", "--json"}));
  const std::uint64_t end = cluster.ask({"status"})["cluster"]["cycle"];
  for (std::uint64_t cycle = 0; cycle < end;)
    cycle = json::parse(events.read_line(Duration(20'000)))["cycle"];
  lose_ledger(cluster);
  std::ofstream(life) << "second\n";

  const Completed refused = refused_start(cluster, {"--restore", backup});
  INFO(refused.errors);
  CHECK(refused.status == 2);
  CHECK(
      refused.errors.find(fmt::format("ends at cycle {} of {}", made["cycle"].get<std::uint64_t>(),
                                      made["recorded"].get<std::string>())) != std::string::npos);
  CHECK(refused.errors.find("Everything after that is lost") != std::string::npos);
  CHECK_FALSE(fs::exists(cluster.coordinator_data()));

  cluster.start_coordinator({"--restore", backup, "--accept-loss"});
  const json standing = cluster.ask({"ledger", "doubts"});
  CHECK(standing["ledger"]["trusted"] == false);
  CHECK(standing["ledger"]["why"].get<std::string>().find("life that was lost") !=
        std::string::npos);
  CHECK(standing["doubts"].empty());
  CHECK(events.wait(Duration(60'000)) == 1);  // what it printed is in the ledger no more
  cluster.wait_for_nodes(2);
  wait_until_granting(cluster);
  CHECK(cluster.ask({"ledger", "doubts"})["doubts"].empty());

  const auto fresh = cluster.submit(job_file("steady", 1, log.command_line(says_its_life)));
  CHECK(fresh > runs_on);
  CHECK(cluster.wait({fresh, waits, runs_through}) == 0);
  // Jobs of the lost life are not there, their ids are nobody's, and their logs are not shown.
  for (const auto id : {lost, runs_on}) {
    CHECK(cluster.fairwater({"job", "show", std::to_string(id)}).status == 1);
    CHECK(cluster.fairwater({"job", "logs", std::to_string(id)}).status == 1);
  }
  const auto log_of = [&](std::uint64_t job) {
    return cluster.fairwater({"job", "logs", std::to_string(job)}).output;
  };
  CHECK(log_of(fresh) == "second\n");
  CHECK(log_of(waits) == "second\n");

  // What ran since before the backup went on; what the lost life had started was stopped first.
  CHECK(log.starts().at({runs_through, 0}) == 1);
  std::vector<harness::Run> runs;
  for (const auto& run : log.runs())
    if (run.job == waits) runs.push_back(run);
  REQUIRE(runs.size() == 2);
  const json report = cluster.ask({"ledger", "restored"});
  CHECK(report["restored"]["given_up_cycle"].is_null());
  CHECK(report["restored"]["reason"].get<std::string>().find(backup) != std::string::npos);
  std::map<std::uint64_t, std::string> outcomes;
  for (const auto& task : report["tasks"]) {
    const std::uint64_t job = task["job"];
    outcomes[job] = task["outcome"];
    if (job == waits) CHECK(harness::seconds_since_1970(task["time"]) < runs[1].started);
  }
  CHECK(outcomes.at(waits) == "stopped");
  CHECK(outcomes.at(runs_on) == "stopped");
  for (const auto& [task, starts] : log.starts()) {
    // Whatever the backup held as not ended may run once more, and nothing else.
    INFO(task.first);
    CHECK(starts <= (task.first < lost && task.first != runs_through ? 2 : 1));
  }
  CHECK(ledger_is_sound(cluster));

  // Its place is marked: the next start is an ordinary one.
  REQUIRE(cluster.stop_coordinator(SIGTERM) == 0);
  const Completed again = refused_start(cluster, {"--restore", backup, "--accept-loss"});
  CHECK(again.status == 1);
  CHECK(again.errors.find("holds a ledger already") != std::string::npos);
  cluster.start_coordinator();
  cluster.wait_for_nodes(2);
  wait_until_granting(cluster);

  // Lost once more, and restored from the same backup: another life, told from the one before.
  wait_until_told(cluster);
  const std::uint32_t second = cluster.ask({"ledger", "doubts"})["ledger"]["incarnation"];
  lose_ledger(cluster);
  cluster.start_coordinator({"--restore", backup, "--accept-loss"});
  cluster.wait_for_nodes(2);
  wait_until_granting(cluster);
  const json third = cluster.ask({"ledger", "doubts"});
  CHECK(third["ledger"]["incarnation"] > second);
  CHECK(third["doubts"].empty());
  const auto later = cluster.submit(job_file("steady", 1, log.command_line(says_its_life)));
  CHECK(later > fresh);
  CHECK(cluster.wait({later}) == 0);
  CHECK(ledger_is_sound(cluster));
}

TEST_CASE("a backup is refused with a clear word, and leaves nothing", "[scenario]") {
  Cluster cluster({.tenants = tenants({{"steady", 1}})});
  cluster.start_coordinator();
  cluster.apply_tenants(tenants({{"steady", 1}}));
  const std::string target = cluster.directory() / "backup";
  const auto refused = [&](const std::string& directory, const std::string& token = {}) {
    return cluster.fairwater({"ledger", "backup", directory}, {}, token);
  };
  const std::string token = cluster.ask({"tenant", "token", "steady"})["token"];
  CHECK(refused(target, token).status == 4);
  CHECK(refused("backup").status == 2);
  CHECK(refused("backup").errors.find("absolute path") != std::string::npos);
  CHECK(refused((cluster.coordinator_data() / "backup").string()).status == 2);
  CHECK(refused((cluster.directory() / "not/there").string()).status == 2);
  CHECK_FALSE(fs::exists(target));
  CHECK(cluster.fairwater({"ledger", "backup", target}).status == 0);
  const Completed exists = refused(target);
  CHECK(exists.status == 1);
  CHECK(exists.errors.find("exists already") != std::string::npos);
  for (const auto& entry : fs::directory_iterator(cluster.directory()))
    CHECK(entry.path().string().find("unfinished") == std::string::npos);
  CHECK((fs::status(fs::path(target) / "coordinator.key").permissions() & fs::perms::all) ==
        (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE("the examples of docs/operations.md do what the page says", "[scenario][slow]") {
  if (!is_root_or_skips("a tmpfs for the ledger")) return;
  const Cluster cluster({});  // its directory, and the end of all that is started below
  const SmallDisk disk("128m");
  fs::create_symlink(disk / "", cluster.directory() / "disk");
  check_page(cluster.directory(),
             {{"FAIRWATER_ADDRESS", fmt::format("127.0.0.1:{}", test::free_ports(1).front())}},
             "docs/operations.md");
}

}  // namespace
}  // namespace fairwater::scenario
