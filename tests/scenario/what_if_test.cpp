#include <fstream>

#include <catch2/catch.hpp>

#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

TEST_CASE("sim what-if looks ahead on a live cluster and leaves it as it is", "[scenario]") {
  Cluster cluster({.agents = {{"node1", "cpu: 4, memory: 4GiB"}},
                   .tenants = tenants({{"art", 1}, {"botany", 1}})});
  cluster.start();
  // As long as nothing is known, a task is taken to run for a minute: work for 100 minutes.
  const auto of_art = cluster.submit(job_file("art", 200, "command: [sleep, '300']\n"));
  const auto of_botany = cluster.submit(job_file("botany", 200, "command: [sleep, '300']\n"));
  // By the jobs: the status counts what is dealt before that is in the ledger.
  const auto running = [&](std::uint64_t job) {
    return cluster.job(job)["tasks"]["running"].get<int>();
  };
  harness::wait_until("the node is full", Duration(20'000),
                      [&] { return running(of_art) + running(of_botany) == 4; });
  const auto proposal = cluster.directory() / "proposal.yaml";
  std::ofstream(proposal) << tenants({{"botany", 3}, {"chemistry", 1}});
  const auto cycle_before = cluster.ask({"ledger", "show"})["cycle"].get<std::uint64_t>();

  const std::vector<std::string> question{"sim",    "what-if",   "--tenant-file",
                                          proposal, "--horizon", "1h"};
  const json told = cluster.ask(question);
  CHECK(told["cycle"] >= cycle_before);
  CHECK(told["horizon_seconds"] == 3600.0);
  CHECK(told["running_tasks"] == 4);
  CHECK(told["waiting_tasks"] == 396);
  CHECK(told["arriving_jobs"] == 2);
  REQUIRE(told["tenants"].size() == 3);
  const json& art = told["tenants"][0];
  const json& botany = told["tenants"][1];
  CHECK(art["name"] == "art");
  CHECK(botany["before"]["weight"] == 1);
  CHECK(botany["after"]["weight"] == 3);
  CHECK(told["tenants"][2]["before"].is_null());
  CHECK(art["before"]["mean_share"].get<double>() == Approx(0.5).margin(0.05));
  CHECK(botany["before"]["mean_share"].get<double>() == Approx(0.5).margin(0.05));
  CHECK(botany["after"]["mean_share"].get<double>() > 0.6);
  CHECK(art["after"]["mean_share"].get<double>() < 0.4);

  auto with_page = question;
  const auto folder = cluster.directory() / "pages";
  with_page[3] = "-";
  with_page.insert(with_page.end(), {"--no-arrivals", "--out", folder});
  const Completed table = cluster.fairwater(with_page, read_file(proposal));
  INFO(table.output << table.errors);
  REQUIRE(table.status == 0);
  CHECK(table.output.starts_with("What standard input would do in 1h"));
  CHECK(table.output.find("no job arrives") != std::string::npos);
  CHECK(table.output.find("TENANT") != std::string::npos);
  CHECK(table.output.find("1 -> 3") != std::string::npos);
  CHECK(read_file(folder / "what-if.html").find("botany") != std::string::npos);

  // Nothing has happened since but that time passed.
  CHECK(cluster.list("tenant").size() == 2);
  for (const json& record : journal_of(cluster, cycle_before + 1))
    CHECK(record["kind"] == "time_settled");
}

TEST_CASE("sim what-if is for operators", "[scenario]") {
  Cluster cluster({.agents = {}, .tenants = tenants({{"art", 1}})});
  cluster.start();
  const auto proposal = cluster.directory() / "proposal.yaml";
  std::ofstream(proposal) << tenants({{"art", 2}});
  const std::string token = cluster.ask({"tenant", "token", "art"})["token"];
  const Completed refused =
      cluster.fairwater({"sim", "what-if", "--tenant-file", proposal}, {}, token);
  INFO(refused.output << refused.errors);
  CHECK(refused.status == 4);
  // A cluster without nodes or work can be asked, too.
  CHECK(cluster.ask({"sim", "what-if", "--tenant-file", proposal})["running_tasks"] == 0);
}

}  // namespace
}  // namespace fairwater::scenario
