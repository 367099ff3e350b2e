// Who is let in as a node, whose word can stop the coordinator, and how it goes on.
#include <algorithm>
#include <utility>

#include "tests/actors/captured_log.hpp"
#include "tests/actors/cluster_fixture.hpp"
#include "tests/actors/registered_node.hpp"

using namespace fairwater;

namespace {

ClusterStatus status_of(ClusterFixture& cluster) {
  return *cluster.ask<ClusterStatus>(GetStatus{});
}

LedgerStanding standing_of(ClusterFixture& cluster) {
  auto standing = cluster.ask<LedgerStanding>(ShowStanding{cluster.operator_caller()});
  REQUIRE(standing.engaged());
  return std::move(*standing);
}

caf::error trust(ClusterFixture& cluster, const std::string& reason = "nothing newer is left") {
  const auto done = cluster.ask<Done>(TrustLedger{cluster.operator_caller(), reason});
  return done ? caf::error() : done.error();
}

Expected<JobAccepted> try_to_submit(ClusterFixture& cluster) {
  JobSpec spec;
  spec.tenant = "only";
  spec.command = {"true"};
  spec.resources = {{"cpu", 1000}};
  return cluster.ask<JobAccepted>(SubmitJob{cluster.operator_caller(), spec});
}

}  // namespace

// -- whose word counts ---------------------------------------------------------------------------

