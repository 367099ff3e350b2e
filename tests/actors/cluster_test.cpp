// The coordinator's actors together, in virtual time: what a heartbeat, a lease, a cancel and a
// restart do.
#include <algorithm>
#include <map>

#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

std::vector<TaskKey> keys(const std::vector<LaunchOrder>& orders) {
  std::vector<TaskKey> result;
  for (const auto& order : orders) result.push_back(order.task);
  return result;
}

std::map<JobId, int> count_by_job(const std::vector<TaskKey>& tasks) {
  std::map<JobId, int> counts;
  for (const auto& task : tasks) ++counts[task.job];
  return counts;
}

TEST_CASE("free room goes to busy tenants in the proportion of their weights", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("small", 1), tenant_spec("large", 3)});
  const auto small = cluster.submit("small", 100);
  const auto large = cluster.submit("large", 100);
  const auto agent = cluster.join("node1", 16);
  auto counts = count_by_job(keys(agent.launches()));
  CHECK(counts[small] == 4);
  CHECK(counts[large] == 12);
  CHECK(cluster.show(small).job.tasks.running == 4);
}

TEST_CASE("a freed slot is dealt again at once and the result is durable when acknowledged",
          "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  const auto job = cluster.submit("only", 3);
  auto agent = cluster.join("node1", 1);
  REQUIRE(agent.launches().size() == 1);
  const auto first = agent.launches()[0].task;
  const auto reply = cluster.report(agent, {succeeded(first)});
  REQUIRE(reply.engaged());
  CHECK(reply->acknowledged == std::vector<TaskKey>{first});
  CHECK(agent.launches().size() == 2);
  const auto detail = cluster.show(job);
  CHECK(detail.job.tasks.succeeded == 1);
  CHECK(detail.tasks[0].record.state == TaskState::succeeded);
  CHECK(detail.tasks[0].node == "node1");
}

TEST_CASE("an order to start a task says whose it is and whom it runs as", "[actor]") {
  ClusterFixture cluster;
  TenantSpec tenant = tenant_spec("only", 1);
  tenant.run_as = {"alice", "staff", {"gpu"}};
  cluster.apply({tenant});
  cluster.submit("only", 5);
  auto agent = cluster.join("node1", 1);
  REQUIRE(agent.launches().size() == 1);
  CHECK(agent.launches()[0].tenant == cluster.tenants()[0].record.id);
  CHECK(agent.launches()[0].run_as == tenant.run_as);

  tenant.run_as = {"bob", "", {}};
  cluster.apply({tenant});
  (void)cluster.report(agent, {succeeded(agent.launches()[0].task)});
  REQUIRE(agent.launches().size() == 2);
  CHECK(agent.launches()[1].run_as == tenant.run_as);

  cluster.restart();
  const auto running = agent.launches()[1].task;
  agent.running = {running};
  REQUIRE(!cluster.reattach(agent));
  agent.running.clear();
  (void)cluster.report(agent, {succeeded(running)});
  REQUIRE(agent.launches().size() == 1);  // since it registered
  CHECK(agent.launches()[0].run_as == tenant.run_as);
  CHECK(cluster.verify().ok);
}

TEST_CASE("a result that is told twice counts once", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  const auto job = cluster.submit("only", 2);
  auto agent = cluster.join("node1", 2);
  const auto first = agent.launches().at(0).task;
  (void)cluster.report(agent, {succeeded(first)});
  const auto reply = cluster.report(agent, {succeeded(first)});
  REQUIRE(reply.engaged());
  CHECK(reply->acknowledged == std::vector<TaskKey>{first});
  CHECK(cluster.show(job).job.tasks.succeeded == 1);
}

TEST_CASE("a failed task runs again as often as it may, then the job has failed", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  const auto job = cluster.submit("only", 1, 1);
  auto agent = cluster.join("node1", 1);
  (void)cluster.report(agent, {failed(agent.launches().at(0).task)});
  REQUIRE(agent.launches().size() == 2);
  CHECK(agent.launches()[1].task.attempt == 2);
  (void)cluster.report(agent, {failed(agent.launches()[1].task)});
  CHECK(agent.launches().size() == 2);
  CHECK(state_of(cluster.show(job).job) == JobState::failed);
}

