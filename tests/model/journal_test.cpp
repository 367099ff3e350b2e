#include "model/journal.hpp"

#include <set>
#include <utility>

#include <catch2/catch.hpp>

#include "model/requests.hpp"

namespace fairwater {
namespace {

template <std::size_t... I>
std::set<std::string_view> all_kinds(std::index_sequence<I...>) {
  return {kind_of(JournalBody{std::in_place_index<I>})...};
}

}  // namespace

TEST_CASE("every kind of journal record has a name of its own", "[unit][journal]") {
  constexpr std::size_t count = std::variant_size_v<JournalBody>;
  CHECK(all_kinds(std::make_index_sequence<count>{}).size() == count);
  CHECK(kind_of(Cycle{}) == "cycle");
  CHECK(kind_of(JobSubmitted{}) == "job_submitted");
}

TEST_CASE("records that input makes large are measured by it", "[unit][journal]") {
  JobSubmitted submitted;
  submitted.spec.environment["LARGE"].assign(100'000, 'x');
  CHECK(approximate_bytes(submitted) >= 100'000);
  TasksFinished finished;
  finished.results.resize(100);
  finished.results.front().message.assign(500, 'm');
  CHECK(approximate_bytes(finished) >= 100 * sizeof(std::int64_t) + 500);
  LaunchesFailed failed;
  failed.launches.resize(100);
  failed.launches.front().result.message.assign(500, 'm');
  CHECK(approximate_bytes(failed) >= 100 * sizeof(std::int64_t) + 500);
  TimeSettled settled;
  settled.settlement.lines.resize(1000);
  CHECK(approximate_bytes(settled) >= 1000 * 9 * sizeof(std::int64_t));
  CHECK(approximate_bytes(Cycle{{Deal{}, Deal{}}}) < 10'000);
  CHECK(approximate_bytes(TokenIssued{}) < 10'000);
}

TEST_CASE("the names in records are those that they refer to", "[unit][journal]") {
  NameTable all;
  for (std::uint32_t id = 1; id <= 9; ++id) {
    all.tenants[TenantId{id}] = "tenant" + std::to_string(id);
    all.nodes[NodeId{id}] = "node" + std::to_string(id);
  }
  all.resources = {"cpu"};
  Deal deal;
  deal.node = NodeId{2};
  deal.lines.resize(1);
  deal.lines.front().tenant = TenantId{3};
  deal.loans = {{TenantId{4}, TenantId{5}, 1}};
  JournalRecord cycle;
  cycle.body = Cycle{{deal}};
  JournalRecord finished;
  finished.body = TasksFinished{NodeId{6}, {}};
  JournalRecord failed;
  failed.body = LaunchesFailed{NodeId{7}, {FailedLaunch{{}, {Advance{TenantId{6}, 1}}}}};
  const NameTable used = names_in({cycle, finished, failed}, all);
  CHECK(used.tenants == std::map<TenantId, std::string>{{TenantId{3}, "tenant3"},
                                                        {TenantId{4}, "tenant4"},
                                                        {TenantId{5}, "tenant5"},
                                                        {TenantId{6}, "tenant6"}});
  CHECK(used.nodes == std::map<NodeId, std::string>{
                          {NodeId{2}, "node2"}, {NodeId{6}, "node6"}, {NodeId{7}, "node7"}});
  CHECK(used.resources == all.resources);
}

TEST_CASE("node states have stable names", "[unit][node]") {
  CHECK(to_string(NodeState::up) == "up");
  CHECK(to_string(NodeState::draining) == "draining");
  CHECK(to_string(NodeState::drained) == "drained");
  CHECK(to_string(NodeState::down) == "down");
}

}  // namespace fairwater