TEST_CASE("a stranger with a huge high-water mark changes nothing", "[actor]") {
  RegisteredNode one;
  FakeAgent stranger = one.agent;
  stranger.identity.memory.seen = {0, 1'000'000'000, {}};
  SECTION("with a credential that nobody got") { stranger.credential.fill(99); }
  SECTION("with a name that nobody has") { stranger.name = "node7"; }
  CHECK(details(one.cluster.reattach(stranger)).code == ErrorCode::unauthenticated);
  CHECK(status_of(one.cluster).granting);
  CHECK(standing_of(one.cluster).doubts.empty());
  CHECK(try_to_submit(one.cluster).engaged());
}

TEST_CASE("an agent of another cluster is refused, with both names, and stops nothing", "[actor]") {
  RegisteredNode one;
  one.agent.identity.memory = {"elsewhere", {4, 1'000'000'000, {}}};
  const auto refused = details(one.cluster.reattach(one.agent));
  CHECK(refused.code == ErrorCode::wrong_state);
  CHECK(refused.message.find("elsewhere") != std::string::npos);
  CHECK(refused.message.find("cluster test") != std::string::npos);
  CHECK(status_of(one.cluster).granting);
}

TEST_CASE("an agent that says of its node what nobody can name or read is told so", "[actor]") {
  RegisteredNode one;
  struct Refusal {
    void (*spoil)(RegisterNode&);
    const char* field;
    const char* message;
  };
  const Refusal refusals[] = {
      {[](RegisterNode& r) { r.spec.traits.site = "\xff"; }, "site",
       "'\\xff' is not a site's name"},
      {[](RegisterNode& r) { r.spec.traits.site.clear(); }, "site", "'' is not a site's name"},
      {[](RegisterNode& r) { r.spec.traits.site.assign(5000, 'x'); }, "site", "xx..' is not"},
      {[](RegisterNode& r) {
         r.spec.traits.labels = {{"", "v"}};
       },
       "labels.", "called ''"},
      {[](RegisterNode& r) {
         r.spec.traits.labels = {{"k", "\x1b[2J"}};
       },
       "labels.k", "'\\x1b[2J'"},
      {[](RegisterNode& r) {
         r.spec.traits.labels = {{"k", std::string(70'000, 'v')}};
       },
       "labels", "70001 bytes"},
      {[](RegisterNode& r) { r.spec.limits = "\xff"; }, "limits", "'\\xff' is not UTF-8"},
      {[](RegisterNode& r) { r.spec.isolation = "a\nb"; }, "isolation", "control characters"},
      {[](RegisterNode& r) { r.spec.instance.assign(70'000, 'i'); }, "instance", "70000 bytes"},
      {[](RegisterNode& r) { r.identity.run.id = "\xff"; }, "identity.runId", "is not UTF-8"},
  };
  for (const auto& refusal : refusals) {
    INFO(refusal.field << " " << refusal.message);
    RegisterNode request;
    request.spec.traits = {"node2", "here", {}};
    request.spec.capacity = {{"cpu", 1000}};
    request.spec.instance = "another";
    request.joining = true;
    request.join_hash = join_hash();
    request.link = one.agent.link;
    refusal.spoil(request);
    const auto answer = one.cluster.ask<NodeRegistered>(request);
    REQUIRE_FALSE(answer);
    CHECK(details(answer.error()).code == ErrorCode::invalid_input);
    CHECK(details(answer.error()).field == refusal.field);
    CHECK_THAT(details(answer.error()).message, Catch::Contains(refusal.message));
  }
  CHECK(one.cluster.ask<NodeList>(ListNodes{one.cluster.operator_caller()})->nodes.size() == 1);
}

TEST_CASE("a node keeps the site and labels that it was once let in with", "[actor]") {
  RegisteredNode one;
  FakeAgent old;
  old.name = "node2";
  old.credential.fill(2);
  old.orders = std::make_shared<std::vector<AgentOrders>>();
  NodeSpec spec;
  spec.traits = {"node2", "my site", {{"k", "a b"}}};
  spec.capacity = {{"cpu", 1000}};
  spec.instance = "another";
  REQUIRE(one.cluster.ask_actor<Committed>(
      one.cluster.actors().context->ledger,
      Commit{{NodeAdmitted{NodeId{2}, spec, old.credential, {}}}, 0}));
  one.cluster.restart();
  CHECK_FALSE(one.cluster.reattach(old));
  CHECK(node_of(one.cluster, 1).record.spec == spec);
}

TEST_CASE("who joins with what it saw in no cluster is let in", "[actor]") {
  RegisteredNode one;
  auto spec = node_of(one.cluster).record.spec;
  spec.traits.name = "node2";
  spec.instance = "another";
  (void)one.cluster.join(spec, {{"", {0, 1'000'000'000, {}}}, {3, "run"}, false});
  CHECK(status_of(one.cluster).granting);
}

TEST_CASE("an agent that has seen more stops granting and submissions until it agrees", "[actor]") {
  RegisteredNode one;
  const auto end = one.cluster.ledger_end();
  LedgerMark beyond = end;
  SECTION("a record beyond the end") { beyond.number = 1'000'000; }
  SECTION("the end with another hash") { beyond.hash->fill(1); }
  SECTION("a record inside with another hash") { beyond = {0, 3, Hash{}}; }
  SECTION("a later incarnation") { beyond.incarnation = 1; }
  one.agent.identity.memory.seen = beyond;
  const auto refused = details(one.cluster.reattach(one.agent));
  CHECK(refused.code == ErrorCode::storage_behind);
  CHECK_FALSE(status_of(one.cluster).granting);
  CHECK(status_of(one.cluster).why_not_granting.find("fairwater ledger doubts") !=
        std::string::npos);
  const auto standing = standing_of(one.cluster);
  CHECK_FALSE(standing.trusted);
  REQUIRE(standing.doubts.size() == 1);
  CHECK(standing.doubts[0].node == "node1");
  CHECK(standing.doubts[0].seen == beyond);
  const auto submitted = try_to_submit(one.cluster);
  REQUIRE_FALSE(submitted);
  CHECK(details(submitted.error()).code == ErrorCode::unavailable);
  CHECK(details(submitted.error()).field == kLedgerField);

  one.agent.identity.memory.seen = end;
  CHECK_FALSE(one.cluster.reattach(one.agent));
  CHECK(status_of(one.cluster).granting);
  CHECK(standing_of(one.cluster).trusted);
  CHECK(try_to_submit(one.cluster).engaged());
}

TEST_CASE("an agent that has seen a later coordinator stops the earlier one", "[actor]") {
  RegisteredNode one;
  REQUIRE(one.cluster.report(one.agent)->epoch == 1);
  one.agent.identity.memory.epoch = 2;
  const auto refused = details(one.cluster.reattach(one.agent));
  CHECK(refused.code == ErrorCode::storage_behind);
  CHECK(refused.message.find("a coordinator of epoch 2") != std::string::npos);
  CHECK_FALSE(status_of(one.cluster).granting);
  one.cluster.restart();
  CHECK_FALSE(one.cluster.reattach(one.agent));
  CHECK(one.cluster.report(one.agent)->epoch == 2);
  CHECK(status_of(one.cluster).granting);
}

TEST_CASE("a record that the agent remembers by its true hash is no doubt", "[actor]") {
  RegisteredNode one;
  const auto before = one.agent.identity.memory.seen;
  CHECK(before.hash);
  (void)one.cluster.submit("only", 1);
  CHECK(is_older(before, one.cluster.ledger_end()));
  CHECK_FALSE(one.cluster.reattach(one.agent));
  CHECK(status_of(one.cluster).granting);
}

// -- after a start -------------------------------------------------------------------------------

TEST_CASE("a restarted coordinator takes nothing in before half of its nodes are back", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  auto first = cluster.join("node1", 1);
  auto second = cluster.join("node2", 1);
  auto third = cluster.join("node3", 1);
  cluster.restart();
  CHECK_FALSE(cluster.reattach(first));
  CHECK_FALSE(status_of(cluster).granting);
  CHECK(standing_of(cluster).awaited == std::vector<std::string>{"node2", "node3"});
  const auto refused = try_to_submit(cluster);
  REQUIRE_FALSE(refused);
  CHECK(is_retryable(details(refused.error()).code));
  CHECK(details(refused.error()).message.find("2 known node(s)") != std::string::npos);
  SECTION("the second comes") { CHECK_FALSE(cluster.reattach(second)); }
  SECTION("nobody else does, and they are lost") {
    for (int i = 0; i < 4; ++i) {
      cluster.advance(4'000);
      (void)cluster.report(first);
    }
  }
  CHECK(status_of(cluster).granting);
  CHECK(try_to_submit(cluster).engaged());
  CHECK(first.launches().size() + second.launches().size() == 1);
}

TEST_CASE("a restored ledger waits for all of its nodes, however long they are silent", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  auto first = cluster.join("node1", 1);
  auto second = cluster.join("node2", 1);
  cluster.copy_ledger();
  cluster.restore_ledger();
  CHECK(standing_of(cluster).copied);
  // What the agents were told last is in the copy: it lags behind nothing.
  CHECK_FALSE(cluster.reattach(first));
  for (int i = 0; i < 6; ++i) {
    cluster.advance(4'000);
    (void)cluster.report(first);
  }
  CHECK_FALSE(status_of(cluster).granting);
  CHECK_FALSE(try_to_submit(cluster));
  SECTION("they come") { CHECK_FALSE(cluster.reattach(second)); }
  SECTION("an operator vouches") { CHECK_FALSE(trust(cluster)); }
  CHECK(status_of(cluster).granting);
  CHECK(try_to_submit(cluster).engaged());
}

// -- taken back ----------------------------------------------------------------------------------

TEST_CASE("an operator's word makes a new incarnation: no job id, task or log comes twice",
          "[actor]") {
  RegisteredNode one;
  auto& cluster = one.cluster;
  auto& agent = one.agent;
  const auto waiting = cluster.submit("only", 1);
  cluster.copy_ledger();
  CHECK_FALSE(cluster.reattach(agent));
  // The life that will be lost: the first task ends and is forgotten, the second runs, and a third
  // job comes.
  const TaskKey ended = agent.running.front();
  agent.running.clear();
  REQUIRE(cluster.report(agent, {succeeded(ended)}).engaged());
  REQUIRE(launched(agent) == std::vector<TaskKey>{{waiting, 0, 1}});
  agent.running = launched(agent);
  const auto lost_job = cluster.submit("only", 1);
  (void)cluster.report(agent);

  cluster.restore_ledger();
  CHECK(details(cluster.reattach(agent)).code == ErrorCode::storage_behind);
  CHECK_FALSE(status_of(cluster).granting);
  CHECK_FALSE(try_to_submit(cluster));
  CHECK(standing_of(cluster).doubts.size() == 1);

  CHECK(details(trust(cluster, "")).code == ErrorCode::invalid_input);
  {
    const CapturedLog log;
    CHECK_FALSE(trust(cluster, "the newest\ncopy burnt"));
    CHECK_THAT(log.text(), Catch::Contains("the newest\\x0acopy burnt"));
  }
  CHECK(details(trust(cluster)).code == ErrorCode::wrong_state);
  CHECK(cluster.ledger_end().incarnation == 1);
  // The agent has never heard of this life's grants, and still runs one of the lost life. While it
  // does, and while others may do so unseen, nothing is granted or taken in.
  CHECK_FALSE(cluster.reattach(agent));
  const TaskKey stray{waiting, 0, 1};
  CHECK(agent.stops() == std::vector<TaskKey>{stray});
  for (int i = 0; i < 5; ++i) {
    CHECK_FALSE(status_of(cluster).granting);
    CHECK_FALSE(try_to_submit(cluster));
    cluster.advance(4'000);
    (void)cluster.report(agent);
  }
  CHECK(launched(agent).empty());
  agent.running.clear();
  const auto reply = cluster.report(agent, {fairwater::ended(stray, EndReason::cancelled)});
  CHECK(reply->acknowledged == std::vector<TaskKey>{stray});
  const auto journal = cluster.journal();
  const auto disowned = std::find_if(journal.begin(), journal.end(), [](const auto& record) {
    return std::holds_alternative<TasksDisowned>(record.body);
  });
  REQUIRE(disowned != journal.end());
  CHECK(std::get<TasksDisowned>(disowned->body).results.front().task == stray);
  CHECK(status_of(cluster).granting);
  // What was granted before the copy may have run since: another attempt, not the same again.
  (void)cluster.report(agent);
  const auto again = launched(agent);
  REQUIRE(again.size() == 1);
  CHECK(again[0].incarnation == 1);
  CHECK(again[0] != ended);
  CHECK(again[0] != TaskKey{waiting, 0, 1});
  const auto fresh = cluster.submit("only", 1);
  CHECK(fresh.value > lost_job.value + 1000);
  cluster.apply({tenant_spec("only", 1), tenant_spec("later", 1)});
  CHECK(cluster.tenants().back().record.id.value > 1000);
  CHECK(cluster.submit("later", 1).value == fresh.value + 1);
  agent.running = again;
  REQUIRE(cluster.report(agent, {succeeded(again[0])}).engaged());
  CHECK(cluster.verify().ok);

  SECTION("a restart goes on in it") {
    cluster.restart();
    agent.running = launched(agent);
    CHECK_FALSE(cluster.reattach(agent));
    CHECK(cluster.ledger_end().incarnation == 1);
    std::vector<TaskResult> results;
    for (const auto& task : std::exchange(agent.running, {})) results.push_back(succeeded(task));
    (void)cluster.report(agent, results);
    for (const auto& task : launched(agent)) CHECK(task.incarnation == 1);
    CHECK(cluster.verify().ok);
  }
  SECTION("the ledger that was lost is found, and refused") {
    agent.identity.memory.seen.incarnation = 2;
    CHECK(details(cluster.reattach(agent)).code == ErrorCode::storage_behind);
  }
}

TEST_CASE("nobody can vouch for a ledger that nobody doubts", "[actor]") {
  RegisteredNode one;
  CHECK(details(trust(one.cluster)).code == ErrorCode::wrong_state);
  const auto tenant = one.cluster.tenant_caller("only");
  const auto refused = one.cluster.ask<Done>(TrustLedger{tenant, "mine"});
  REQUIRE_FALSE(refused);
  CHECK(details(refused.error()).code == ErrorCode::not_permitted);
}

TEST_CASE("a drain and a registration that cross both hold, also after a restart", "[actor]") {
  ClusterFixture cluster;
  auto agent = cluster.join("node1", 4);
  RegisterNode again;  // the agent was started anew on the machine with more memory
  again.spec = cluster.node("node1").record.spec;
  again.spec.capacity["memory"] *= 2;
  again.credential_hash = agent.credential;
  again.identity = agent.identity;
  again.link = agent.link;
  const DrainNode drain{cluster.operator_caller(), "node1", "new disks", true};
  REQUIRE(cluster.ask_beside<Done>(drain, again).engaged());
  for (int starts = 1; starts <= 2; ++starts) {
    const auto record = cluster.node("node1").record;
    CHECK(record.draining);
    CHECK(record.drain_reason == "new disks");
    CHECK(record.spec.capacity == again.spec.capacity);
    cluster.restart();
  }
  CHECK(cluster.verify().ok);
}
