// What sheds when too much comes, with the real actors in virtual time: who is refused hears that
// it may try again, and nothing that was taken is lost. The tenants' own bounds are in bytes_test,
// the agent's in agent_test, the edge's in tests/gateway/flood_test.
#include <algorithm>
#include <cstddef>

#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

Commit large_submission(TenantId tenant) {
  JobSpec spec;
  spec.tenant = "only";
  spec.command = {"true"};
  spec.environment["LARGE"].assign(250'000, 'x');
  spec.resources = {{"cpu", 1000}};
  return {{JobSubmitted{{}, tenant, spec, {}}}, 0};
}

/// So many of these commits may wait.
std::size_t fitting(const Commit& commit) {
  return kMaxQueuedCommitBytes / approximate_bytes(commit.bodies.front());
}

std::size_t refused(const std::vector<Expected<Committed>>& answers) {
  return static_cast<std::size_t>(std::count_if(
      answers.begin(), answers.end(), [](const auto& answer) { return !answer.engaged(); }));
}

TEST_CASE("the ledger refuses what is more than it can hold until it is written",
          "[actor][overload][long]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  const auto large = large_submission(cluster.tenants().front().record.id);
  const auto& ledger = cluster.actors().context->ledger;
  const std::uint64_t before = cluster.actors().ledger->last_number();
  const auto answers =
      cluster.ask_actor_at_once<Committed>(ledger, std::vector<Commit>(fitting(large) + 20, large));
  CHECK(refused(answers) == 20);
  for (const auto& answer : answers) {
    if (answer) continue;
    CHECK(details(answer.error()).code == ErrorCode::overloaded);
    CHECK(is_retryable(details(answer.error()).code));
    CHECK(details(answer.error()).message ==
          "64 MiB wait to be written to the coordinator's disk; try again later");
  }
  CHECK(cluster.actors().ledger->last_number() == before + fitting(large));
  // Once that is written there is room.
  CHECK(cluster.ask_actor<Committed>(ledger, large));
  CHECK(cluster.actors().ledger->last_number() == before + fitting(large) + 1);
  CHECK(cluster.verify().ok);
}

TEST_CASE("cycles are not refused by a ledger that has much to write", "[actor][overload][long]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  const auto large = large_submission(cluster.tenants().front().record.id);
  std::vector<Commit> commits(fitting(large) + 2, large);
  commits.push_back(large);
  commits.back().generation = 1;  // as if it depended on the allocator's state
  commits.push_back({{}, 0});     // asks only until when all is durable
  const auto answers =
      cluster.ask_actor_at_once<Committed>(cluster.actors().context->ledger, commits);
  CHECK(refused(answers) == 2);
  CHECK(cluster.verify().ok);
}

TEST_CASE("however many ask to verify the ledger, few threads read it", "[actor][overload]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  for (int i = 0; i < 500; ++i) (void)cluster.submit("only", 1);  // some work for each
  const auto answers = cluster.ask_at_once<VerifyReport>(
      std::vector<VerifyLedger>(40, VerifyLedger{cluster.operator_caller()}));
  std::size_t others = 0;
  for (const auto& answer : answers) {
    if (answer) {
      CHECK(answer->ok);
      continue;
    }
    ++others;
    CHECK(details(answer.error()).code == ErrorCode::overloaded);
    CHECK(details(answer.error()).message ==
          "the ledger is being verified 2 times already; try again when one of them is done");
  }
  CHECK(others > 0);
  CHECK(others < answers.size());
  CHECK(cluster.verify().ok);  // they are done
}

}  // namespace
}  // namespace fairwater
