// How much a tenant may lend and owe by its own terms, where the ledger counts time.
#include <string>
#include <vector>

#include "tests/actors/one_node.hpp"

namespace fairwater {
namespace {

// Eight of sixteen processors, of ten units each, for a second.
constexpr Units kHalfSecond = 80'000;

TenantSpec capped(const std::string& name, const std::string& lend, const std::string& borrow) {
  TenantSpec spec = tenant_spec(name, 1);
  spec.lend_cap = lend;
  spec.borrow_cap = borrow;
  return spec;
}

TEST_CASE("a tenant owes no more than its borrow_cap, and goes on in idle room", "[actor][time]") {
  OneNode world(Accounting::time);
  const auto [cap, most] = GENERATE(table<std::string, Units>(
      {{"2s", 2 * kHalfSecond}, {"20core-s", 200'000}, {"", 4 * kHalfSecond}}));
  world.begin({tenant_spec("a", 1), capped("b", "", cap)}, 16);
  world.cluster.submit("b", 16);
  world.pass(4000);
  CHECK(world.held_by("b") == 16);
  CHECK(world.info("b")->net == -most);
  CHECK(world.info("a")->net == most);
  CHECK(world.info("b")->record.spec.borrow_cap == cap);
  world.restart();
  world.pass(2000);
  CHECK(world.info("b")->net <= -most);
  if (!cap.empty()) CHECK(world.info("b")->net == -most);
  CHECK(world.cluster.verify().ok);
}

TEST_CASE("a tenant is owed no more than its lend_cap", "[actor][time]") {
  OneNode world(Accounting::time);
  world.begin({capped("a", "3s", ""), tenant_spec("b", 1)}, 16);
  world.cluster.submit("b", 16);
  world.pass(5000);
  CHECK(world.info("a")->net == 3 * kHalfSecond);
  CHECK(world.info("b")->net == -3 * kHalfSecond);
  world.restart();
  world.pass(1000);
  CHECK(world.info("a")->net == 3 * kHalfSecond);
  // A cap that is lower now takes nothing from what is owed already.
  world.cluster.apply({capped("a", "1s", "")});
  world.pass(2000);
  CHECK(world.info("a")->net == 3 * kHalfSecond);
  CHECK(world.cluster.verify().ok);
}

TEST_CASE(
    "weights of single resources are told where they change, and refused where units are "
    "dealt",
    "[actor]") {
  TenantSpec spec = tenant_spec("a", 1);
  spec.weights = {{"memory", 3}, {"cpu", 2}};
  const auto ask = [&](OneNode& world) {
    return world.cluster.ask<TenantsApplied>(
        ApplyTenants{world.cluster.operator_caller(), {spec}, true});
  };
  OneNode timed(Accounting::time);
  timed.begin({tenant_spec("a", 1), tenant_spec("b", 1)}, 1);
  CHECK(ask(timed)->changes.at(0).fields ==
        std::vector<std::string>{"weights: none -> cpu 2, memory 3"});
  spec.weights["tpu"] = 1;
  CHECK(details(ask(timed).error()).field == "tenants[0].weights.tpu");
  spec.weights.erase("tpu");

  OneNode counted(Accounting::units);
  counted.begin({tenant_spec("a", 1)}, 1);
  const auto refused = ask(counted);
  CHECK(details(refused.error()).code == ErrorCode::invalid_input);
  CHECK(details(refused.error()).field == "tenants[0].weights");
}

TEST_CASE("caps are told where they change, and refused where they bound nothing",
          "[actor][time]") {
  OneNode timed(Accounting::time);
  timed.begin({tenant_spec("a", 1), tenant_spec("b", 1)}, 1);
  const auto ask = [](OneNode& world, const TenantSpec& spec) {
    return world.cluster.ask<TenantsApplied>(
        ApplyTenants{world.cluster.operator_caller(), {spec}, true});
  };
  CHECK(ask(timed, capped("a", "24h", "500core-h"))->changes.at(0).fields ==
        std::vector<std::string>{"lend_cap: none -> 24h", "borrow_cap: none -> 500core-h"});
  const auto wrong = ask(timed, capped("a", "much", ""));
  CHECK(details(wrong.error()).field == "tenants[0].lend_cap");

  OneNode counted(Accounting::units);
  counted.begin({tenant_spec("a", 1)}, 1);
  const auto refused = ask(counted, capped("a", "", "24h"));
  CHECK(details(refused.error()).code == ErrorCode::invalid_input);
  CHECK(details(refused.error()).field == "tenants[0].borrow_cap");
  CHECK(details(refused.error()).message ==
        "is for a ledger that counts time (accounting: time); this one counts units");
}

}  // namespace
}  // namespace fairwater
