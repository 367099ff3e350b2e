// The historian: checkpoints come when they are due, and history is cut behind them.
#include <catch2/catch.hpp>

#include "actors/coordinator/historian.hpp"
#include "storage/archive.hpp"
#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

using Catch::Matchers::Contains;

ClusterSettings settings_keeping_history(std::uint64_t checkpoint_every,
                                         std::int64_t keep_jobs_ms) {
  ClusterSettings settings = ClusterFixture::default_settings();
  settings.history.checkpoint_every = checkpoint_every;
  settings.history.jobs.keep_jobs_ms = keep_jobs_ms;
  return settings;
}

/// Runs so many jobs of one task, one after the other.
std::vector<JobId> run_jobs(ClusterFixture& cluster, FakeAgent& agent, int count) {
  std::vector<JobId> jobs;
  for (int i = 0; i < count; ++i) {
    jobs.push_back(cluster.submit("only", 1));
    (void)cluster.report(agent);
    (void)cluster.report(agent, {succeeded(agent.launches().back().task)});
  }
  return jobs;
}

std::size_t checkpoints_in(ClusterFixture& cluster) {
  std::size_t count = 0;
  for (const JournalRecord& record : cluster.journal())
    count += std::holds_alternative<Checkpointed>(record.body) ? 1 : 0;
  return count;
}

JobList listed(ClusterFixture& cluster) {
  return *cluster.ask<JobList>(ListJobs{cluster.operator_caller(), {}});
}

constexpr std::int64_t kTurn_ms = std::chrono::milliseconds(kHistoryPause).count();

TEST_CASE("history is archived behind checkpoints, and jobs of long ago are still shown",
          "[actor][history]") {
  ClusterFixture cluster(settings_keeping_history(40, 0));
  cluster.apply({tenant_spec("only", 1)});
  auto agent = cluster.join("node1", 1);
  const auto jobs = run_jobs(cluster, agent, 20);
  CHECK(checkpoints_in(cluster) == 0);
  const JobDetail before = cluster.show(jobs.front());
  const auto records = cluster.journal();
  cluster.advance(kTurn_ms);
  CHECK(checkpoints_in(cluster) == 1);
  CHECK(listed(cluster).jobs.empty());
  CHECK(cluster.show(jobs.front()).job == before.job);
  CHECK(cluster.show(jobs.front()).tasks.front().record == before.tasks.front().record);
  const auto after = cluster.journal();
  REQUIRE(after.size() == records.size() + 1);
  CHECK(std::equal(records.begin(), records.end(), after.begin()));
  const HistoryStanding standing = cluster.ask<ClusterStatus>(GetStatus{})->history;
  CHECK(standing.files == 1);
  CHECK(standing.bytes > 0);
  CHECK(standing.first == 1);
  CHECK(standing.last == records.size());
  CHECK(standing.checkpoint == records.size());
  CHECK(standing.cut_at);
  CHECK(standing.failure.empty());
  for (const bool with_archive : {false, true}) {
    const auto report =
        *cluster.ask<VerifyReport>(VerifyLedger{cluster.operator_caller(), with_archive});
    CHECK(report.ok);
    CHECK(report.begins_after == (with_archive ? 0 : records.size()));
  }
  SECTION("a restart goes on") {
    cluster.restart();
    CHECK(cluster.show(jobs.back()).job.tasks.succeeded == 1);
    REQUIRE_FALSE(cluster.reattach(agent));
    run_jobs(cluster, agent, 20);
    cluster.advance(kTurn_ms);
    CHECK(checkpoints_in(cluster) == 2);
    CHECK(cluster.verify().ok);
  }
  SECTION("what comes late for an archived job is answered as before") {
    (void)cluster.report(agent, {succeeded({jobs.front(), 0, 1})});
    const auto refused =
        cluster.ask<Done>(CancelJob{cluster.tenant_caller("only"), jobs.front(), ""});
    REQUIRE_FALSE(refused);
    CHECK(details(refused.error()).code == ErrorCode::wrong_state);
    CHECK(cluster.show(jobs.front()).job == before.job);
    CHECK(cluster.verify().ok);
  }
}

