// What looking at the cluster costs those who work: counted, not timed.
#include <memory>
#include <string>
#include <vector>

#include "actors/coordinator/shared_answers.hpp"
#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

/// Stands where the coordinator would, answers `status` when it is told to, and counts.
struct Stand {
  std::uint32_t asked = 0;
  std::vector<caf::typed_response_promise<ClusterStatus>> open;
};

caf::behavior stand_in(caf::event_based_actor* self, std::shared_ptr<Stand> stand) {
  return {
      [self, stand](const GetStatus&) {
        ++stand->asked;
        stand->open.push_back(self->make_response_promise<ClusterStatus>());
        return stand->open.back();
      },
      [stand](const Done&) {
        for (auto& promise : std::exchange(stand->open, {})) promise.deliver(ClusterStatus{});
      },
  };
}

}  // namespace

TEST_CASE("however many ask for the status, one question is open", "[actor]") {
  ClusterFixture cluster;
  auto& system = cluster.actors().frontend->home_system();
  const auto stand = std::make_shared<Stand>();
  const auto coordinator = system.spawn(stand_in, stand);
  const auto frontend = spawn_frontend(system, cluster.actors().context,
                                       caf::actor_cast<CoordinatorActor>(coordinator));
  caf::scoped_actor client{system};
  constexpr std::uint32_t kPollers = 1000;
  const auto poll = [&] {
    for (std::uint32_t i = 0; i < kPollers; ++i)
      client->send(frontend, GetStatus{cluster.operator_caller()});
    cluster.run();
  };
  std::uint32_t answers = 0;
  const auto answer = [&] {
    client->send(coordinator, Done{});
    cluster.run();
    for (; client->has_next_message(); ++answers)
      client->receive([](const ClusterStatus&) {}, [](const caf::error&) { FAIL("an error"); });
  };
  poll();
  CHECK(stand->asked == 1);
  answer();
  CHECK(answers == 1);  // those who came later get what is found later
  CHECK(stand->asked == 2);
  poll();
  CHECK(stand->asked == 2);
  answer();
  CHECK(answers == kPollers);
  answer();
  CHECK(answers == 2 * kPollers);
  CHECK(stand->asked == 3);
  caf::anon_send_exit(frontend, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(coordinator, caf::exit_reason::user_shutdown);
  cluster.run();
}

TEST_CASE("nodes that come and go down are in the status", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  auto first = cluster.join("node1", 4);
  const auto status = [&] { return *cluster.ask<ClusterStatus>(GetStatus{}); };
  CHECK(status().capacity.at("cpu") == 4000);
  (void)cluster.join("node2", 2);
  (void)cluster.submit("only", 6);
  CHECK(status().nodes_up == 2);
  CHECK(status().capacity.at("cpu") == 6000);
  CHECK(status().used.at("cpu") == 6000);
  CHECK(status().tasks_running == 6);
  for (const auto& order : first.launches()) first.running.push_back(order.task);
  for (int i = 0; i < 3; ++i) {  // longer than a lease, and less than lease and grace
    cluster.advance(4'000);
    (void)cluster.report(first);
  }
  CHECK(status().nodes_up == 1);
  CHECK(status().capacity.at("cpu") == 4000);
  CHECK(status().used.at("cpu") == 4000);
  CHECK(status().tasks_running == 6);
}

TEST_CASE("a listing is put together some at a time", "[actor]") {
  constexpr std::uint32_t kTenants = kMaxShownAtOnce + 5;
  ClusterFixture cluster;
  std::vector<TenantSpec> specs;
  for (std::uint32_t i = 0; i < kTenants; ++i)
    specs.push_back(tenant_spec("t" + std::to_string(i), 1 + i));
  cluster.apply(std::move(specs));
  const auto page = [&](const Caller& caller, TenantId after) {
    return *cluster.ask<TenantList>(ListTenants{caller, after});
  };
  const auto first = page(cluster.operator_caller(), {});
  CHECK(first.tenants.size() == kMaxShownAtOnce);
  CHECK(first.more);
  const auto rest = page(cluster.operator_caller(), first.tenants.back().record.id);
  CHECK(rest.tenants.size() == 5);
  CHECK_FALSE(rest.more);
  CHECK(rest.tenants.back().record.spec.weight == kTenants);
  const auto own = page(cluster.tenant_caller("t1003"), {});
  REQUIRE(own.tenants.size() == 1);
  CHECK(own.tenants.front().record.spec.name == "t1003");
  CHECK_FALSE(own.more);
}

TEST_CASE("names are those that are shown", "[unit]") {
  NameBook book({"cpu"});
  for (std::uint32_t i = 1; i <= 1000; ++i) book.put(NodeId{i}, "node" + std::to_string(i));
  book.put(TenantId{1}, "one");
  JournalRecord record;
  record.body = TasksFinished{NodeId{7}, {}};
  const std::vector<JournalRecord> shown{record};
  CHECK(book.names_in(shown).nodes == std::map<NodeId, std::string>{{NodeId{7}, "node7"}});
  CHECK(book.names_in(shown).tenants.empty());
  CHECK(book.name_of(NodeId{1000}) == "node1000");
  book.remove(NodeId{7});
  CHECK(book.names_in(shown).nodes.empty());
  CHECK(book.name_of(NodeId{7}).empty());
}

}  // namespace fairwater
