// What was used, of real processes: `fairwater usage` against the lines of the journal, with tasks
// that fail, are stopped and are lost, and a coordinator that is killed.
#include <algorithm>
#include <cmath>
#include <csignal>

#include <catch2/catch.hpp>

#include "tests/scenario/pages.hpp"
#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

using Whose = std::pair<std::string, std::string>;  ///< tenant, user

struct JournalSums {
  std::map<std::string, std::int64_t> used_ms;
  std::map<std::string, int> attempts;
  int jobs = 0;
  int first_starts = 0;
  std::int64_t waited_ms = 0;
};

std::int64_t us_of(const json& time) {
  return std::llround(harness::seconds_since_1970(time) * 1e6);
}

std::string key_text(const json& task) {
  return fmt::format("{}.{}.{}", task["job"].get<int>(), task["task"].get<int>(),
                     task["attempt"].get<int>());
}

std::string outcome_of(const json& result) {
  const std::string reason = result["reason"];
  if (reason == "exited") return result["exit_code"] == 0 ? "succeeded" : "failed";
  if (reason == "cancelled") return "cancelled";
  for (const char* lost : {"lease_expired", "node_lost", "launch_failed", "supervisor_lost"})
    if (reason == lost) return "lost";
  return "failed";
}

/// Adds up what the journal's lines say, attempt by attempt.
class JournalReader {
 public:
  explicit JournalReader(const Cluster& cluster) : cluster_(cluster) {
    for (const json& record : journal_of(cluster)) take(record);
  }
  std::map<Whose, JournalSums> sums;

 private:
  struct Job {
    Whose whose;
    std::int64_t submitted_us = 0;
    json resources;
  };

  void take(const json& record) {
    const std::string kind = record["kind"];
    const std::int64_t now_us = us_of(record["time"]);
    if (kind == "job_submitted") {
      Job& job = jobs_[record["job"]];
      job = {{record["tenant"], record.value("user", "")},
             now_us,
             cluster_.job(record["job"])["resources"]};
      ++sums[job.whose].jobs;
    } else if (kind == "cycle") {
      for (const json& deal : record["deals"])
        for (const json& grant : deal["grants"]) begin(grant, now_us);
    } else if (kind == "tasks_finished") {
      for (const json& result : record["results"])
        end(result, outcome_of(result), us_of(result["finished_at"]), now_us);
    } else if (kind == "tasks_requeued") {
      for (const json& task : record["tasks"]) end(task, "lost", 0, now_us);
    }
  }
  void begin(const json& grant, std::int64_t now_us) {
    running_[key_text(grant)] = now_us;
    if (grant["attempt"] != 1) return;
    const Job& job = jobs_.at(grant["job"]);
    ++sums[job.whose].first_starts;
    sums[job.whose].waited_ms += now_us / 1000 - job.submitted_us / 1000;
  }
  void end(const json& task, const std::string& outcome, std::int64_t finished_us,
           std::int64_t now_us) {
    const auto running = running_.find(key_text(task));
    if (running == running_.end()) return;
    if (finished_us < running->second || finished_us > now_us) finished_us = now_us;
    const Job& job = jobs_.at(task["job"]);
    JournalSums& mine = sums[job.whose];
    ++mine.attempts[outcome];
    for (const auto& [resource, amount] : job.resources.items())
      mine.used_ms[resource] +=
          amount.get<std::int64_t>() * (finished_us / 1000 - running->second / 1000);
    running_.erase(running);
  }

  const Cluster& cluster_;
  std::map<std::uint64_t, Job> jobs_;
  std::map<std::string, std::int64_t> running_;
};

json usage_by(const Cluster& cluster, const std::string& by) {
  return cluster.ask({"usage", "--since", "1d", "--by", by})["usage"];
}

