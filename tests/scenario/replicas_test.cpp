// Three coordinators, one ledger: whoever leads, nothing is lost and nothing runs twice.
#include <chrono>
#include <future>
#include <random>

#include "tests/scenario/pages.hpp"
#include "tests/scenario/replicas_support.hpp"
#include "tests/storage/certificates.hpp"
#include "tests/storage/free_ports.hpp"

namespace fairwater::scenario {
namespace {

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
  SteadyJobs work(cluster, steady_work(log));

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
  const auto& acknowledged = work.stop();
  REQUIRE(acknowledged.size() >= static_cast<std::size_t>(rounds()));
  awaited.check();
  check_work(cluster, log, acknowledged);
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
  harness::wait_until("a member leads etcd", Duration(20'000),
                      [&] { return replicas.etcd_leader() != ""; });
  SteadyJobs work(cluster, steady_work(log));
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
  check_work(cluster, log, work.stop());
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
  SteadyJobs work(cluster, steady_work(log));
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
  const auto& acknowledged = work.stop();
  REQUIRE(acknowledged.size() >= static_cast<std::size_t>(rounds()) / 2);
  check_work(cluster, log, acknowledged);
  check_ledgers(replicas);
}

TEST_CASE("who waits for a leader whose machine lost power asks the next one after seconds",
          "[scenario][replicas][slow]") {
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
  auto waited = std::async(std::launch::async, [&] {
    return replicas.fairwater({"job", "wait", std::to_string(job)}).status;
  });
  std::this_thread::sleep_for(Duration(2'000));  // until it waits there, with nothing to send
  // As a machine without power: nothing comes back, no word of an end either.
  network.cut(leader);
  const auto since = std::chrono::steady_clock::now();
  CHECK(waited.get() == 0);
  // A kernel gives a silent machine up after half a minute or more, unless it is told otherwise.
  CHECK(std::chrono::steady_clock::now() - since < Duration(20'000));
  network.join(leader);
  replicas.wait_for_all(100, kPatience);
  check_ledgers(replicas);
}

TEST_CASE("what would part the ledgers of several coordinators is refused",
          "[scenario][replicas]") {
  if (!has_etcd_or_skips()) return;
  Replicas replicas({.configuration = kConfiguration});
  replicas.start();
  const std::string leader = replicas.wait_for_leader();

  // Whoever follows says who leads.
  const auto asked =
      replicas.fairwater({"status"}, replicas.address(leader == "two" ? "three" : "two"));
  INFO(asked.errors);
  CHECK(asked.errors.find(leader + " leads, at " + replicas.address(leader)) == std::string::npos);
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
  // Nor two processes under one name, whatever their directories.
  CHECK_THAT(refusal(changed("two", "three", {})),
             Catch::Contains("another coordinator runs as 'three' already"));
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

TEST_CASE("who founds a journal is one of several before others can join", "[scenario][replicas]") {
  if (!has_etcd_or_skips()) return;
  Replicas replicas({.configuration = kConfiguration});
  for (const auto& name : replicas.names()) replicas.start_etcd(name);
  CommandOptions head;  // fairwater/head
  head.command = {"curl", "-s", replicas.etcd_url("one") + "/v3/kv/range", "-d",
                  R"({"key": "ZmFpcndhdGVyL2hlYWQ="})"};
  {
    harness::ChildProcess founds(replicas.command("one", {"--init", "--found"}));
    harness::wait_until("the journal begins", Duration(30'000), [&] {
      return harness::run(head).output.find("\"kvs\"") != std::string::npos;
    });
    founds.send_signal(SIGKILL);
    CHECK(founds.wait(Duration(10'000)) == 128 + SIGKILL);
  }
  CommandOptions alone;
  alone.command = {harness::programs_directory() / "fairwaterd",
                   "coordinator",
                   "--data",
                   replicas.data("one"),
                   "--listen",
                   "127.0.0.1:0"};
  const Completed refused = harness::run(alone, {}, Duration(30'000));
  CHECK(refused.status != 0);
  CHECK_THAT(refused.errors, Catch::Contains("is one of several coordinators'"));
  replicas.start_coordinator("one", {"--found"});
  CHECK(replicas.wait_for_leader() == "one");
}

TEST_CASE("the examples of docs/replicas.md do what the page says", "[scenario][replicas][slow]") {
  if (!has_etcd_or_skips()) return;
  const Cluster cluster({});  // its directory, and the end of all that is started below
  std::map<std::string, std::string> environment;
  const auto ports = test::free_ports(9);
  std::size_t next = 0;
  for (const char* what : {"HEAD", "ETCD", "PEER"})
    for (const char* number : {"1", "2", "3"})
      environment[std::string(what) + number] = fmt::format("127.0.0.1:{}", ports[next++]);
  check_page(cluster.directory(), environment, "docs/replicas.md");
}

}  // namespace
}  // namespace fairwater::scenario
