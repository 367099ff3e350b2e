// The agent in virtual time: leases, and what it knows of coordinators, ledgers and clusters.
#include "agent_fixture.hpp"

using namespace fairwater;

TEST_CASE("Without word for longer than the lease every task is stopped", "[actor]") {
  AgentFixture fixture;
  fixture.spawn();
  const std::int64_t start = fixture.now_ms();
  fixture.connect(1, reply_with({}, 3000));
  CHECK(fixture.host->leases == std::vector{start + 3000});
  fixture.send({{launch_order(1), launch_order(2)}, {}});
  SECTION("counted from the sending of the answered report") {
    fixture.advance(1000);  // the first report was sent at the start
    fixture.answer(reply_with({}, 4000));
    CHECK(fixture.host->leases.back() == start + 4000);
    fixture.advance(2950);
    CHECK(fixture.host->stops.empty());
    fixture.advance(100);
    REQUIRE(fixture.host->stops.size() == 2);
    CHECK(fixture.host->stops[0].reason == EndReason::lease_expired);
  }
  SECTION("a late answer does not shorten it") {
    fixture.answer(reply_with({}, 10));
    fixture.advance(2900);
    CHECK(fixture.host->stops.empty());
    fixture.advance(200);
    CHECK(fixture.host->stops.size() == 2);
  }
  SECTION("and after the coordinator came back, work goes on") {
    fixture.advance(4000);
    CHECK(fixture.host->stops.size() == 2);
    fixture.end(exited(launch_order(1).task));
    fixture.end(exited(launch_order(2).task));
    fixture.connect(2, reply_with({}, 3000));
    fixture.send({{launch_order(3, 2)}, {}});
    CHECK(fixture.host->launches.size() == 3);
    fixture.advance(2900);
    CHECK(fixture.host->stops.size() == 2);
    fixture.advance(200);
    CHECK(fixture.host->stops.size() == 3);
  }
}

TEST_CASE("The newest committed cycle is shown, and kept about once a second", "[actor]") {
  AgentFixture fixture;
  fixture.settings.identity.memory = {"cluster", {0, 10, {}}};
  fixture.spawn();
  const auto seen = [&] { return fixture.describe().identity.memory.seen; };
  const auto kept = [&] {
    std::vector<std::uint64_t> cycles;
    for (const auto& memory : fixture.host->memories) cycles.push_back(memory.seen.number);
    return cycles;
  };
  ReportReply reply;
  reply.committed.number = 20;
  reply.committed.hash.emplace().fill(1);
  fixture.connect(1, reply);
  CHECK(kept() == std::vector<std::uint64_t>{20});
  for (std::uint64_t cycle = 21; cycle <= 30; ++cycle) {
    reply.committed.number = cycle;
    fixture.answer(reply);
    fixture.connect(1, reply);
  }
  CHECK(kept().size() == 1);
  CHECK(seen() == reply.committed);
  fixture.advance(2000);
  CHECK(kept() == std::vector<std::uint64_t>{20, 30});
  reply.committed.number = 5;  // an older coordinator, or a late answer
  fixture.connect(1, reply);
  CHECK(seen().number == 30);
  reply.committed.incarnation = 1;  // the ledger was taken back: smaller numbers are newer
  fixture.connect(1, reply);
  CHECK(seen() == reply.committed);
}

