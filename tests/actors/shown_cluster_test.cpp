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
      [self, stand](const DescribeCluster&) {
        ++stand->asked;
        stand->open.push_back(self->make_response_promise<ClusterStatus>());
        return stand->open.back();
      },
      [stand](const Done&) {
        for (auto& promise : std::exchange(stand->open, {})) promise.deliver(ClusterStatus{});
      },
  };
}

/// One page each for followers that ask from `since` on.
struct Follow {
  std::uint64_t since = 1;
  std::uint32_t followers = 1;
};

class Followers {
 public:
  Followers(ClusterFixture& cluster, Follow follow) : cluster_(cluster) {
    auto& system = cluster.actors().frontend->home_system();
    system.spawn([pages = pages_, follow, frontend = cluster.actors().frontend,
                  caller = cluster.operator_caller()](caf::event_based_actor* self) {
      for (std::uint32_t i = 0; i < follow.followers; ++i)
        self->request(frontend, caf::infinite, ReadJournal{caller, follow.since, 1000, 10'000})
            .then([pages](const JournalPage& page) { pages->push_back(page); });
    });
    cluster_.run();
  }
  [[nodiscard]] const std::vector<JournalPage>& pages() const { return *pages_; }
  [[nodiscard]] std::size_t answered_after(std::int64_t milliseconds) {
    cluster_.advance(milliseconds);
    return pages_->size();
  }

 private:
  ClusterFixture& cluster_;
  std::shared_ptr<std::vector<JournalPage>> pages_ = std::make_shared<std::vector<JournalPage>>();
};

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
  NameDirectory names({"cpu"});
  for (std::uint32_t i = 1; i <= 1000; ++i) names.put(NodeId{i}, "node" + std::to_string(i), "");
  names.put(TenantId{1}, "one");
  JournalRecord record;
  record.body = TasksFinished{NodeId{7}, {}};
  const std::vector<JournalRecord> shown{record};
  CHECK(names.names_in(shown).nodes == std::map<NodeId, std::string>{{NodeId{7}, "node7"}});
  CHECK(names.names_in(shown).tenants.empty());
  CHECK(names.name_of(NodeId{1000}) == "node1000");
  names.remove(NodeId{7});
  CHECK(names.names_in(shown).nodes.empty());
  CHECK(names.name_of(NodeId{7}).empty());
}

TEST_CASE("followers of the journal hear together of what gathered", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  Followers followers(cluster, {cluster.ledger_end().number + 1, 5});
  (void)cluster.submit("only", 1);
  (void)cluster.submit("only", 1);
  CHECK(followers.pages().empty());
  REQUIRE(followers.answered_after(50) == 5);
  CHECK(followers.pages().front().records.size() == 2);
  CHECK(followers.pages().front() == followers.pages().back());
  CHECK(followers.pages().front().names.tenants.size() == 1);
}

TEST_CASE("followers that lag have turns, with rests for the others", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  while (cluster.ledger_end().number < 100) (void)cluster.submit("only", 1);
  Followers followers(cluster, {1, 30});
  CHECK(followers.answered_after(49) == 0);
  CHECK(followers.answered_after(1) == 10);  // a turn has a thousand records
  CHECK(followers.answered_after(19) == 10);
  CHECK(followers.answered_after(1) == 20);
  CHECK(followers.answered_after(20) == 30);
}

}  // namespace fairwater
