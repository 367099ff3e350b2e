// Three coordinators where a majority of etcd or room on a disk is gone, and what those show that
// follow.
#include <memory>

#include "tests/scenario/replicas_support.hpp"

namespace fairwater::scenario {
namespace {

TEST_CASE("without a majority nothing is acknowledged, tasks run on, and it heals by itself",
          "[scenario][replicas]") {
  if (!has_etcd_or_skips()) return;
  Replicas replicas({.configuration = kConfiguration});
  Cluster cluster(beside(replicas));
  const WorkLog log(cluster.directory() / "work");
  start(replicas, cluster);
  const auto before = cluster.submit(job_file("steady", 2, log.command_line("sleep 4")));
  harness::wait_until("both run", Duration(20'000), [&] { return log.runs().size() == 2; });
  const std::string leader = replicas.wait_for_leader();

  for (const char* member : {"one", "two"})
    CHECK(replicas.stop_etcd(member, SIGKILL) == 128 + SIGKILL);
  harness::wait_until("the status says why", Duration(20'000), [&] {
    const auto status = replicas.fairwater({"status", "--json"}, replicas.address(leader));
    return status.status == 0 &&
           json::parse(status.output)["cluster"]["why_not_granting"].get<std::string>().find(
               "no majority of etcd") == 0;
  });
  // What nobody would know to be done is not begun, by whoever leads.
  const auto refused = [&](const std::vector<std::string>& command) {
    const Completed asked = replicas.fairwater(command, replicas.address(leader));
    CHECK_THAT(asked.errors, Catch::Contains("no majority of etcd has answered for"));
    return asked.status;
  };
  CHECK(refused({"token", "create", "--operator"}) == 3);
  CHECK(refused({"coordinator", "handover"}) == 1);
  // Nobody hears of this job before it is durable.
  harness::ChildProcess submitting(
      {.command = {harness::programs_directory() / "fairwater", "job", "run", "--quiet", "--tenant",
                   "steady", "--", "true"},
       .environment = {{"FAIRWATER_ADDRESS", replicas.address(leader)},
                       {"FAIRWATER_TOKEN", cluster.operator_token()}}});
  harness::wait_until("the tasks end by themselves", Duration(20'000), [&] {
    const auto runs = log.runs();
    return std::all_of(runs.begin(), runs.end(), [](const auto& run) { return run.ended > 0; });
  });
  CHECK(submitting.running());

  for (const char* member : {"one", "two"}) replicas.start_etcd(member);
  (void)replicas.wait_for_leader();
  CHECK(cluster.wait({before}) == 0);
  CHECK(each_ran_once(log, {{before, 2}}));
  const auto after = cluster.submit(job_file("steady", 4, log.command_line("true")));
  CHECK(cluster.wait({after}) == 0);
}

TEST_CASE("without a majority a task ends with its lease, and one with a longer lease goes on",
          "[scenario][replicas][slow]") {
  if (!has_etcd_or_skips()) return;
  Replicas replicas({.configuration = "lease: 5s\ngrace: 4s\nheartbeat_interval: 250ms\n"});
  Cluster cluster(beside(replicas));
  const WorkLog log(cluster.directory() / "work");
  start(replicas, cluster);
  const auto gate = cluster.directory() / "gate";
  const auto submit = [&](const std::string& name, const std::string& lease) {
    const auto pid = cluster.directory() / (name + ".pid");
    const auto job = cluster.submit(job_file(
        "steady", 1,
        lease + log.command_line(fmt::format("echo $$ >{}; until [ -e {} ]; do sleep 0.1; done",
                                             pid.string(), gate.string()))));
    std::uint64_t started = 0;
    harness::wait_until(name + " runs", Duration(20'000), [&] {
      std::istringstream(read_file(pid)) >> started;
      return started > 0;
    });
    return std::pair(job, static_cast<pid_t>(started));
  };
  const auto [usual, usual_process] = submit("usual", "");
  const auto [patient, patient_process] = submit("patient", "lease: 5m\n");
  const auto runs = [](pid_t process) { return ::kill(process, 0) == 0; };

  for (const char* member : {"one", "two"})
    CHECK(replicas.stop_etcd(member, SIGKILL) == 128 + SIGKILL);
  harness::wait_until("the lease is over", Duration(20'000),
                      [&, process = usual_process] { return !runs(process); });
  CHECK(runs(patient_process));
  for (const char* member : {"one", "two"}) replicas.start_etcd(member);
  (void)replicas.wait_for_leader();
  harness::wait_until("it runs again", kPatience, [&, job = usual] {
    return log.starts()[{job, 0}] == 2;
  });
  CHECK(runs(patient_process));
  std::ofstream(gate) << "open";
  CHECK(cluster.wait({usual, patient}, kPatience) == 0);
  CHECK(log.starts() ==
        std::map<std::pair<std::uint64_t, std::uint32_t>, int>{{{usual, 0}, 2}, {{patient, 0}, 1}});
}

TEST_CASE("a coordinator that follows shows what it holds, and how old that is",
          "[scenario][replicas][slow]") {
  if (!has_etcd_or_skips()) return;
  Replicas replicas({.configuration = kConfiguration});
  Cluster cluster(beside(replicas));
  start(replicas, cluster);
  const auto job = cluster.submit(job_file("steady", 2, "command: [\"true\"]\n"));
  CHECK(cluster.wait({job}) == 0);
  const std::string leader = replicas.wait_for_leader();
  const std::string follower = leader == "one" ? "two" : "one";
  replicas.wait_for_all(0);
  const auto ask = [&](std::vector<std::string> arguments) {
    return replicas.fairwater(std::move(arguments), replicas.address(follower));
  };
  const auto shown = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--stale", "--json"});
    const Completed asked = ask(std::move(arguments));
    INFO(asked.errors);
    REQUIRE(asked.status == 0);
    json answer = json::parse(asked.output);
    CHECK(answer["as_of"]["coordinator"] == follower);
    return answer;
  };
  const json status = shown({"status"});
  CHECK(status["as_of"]["age_ms"] < 10'000);
  CHECK(status["cluster"]["leader"] == leader);
  CHECK(status["cluster"]["nodes_up"] == 2);
  CHECK(shown({"job", "list"})["jobs"] == cluster.list("job"));
  CHECK(shown({"job", "show", "last"})["job"]["id"] == job);
  CHECK(shown({"ledger", "show"})["net"] == cluster.ask({"ledger", "show"})["net"]);
  (void)shown({"usage"});
  CHECK_THAT(ask({"job", "list", "--stale"}).errors, Catch::Contains(follower + " answers"));
  // Who does not ask for it is answered by the one that leads, and so is who changes something.
  CHECK_FALSE(json::parse(ask({"status", "--json"}).output).contains("as_of"));
  CHECK(ask({"job", "run", "--wait", "--tenant", "steady", "--", "true"}).status == 0);

  harness::ChildProcess events({.command = {harness::programs_directory() / "fairwater", "ledger",
                                            "journal", "--follow", "--stale", "--json"},
                                .environment = {{"FAIRWATER_ADDRESS", replicas.address(follower)},
                                                {"FAIRWATER_TOKEN", cluster.operator_token()}}});
  json record = json::parse(events.read_line(Duration(30'000)));
  const auto next = cluster.submit(job_file("steady", 1, "command: [\"true\"]\n"));
  for (std::uint64_t number = 1; record["kind"] != "job_submitted" || record["job"] != next;
       ++number) {
    INFO(record.dump());
    REQUIRE(record["cycle"] == number);
    record = json::parse(events.read_line(Duration(30'000)));
  }
  CHECK(cluster.wait({next}) == 0);

  // Without a majority it is all that is left.
  for (const char* member : {"one", "two"}) CHECK(replicas.stop_etcd(member, SIGKILL) != 0);
  harness::wait_until("what it holds gets old", Duration(20'000),
                      [&] { return shown({"status"})["as_of"]["age_ms"] >= 2'000; });
  CHECK(shown({"job", "list"})["jobs"].size() == 3);
  CHECK(replicas.stop_coordinator(leader, SIGKILL) != 0);
  const Completed nobody = replicas.fairwater({"status"});
  CHECK(nobody.status == 3);
  CHECK_THAT(nobody.errors,
             Catch::Contains("Nobody took over for 10 s") && Catch::Contains("--stale"));
  replicas.start_coordinator(leader);
  for (const char* member : {"one", "two"}) replicas.start_etcd(member);
  harness::wait_until("it is as good as new", kPatience, [&] {
    const Completed asked = ask({"status", "--stale", "--json"});
    if (asked.status != 0) return false;
    const json answer = json::parse(asked.output);  // who leads by now names no age
    return !answer.contains("as_of") || answer["as_of"]["age_ms"] < 1'000;
  });
}

TEST_CASE("a leader whose disk stays full lets another lead that has room",
          "[scenario][replicas][slow]") {
  if (!has_etcd_or_skips() || !is_root_or_skips("a tmpfs")) return;
  const SmallDisk first("192m");
  const SmallDisk second("192m");
  Replicas replicas({.configuration = kConfiguration,
                     .data = {{"one", first / "data"}, {"two", second / "data"}}});
  Cluster cluster(beside(replicas));
  const WorkLog log(cluster.directory() / "work");
  start(replicas, cluster);
  SteadyJobs work(cluster, steady_work(log));
  const auto goes_on = [&] {
    const std::size_t runs = log.runs().size();
    harness::wait_until("work goes on", kPatience, [&] { return log.runs().size() >= runs + 8; });
  };
  const auto says = [&](const std::string& name, const std::string& words) {
    harness::wait_until(name + " says: " + words, kPatience,
                        [&] { return replicas.log_of(name).find(words) != std::string::npos; });
  };
  const auto have_lead = [&](const std::string& name) {
    harness::wait_until(name + " leads", kPatience, [&] {
      if (replicas.wait_for_leader() == name) return true;
      (void)replicas.fairwater({"coordinator", "handover"});
      return false;
    });
  };
  goes_on();
  have_lead("one");
  const std::size_t said = replicas.log_of("one").size();
  first.fill();
  (void)replicas.wait_for_leader("one");
  CHECK(replicas.log_of("one").find("handing over", said) != std::string::npos);
  have_lead("three");
  goes_on();

  // Nobody takes over that could not write: rather the one that leads goes on.
  second.fill();
  says("two", "is full: another coordinator is to lead");
  harness::wait_until("three has heard of it", kPatience, [&] {
    const auto refused = replicas.fairwater({"coordinator", "handover"});
    return refused.errors.find("and room on its disk") != std::string::npos;
  });
  // Asked before it had heard, it left and came back, for want of another.
  CHECK(replicas.wait_for_leader() == "three");
  goes_on();
  CHECK(replicas.stop_coordinator("three", SIGKILL) == 128 + SIGKILL);
  second.make_room();
  CHECK(replicas.wait_for_leader("three") == "two");
  replicas.start_coordinator("three");
  goes_on();

  // With room it follows as any other does, and can lead again.
  first.make_room();
  says("one", "has room again");
  have_lead("one");
  goes_on();
  check_work(cluster, log, work.stop());
  check_ledgers(replicas);
}

TEST_CASE("when the disks of all coordinators fill one of them leads, and keeps what runs",
          "[scenario][replicas]") {
  if (!has_etcd_or_skips() || !is_root_or_skips("a tmpfs")) return;
  std::map<std::string, std::unique_ptr<SmallDisk>> disks;
  std::map<std::string, std::filesystem::path> data;
  for (const char* name : {"one", "two", "three"}) {
    disks[name] = std::make_unique<SmallDisk>("192m");
    data[name] = *disks[name] / "data";
  }
  Replicas replicas({.configuration = kConfiguration, .data = data});
  Cluster cluster(beside(replicas));
  const WorkLog log(cluster.directory() / "work");
  start(replicas, cluster);
  const auto job = cluster.submit(job_file("steady", 1, log.command_line("sleep 25")));
  harness::wait_until("it runs", kPatience, [&] { return log.starts().size() == 1; });
  const std::string leader = replicas.wait_for_leader();
  disks.at(leader)->fill();
  harness::wait_until("it lets another lead", kPatience, [&] {
    return replicas.log_of(leader).find("is full: another coordinator is to lead") !=
           std::string::npos;
  });
  for (const auto& [name, disk] : disks)
    if (name != leader) disk->fill();
  // Whoever leads by now, or again, says so within the time in which what runs is kept.
  const auto status = [&] {
    const Completed asked = replicas.fairwater({"status", "--json"});
    return asked.status == 0 ? json::parse(asked.output)["cluster"] : json();
  };
  harness::wait_until("somebody leads whose disk is full", Duration(12'000), [&] {
    const json now = status();
    return !now.is_null() && now["granting"] == false &&
           now["why_not_granting"].get<std::string>().find("is full") != std::string::npos;
  });
  // Longer than a lease.
  harness::wait_until("its 25 s are over", kPatience, [&] { return log.runs().front().ended > 0; });
  for (const auto& [name, disk] : disks) disk->make_room();
  CHECK(cluster.wait({job}, kPatience) == 0);
  CHECK(each_ran_once(log, {{job, 1}}));
  check_ledgers(replicas);
}

}  // namespace
}  // namespace fairwater::scenario