TEST_CASE("A ledger that was taken back counts its epochs anew", "[actor]") {
  AgentFixture fixture;
  fixture.spawn();
  fixture.connect(5, reply_with({}, 10'000));
  ReportReply reply = reply_with({}, 10'000);
  reply.committed.incarnation = 1;
  fixture.connect(3, reply);
  fixture.send({{launch_order(1, 3)}, {}});
  CHECK(fixture.host->launches.size() == 1);
}

TEST_CASE("Each task with a lease of its own is stopped when that is over", "[actor]") {
  AgentFixture fixture;
  const TaskKey adopted{JobId{9}, 0, 1};
  fixture.host->inventory.tasks = {{adopted, true, {}, 6000}};
  fixture.spawn();
  ReportReply reply = reply_with({}, 3000);
  reply.longest_lease_ms = 10'000;
  fixture.connect(1, reply);
  AgentOrders orders{{launch_order(1), launch_order(2), launch_order(3)}, {}};
  orders.launches[1].lease_ms = 8000;
  orders.launches[2].lease_ms = 60'000;  // more than the coordinator gives
  fixture.send(orders);
  const auto stopped = [&] {
    std::vector<std::uint64_t> jobs;
    for (const auto& stop : fixture.host->stops) jobs.push_back(stop.task.job.value);
    return jobs;
  };
  SECTION("counted from the same moment") {
    fixture.advance(2950);
    CHECK(stopped().empty());
    fixture.advance(100);
    CHECK(stopped() == std::vector<std::uint64_t>{1});
    fixture.advance(2900);
    CHECK(stopped().size() == 1);
    fixture.advance(100);
    CHECK(stopped() == std::vector<std::uint64_t>{1, 9});
    fixture.advance(2000);
    CHECK(stopped() == std::vector<std::uint64_t>{1, 9, 2});
    fixture.advance(1900);
    CHECK(stopped().size() == 3);
    fixture.advance(100);
    CHECK(stopped() == std::vector<std::uint64_t>{1, 9, 2, 3});
    for (const auto& stop : fixture.host->stops) CHECK(stop.reason == EndReason::lease_expired);
  }
  SECTION("who waits for a longer one does not overlook the next end of the ordinary one") {
    fixture.advance(3050);
    CHECK(stopped() == std::vector<std::uint64_t>{1});
    fixture.connect(1, reply);
    fixture.send({{launch_order(4)}, {}});
    fixture.advance(2900);
    CHECK(stopped().size() == 1);
    fixture.advance(150);
    CHECK(stopped() == std::vector<std::uint64_t>{1, 4});
  }
  SECTION("a coordinator that knows none bounds them by the ordinary one") {
    fixture.advance(100);
    fixture.connect(1, reply_with({}, 3000));
    fixture.advance(9'850);  // what was given before is not taken back
    CHECK(stopped() == std::vector<std::uint64_t>{1, 9, 2});
    fixture.advance(100);
    CHECK(stopped().size() == 4);
  }
}

TEST_CASE("A coordinator that was deposed extends no lease and acknowledges nothing", "[actor]") {
  AgentFixture fixture;
  fixture.host->inventory.tasks = {{{JobId{2}, 0, 1}, false, exited({JobId{2}, 0, 1})}};
  fixture.settings.identity.memory = {"cluster", {0, 10, {}}, 6};  // known to an earlier run
  fixture.spawn();
  const ReportReply stale = of_epoch(5, reply_with({{JobId{2}, 0, 1}}, 10'000));
  SECTION("by its answer to a registration") { fixture.connect(5, stale); }
  SECTION("by its answer to a report") {
    fixture.connect(6, of_epoch(6, reply_with({})));
    fixture.answer(stale);
  }
  CHECK(fixture.link_ended());
  CHECK(fixture.host->leases.empty());
  CHECK(fixture.host->forgotten.empty());
  fixture.send({{launch_order(1, 5)}, {{launch_order(1).task, 5}}});
  CHECK(fixture.host->launches.empty());
  CHECK(fixture.describe().identity.memory.epoch == 6);

  fixture.renew_link();
  fixture.connect(7, of_epoch(7, reply_with({{JobId{2}, 0, 1}}, 10'000)));
  CHECK(fixture.host->leases.size() == 1);
  CHECK(fixture.host->forgotten.size() == 1);
  REQUIRE_FALSE(fixture.host->memories.empty());
  CHECK(fixture.host->memories.back().epoch == 7);
}

TEST_CASE("A coordinator that says no epoch is taken at its word", "[actor]") {
  AgentFixture fixture;
  fixture.settings.identity.memory = {"cluster", {0, 10, {}}, 6};
  fixture.spawn();
  fixture.connect(0, reply_with({}, 10'000));
  CHECK(fixture.host->leases.size() == 1);
  CHECK(fixture.describe().identity.memory.epoch == 6);
}

TEST_CASE("A newer epoch is durable before its lease counts", "[actor]") {
  AgentFixture fixture;
  fixture.spawn();
  fixture.connect(1, of_epoch(1, reply_with({}, 10'000)));
  fixture.connect(2, of_epoch(2, reply_with({}, 20'000)));  // within the same second
  CHECK(fixture.host->steps == std::vector<std::string>{"epoch 1", "lease", "epoch 2", "lease"});
}

TEST_CASE("Orders of a newer coordinator wait until it has let the node in", "[actor]") {
  AgentFixture fixture;
  fixture.spawn();
  fixture.connect(5, reply_with({}, 10'000));
  fixture.send({{launch_order(1, 6)}, {}});
  CHECK(fixture.host->launches.empty());
  SECTION("it does") {
    fixture.connect(6, reply_with({}, 10'000));
    CHECK(fixture.host->launches.size() == 1);
    CHECK(fixture.last_report().running == std::vector{launch_order(1).task});
  }
  SECTION("another does, of a later life of the ledger") {
    ReportReply later = reply_with({}, 10'000);
    later.committed.incarnation = 1;
    fixture.connect(3, later);
    CHECK(fixture.host->launches.empty());
    CHECK(fixture.describe().identity.memory.epoch == 3);
  }
  SECTION("its connection is lost, and the next registration says that nothing runs") {
    CHECK(fixture.describe().report.running.empty());
    fixture.connect(6, reply_with({}, 10'000));
    CHECK(fixture.host->launches.empty());
  }
}

TEST_CASE("Orders that wait for a newer coordinator are bounded", "[actor]") {
  AgentFixture fixture;
  fixture.spawn();
  fixture.connect(5);
  AgentOrders orders;
  orders.launches.push_back(launch_order(1, 6));
  orders.launches.front().environment.change()["LARGE"].assign(1 << 20, 'x');
  for (std::uint64_t job = 1; job <= 100; ++job) {
    orders.launches.front().task.job.value = job;
    fixture.send(orders);
  }
  fixture.connect(6);
  CHECK(fixture.host->launches.size() == 63);
  CHECK(fixture.last_report().running.size() == 63);
  fixture.send({{launch_order(200, 7)}, {}});
  fixture.connect(7);
  CHECK(fixture.host->launches.size() == 64);
}

TEST_CASE("An agent that joins keeps its cluster at once and forgets what it saw elsewhere",
          "[actor]") {
  AgentFixture fixture;
  fixture.settings.identity.memory = {"", {0, 1'000'000, {}}};  // an older version kept no cluster
  fixture.settings.identity.moved = true;
  fixture.spawn();
  ReportReply reply;
  reply.committed.number = 3;
  fixture.connect(1, reply);
  REQUIRE(fixture.host->memories.size() == 1);
  CHECK(fixture.host->memories[0] == ClusterMemory{"cluster", {0, 3, {}}, 1});
  CHECK(fixture.host->settled == 1);
  CHECK_FALSE(fixture.describe().identity.moved);
  fixture.connect(1, reply);
  CHECK(fixture.host->settled == 1);
}

TEST_CASE("What an agent runs that is told it is a duplicate ends with its lease", "[actor]") {
  AgentFixture fixture;
  fixture.spawn();
  fixture.connect(1, reply_with({}, 1000));
  fixture.send({{launch_order(1)}, {}});
  REQUIRE(fixture.host->launches.size() == 1);
  caf::anon_send(fixture.agent, LinkDown{});
  caf::anon_send(fixture.agent, FoundDuplicate{"a later start of it holds the node"});
  fixture.run();
  CHECK(fixture.host->stops.empty());
  fixture.advance(1100);
  CHECK(fixture.host->stops.size() == 1);
  // It is let in after all, and its first order overtakes the word of that.
  fixture.send({{launch_order(2)}, {}});
  CHECK(fixture.host->launches.size() == 2);
  fixture.connect(1, reply_with({}, 1000));
  CHECK(fixture.host->launches.size() == 2);
}
