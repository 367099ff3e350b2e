// Years of history in small: real processes cut it while they work and are killed, and what was
// archived is still told and proved.
#include <catch2/catch.hpp>

#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

namespace fs = std::filesystem;

std::size_t files_in(const fs::path& directory) {
  if (!fs::exists(directory)) return 0;
  const fs::directory_iterator files(directory);
  return static_cast<std::size_t>(std::count_if(begin(files), end(files), [](const auto& file) {
    return file.path().extension() == ".sst";
  }));
}

TEST_CASE("history that is archived at work outlives kills, and is told and proved",
          "[scenario][history]") {
  Cluster cluster({.agents = {{"node1"}},
                   .tenants = tenants({{"steady", 1}}),
                   .coordinator_lines = "history: {checkpoint_every: 100, keep_jobs: 0s}\n"});
  const WorkLog log(cluster.directory() / "work");
  cluster.start();
  const fs::path archive = cluster.coordinator_data() / "history";
  std::vector<std::uint64_t> jobs;
  const auto run_some = [&] {
    std::vector<std::uint64_t> some;
    for (int i = 0; i < 25; ++i)
      some.push_back(cluster.submit(job_file("steady", 2, log.command_line("true"))));
    REQUIRE(cluster.wait(some) == 0);
    jobs.insert(jobs.end(), some.begin(), some.end());
  };
  for (std::size_t files = 1; files <= 3; ++files) {
    run_some();
    harness::wait_until("history is cut", Duration(60'000),
                        [&] { return files_in(archive) >= files; });
    cluster.stop_coordinator(SIGKILL);
    cluster.start_coordinator();
    cluster.wait_for_nodes(1);
  }
  CHECK(cluster.ask({"job", "list"})["jobs"].size() < jobs.size());
  for (const auto id : jobs) CHECK(cluster.job(id)["state"] == "succeeded");
  const json first = cluster.job(jobs.front());
  CHECK(first["task_list"].size() == 2);
  CHECK(first["task_list"][1]["node"] == "node1");
  const json plain = cluster.ask({"ledger", "verify"});
  CHECK(plain["ok"] == true);
  CHECK(plain["begins_after"] > 200);
  const json whole = cluster.ask({"ledger", "verify", "--archive"});
  CHECK(whole["ok"] == true);
  CHECK_FALSE(whole.contains("begins_after"));
  CHECK(whole["cycles"] >= plain["cycles"].get<std::uint64_t>() + 200);
  CHECK(journal_of(cluster).front()["cycle"] == 1);
  std::map<std::uint64_t, std::uint32_t> tasks_of_job;
  for (const auto id : jobs) tasks_of_job[id] = 2;
  CHECK(each_ran_once(log, tasks_of_job));
}

}  // namespace
}  // namespace fairwater::scenario
