// A submission that is repeated because its answer was lost.
#include <set>

#include "tests/actors/cluster_fixture.hpp"

using namespace fairwater;

namespace {

SubmitJob submission(ClusterFixture& cluster, const std::string& request_id,
                     std::uint32_t tasks = 1) {
  SubmitJob request{cluster.operator_caller(), {}, request_id};
  request.spec.tenant = "only";
  request.spec.command = {"true"};
  request.spec.resources = {{"cpu", 1000}};
  request.spec.tasks_min = request.spec.tasks_max = tasks;
  return request;
}

std::size_t jobs_in(ClusterFixture& cluster) {
  std::size_t jobs = 0;
  for (const auto& record : cluster.journal())
    if (std::holds_alternative<JobSubmitted>(record.body)) ++jobs;
  return jobs;
}

}  // namespace

TEST_CASE("a repeated submission is answered with the first one's job", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1), tenant_spec("other", 1)});
  const auto agent = cluster.join("node1", 1);
  const auto first = cluster.ask<JobAccepted>(submission(cluster, "r1"));
  REQUIRE(first.engaged());
  SECTION("at once") {}
  SECTION("after a restart, before anything is taken in") { cluster.restart(); }
  SECTION("when no node could run it any more") {
    cluster.ask<Done>(DrainNode{cluster.operator_caller(), "node1", "why", true});
    (void)cluster.ask<Done>(CancelJob{cluster.operator_caller(), first->id, "why"});
  }
  const auto again = cluster.ask<JobAccepted>(submission(cluster, "r1"));
  REQUIRE(again.engaged());
  CHECK(again->id == first->id);
  CHECK(jobs_in(cluster) == 1);
  CHECK(cluster.verify().ok);
}

TEST_CASE("a submission that is repeated before it is durable makes one job", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  (void)cluster.join("node1", 1);
  std::vector<SubmitJob> all(5, submission(cluster, "r1"));
  all.push_back(submission(cluster, "r2"));
  all.push_back(submission(cluster, "r1", 2));
  const auto answers = cluster.ask_at_once<JobAccepted>(all);
  std::multiset<std::uint64_t> ids;
  std::size_t refused = 0;
  for (const auto& answer : answers)
    if (answer)
      ids.insert(answer->id.value);
    else
      ++refused;
  CHECK(refused == 1);
  CHECK(ids.size() == 6);
  CHECK(std::set<std::uint64_t>(ids.begin(), ids.end()).size() == 2);
  CHECK(jobs_in(cluster) == 2);
}

TEST_CASE("a full disk makes no job, also for those that repeated it", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  (void)cluster.join("node1", 1);
  cluster.fill_disk(true);
  for (const auto& answer :
       cluster.ask_at_once<JobAccepted>(std::vector(3, submission(cluster, "r1"))))
    CHECK(is_retryable(details(answer.error()).code));
  cluster.fill_disk(false);
  CHECK(cluster.ask<JobAccepted>(submission(cluster, "r1")).engaged());
  CHECK(jobs_in(cluster) == 1);
}

TEST_CASE("a request id of another submission is refused", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1), tenant_spec("other", 1)});
  (void)cluster.join("node1", 1);
  REQUIRE(cluster.ask<JobAccepted>(submission(cluster, "r1")).engaged());
  const auto refused = [&](const SubmitJob& request) {
    return details(cluster.ask<JobAccepted>(request).error());
  };
  const auto different = refused(submission(cluster, "r1", 2));
  CHECK(different.code == ErrorCode::already_exists);
  CHECK(different.field == "request_id");
  CHECK(different.message ==
        "the request id 'r1' is that of job 1, which asks for something else: give this one an id "
        "of its own");
  CHECK(refused(submission(cluster, std::string(65, 'a'))).field == "request_id");
  CHECK(refused(submission(cluster, "with space")).code == ErrorCode::invalid_input);
  auto others = submission(cluster, "r1");
  others.spec.tenant = "other";
  CHECK(cluster.ask<JobAccepted>(others)->id == JobId{2});
  others.spec.tenant = "nobody";
  CHECK(refused(others).field == "tenant");
  CHECK(refused(others).code == ErrorCode::invalid_input);
}