TEST_CASE("a silent node is down after its lease, its tasks move only after the grace", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  const auto job = cluster.submit("only", 1);
  auto lost = cluster.join("node1", 1);
  REQUIRE(lost.launches().size() == 1);
  auto other = cluster.join("node2", 1);
  auto state_of_node1 = [&] {
    return cluster.ask<NodeList>(ListNodes{cluster.operator_caller()})->nodes.at(0).state;
  };
  cluster.advance(9'000);
  (void)cluster.report(other);
  CHECK(state_of_node1() == NodeState::up);
  cluster.advance(1'100);
  CHECK(state_of_node1() == NodeState::down);
  (void)cluster.report(other);
  cluster.advance(4'800);
  CHECK(other.launches().empty());
  cluster.advance(200);
  (void)cluster.report(other);
  REQUIRE(other.launches().size() == 1);
  CHECK(other.launches()[0].task == TaskKey{job, 0, 2});

  SECTION("when it comes back, what ran there is a stranger and is stopped") {
    lost.running = {{job, 0, 1}};
    CHECK_FALSE(cluster.reattach(lost));
    CHECK(lost.stops() == std::vector<TaskKey>{{job, 0, 1}});
    CHECK(state_of_node1() == NodeState::up);
  }
}

TEST_CASE("an agent that reconnects gets only the orders it never heard of", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  (void)cluster.submit("only", 2);
  auto agent = cluster.join("node1", 2);
  const auto orders = agent.launches();
  REQUIRE(orders.size() == 2);
  agent.running = {orders[0].task};
  CHECK_FALSE(cluster.reattach(agent));
  CHECK(keys(agent.launches()) == std::vector<TaskKey>{orders[1].task});
}

TEST_CASE("a cancelled job's waiting tasks never run and its running ones are stopped", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  const auto job = cluster.submit("only", 5);
  auto agent = cluster.join("node1", 2);
  REQUIRE(cluster.ask<Done>(CancelJob{cluster.operator_caller(), job, "not needed"}).engaged());
  auto started = keys(agent.launches());
  CHECK(agent.stops() == started);

  SECTION("also when the coordinator restarts before they have ended") {
    cluster.restart();
    agent.running = started;
    CHECK_FALSE(cluster.reattach(agent));
    CHECK(agent.stops() == started);
  }
  std::vector<TaskResult> results;
  for (const auto& task : started) {
    results.push_back(succeeded(task));
    results.back().reason = EndReason::cancelled;
  }
  agent.running.clear();
  (void)cluster.report(agent, results);
  const auto detail = cluster.show(job);
  CHECK(state_of(detail.job) == JobState::cancelled);
  CHECK(detail.job.tasks.cancelled == 5);
  CHECK(agent.launches().size() <= 2);
}

TEST_CASE("after a restart nothing is lost and nothing is started twice", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("a", 1), tenant_spec("b", 1)});
  const auto first = cluster.submit("a", 3);
  const auto second = cluster.submit("b", 3);
  auto agent = cluster.join("node1", 4);
  const auto started = keys(agent.launches());
  REQUIRE(started.size() == 4);
  cluster.restart();
  agent.running = started;
  CHECK_FALSE(cluster.reattach(agent));
  CHECK(agent.launches().empty());
  std::vector<TaskResult> results;
  for (const auto& task : started) results.push_back(succeeded(task));
  agent.running.clear();
  (void)cluster.report(agent, results);
  CHECK(agent.launches().size() == 2);
  CHECK(cluster.show(first).job.tasks.succeeded + cluster.show(second).job.tasks.succeeded == 4);
  CHECK(cluster.verify().ok);
}

TEST_CASE("what an idle tenant leaves is lent and comes back when it is needed", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("busy", 1), tenant_spec("idle", 1)});
  const auto busy = cluster.submit("busy", 200);
  auto agent = cluster.join("node1", 4);
  auto finish_all = [&] {
    std::vector<TaskResult> results;
    std::vector<TaskKey> running;
    for (const auto& order : agent.launches()) running.push_back(order.task);
    agent.orders->clear();
    for (const auto& task : running) results.push_back(succeeded(task));
    (void)cluster.report(agent, results);
    return count_by_job(running);
  };
  for (int round = 0; round < 5; ++round) CHECK(finish_all()[busy] == 4);
  auto owed = [&] { return cluster.tenants().at(1).net; };
  const auto lent = owed();
  CHECK(lent > 0);
  CHECK(cluster.tenants().at(0).net == -lent);
  const auto seen_by_debtor = cluster.ask<LedgerView>(ShowLedger{cluster.tenant_caller("busy")});
  REQUIRE(seen_by_debtor.engaged());
  CHECK(seen_by_debtor->tenants.size() == 1);
  CHECK(seen_by_debtor->counterparties == std::map<TenantId, std::string>{{TenantId{2}, "idle"}});
  const auto idle = cluster.submit("idle", 200);
  finish_all();
  bool above_half = false;
  for (int round = 0; round < 20; ++round) above_half |= finish_all()[idle] > 2;
  CHECK(above_half);
  CHECK(owed() == 0);
}

