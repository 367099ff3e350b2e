// Several coordinators as deploy/ starts them.
#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/harness/replicas.hpp"
#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

using harness::ChildProcess;
using harness::Replicas;

bool etcd_is_there_or_skips() {
  if (harness::has_etcd()) return true;
  skip("several coordinators need etcd");
  return false;
}

std::filesystem::path deploy(const std::string& name) {
  return std::filesystem::path(FAIRWATER_SOURCE) / "deploy" / name;
}

std::map<std::string, std::string> with_programs() {
  return {{"PATH", harness::programs_directory().string() + ":" + std::getenv("PATH")}};
}

/// What follows `word` in the first of the lines that has it, up to a space.
std::string after(const std::vector<std::string>& lines, const std::string& word) {
  for (const std::string& line : lines)
    if (const auto at = line.find(word); at != std::string::npos) {
      const std::string rest = line.substr(at + word.size());
      return rest.substr(0, rest.find(' '));
    }
  throw std::runtime_error("no line has " + word);
}

TEST_CASE("replicas to try out start, lose their leader, and are gone with Ctrl-C",
          "[scenario][replicas]") {
  if (!etcd_is_there_or_skips()) return;
  ChildProcess tried({.command = {deploy("try-replicas.sh")}, .environment = with_programs()});
  std::vector<std::string> lines;
  do lines.push_back(tried.read_line(Duration(60'000)));
  while (lines.back().find("Ctrl-C") == std::string::npos);
  const std::string place = after(lines, "agents in ");
  CommandOptions asking;
  asking.environment = {{"FAIRWATER_ADDRESS", after(lines, "export FAIRWATER_ADDRESS=")},
                        {"FAIRWATER_TOKEN", after(lines, "export FAIRWATER_TOKEN=")}};
  const auto run = [&](const std::vector<std::string>& arguments) {
    asking.command = {harness::programs_directory() / "fairwater"};
    asking.command.insert(asking.command.end(), arguments.begin(), arguments.end());
    return harness::run(asking);
  };
  const auto ask = [&](const std::vector<std::string>& arguments) {
    const Completed done = run(arguments);
    INFO(done.errors);
    CHECK(done.status == 0);
    return done.output;
  };
  const auto leader = [&]() -> std::string {
    const Completed status = run({"status", "--json"});
    return status.status == 0 ? json::parse(status.output)["cluster"]["leader"] : json("");
  };
  const std::string job =
      ask({"job", "run", "--tenant", "physics", "--tasks", "24", "--quiet", "--", "sleep", "0.5"});
  const std::string first = leader();
  const auto line = std::find_if(lines.begin(), lines.end(),
                                 [&](const auto& text) { return text.starts_with(first + " "); });
  REQUIRE(line != lines.end());
  REQUIRE(kill(std::stoi(after({*line}, "pid ")), SIGKILL) == 0);
  harness::wait_until("another leads", Duration(20'000), [&] {
    const std::string now = leader();
    return !now.empty() && now != first;
  });
  ask({"job", "wait", job.substr(0, job.find('\n'))});

  // Nothing is left of it, not even a task that would run for long.
  ask({"job", "run", "--tenant", "physics", "--quiet", "--", "sleep", "1234567"});
  harness::wait_until("it runs", Duration(20'000), [&] {
    return json::parse(ask({"status", "--json"}))["cluster"]["tasks_running"] == 1;
  });
  tried.send_signal(SIGINT);
  CHECK(tried.wait(Duration(60'000)) == 0);
  CHECK_FALSE(std::filesystem::exists(place));
  const Completed left = harness::run({.command = {"pgrep", "-f", place}});
  CHECK(left.output.empty());
  CHECK(harness::run({.command = {"pgrep", "-fx", "sleep 1234567"}}).output.empty());
}

TEST_CASE("coordinators in containers found the cluster, join it, and start again as they are",
          "[scenario][replicas]") {
  if (!etcd_is_there_or_skips()) return;
  Replicas replicas({});
  for (const auto& name : replicas.names()) replicas.start_etcd(name);
  const TemporaryDirectory shared;
  std::map<std::string, std::unique_ptr<ChildProcess>> started;
  const auto start = [&](const std::string& name) {
    const auto command = replicas.command(name, {}).command;
    auto environment = with_programs();
    environment["FAIRWATER_FIRST"] = "one";
    environment["FAIRWATER_DATA"] = replicas.data(name);
    environment["FAIRWATER_SHARED"] = shared.path();
    environment["FAIRWATER_REPLICAS"] =
        *std::next(std::find(command.begin(), command.end(), "--replicas"));
    environment["FAIRWATER_LISTEN"] = replicas.address(name);
    environment["FAIRWATER_ADDRESS"] = replicas.addresses();
    started[name] = std::make_unique<ChildProcess>(
        CommandOptions{.command = {deploy("docker/start-replica"), name},
                       .environment = environment,
                       .error_file = shared / (name + ".log")});
    CHECK(started[name]->read_line(Duration(30'000)).starts_with("listening on "));
  };
  start("one");
  CHECK(replicas.wait_for_leader() == "one");
  std::filesystem::copy_file(replicas.data("one") + "/operator.token", shared / "operator.token");
  start("two");
  start("three");
  replicas.wait_for_all(0);
  // Their volumes are not empty any more.
  for (const auto& name : replicas.names()) {
    started.erase(name);
    start(name);
  }
  (void)replicas.wait_for_leader();
  replicas.wait_for_all(0);
}

}  // namespace
}  // namespace fairwater::scenario
