// Answers and orders that do not fit one message: they come whole, in parts.
#include "rpc/pages.hpp"

#include <caf/all.hpp>

#include "schema/byte_budget.hpp"
#include "tests/gateway/fake_frontend.hpp"
#include "tests/gateway/samples.hpp"

using namespace fairwater;
using namespace fairwater::test;

namespace {

/// Far more than Cap'n Proto would send: a node takes some 300 bytes.
constexpr std::uint32_t kMany = 40'000;

template <class Values>
void check_ids(const Values& values, std::uint32_t count) {
  REQUIRE(values.size() == count);
  for (std::uint32_t i = 0; i < count; ++i) REQUIRE(values[i].record.id.value == i + 1);
}

}  // namespace

TEST_CASE("a budget takes the first, then what fits", "[unit]") {
  ByteBudget budget(100);
  CHECK(budget.take(1000));
  CHECK_FALSE(budget.take(1));
  ByteBudget other(100);
  CHECK(other.take(60));
  CHECK(other.take(40));
  CHECK_FALSE(other.take(1));
}

TEST_CASE("listings of any length arrive whole", "[gateway]") {
  FakeCoordinator coordinator;
  coordinator.seen->listed = kMany;
  const auto client = coordinator.client(kOperatorToken);
  const auto nodes = client->list_nodes();
  REQUIRE(nodes);
  check_ids(*nodes, kMany);
  const auto tenants = client->list_tenants();
  REQUIRE(tenants);
  check_ids(*tenants, kMany);
}

TEST_CASE("jobs arrive page by page up to the limit", "[gateway]") {
  FakeCoordinator coordinator;
  coordinator.seen->listed = 100;
  const auto client = coordinator.client(kOperatorToken);
  JobQuery query;
  query.limit = 40;
  query.before = JobId{91};
  const auto jobs = client->list_jobs(query);
  REQUIRE(jobs);
  REQUIRE(jobs->size() == 40);
  CHECK(jobs->front().id == JobId{90});
  CHECK(jobs->back().id == JobId{51});
  query.limit = 1000;
  CHECK(client->list_jobs(query)->size() == 90);
}

TEST_CASE("a job's tasks arrive in pages, up to what is shown", "[gateway]") {
  FakeCoordinator coordinator;
  coordinator.seen->listed = 9'000;
  const auto client = coordinator.client(kOperatorToken);
  const auto detail = client->show_job(JobId{5});
  REQUIRE(detail);
  REQUIRE(detail->tasks.size() == 9'000);
  for (std::uint32_t i = 0; i < 9'000; ++i) REQUIRE(detail->tasks[i].index == i);
  CHECK_FALSE(detail->more);
  coordinator.seen->listed = 4 * kMaxTasksShown;
  const auto cut = client->show_job(JobId{5});
  REQUIRE(cut);
  CHECK(cut->more);
  CHECK(cut->tasks.size() >= kMaxTasksShown);
}

TEST_CASE("a ledger of any length arrives whole", "[gateway]") {
  FakeCoordinator coordinator;
  coordinator.seen->listed = kMany;
  const auto client = coordinator.client(kOperatorToken);
  const auto ledger = client->ledger();
  REQUIRE(ledger);
  REQUIRE(ledger->tenants.size() == kMany);
  CHECK(ledger->net.size() == kMany);
  REQUIRE(ledger->ious.size() == 20 * kMany);
  for (std::size_t i = 0; i < ledger->ious.size(); ++i) REQUIRE(ledger->ious[i].age == i + 21);
}