void check_usage(const Cluster& cluster) {
  const JournalReader journal(cluster);
  std::size_t rows = 0;
  for (const json& row : usage_by(cluster, "tenant,user")) {
    INFO(row.dump(1));
    const std::string user = row["user"].is_null() ? "" : row["user"];
    const auto found = journal.sums.find({row["tenant"], user});
    REQUIRE(found != journal.sums.end());
    const JournalSums& sums = found->second;
    CHECK(row["used_ms"].size() == sums.used_ms.size());
    for (const auto& [resource, used_ms] : sums.used_ms) CHECK(row["used_ms"][resource] == used_ms);
    for (const auto& [outcome, count] : row["attempts"].items()) {
      const auto counted = sums.attempts.find(outcome);
      CHECK(count == (counted == sums.attempts.end() ? 0 : counted->second));
    }
    CHECK(row["jobs_submitted"] == sums.jobs);
    CHECK(row["first_starts"] == sums.first_starts);
    CHECK(std::llround(row["waited"].get<double>() * 1000) == sums.waited_ms);
    ++rows;
  }
  CHECK(rows == journal.sums.size());
}

}  // namespace

TEST_CASE("usage is what the journal's attempts held, through failures and crashes",
          "[scenario][crash][usage][slow]") {
  Cluster cluster({.agents = {{"node1", "cpu: 3, memory: 4GiB"}, {"node2", "cpu: 3, memory: 4GiB"}},
                   .tenants = tenants({{"physics", 1}, {"biology", 1}}),
                   .lease = "12s"});
  cluster.start();
  const std::string ada =
      cluster.ask({"token", "create", "--tenant", "physics", "--user", "ada"})["token"];
  const auto of_ada = cluster.fairwater(
      {"job", "submit", "-", "--quiet"},
      job_file("physics", 5, "command: [sh, -c, 'sleep 0.3; exit $((FAIRWATER_TASK_INDEX % 2))']"),
      ada);
  REQUIRE(of_ada.status == 0);
  const std::uint64_t first = std::stoull(of_ada.output);
  const std::uint64_t retried =
      cluster.submit(job_file("biology", 2, "retries: 1\ncommand: [sh, -c, 'sleep 0.2; exit 3']"));
  CHECK(cluster.wait({first, retried}) != 0);
  check_usage(cluster);
  const std::uint64_t stopped = cluster.submit(job_file("physics", 1, "command: [sleep, '600']"));
  harness::wait_until("it runs", Duration(20'000),
                      [&] { return cluster.job(stopped)["tasks"]["running"] == 1; });
  cluster.stop_coordinator(SIGKILL);
  cluster.start_coordinator();
  cluster.wait_for_nodes(2);
  REQUIRE(cluster.fairwater({"job", "cancel", std::to_string(stopped)}).status == 0);

  // Its agent is gone for longer than the lease: the tasks on that node are lost.
  const auto gate = cluster.directory() / "gate";
  const std::uint64_t moved = cluster.submit(job_file(
      "biology", 6,
      fmt::format("command: [sh, -c, 'until [ -e {} ]; do sleep 0.1; done']", gate.string())));
  harness::wait_until("all run", Duration(20'000),
                      [&] { return cluster.job(moved)["tasks"]["running"] == 6; });
  cluster.stop_agent("node2", SIGKILL);
  std::ofstream(gate) << "open";
  CHECK(cluster.wait({moved}) == 0);
  check_usage(cluster);
  const json total = usage_by(cluster, "total")[0];
  INFO(total.dump(1));
  CHECK(total["attempts"]["lost"] == 3);
  CHECK(total["attempts"]["failed"] == 2 + 4);
  CHECK(total["attempts"]["cancelled"] == 1);
  CHECK(total["attempts"]["succeeded"] == 3 + 6);
  CHECK(total["jobs_submitted"] == 4);
  CHECK(ledger_is_sound(cluster));

  const auto others = cluster.fairwater({"usage", "--tenant", "biology"}, {}, ada);
  CHECK(others.status == 4);
  const auto wrong = cluster.fairwater({"usage", "--since", "tomorrow"});
  CHECK(wrong.status == 2);
  CHECK_THAT(wrong.errors, Catch::Contains("since: 'tomorrow' is no date"));
}

TEST_CASE("docs/usage.md does what it says", "[scenario][usage]") {
  Cluster cluster({.agents = {{"node1", "cpu: 4, memory: 2GiB"}},
                   .tenants = tenants({{"physics", 1}, {"biology", 1}})});
  cluster.start();
  check_page(cluster, "docs/usage.md");
  CHECK(ledger_is_sound(cluster));
}

}  // namespace fairwater::scenario
