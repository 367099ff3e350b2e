// Tenants that are let go while they run or owe: they take no jobs, end what they have, repay, and
// are removed by themselves.
#include <algorithm>
#include <string>
#include <vector>

#include "storage/journal_store.hpp"
#include "tests/actors/captured_log.hpp"
#include "tests/actors/one_node.hpp"

namespace fairwater {
namespace {

using Catch::Matchers::Contains;

TEST_CASE("a tenant with jobs that is let go ends them, takes no others, and then is gone",
          "[actor][leaving]") {
  const Accounting accounting = GENERATE(Accounting::units, Accounting::time);
  OneNode world(accounting);
  world.begin({tenant_spec("a", 1)}, 1);
  const JobId job = world.cluster.submit("a", 2);
  const auto before = world.try_to_submit("a", "r1");
  REQUIRE(before);
  REQUIRE(world.remove("a")->leaving);
  CHECK(world.info("a")->record.spec.leaving);
  const auto is_refused = [&] {
    const auto refused = world.try_to_submit("a");
    REQUIRE_FALSE(refused);
    const ErrorDetails said = details(refused.error());
    CHECK(said.code == ErrorCode::wrong_state);
    CHECK(said.field == "tenant");
    CHECK_THAT(said.message, Contains("tenant a is leaving and takes no jobs any more"));
  };
  is_refused();
  // Who asks again after an answer that was lost is told of the job.
  CHECK(world.try_to_submit("a", "r1")->id == before->id);
  REQUIRE(world.remove("a")->leaving);
  CHECK(world.records<TenantLeaves>() == 1);

  world.finish("a");
  world.restart();
  CHECK(world.info("a")->record.spec.leaving);
  is_refused();
  world.finish("a");
  CHECK(state_of(world.cluster.show(job).job) == JobState::succeeded);
  CHECK(world.info("a"));
  world.finish("a");
  CHECK_FALSE(world.info("a"));
  CHECK(world.records<TenantRemoved>() == 1);
  CHECK(world.cluster.verify().ok);
  world.restart();
  CHECK_FALSE(world.info("a"));
  CHECK(world.cluster.verify().ok);
  // The name is free for another.
  world.cluster.apply({tenant_spec("a", 1)});
  CHECK(world.try_to_submit("a"));
}

TEST_CASE("a tenant that has no job and owes nothing is gone at once", "[actor][leaving]") {
  OneNode world(Accounting::units);
  world.begin({tenant_spec("a", 1)}, 1);
  const JobId job = world.cluster.submit("a", 2);
  REQUIRE(world.remove("a")->leaving);
  REQUIRE(world.cluster.ask<Done>(CancelJob{world.cluster.operator_caller(), job, ""}));
  world.take_orders();
  REQUIRE(
      world.cluster.report(world.agent, {ended(world.held.begin()->first, EndReason::cancelled)}));
  CHECK_FALSE(world.info("a"));
  world.cluster.apply({tenant_spec("b", 1)});
  CHECK_FALSE(world.remove("b")->leaving);
  CHECK_FALSE(world.info("b"));
  CHECK(details(world.remove("b").error()).code == ErrorCode::not_found);
  CHECK(world.records<TenantLeaves>() == 1);
  CHECK(world.cluster.verify().ok);
}

TEST_CASE("what a leaver owes is repaid by what it would have held", "[actor][leaving][time]") {
  OneNode world(Accounting::time);
  TenantSpec stingy = tenant_spec("b", 1);
  stingy.may_lend = GENERATE(true, false);
  world.begin({tenant_spec("a", 1), stingy}, 16);
  world.cluster.submit("b", 16);
  world.pass(2000);
  world.finish("b");
  world.pass(1000);
  CHECK(world.info("b")->net == -160'000);
  REQUIRE(world.remove("b")->leaving);
  world.pass(3000);
  CHECK(world.info("b")->net == -160'000);  // nobody holds what is b's

  world.cluster.submit("a", 1000);
  CHECK(world.held_by("a") == 16);
  world.pass(1000);
  CHECK(world.info("b")->net == -80'000);
  world.restart();
  CHECK(world.info("b")->net == -80'000);
  world.pass(2000);
  CHECK_FALSE(world.info("b"));
  CHECK(world.info("a")->net == 0);
  CHECK(world.cluster.verify().ok);
}

TEST_CASE("a leaver that owed a tenant which goes is gone, too", "[actor][leaving][time]") {
  OneNode world(Accounting::time);
  world.begin({tenant_spec("a", 1), tenant_spec("b", 1)}, 16);
  world.cluster.submit("b", 16);
  world.pass(2000);
  world.finish("b");
  world.pass(1000);
  REQUIRE(world.remove("b")->leaving);
  CHECK(world.info("b")->net < 0);
  CHECK_FALSE(world.remove("a")->leaving);
  CHECK_FALSE(world.info("b"));
  CHECK(world.cluster.verify().ok);
}

TEST_CASE("a leaver borrows nothing more, and what it holds counts", "[actor][leaving][time]") {
  OneNode world(Accounting::time);
  world.begin({tenant_spec("a", 1), tenant_spec("b", 1)}, 16);
  const JobId job = world.cluster.submit("b", 100);
  CHECK(world.held_by("b") == 16);
  REQUIRE(world.remove("b")->leaving);
  world.pass(1000);
  CHECK(world.info("b")->net == -80'000);  // what it held before runs on
  world.finish("b");
  CHECK(world.held_by("b") == 8);
  const auto why =
      world.cluster.ask<Explanation>(ExplainTask{world.cluster.operator_caller(), job, 99});
  REQUIRE(why);
  CHECK(std::any_of(why->obstacles.begin(), why->obstacles.end(), [](const Obstacle& obstacle) {
    return obstacle.message == "the tenant is leaving, and borrows nothing any more";
  }));
  world.pass(3000);
  CHECK(world.info("b")->net >= -80'000);
  for (int i = 0; i < 11; ++i) {
    world.finish("b");
    CHECK(world.held_by("b") <= 8);
  }
  CHECK(world.held_by("b") == 0);
  CHECK(state_of(world.cluster.show(job).job) == JobState::succeeded);
  REQUIRE(world.info("b"));
  const CapturedLog log;
  REQUIRE(world.cluster.ask<DebtsForgiven>(ForgiveDebt{
      .caller = world.cluster.operator_caller(), .debtor = "b", .reason = "it leaves\nus"}));
  CHECK_THAT(log.text(), Catch::Contains("it leaves\\x0aus"));
  CHECK_FALSE(world.info("b"));
  CHECK(world.cluster.verify().ok);
}

TEST_CASE("where units are counted a leaver repays out of what falls to it", "[actor][leaving]") {
  OneNode world(Accounting::units);
  world.begin({tenant_spec("a", 1), tenant_spec("b", 1)}, 4);
  world.cluster.submit("b", 8);
  world.finish("b");
  world.finish("b");
  REQUIRE(world.info("b")->net < 0);
  REQUIRE(world.remove("b")->leaving);
  REQUIRE(world.info("b")->record.spec.leaving);
  world.cluster.submit("a", 100);
  for (int i = 0; i < 24 && world.info("b"); ++i) world.finish("a", 1);
  CHECK_FALSE(world.info("b"));
  CHECK(world.cluster.verify().ok);
}

TEST_CASE("a leaver that is applied again stays", "[actor][leaving]") {
  OneNode world(Accounting::units);
  world.begin({tenant_spec("a", 1)}, 1);
  world.cluster.submit("a", 1);
  REQUIRE(world.remove("a")->leaving);
  TenantSpec inner = tenant_spec("inner", 1);
  inner.parent = "a";
  const auto refused = world.cluster.ask<TenantsApplied>(
      ApplyTenants{world.cluster.operator_caller(), {inner}, false});
  REQUIRE_FALSE(refused);
  CHECK(details(refused.error()).message == "a is leaving; it stays where the file names it, too");
  TenantSpec marked = tenant_spec("a", 1);
  marked.leaving = true;
  const auto by_file = world.cluster.ask<TenantsApplied>(
      ApplyTenants{world.cluster.operator_caller(), {marked}, false});
  CHECK(details(by_file.error()).field == "tenants[0].leaving");

  const ApplyTenants again{world.cluster.operator_caller(), {tenant_spec("a", 1)}, false};
  const auto applied = world.cluster.ask<TenantsApplied>(again);
  REQUIRE(applied);
  CHECK(applied->changes.at(0).fields == std::vector<std::string>{"leaving: true -> false"});
  CHECK(world.try_to_submit("a"));
  world.finish("a");
  world.finish("a");
  CHECK(world.info("a"));
  world.restart();
  CHECK_FALSE(world.info("a")->record.spec.leaving);
  CHECK(world.cluster.verify().ok);
}

TEST_CASE("a mark that a full disk does not take is none", "[actor][leaving]") {
  OneNode world(Accounting::units);
  world.begin({tenant_spec("a", 1)}, 1);
  world.cluster.submit("a", 1);
  world.cluster.fill_disk(true);
  CHECK_FALSE(world.remove("a"));
  world.cluster.fill_disk(false);
  CHECK_FALSE(world.info("a")->record.spec.leaving);
  CHECK(world.try_to_submit("a"));
  REQUIRE(world.remove("a")->leaving);
  CHECK(world.cluster.verify().ok);
}

/// Of a journal that is shared with one of an earlier version.
struct OlderBeside final : JournalStore {
  caf::error commit(const RecordGroup& group) override {
    needs = group.needs;
    return {};
  }
  KnownFormat known_format() const override { return {known, "head2", "0.0"}; }
  JournalFormat known = 3;
  JournalNeeds needs;
};

TEST_CASE("no tenant leaves while a replica would not know what that is", "[actor][leaving]") {
  OlderBeside journal;
  OneNode world(Accounting::units, &journal);
  world.begin({tenant_spec("a", 1), tenant_spec("b", 1)}, 1);
  world.cluster.submit("a", 1);
  const auto refused = world.remove("a");
  REQUIRE_FALSE(refused);
  CHECK(details(refused.error()).code == ErrorCode::unavailable);
  CHECK_FALSE(world.info("a")->record.spec.leaving);
  CHECK(world.try_to_submit("a"));
  CHECK_FALSE(world.remove("b")->leaving);  // that all know
  CHECK(journal.needs.format < 4);
  journal.known = kNewestFormat;
  CHECK(world.remove("a")->leaving);
  CHECK(journal.needs.format == 4);
}

}  // namespace
}  // namespace fairwater