TEST_CASE("a tenant sees and touches its own jobs only", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("a", 1), tenant_spec("b", 1)});
  const auto job = cluster.submit("a", 1);
  const auto stranger = cluster.tenant_caller("b");
  auto code = [](const auto& answer) { return details(answer.error()).code; };
  CHECK(code(cluster.ask<JobDetail>(ShowJob{stranger, job})) == ErrorCode::not_found);
  CHECK(code(cluster.ask<Done>(CancelJob{stranger, job, ""})) == ErrorCode::not_found);
  CHECK(code(cluster.ask<LogChunk>(ReadLog{stranger, job, 0, false, 0})) == ErrorCode::not_found);
  CHECK(code(cluster.ask<Explanation>(ExplainTask{stranger, job, 0})) == ErrorCode::not_found);
  CHECK(code(cluster.ask<TenantsApplied>(ApplyTenants{stranger, {}, false})) ==
        ErrorCode::not_permitted);
  CHECK(code(cluster.ask<JournalPage>(ReadJournal{stranger, 1, 10, 0})) ==
        ErrorCode::not_permitted);
  CHECK(cluster.ask<JobList>(ListJobs{stranger, {}})->jobs.empty());
  CHECK(cluster.ask<TenantList>(ListTenants{stranger})->tenants.size() == 1);
}

TEST_CASE("clients are not told the hash of a node's credential", "[actor]") {
  ClusterFixture cluster;
  const auto agent = cluster.join("node1", 2);
  REQUIRE(agent.credential != Hash{});
  const auto nodes = cluster.ask<NodeList>(ListNodes{cluster.operator_caller()});
  CHECK(nodes->nodes.at(0).record.credential_hash == Hash{});
}

TEST_CASE("what stands before a job in its queue is told once", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  (void)cluster.join("node1", 2);
  (void)cluster.submit("only", 4);
  const JobId last = cluster.submit("only", 1);
  const auto why = cluster.ask<Explanation>(ExplainTask{cluster.operator_caller(), last, 0});
  REQUIRE(why);
  std::vector<std::string> orders;
  for (const Obstacle& obstacle : why->obstacles)
    if (obstacle.code == "order") orders.push_back(obstacle.message);
  CHECK(orders == std::vector<std::string>{"2 task(s) of the tenant stand before it in its queue"});
}

TEST_CASE("a job that waits for another starts when that has succeeded", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  auto agent = cluster.join("node1", 2);
  const auto first = cluster.submit("only", 1);
  JobSpec spec;
  spec.tenant = "only";
  spec.command = {"true"};
  spec.resources = {{"cpu", 1000}};
  spec.after = {first};
  const auto second = cluster.ask<JobAccepted>(SubmitJob{cluster.operator_caller(), spec});
  REQUIRE(second.engaged());
  cluster.run();
  CHECK(agent.launches().size() == 1);
  const auto why = cluster.ask<Explanation>(ExplainTask{cluster.operator_caller(), second->id, 0});
  REQUIRE(why->obstacles.size() == 1);
  CHECK(why->obstacles[0].code == "dependency");

  SECTION("success lets it run") {
    (void)cluster.report(agent, {succeeded(agent.launches()[0].task)});
    CHECK(agent.launches().size() == 2);
  }
  SECTION("failure cancels it") {
    (void)cluster.report(agent, {failed(agent.launches()[0].task)});
    CHECK(agent.launches().size() == 1);
    const auto job = cluster.show(second->id).job;
    CHECK(state_of(job) == JobState::cancelled);
    CHECK(job.cancel_reason.find("failed") != std::string::npos);
  }
}

TEST_CASE("jobs wait for jobs of their own tenant, and only operators hear of others'", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("one", 1), tenant_spec("two", 1)});
  const JobId others = cluster.submit("two", 1);
  JobSpec spec;
  spec.tenant = "one";
  spec.command = {"true"};
  spec.resources = {{"cpu", 1000}};
  spec.after = {others};
  const auto refused = [&](const Caller& caller, const std::string& request_id = {}) {
    return details(cluster.ask<JobAccepted>(SubmitJob{caller, spec, request_id}).error());
  };
  const std::string belongs =
      "job 1 belongs to another tenant; jobs wait for jobs of their own tenant, here one";
  CHECK(refused(cluster.operator_caller()).message == belongs);
  CHECK(refused(cluster.operator_caller(), "again").message == belongs);
  CHECK(refused(cluster.operator_caller()).field == "after[0]");
  CHECK(refused(cluster.tenant_caller("one")).message == "job 1 does not exist");
  spec.after = {JobId{99}};
  CHECK(refused(cluster.tenant_caller("one")).message == "job 99 does not exist");
  CHECK(refused(cluster.operator_caller()).message == "job 99 does not exist");
}

