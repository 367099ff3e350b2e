// Bounds of what is held and of answers, with the real actors in virtual time.
#include <algorithm>

#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

constexpr std::size_t kLargeBytes = 100'000;

JobSpec large_spec(std::uint32_t tasks = 1) {
  JobSpec spec;
  spec.tenant = "only";
  spec.command = {"true"};
  spec.environment["LARGE"].assign(kLargeBytes, 'x');
  spec.tasks_min = spec.tasks_max = tasks;
  spec.resources = {{"cpu", 1000}};
  return spec;
}

Expected<JobAccepted> submit(ClusterFixture& cluster, JobSpec spec) {
  auto accepted = cluster.ask<JobAccepted>(SubmitJob{cluster.operator_caller(), std::move(spec)});
  cluster.run();
  return accepted;
}

TEST_CASE("jobs and journal come in pages of bytes, and every page makes progress", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  constexpr std::size_t kJobs = 45;
  for (std::size_t i = 0; i < kJobs; ++i) REQUIRE(submit(cluster, large_spec()).engaged());

  std::size_t seen = 0;
  JobQuery query;
  for (int pages = 0; pages < 20; ++pages) {
    const auto list = cluster.ask<JobList>(ListJobs{cluster.operator_caller(), query});
    REQUIRE(list.engaged());
    CHECK(list->jobs.size() <= (1u << 20) / kLargeBytes);
    seen += list->jobs.size();
    if (!list->more) break;
    query.before = list->jobs.back().id;
  }
  CHECK(seen == kJobs);

  std::size_t submitted = 0;
  for (std::uint64_t since = 1;;) {
    const auto page =
        cluster.ask<JournalPage>(ReadJournal{cluster.operator_caller(), since, 1000, 0});
    REQUIRE(page.engaged());
    if (page->records.empty()) break;
    std::size_t large = 0;
    for (const auto& record : page->records)
      if (std::holds_alternative<JobSubmitted>(record.body)) ++large;
    CHECK(large <= (1u << 20) / kLargeBytes);
    submitted += large;
    since = page->records.back().number + 1;
  }
  CHECK(submitted == kJobs);
}

TEST_CASE("a page names what it tells of, not the whole cluster", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1), tenant_spec("other", 1)});
  (void)cluster.join("node1", 2);
  (void)cluster.join("node2", 2);
  const auto since = cluster.verify().records + 1;
  const auto job = cluster.submit("only", 1);
  const auto page = cluster.ask<JournalPage>(ReadJournal{cluster.operator_caller(), since, 1, 0});
  REQUIRE(page.engaged());
  CHECK(page->names.tenants.size() == 1);
  CHECK(page->names.tenants.begin()->second == "only");
  CHECK(page->names.nodes.empty());
  const auto why = cluster.ask<Explanation>(ExplainTask{cluster.operator_caller(), job, 0});
  REQUIRE(why.engaged());
  REQUIRE(why->deal);
  CHECK(why->names.nodes.size() == 1);
  CHECK(why->names.tenants.at(why->job.tenant) == "only");
}

TEST_CASE("submissions that wait for their dependencies to be looked up count, too", "[actor]") {
  auto settings = ClusterFixture::default_settings();
  std::size_t bytes = 0;
  SECTION("by number") { settings.max_live_jobs = 1; }
  SECTION("by bytes") {
    settings.max_live_job_bytes = 3 * kLargeBytes / 2;
    bytes = kLargeBytes;
  }
  ClusterFixture cluster(settings);
  cluster.apply({tenant_spec("only", 1)});
  auto agent = cluster.join("node1", 1);
  const auto first = cluster.submit("only", 1);
  REQUIRE(cluster.report(agent, {succeeded(agent.launches().at(0).task)}).engaged());
  REQUIRE(state_of(cluster.show(first).job) == JobState::succeeded);

  auto spec = large_spec();
  spec.environment["LARGE"].resize(bytes);
  spec.after = {first};
  const auto answers = cluster.ask_at_once<JobAccepted>(
      std::vector<SubmitJob>(4, {cluster.operator_caller(), spec}));
  std::size_t accepted = 0;
  for (const auto& answer : answers) {
    if (answer)
      ++accepted;
    else
      CHECK(details(answer.error()).code == ErrorCode::overloaded);
  }
  CHECK(accepted == 1);
}

TEST_CASE("a tenant's unfinished jobs have a budget of bytes", "[actor]") {
  auto settings = ClusterFixture::default_settings();
  settings.max_live_job_bytes = 5 * kLargeBytes / 2;
  ClusterFixture cluster(settings);
  cluster.apply({tenant_spec("only", 1), tenant_spec("other", 1)});
  const auto first = submit(cluster, large_spec());
  REQUIRE(first.engaged());
  REQUIRE(submit(cluster, large_spec()).engaged());
  const auto refused = submit(cluster, large_spec());
  REQUIRE_FALSE(refused.engaged());
  CHECK(details(refused.error()).code == ErrorCode::overloaded);
  CHECK_THAT(details(refused.error()).message, Catch::Contains("bytes of commands"));
  cluster.submit("other", 1);  // others have theirs
  cluster.restart();
  CHECK_FALSE(submit(cluster, large_spec()).engaged());
  REQUIRE(cluster.ask<Done>(CancelJob{cluster.operator_caller(), first->id, ""}).engaged());
  CHECK(submit(cluster, large_spec()).engaged());
}