TEST_CASE("jobs are listed for as long as they are kept", "[actor][history]") {
  ClusterFixture cluster(settings_keeping_history(40, 60'000));
  cluster.apply({tenant_spec("only", 1)});
  auto agent = cluster.join("node1", 1);
  const auto jobs = run_jobs(cluster, agent, 20);
  cluster.advance(kTurn_ms);
  CHECK(checkpoints_in(cluster) == 1);
  CHECK(listed(cluster).jobs.size() == jobs.size());
}

TEST_CASE("a checkpoint comes when the journal has grown by as much as the state is large",
          "[unit][history]") {
  HistoryLimits limits;
  limits.checkpoint_every = 100;
  CHECK_FALSE(is_checkpoint_due(limits, 99, 0));
  CHECK(is_checkpoint_due(limits, 100, 0));
  CHECK(is_checkpoint_due(limits, 100, 100));
  CHECK_FALSE(is_checkpoint_due(limits, 100, 101));
  CHECK(is_checkpoint_due(limits, 101, 101));
}

/// Of a journal that is shared with one of an earlier version.
struct SharedJournal final : JournalStore {
  caf::error commit(const RecordGroup& group) override {
    needs = group.needs;
    return {};
  }
  KnownFormat known_format() const override { return {known, "head2", "0.0"}; }
  JournalFormat known = kFirstFormat;
  JournalNeeds needs;
};

TEST_CASE("no checkpoint is made before all replicas know what it is", "[actor][history]") {
  SharedJournal journal;
  ClusterFixture cluster(settings_keeping_history(10, 0), Accounting::units, &journal);
  cluster.apply({tenant_spec("only", 1)});
  auto agent = cluster.join("node1", 1);
  run_jobs(cluster, agent, 10);
  cluster.advance(kTurn_ms);
  CHECK(checkpoints_in(cluster) == 0);
  CHECK(journal.needs.format == kFirstFormat);
  journal.known = kNewestFormat;
  cluster.advance(kTurn_ms);
  CHECK(checkpoints_in(cluster) == 1);
  CHECK(journal.needs.format == format_of(Checkpointed{}));
}

TEST_CASE("what a replica would not understand is refused for as long, and nothing else",
          "[actor][replica]") {
  SharedJournal journal;
  ClusterSettings settings = ClusterFixture::default_settings();
  settings.longest_lease_ms = 10 * settings.lease_ms;
  ClusterFixture cluster(settings, Accounting::units, &journal);
  cluster.apply({tenant_spec("only", 1)});
  // Who takes over from such a start waits for the longest lease, as that version does.
  const auto terms_of_start = [&] {
    LeaseTerms terms;
    for (const JournalRecord& record : cluster.journal())
      if (const auto* started = std::get_if<CoordinatorStarted>(&record.body))
        terms = started->lease;
    return terms;
  };
  CHECK(terms_of_start().lease_ms == settings.longest_lease_ms);
  CHECK(terms_of_start().ordinary_ms == 0);

  SubmitJob submission{cluster.operator_caller(), cluster.show(cluster.submit("only", 1)).job.spec};
  submission.spec.lease_ms = 2 * settings.lease_ms;
  const auto refused = cluster.ask<JobAccepted>(submission);
  REQUIRE_FALSE(refused);
  CHECK(details(refused.error()).code == ErrorCode::unavailable);
  CHECK_THAT(details(refused.error()).message,
             Contains("head2 (version 0.0) knows formats of the journal up to 1"));
  (void)cluster.submit("only", 1);
  CHECK(journal.needs.format == kFirstFormat);

  journal.known = kNewestFormat;
  CHECK(cluster.ask<JobAccepted>(submission));
  cluster.restart();
  CHECK(terms_of_start().ordinary_ms == settings.lease_ms);
  CHECK(journal.needs.format == format_of(JobSubmitted{{}, {}, submission.spec}));
  CHECK(cluster.verify().ok);
}

TEST_CASE("a journal that does not come to its checkpoint's state is told, and kept",
          "[actor][history][damage]") {
  ClusterFixture cluster(settings_keeping_history(1'000'000, 0));
  cluster.apply({tenant_spec("only", 1)});
  const auto end = cluster.ledger_end().number;
  auto committed = cluster.ask_actor<Committed>(cluster.actors().context->ledger,
                                                Commit{{Checkpointed{end, {}}}, 0});
  REQUIRE(committed);
  cluster.advance(kTurn_ms);
  const auto status = *cluster.ask<ClusterStatus>(GetStatus{});
  CHECK_THAT(status.storage_damage, Contains("cannot be archived"));
  CHECK_THAT(status.history.failure, Contains("cannot be archived"));
  CHECK(status.history.files == 0);
  CHECK(status.history.checkpoint == end);
  CHECK(cluster.journal().front().number == 1);
  CHECK(cluster.verify().ok);
}

TEST_CASE("a full disk keeps history where it is until there is room", "[actor][history]") {
  ClusterFixture cluster(settings_keeping_history(10, 0));
  cluster.apply({tenant_spec("only", 1)});
  auto agent = cluster.join("node1", 1);
  const auto jobs = run_jobs(cluster, agent, 10);
  cluster.fill_disk(true);
  cluster.advance(kTurn_ms);
  cluster.fill_disk(false);
  const auto standing = [&] { return cluster.ask<ClusterStatus>(GetStatus{})->history; };
  CHECK(checkpoints_in(cluster) == 0);
  CHECK_THAT(standing().failure, Contains("is full"));
  cluster.advance(kTurn_ms);
  CHECK(checkpoints_in(cluster) == 1);
  CHECK(standing().failure.empty());
  CHECK(standing().files == 1);
  CHECK(listed(cluster).jobs.empty());
  CHECK(cluster.show(jobs.front()).job.tasks.succeeded == 1);
}

}  // namespace
}  // namespace fairwater