TEST_CASE("impossible jobs are refused and name the field", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  auto agent = cluster.join("node1", 2);
  JobSpec spec;
  spec.tenant = "only";
  spec.command = {"true"};
  spec.resources = {{"cpu", 3000}};
  auto refused = [&] {
    return details(cluster.ask<JobAccepted>(SubmitJob{cluster.operator_caller(), spec}).error());
  };
  CHECK(refused().field == "resources");
  spec.resources = {{"cpu", 1000}};
  spec.tenant = "nobody";
  CHECK(refused().field == "tenant");
  spec.tenant = "only";
  spec.after = {JobId{77}};
  CHECK(refused().field == "after[0]");
}

TEST_CASE("a job that no node takes is refused by what none of them meets", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  NodeSpec node;
  node.traits = {"node1", "north", {{"ssd", "true"}}};
  node.capacity = {{"cpu", 2000}};
  node.instance = "one";
  (void)cluster.join(node);
  JobSpec spec;
  spec.tenant = "only";
  spec.command = {"true"};
  spec.resources = {{"cpu", 1000}};
  auto refused = [&] {
    return details(cluster.ask<JobAccepted>(SubmitJob{cluster.operator_caller(), spec}).error());
  };
  spec.labels = "nvme";
  CHECK(refused().field == "labels");
  CHECK(refused().message == "no node has labels that match 'nvme'");
  spec.sites = {"south", "west"};
  CHECK(refused().field == "sites");
  CHECK(refused().message == "no node is at south, west");
  spec.sites = {"north"};
  CHECK(refused().message == "no node at north has labels that match 'nvme'");
  spec.labels = "ssd";
  spec.resources = {{"cpu", 3000}};
  CHECK(refused().field == "resources");
}

TEST_CASE("a log that there is none of yet is told from a task that there never is", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  const auto job = cluster.submit("only", 1);
  auto refused = [&](std::uint32_t task) {
    return details(
        cluster.ask<LogChunk>(ReadLog{cluster.operator_caller(), job, task, false, 0}).error());
  };
  CHECK(refused(0).code == ErrorCode::wrong_state);
  CHECK(refused(5).code == ErrorCode::invalid_input);
  CHECK(refused(5).message == "the job has one task, number 0");
}

TEST_CASE("the log of a task whose order is on its way is empty so far", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  auto agent = cluster.join("node1", 1);
  const auto job = cluster.submit("only", 1);
  const auto read = [&] {
    return cluster.ask<LogChunk>(ReadLog{cluster.operator_caller(), job, 0, false, 0});
  };
  REQUIRE(agent.launches().size() == 1);
  CHECK(read()->data == "log of task 0");
  const TaskKey task = agent.launches().front().task;
  agent.orders->clear();  // as if it had not come
  const auto early = read();
  REQUIRE(early.engaged());
  CHECK(early->data.empty());
  CHECK_FALSE(early->end);
  (void)cluster.report(agent, {succeeded(task)});
  CHECK(details(read().error()).code == ErrorCode::not_found);
}

TEST_CASE("an agent under another name is told which one its credential is for", "[actor]") {
  ClusterFixture cluster;
  const auto agent = cluster.join("node1", 2);
  RegisterNode renamed;
  renamed.spec.traits.name = "node2";
  renamed.credential_hash = agent.credential;
  renamed.link = agent.link;
  const auto refused = details(cluster.ask<NodeRegistered>(renamed).error());
  CHECK(refused.code == ErrorCode::unauthenticated);
  CHECK(refused.message.starts_with("this agent joined as node node1 and cannot become node2"));
}

TEST_CASE("a change of what a debtor pays back reads as it is written in a file", "[actor]") {
  ClusterFixture cluster;
  auto spec = tenant_spec("only", 1);
  spec.repay_millionths = 500'000;
  cluster.apply({spec});
  spec.repay_millionths = 1'000'000;
  const auto applied =
      cluster.ask<TenantsApplied>(ApplyTenants{cluster.operator_caller(), {spec}, true});
  REQUIRE(applied.engaged());
  CHECK(applied->changes.at(0).fields == std::vector<std::string>{"repay: 0.5 -> 1"});
}

TEST_CASE("a draining node gets nothing new and is drained when its last task has ended",
          "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  (void)cluster.submit("only", 3);
  auto agent = cluster.join("node1", 1);
  REQUIRE(
      cluster.ask<Done>(DrainNode{cluster.operator_caller(), "node1", "new disk", true}).engaged());
  auto state = [&] {
    return cluster.ask<NodeList>(ListNodes{cluster.operator_caller()})->nodes.at(0).state;
  };
  CHECK(state() == NodeState::draining);
  (void)cluster.report(agent, {succeeded(agent.launches()[0].task)});
  CHECK(state() == NodeState::drained);
  CHECK(agent.launches().size() == 1);
  REQUIRE(cluster.ask<Done>(DrainNode{cluster.operator_caller(), "node1", "", false}).engaged());
  CHECK(agent.launches().size() == 2);
}

}  // namespace
}  // namespace fairwater
