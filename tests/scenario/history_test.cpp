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
          "[scenario][history][slow]") {
  Cluster cluster({.agents = {{"node1"}},
                   .tenants = tenants({{"steady", 1}}),
                   .coordinator_lines = "history: {checkpoint_every: 100, keep_jobs: 0s}\n"});
  const WorkLog log(cluster.directory() / "work");
  cluster.start();
  const fs::path archive = cluster.coordinator_data() / "history";
  std::vector<std::uint64_t> jobs;
  const auto run_some = [&] {
    std::vector<std::uint64_t> some;
    for (int i = 0; i < 35; ++i)
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
  // A kill may come between an archive's file, the cut behind it and the end of its jobs' listing:
  // each time, or never.
  harness::wait_until("what is archived is cut", Duration(60'000), [&] {
    return cluster.ask({"ledger", "verify"}).value("begins_after", std::uint64_t{0}) > 200;
  });
  harness::wait_until("archived jobs are listed no longer", Duration(60'000),
                      [&] { return cluster.list("job").size() < jobs.size(); });
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

TEST_CASE("of each tenant as many jobs are listed as it keeps, after another configuration, too",
          "[scenario][history][slow]") {
  const auto keeping = [](const std::string& own) {
    return "history: {checkpoint_every: 40, keep_jobs: 0s, tenants: {" + own + "}}\n";
  };
  Cluster cluster(
      {.agents = {{"node1"}},
       .tenants = tenants({{"physics", 1}, {"guests", 1}, {"others", 1}, {"late", 1}})});
  const std::string configuration = read_file(cluster.coordinator_config());
  const auto configure = [&](const std::string& own) {
    std::ofstream(cluster.coordinator_config()) << configuration << keeping(own);
  };
  configure("physics: {keep_jobs: 1d}, guests: {keep_jobs: 1d, most_jobs: 3}");
  cluster.start();
  std::map<std::string, std::vector<std::uint64_t>> jobs;
  const auto run_one = [&](const std::string& tenant) {
    jobs[tenant].push_back(cluster.submit(job_file(tenant, 1, "command: ['true']\n")));
    REQUIRE(cluster.wait({jobs[tenant].back()}) == 0);
  };
  const auto listed = [&](const std::string& tenant) {
    std::vector<std::uint64_t> ids;
    const json answer = cluster.ask({"job", "list", "--tenant", tenant});
    for (const json& job : answer["jobs"]) ids.push_back(job["id"]);
    std::sort(ids.begin(), ids.end());
    return ids;
  };
  for (int i = 0; i < 6; ++i)
    for (const char* tenant : {"physics", "guests", "others"}) run_one(tenant);
  // A file takes what came before a checkpoint, and checkpoints come with the journal.
  harness::wait_until("the others' jobs are archived", Duration(60'000), [&] {
    run_one("late");
    return listed("others").empty();
  });
  const std::vector<std::uint64_t> newest(jobs["guests"].end() - 3, jobs["guests"].end());
  CHECK(listed("physics") == jobs["physics"]);
  CHECK(listed("guests") == newest);
  for (const auto& [tenant, ids] : jobs)
    for (const auto id : ids) CHECK(cluster.job(id)["state"] == "succeeded");
  CHECK(cluster.ask({"ledger", "verify", "--archive"})["ok"] == true);

  cluster.stop_coordinator(SIGKILL);
  configure("guests: {keep_jobs: 1d, most_jobs: 1}");
  cluster.start_coordinator();
  harness::wait_until("physics has lost its limits", Duration(60'000),
                      [&] { return listed("physics").empty(); });
  CHECK(listed("guests") == std::vector{newest.back()});
  CHECK(cluster.ask({"ledger", "verify", "--archive"})["ok"] == true);
}

}  // namespace
}  // namespace fairwater::scenario
