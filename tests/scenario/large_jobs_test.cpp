// Jobs that together are larger than any message: they run, and nobody's listing suffers.
#include <catch2/catch.hpp>

#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

std::string large_job(int tasks, const std::string& command) {
  return job_file("large", tasks, fmt::format("command: {}\n", command)) +
         fmt::format("environment: {{LARGE: {}}}\n", std::string(100'000, 'x'));
}

TEST_CASE("large jobs run and are listed like others", "[scenario]") {
  Cluster cluster({.agents = {{"node1", "cpu: 100, memory: 16GiB"}},
                   .tenants = tenants({{"large", 1}, {"other", 1}})});
  cluster.start();
  // One grant: ten megabytes of orders, where Cap'n Proto sends no message above eight.
  const auto wide = cluster.submit(large_job(100, "[\"true\"]"));
  CHECK(cluster.wait({wide}) == 0);
  CHECK(count_of(cluster.log_of("node1"), "registered with") == 1);

  const auto missing =
      cluster.submit(job_file("large", 1, "command: [/" + std::string(90'000, 'p') + "]\n"));
  CHECK(cluster.wait({missing}) != 0);
  CHECK(cluster.job(missing)["state"] == "failed");

  CHECK(cluster.fairwater({"node", "drain", "node1", "--reason", "the list is to grow"}).status ==
        0);
  constexpr std::size_t kJobs = 90;
  for (std::size_t i = 0; i < kJobs; ++i) (void)cluster.submit(large_job(1, "[\"true\"]"));
  CHECK(cluster.list("job").size() == kJobs + 2);
  const Completed journal = cluster.fairwater({"ledger", "journal", "--json"});
  CHECK(journal.status == 0);
  CHECK(count_of(journal.output, "\"job_submitted\"") == kJobs + 2);
  CHECK(cluster.fairwater({"events"}).status == 0);
  const auto proposal = cluster.directory() / "proposal.yaml";
  std::ofstream(proposal) << tenants({{"large", 2}, {"other", 1}});
  CHECK(cluster.fairwater({"sim", "what-if", "--tenant-file", proposal.string()}).status == 0);

  CHECK(cluster.fairwater({"node", "undrain", "node1"}).status == 0);
  const auto beside = cluster.submit(job_file("other", 1, "command: [\"true\"]\n"));
  CHECK(cluster.wait({beside}) == 0);
  CHECK(ledger_is_sound(cluster));
}

}  // namespace
}  // namespace fairwater::scenario