/// Of a journal in an etcd that takes so much at once.
struct NarrowJournal final : JournalStore {
  caf::error commit(const RecordGroup& group) override {
    std::size_t bytes = 0;
    for (const std::string& record : group.records) bytes += record.size();
    if (bytes > most_bytes) {
      ++refused;
      return make_error(ErrorCode::invalid_input, "etcdserver: request is too large");
    }
    largest = std::max(largest, group.records.size());
    return {};
  }
  std::size_t most_bytes = 5 * kLargeBytes / 2;
  std::size_t refused = 0;
  std::size_t largest = 0;
};

TEST_CASE("what the journal does not take at once goes in by parts, in its order", "[actor]") {
  NarrowJournal journal;
  ClusterFixture cluster(ClusterFixture::default_settings(), Accounting::units, &journal);
  cluster.apply({tenant_spec("only", 1)});
  std::vector<SubmitJob> submissions(12, {cluster.operator_caller(), large_spec()});
  const auto answers = cluster.ask_at_once<JobAccepted>(submissions);
  std::uint64_t last = 0;
  for (const auto& answer : answers) {
    REQUIRE(answer);
    CHECK(answer->id.value > last);
    last = answer->id.value;
  }
  CHECK(journal.refused > 0);
  CHECK(journal.largest >= 2);

  // One alone that is too large is refused; the others are not.
  submissions.resize(3);
  submissions[1].spec.environment["LARGE"].resize(3 * kLargeBytes);
  const auto mixed = cluster.ask_at_once<JobAccepted>(submissions);
  const auto refused = std::find_if(mixed.begin(), mixed.end(),
                                    [](const auto& answer) { return !answer.engaged(); });
  REQUIRE(refused != mixed.end());
  CHECK(details(refused->error()).code == ErrorCode::invalid_input);
  CHECK(std::count_if(mixed.begin(), mixed.end(),
                      [](const auto& answer) { return answer.engaged(); }) == 2);
  cluster.restart();
  CHECK(cluster.verify().ok);
}

TEST_CASE("a reason that is too long is refused", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  (void)cluster.join("node1", 1);
  const auto job = cluster.submit("only", 2);
  const std::string essay(kMaxReasonBytes + 1, 'e');
  const auto cancelled = cluster.ask<Done>(CancelJob{cluster.operator_caller(), job, essay});
  REQUIRE_FALSE(cancelled.engaged());
  CHECK(details(cancelled.error()).field == "reason");
  const auto drained =
      cluster.ask<Done>(DrainNode{cluster.operator_caller(), "node1", essay, true});
  REQUIRE_FALSE(drained.engaged());
  CHECK(details(drained.error()).field == "reason");
}

TEST_CASE("a drain without a reason is refused, the end of one needs none", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  (void)cluster.join("node1", 1);
  const auto drained = cluster.ask<Done>(DrainNode{cluster.operator_caller(), "node1", "", true});
  REQUIRE_FALSE(drained.engaged());
  CHECK(details(drained.error()).code == ErrorCode::invalid_input);
  CHECK(details(drained.error()).field == "reason");
  CHECK(cluster.node("node1").state == NodeState::up);
  CHECK(cluster.ask<Done>(DrainNode{cluster.operator_caller(), "node1", "", false}).engaged());
}

TEST_CASE("an agent that cannot take its orders keeps neither them nor the node", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  const auto before = cluster.submit("only", 1);
  auto agent = cluster.join("node1", 4);
  REQUIRE(agent.launches().size() == 1);
  const auto running = agent.launches()[0].task;
  agent.running = {running};

  agent.breaks = true;
  CHECK_FALSE(cluster.reattach(agent));
  const auto stuck = cluster.submit("only", 2);
  for (int connection = 1; connection < 5; ++connection) {
    CHECK_FALSE(cluster.reattach(agent));
    CHECK(cluster.show(stuck).job.tasks.running == 2);  // a network may do that
  }
  CHECK_FALSE(cluster.reattach(agent));  // these orders are not sent once more
  CHECK(cluster.show(stuck).job.tasks.running == 2);
  const TaskKey taken{stuck, 0, 1};

  SECTION("what it took after all, as it says next, is its own") {
    agent.running.push_back(taken);
    CHECK(cluster.report(agent).engaged());
    CHECK(cluster.show(stuck).job.tasks.running == 1);
    CHECK(cluster.show(stuck).tasks.at(0).record.state == TaskState::running);
    return;
  }
  CHECK(cluster.report(agent).engaged());
  CHECK(cluster.show(stuck).job.tasks.running == 0);
  CHECK(cluster.show(before).job.tasks.running == 1);  // what runs there runs on

  auto other = cluster.join("node2", 4);
  REQUIRE(other.launches().size() == 2);
  CHECK(other.launches()[0].task.attempt == 2);

  // After as long as a lease the node may try again.
  agent.breaks = false;
  CHECK_FALSE(cluster.reattach(agent));
  const auto later = cluster.submit("only", 4);
  CHECK(agent.launches().empty());
  cluster.advance(9'000);
  CHECK(cluster.report(agent).engaged());
  cluster.advance(1'001);
  CHECK(cluster.report(agent).engaged());
  CHECK(cluster.report(agent).engaged());
  CHECK(agent.launches().size() == 2);
  CHECK(cluster.show(later).job.tasks.running == 4);
  CHECK(cluster.verify().ok);
}

}  // namespace
}  // namespace fairwater
