// Three coordinators, one ledger: whoever leads, nothing is lost and nothing runs twice.
#include "tests/harness/replicas.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <random>
#include <set>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/harness/network.hpp"
#include "tests/scenario/pages.hpp"
#include "tests/scenario/support.hpp"
#include "tests/storage/certificates.hpp"

namespace fairwater::scenario {
namespace {

using harness::Network;
using harness::Replicas;

int rounds() {
  const char* given = std::getenv("FAIRWATER_ROUNDS");
  return given != nullptr ? std::atoi(given) : 8;
}

bool has_etcd_or_skips() {
  if (harness::has_etcd()) return true;
  skip("several coordinators need etcd");
  return false;
}

const std::string kConfiguration = "lease: 15s\ngrace: 4s\nheartbeat_interval: 250ms\n";
/// After a change of the leader nothing is lost within lease and grace, so work goes on meanwhile.
const Duration kPatience{90'000};

/// Agents and the command line, with all addresses.
ClusterSetup beside(const Replicas& replicas) {
  return {.agents = {{.name = "node1", .network_namespace = replicas.network_namespace("node1")},
                     {.name = "node2", .network_namespace = replicas.network_namespace("node2")}},
          .network_namespace = replicas.network_namespace("desk"),
          .data = replicas.data("one"),
          .addresses = replicas.addresses()};
}

/// All of it, with one tenant; returns when the nodes are up.
void start(Replicas& replicas, Cluster& cluster) {
  replicas.start();
  cluster.apply_tenants(tenants({{"steady", 1}}));
  cluster.start_agents();
}

/// Keeps the nodes busy with jobs from a thread of its own, and what of them was acknowledged.
class SteadyWork {
 public:
  SteadyWork(const Cluster& cluster, const WorkLog& log)
      : thread_([this, &cluster, file = job_file("steady", 4, log.command_line("sleep 0.1"))] {
          while (!stopping_) {
            const auto submitted = cluster.fairwater({"job", "submit", "--quiet", "-"}, file);
            if (submitted.status == 0) acknowledged_.push_back(std::stoull(submitted.output));
          }
        }) {}
  ~SteadyWork() { stop(); }
  void stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }
  /// After stop().
  [[nodiscard]] const std::vector<std::uint64_t>& acknowledged() const { return acknowledged_; }

 private:
  std::vector<std::uint64_t> acknowledged_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

/// All that was taken in ran once, and all that was acknowledged was taken in.
void check_work(const Cluster& cluster, const WorkLog& log,
                const std::vector<std::uint64_t>& acknowledged) {
  std::map<std::uint64_t, std::uint32_t> tasks;
  std::vector<std::uint64_t> ids;
  for (const json listed = cluster.list("job"); const auto& job : listed) {
    tasks[job["id"]] = job["tasks"]["total"];
    ids.push_back(job["id"]);
  }
  for (const std::uint64_t id : acknowledged) {
    INFO("job " << id << " was acknowledged");
    REQUIRE(tasks.contains(id));
  }
  CHECK(cluster.wait(ids, kPatience) == 0);
  CHECK(each_ran_once(log, tasks));
}

/// Every coordinator's own ledger is sound, and all hold the same records, as many of them.
void check_ledgers(Replicas& replicas) {
  for (const auto& name : replicas.names()) CHECK(replicas.stop_coordinator(name, SIGKILL) != 0);
  // What was committed last may be on the leader's disk alone so far: each reads it at its start.
  for (const auto& name : replicas.names()) replicas.start_coordinator(name);
  (void)replicas.wait_for_leader();
  replicas.wait_for_all(0);
  // Without a majority nothing is added any more, and each can still be read.
  for (const char* member : {"one", "two"}) CHECK(replicas.stop_etcd(member, SIGKILL) != 0);
  std::set<std::string> journals;
  for (const auto& name : replicas.names()) {
    const auto journal =
        replicas.fairwater({"ledger", "journal", "--stale", "--json"}, replicas.address(name));
    INFO(name << ": " << journal.errors);
    REQUIRE(journal.status == 0);
    journals.insert(journal.output);
  }
  CHECK(journals.size() == 1);
  std::set<std::uint64_t> records;
  for (const auto& name : replicas.names()) CHECK(replicas.stop_coordinator(name, SIGKILL) != 0);
  for (const auto& name : replicas.names()) {
    const auto verified =
        replicas.fairwater({"ledger", "verify", "--json", "--data", replicas.data(name)});
    INFO(name << ": " << verified.output << verified.errors);
    REQUIRE(verified.status == 0);
    const json report = json::parse(verified.output);
    CHECK(report["ok"] == true);
    records.insert(report["cycles"].get<std::uint64_t>());
  }
  CHECK(records.size() == 1);
}

/// What `fairwater` prints while it goes on, in a file.
class Following {
 public:
  Following(const Replicas& replicas, const Cluster& cluster, std::vector<std::string> arguments)
      : replicas_(replicas),
        arguments_(std::move(arguments)),
        file_(cluster.directory() / (arguments_.back() + ".followed")),
        process_({.command = command(),
                  .environment = {{"FAIRWATER_ADDRESS", replicas.addresses()},
                                  {"FAIRWATER_TOKEN", cluster.operator_token()}}}) {}

  /// What it has printed is all that there is, each once and in that order.
  void check() {
    const Completed asked = replicas_.fairwater(with({"--json"}));
    INFO(asked.errors);
    REQUIRE(asked.status == 0);
    harness::wait_until("the follower has told of all", Duration(20'000),
                        [&] { return read_file(file_).size() >= asked.output.size(); });
    CHECK(process_.running());
    const std::string followed = read_file(file_);
    const auto parts = std::mismatch(asked.output.begin(), asked.output.end(), followed.begin());
    INFO("it differs from: " << std::string(parts.first, asked.output.end()).substr(0, 500));
    CHECK(parts.first == asked.output.end());
  }

 private:
  [[nodiscard]] std::vector<std::string> with(std::vector<std::string> more) const {
    more.insert(more.begin(), arguments_.begin(), arguments_.end());
    return more;
  }
  [[nodiscard]] std::vector<std::string> command() const {
    std::vector<std::string> words{"bash", "-c", "exec \"$@\" >'" + file_.string() + "'", "bash",
                                   harness::programs_directory() / "fairwater"};
    for (const auto& word : with({"--follow", "--json"})) words.push_back(word);
    return words;
  }

  const Replicas& replicas_;
  std::vector<std::string> arguments_;
  std::filesystem::path file_;
  harness::ChildProcess process_;
};

/// One job that runs as long as the scenario wants, and a client that waits for it.
class AwaitedJob {
 public:
  AwaitedJob(const Replicas& replicas, const Cluster& cluster, const WorkLog& log)
      : gate_(cluster.directory() / "gate"),
        job_(cluster.submit(
            job_file("steady", 1,
                     log.command_line("until [ -e " + gate_.string() + " ]; do sleep 0.1; done")))),
        waiting_({.command = {harness::programs_directory() / "fairwater", "job", "wait",
                              std::to_string(job_)},
                  .environment = {{"FAIRWATER_ADDRESS", replicas.addresses()},
                                  {"FAIRWATER_TOKEN", cluster.operator_token()}}}) {}
  void check() {
    CHECK(waiting_.running());
    std::ofstream(gate_) << "open";
    CHECK(waiting_.wait(kPatience) == 0);
  }

 private:
  std::filesystem::path gate_;
  std::uint64_t job_;
  harness::ChildProcess waiting_;
};

TEST_CASE("leaders are killed, stopped and told to go, and each task runs once",
          "[scenario][replicas]") {
  if (!has_etcd_or_skips()) return;
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  Replicas replicas({.configuration = kConfiguration});
  Cluster cluster(beside(replicas));
  const WorkLog log(cluster.directory() / "work");
  start(replicas, cluster);
  AwaitedJob awaited(replicas, cluster, log);
  Following events(replicas, cluster, {"events"});
  Following journal(replicas, cluster, {"ledger", "journal"});
  SteadyWork work(cluster, log);

  for (int round = 0; round < rounds(); ++round) {
    const std::size_t runs = log.runs().size();
    harness::wait_until("work goes on", kPatience, [&] { return log.runs().size() >= runs + 8; });
    const std::string leader = replicas.wait_for_leader();
    INFO("round " << round << ", " << leader << " leads");
    switch (round % 4) {
      case 0:
        CHECK(replicas.stop_coordinator(leader, SIGKILL) == 128 + SIGKILL);
        // Asked while nobody leads.
        CHECK(replicas.fairwater({"job", "list"}).status == 0);
        CHECK(replicas.wait_for_leader(leader) != leader);
        replicas.start_coordinator(leader);
        break;
      case 1:  // it believes that it leads when it goes on
        replicas.coordinator(leader).send_signal(SIGSTOP);
        CHECK(replicas.wait_for_leader(leader) != leader);
        replicas.coordinator(leader).send_signal(SIGCONT);
        break;
      case 2:
        if (round % 8 == 6) {
          const auto handed = replicas.fairwater({"coordinator", "handover", "--json"});
          INFO(handed.errors);
          REQUIRE(handed.status == 0);
          CHECK(json::parse(handed.output)["handover"]["from"] == leader);
          CHECK(json::parse(handed.output)["handover"]["to"] != leader);
          break;
        }
        CHECK(replicas.stop_coordinator(leader, SIGTERM) == 0);
        CHECK(replicas.wait_for_leader(leader) != leader);
        replicas.start_coordinator(leader);
        break;
      default: {  // any member of etcd; another one leads there if it did
        const std::string member = replicas.names()[random() % 3];
        CHECK(replicas.stop_etcd(member, SIGKILL) == 128 + SIGKILL);
        const std::size_t before = log.runs().size();
        harness::wait_until("work goes on without it", kPatience,
                            [&] { return log.runs().size() >= before + 8; });
        replicas.start_etcd(member);
      }
    }
  }
  work.stop();
  REQUIRE(work.acknowledged().size() >= static_cast<std::size_t>(rounds()));
  awaited.check();
  check_work(cluster, log, work.acknowledged());
  events.check();
  journal.check();
  check_ledgers(replicas);
}

TEST_CASE("with certificates on every line to etcd and between its members a leader falls as well",
          "[scenario][replicas]") {
  if (!has_etcd_or_skips()) return;
  if (!test::Authority::can_be_made()) return skip("certificates need openssl");
  const test::Authority authority;
  Replicas replicas({.configuration = kConfiguration, .authority = &authority});
  Cluster cluster(beside(replicas));
  const WorkLog log(cluster.directory() / "work");
  start(replicas, cluster);
  // Whoever has no certificate of that authority is not heard by etcd.
  const Completed stranger = harness::run(
      {.command = {"curl", "-s", "--max-time", "5", "--cacert", authority.file(),
                   replicas.etcd_url("one") + "/v3/kv/range", "-d", "{\"key\": \"AA==\"}"}});
  CHECK(stranger.status != 0);
  CHECK(replicas.etcd_leader() != "");
  SteadyWork work(cluster, log);
  const auto goes_on = [&] {
    const std::size_t runs = log.runs().size();
    harness::wait_until("work goes on", kPatience, [&] { return log.runs().size() >= runs + 8; });
  };
  goes_on();
  const std::string leader = replicas.wait_for_leader();
  CHECK(replicas.stop_coordinator(leader, SIGKILL) == 128 + SIGKILL);
  CHECK(replicas.wait_for_leader(leader) != leader);
  goes_on();
  replicas.start_coordinator(leader);
  work.stop();
  check_work(cluster, log, work.acknowledged());
  check_ledgers(replicas);
}

TEST_CASE("a leader that nobody hears, or that hears nobody either, is followed by another",
          "[scenario][replicas]") {
  if (!has_etcd_or_skips()) return;
  for (const std::string& obstacle : {Network::obstacle(), Network::obstacle_to_muting()})
    if (!obstacle.empty()) return skip(obstacle);
  const Network network({"one", "two", "three", "node1", "node2", "desk"});
  Replicas replicas({.configuration = kConfiguration, .network = &network});
  Cluster cluster(beside(replicas));
  const WorkLog log(cluster.directory() / "work");
  start(replicas, cluster);
  SteadyWork work(cluster, log);
  for (int round = 0; round < rounds() / 2; ++round) {
    const auto goes_on = [&] {
      const std::size_t runs = log.runs().size();
      harness::wait_until("work goes on", kPatience, [&] { return log.runs().size() >= runs + 8; });
    };
    goes_on();
    const std::string leader = replicas.wait_for_leader();
    INFO("round " << round << ", " << leader << " leads");
    if (round % 2 == 0)
      network.cut(leader);
    else
      network.mute(leader);
    CHECK(replicas.wait_for_leader(leader, kPatience) != leader);
    goes_on();
    if (round % 2 == 0)
      network.join(leader);
    else
      network.unmute(leader);
    replicas.wait_for_all(100, kPatience);
  }
  work.stop();
  REQUIRE(work.acknowledged().size() >= static_cast<std::size_t>(rounds()) / 2);
  check_work(cluster, log, work.acknowledged());
  check_ledgers(replicas);
}

TEST_CASE("who waits for a leader whose machine lost power asks the next one after seconds",
          "[scenario][replicas]") {
  if (!has_etcd_or_skips()) return;
  if (const std::string obstacle = Network::obstacle(); !obstacle.empty()) return skip(obstacle);
  const Network network({"one", "two", "three", "node1", "node2", "desk"});
  Replicas replicas({.configuration = kConfiguration, .network = &network});
  Cluster cluster(beside(replicas));
  const WorkLog log(cluster.directory() / "work");
  start(replicas, cluster);
  const auto job = cluster.submit(job_file("steady", 1, log.command_line("sleep 8")));
  harness::wait_until("it runs", Duration(20'000), [&] { return log.runs().size() == 1; });
  const std::string leader = replicas.wait_for_leader();
  std::atomic<int> waited = -1;
  std::thread waiting([&] {
    waited = replicas.fairwater({"job", "wait", std::to_string(job)}).status;
  });
  std::this_thread::sleep_for(Duration(2'000));  // until it waits there, with nothing to send
  // As a machine without power: nothing comes back, no word of an end either.
  network.cut(leader);
  const auto since = std::chrono::steady_clock::now();
  waiting.join();
  CHECK(waited == 0);
  // A kernel gives a silent machine up after half a minute or more, unless it is told otherwise.
  CHECK(std::chrono::steady_clock::now() - since < Duration(20'000));
  network.join(leader);
  replicas.wait_for_all(100, kPatience);
  check_ledgers(replicas);
}

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
          "[scenario][replicas]") {
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
          "[scenario][replicas]") {
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
  harness::wait_until("it is as good as new", kPatience,
                      [&] { return shown({"status"})["as_of"]["age_ms"] < 1'000; });
}

TEST_CASE("a leader whose disk stays full lets another lead that has room",
          "[scenario][replicas]") {
  if (!has_etcd_or_skips() || !is_root_or_skips("a tmpfs")) return;
  const SmallDisk first("192m");
  const SmallDisk second("192m");
  Replicas replicas({.configuration = kConfiguration,
                     .data = {{"one", first / "data"}, {"two", second / "data"}}});
  Cluster cluster(beside(replicas));
  const WorkLog log(cluster.directory() / "work");
  start(replicas, cluster);
  SteadyWork work(cluster, log);
  const auto goes_on = [&] {
    const std::size_t runs = log.runs().size();
    harness::wait_until("work goes on", kPatience, [&] { return log.runs().size() >= runs + 8; });
  };
  const auto says = [&](const std::string& name, const std::string& words) {
    harness::wait_until(name + " says: " + words, kPatience,
                        [&] { return replicas.log_of(name).find(words) != std::string::npos; });
  };
  goes_on();
  CHECK(replicas.wait_for_leader() == "one");
  first.fill();
  CHECK(replicas.wait_for_leader("one") == "three");
  CHECK(replicas.log_of("one").find("handing over") != std::string::npos);
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
  harness::wait_until("one leads", kPatience, [&] {
    (void)replicas.fairwater({"coordinator", "handover"});
    return replicas.wait_for_leader() == "one";
  });
  goes_on();
  work.stop();
  check_work(cluster, log, work.acknowledged());
  check_ledgers(replicas);
}

TEST_CASE("what would part the ledgers of several coordinators is refused",
          "[scenario][replicas]") {
  if (!has_etcd_or_skips()) return;
  Replicas replicas({.configuration = kConfiguration});
  replicas.start();
  const std::string leader = replicas.wait_for_leader();
  CHECK(leader == "one");

  // Whoever follows says who leads.
  const auto asked = replicas.fairwater({"status"}, replicas.address("two"));
  INFO(asked.errors);
  CHECK(asked.errors.find("one leads, at " + replicas.address("one")) == std::string::npos);
  CHECK(asked.status == 0);  // and the command line asks that one

  CHECK(replicas.stop_coordinator("two", SIGTERM) == 0);
  const auto refusal = [&](const CommandOptions& options) {
    const Completed ended = harness::run(options);
    CHECK(ended.status != 0);
    return ended.errors;
  };
  CommandOptions alone;
  alone.command = {harness::programs_directory() / "fairwaterd",
                   "coordinator",
                   "--data",
                   replicas.data("two"),
                   "--listen",
                   "127.0.0.1:0"};
  CHECK_THAT(refusal(alone), Catch::Contains("is one of several coordinators'"));
  const auto changed = [&](const std::string& from, const std::string& to,
                           const std::vector<std::string>& flags) {
    CommandOptions options = replicas.command("two", flags);
    std::replace(options.command.begin(), options.command.end(), from, to);
    options.error_file.clear();
    return options;
  };
  CHECK_THAT(refusal(changed("two", "four", {})),
             Catch::Contains("member: 'four' is none of one, three, two"));
  const std::string fresh = replicas.data("two") + "-fresh";
  CHECK_THAT(refusal(changed(replicas.data("two"), fresh, {"--init", "--found"})),
             Catch::Contains("etcd holds a journal under 'fairwater' already"));
  CHECK_FALSE(std::filesystem::exists(fresh));
  // A copy that no coordinator has looked into alone begins no journal, wherever.
  std::filesystem::copy(replicas.data("two"), fresh, std::filesystem::copy_options::recursive);
  std::filesystem::remove(fresh + "/replica");
  CHECK_THAT(refusal(changed(replicas.data("two"), fresh, {"--found"})),
             Catch::Contains("was copied or restored") && Catch::Contains("start it alone"));

  // Nor does one follow that knows less of the journal than it needs.
  CommandOptions raise;  // fairwater/format := {"format": 9, "version": "9.8"}
  raise.command = {"curl", "-sf", replicas.etcd_url("one") + "/v3/kv/put", "-d",
                   R"({"key": "ZmFpcndhdGVyL2Zvcm1hdA==",)"
                   R"( "value": "eyJmb3JtYXQiOiA5LCAidmVyc2lvbiI6ICI5LjgifQ=="})"};
  REQUIRE(harness::run(raise).status == 0);
  const std::string identity = read_file(replicas.data("two") + "/FAIRWATER");
  CommandOptions follows = replicas.command("two", {});
  follows.error_file.clear();
  CHECK_THAT(
      refusal(follows),
      Catch::Contains("the journal in etcd under 'fairwater' has format 9, by Fairwater 9.8"));
  CHECK(read_file(replicas.data("two") + "/FAIRWATER") == identity);
}

TEST_CASE("the examples of docs/replicas.md do what the page says", "[scenario][replicas]") {
  if (!has_etcd_or_skips()) return;
  const Cluster cluster({});  // its directory, and the end of all that is started below
  std::map<std::string, std::string> environment;
  const auto ports = harness::free_ports(9);
  std::size_t next = 0;
  for (const char* what : {"HEAD", "ETCD", "PEER"})
    for (const char* number : {"1", "2", "3"})
      environment[std::string(what) + number] = fmt::format("127.0.0.1:{}", ports[next++]);
  check_page(cluster.directory(), environment, "docs/replicas.md");
}

}  // namespace
}  // namespace fairwater::scenario
