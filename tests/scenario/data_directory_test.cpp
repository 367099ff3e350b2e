#include <algorithm>
#include <fstream>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

/// Starts a coordinator that should refuse: what it said.
Completed refused_start(const Cluster& cluster) {
  CommandOptions options = cluster.coordinator_command();
  options.error_file.clear();
  return harness::run(options, {}, Duration(30'000));
}

/// Every file below a directory with its content.
std::map<std::string, std::string> snapshot(const std::filesystem::path& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) files[entry.path()] = read_file(entry.path());
  }
  return files;
}

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST_CASE("a second coordinator on the same directory is refused, the first goes on",
          "[scenario]") {
  Cluster cluster({.agents = {{"node1"}}, .tenants = tenants({{"steady", 1}})});
  cluster.start();
  CommandOptions second = cluster.coordinator_command();
  second.command.back() = "127.0.0.1:0";  // its --listen
  second.error_file.clear();
  const Completed refused = harness::run(second, {}, Duration(30'000));
  INFO(refused.errors);
  CHECK(refused.status == 1);
  CHECK(refused.errors.find(cluster.coordinator_data().string()) != std::string::npos);
  CHECK(lines(refused.errors) <= 2);
  CHECK(cluster.wait({cluster.submit(job_file("steady", 1, "command: [\"true\"]\n"))}) == 0);
}

TEST_CASE("a ledger that a newer version needs is left as it is", "[scenario]") {
  Cluster cluster({.tenants = tenants({{"steady", 1}})});
  cluster.start_coordinator();
  cluster.stop_coordinator(SIGTERM);
  const auto identity = cluster.coordinator_data() / "FAIRWATER";
  const std::string own = read_file(identity);
  std::ofstream(identity) << "fairwater ledger 9\nby 9.8\n";
  const auto before = snapshot(cluster.coordinator_data());
  const Completed refused = refused_start(cluster);
  INFO(refused.errors);
  CHECK(refused.status == 1);
  CHECK(lines(refused.errors) <= 2);
  CHECK(refused.errors.find("has format 9, by Fairwater 9.8, and this program, Fairwater ") !=
        std::string::npos);
  CHECK(refused.errors.find("install Fairwater 9.8 or a later one") != std::string::npos);
  CHECK(snapshot(cluster.coordinator_data()) == before);
  std::ofstream(identity) << own;
  cluster.start_coordinator();
  CHECK(cluster.ask({"ledger", "verify"})["ok"] == true);
}

TEST_CASE("a new ledger counts time, and one that counts units keeps to it", "[scenario]") {
  const auto accounting_of = [](const Cluster& cluster) {
    return cluster.ask({"ledger", "show"})["accounting"];
  };
  {
    Cluster fresh({});
    fresh.start_coordinator();
    CHECK(accounting_of(fresh) == "time");
  }
  Cluster cluster({.accounting = "units"});
  cluster.start_coordinator();
  CHECK(accounting_of(cluster) == "units");
  cluster.stop_coordinator(SIGTERM);
  std::string configuration = read_file(cluster.coordinator_config());
  const std::string key = "accounting: units\n";
  REQUIRE(configuration.find(key) != std::string::npos);
  configuration.erase(configuration.find(key), key.size());
  std::ofstream(cluster.coordinator_config()) << configuration;
  cluster.start_coordinator();
  CHECK(accounting_of(cluster) == "units");
}

TEST_CASE("another mode or other resources than the ledger's are refused at the start",
          "[scenario]") {
  Cluster cluster({});
  cluster.start_coordinator();
  cluster.stop_coordinator(SIGTERM);
  const std::string configuration = read_file(cluster.coordinator_config());
  REQUIRE(configuration.find("mode: sized") != std::string::npos);
  std::string changed = configuration;
  changed.replace(changed.find("mode: sized"), 11, "mode: slots");
  std::ofstream(cluster.coordinator_config()) << changed;
  const Completed refused = refused_start(cluster);
  INFO(refused.errors);
  CHECK(refused.status == 2);
  CHECK(refused.errors.find("mode: the configuration says slots, but this ledger was created with "
                            "sized") != std::string::npos);
  std::ofstream(cluster.coordinator_config()) << configuration;
  cluster.start_coordinator();  // nothing was touched
}

TEST_CASE("an empty directory needs --init, a foreign one is never touched", "[scenario]") {
  Cluster cluster({});
  std::filesystem::create_directories(cluster.coordinator_data());
  CommandOptions start = cluster.coordinator_command();
  start.error_file.clear();
  REQUIRE(start.command.back() == "--init");

  CommandOptions without_init = start;
  without_init.command.pop_back();
  const Completed empty = harness::run(without_init, {}, Duration(30'000));
  INFO(empty.errors);
  CHECK(empty.status == 1);
  CHECK(empty.errors.find("--init") != std::string::npos);
  CHECK(std::filesystem::is_empty(cluster.coordinator_data()));

  std::ofstream(cluster.coordinator_data() / "thesis.tex") << "not yours";
  const Completed foreign = harness::run(start, {}, Duration(30'000));
  INFO(foreign.errors);
  CHECK(foreign.status == 1);
  CHECK(lines(foreign.errors) <= 2);
  CHECK(snapshot(cluster.coordinator_data()).size() == 1);
  CHECK(read_file(cluster.coordinator_data() / "thesis.tex") == "not yours");
}

TEST_CASE("a new coordinator that cannot listen makes nothing", "[scenario]") {
  Cluster first({}), other({});
  first.start_coordinator();
  CommandOptions start = other.coordinator_command();
  start.error_file.clear();
  const auto listen = std::find(start.command.begin(), start.command.end(), "--listen");
  REQUIRE(listen != start.command.end());
  *std::next(listen) = first.address();
  const Completed refused = harness::run(start, {}, Duration(30'000));
  INFO(refused.errors);
  CHECK(refused.status == 1);
  CHECK(refused.errors.find("listen: cannot listen on " + first.address() +
                            ": another process listens there") != std::string::npos);
  CHECK(lines(refused.errors) == 1);
  CHECK_FALSE(std::filesystem::exists(other.coordinator_data()));
}

TEST_CASE("a damaged ledger is refused with one clear sentence and left as it is", "[scenario]") {
  Cluster cluster({.agents = {{"node1"}}, .tenants = tenants({{"steady", 1}})});
  cluster.start();
  CHECK(cluster.wait({cluster.submit(job_file("steady", 20, "command: [\"true\"]\n"))}) == 0);
  cluster.stop_agent("node1", SIGTERM);
  cluster.stop_coordinator(SIGKILL);
  // One bit in the middle of the write-ahead log, or of the table it became.
  std::filesystem::path victim;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(cluster.coordinator_data())) {
    const std::string extension = entry.path().extension();
    if (!entry.is_regular_file() || (extension != ".log" && extension != ".sst")) continue;
    if (victim.empty() || entry.file_size() > std::filesystem::file_size(victim))
      victim = entry.path();
  }
  REQUIRE_FALSE(victim.empty());
  {
    std::fstream file(victim, std::ios::in | std::ios::out | std::ios::binary);
    const auto middle = static_cast<std::streamoff>(std::filesystem::file_size(victim) / 2);
    file.seekg(middle);
    const char byte = static_cast<char>(file.get());
    file.seekp(middle);
    file.put(static_cast<char>(byte ^ 0x10));
  }
  const Completed refused = refused_start(cluster);
  INFO(refused.errors);
  CHECK(refused.status == 1);
  CHECK(refused.output.find("listening") == std::string::npos);
  CHECK(refused.errors.find(cluster.coordinator_data().string()) != std::string::npos);
  CHECK(lines(refused.errors) <= 2);
  CHECK(refused_start(cluster).status == 1);
}

TEST_CASE("a full disk stops admission with a clear error and loses nothing; room brings it back",
          "[scenario]") {
  if (!is_root_or_skips("a tmpfs")) return;
  const SmallDisk disk("96m");
  Cluster cluster(
      {.agents = {{"node1"}}, .tenants = tenants({{"steady", 1}}), .data = disk / "data"});
  const WorkLog log(cluster.directory() / "work");
  cluster.start();
  std::map<std::uint64_t, std::uint32_t> acknowledged;
  const std::string file = job_file("steady", 1, log.command_line("sleep 0.2"));
  for (int i = 0; i < 5; ++i) acknowledged[cluster.submit(file)] = 1;
  disk.fill();
  Completed refused;
  harness::wait_until("a submission is refused", Duration(20'000), [&] {
    refused = cluster.fairwater({"job", "submit", "--json", "-"}, file);
    if (refused.status == 0) acknowledged[json::parse(refused.output)["job"]["id"]] = 1;
    return refused.status != 0;
  });
  INFO(refused.output);
  CHECK(refused.status == 1);
  CHECK(json::parse(refused.output)["error"]["code"] == "disk_full");
  CHECK(cluster.coordinator().running());

  disk.make_room();
  harness::wait_until("submissions are taken again", Duration(20'000), [&] {
    const Completed taken = cluster.fairwater({"job", "submit", "--quiet", "-"}, file);
    if (taken.status == 0) acknowledged[std::stoull(taken.output)] = 1;
    return taken.status == 0;
  });
  std::vector<std::uint64_t> ids;
  for (const auto& [id, tasks] : acknowledged) ids.push_back(id);
  CHECK(cluster.wait(ids) == 0);
  CHECK(each_ran_once(log, acknowledged));
  CHECK(ledger_is_sound(cluster));
}

TEST_CASE("tasks run on through a full disk of the coordinator, for longer than their lease",
          "[scenario]") {
  if (!is_root_or_skips("a tmpfs")) return;
  const SmallDisk disk("96m");
  Cluster cluster({.agents = {{"node1"}},
                   .tenants = tenants({{"steady", 1}}),
                   .lease = "4s",
                   .data = disk / "data"});
  const WorkLog log(cluster.directory() / "work");
  cluster.start();
  const auto short_one = cluster.submit(job_file("steady", 1, log.command_line("sleep 3")));
  const auto long_one = cluster.submit(job_file("steady", 1, log.command_line("sleep 9")));
  harness::wait_until("both run", Duration(10'000), [&] { return log.runs().size() == 2; });
  disk.fill();
  // A lease and a half, in which the first one's end cannot be kept.
  std::this_thread::sleep_for(Duration(6'000));
  CHECK(cluster.node("node1")["state"] == "up");
  disk.make_room();
  CHECK(cluster.wait({short_one, long_one}) == 0);
  CHECK(each_ran_once(log, {{short_one, 1}, {long_one, 1}}));
  CHECK(cluster.log_of("coordinator").find("cannot be kept for now") != std::string::npos);
  CHECK(ledger_is_sound(cluster));
}

}  // namespace
}  // namespace fairwater::scenario
