#include <catch2/catch.hpp>

#include "input/tenants.hpp"

namespace fairwater {
namespace {

ErrorDetails tenant_refusal(std::string_view text) {
  const auto specs = parse_tenant_file(text, "tenants.yaml");
  if (specs) return {ErrorCode::internal, "was accepted", ""};
  return details(specs.error());
}

}  // namespace

TEST_CASE("a tenant file says everything that a tenant has", "[unit][tenant_file]") {
  const auto specs = parse_tenant_file(R"(tenants:
  - name: physics
    weight: 5
    weights: {memory: 3, gpu: 10}
    min: {cpu: 4, memory: 8GiB}
    max: {cpu: 64}
    queue: priority
    repay: 0.25
    may_lend: false
    may_borrow: false
    run_as: {user: alice, group: staff, groups: [gpu, "44"]}
  - name: biology
    run_as: 1000:100
    placement: spread
    lend_cap: 24h
    borrow_cap: 500core-h
)",
                                       "tenants.yaml");
  REQUIRE(specs);
  REQUIRE(specs->size() == 2);
  TenantSpec physics;
  physics.name = "physics";
  physics.weight = 5;
  physics.weights = {{"memory", 3}, {"gpu", 10}};
  physics.min = {{"cpu", 4000}, {"memory", 8192}};
  physics.max = {{"cpu", 64000}};
  physics.queue = QueuePolicy::priority;
  physics.repay_millionths = 250'000;
  physics.may_lend = false;
  physics.may_borrow = false;
  physics.run_as = {"alice", "staff", {"gpu", "44"}};
  CHECK((*specs)[0] == physics);
  TenantSpec biology;
  biology.name = "biology";
  biology.run_as = {"1000", "100", {}};
  biology.placement = Placement::spread;
  biology.lend_cap = "24h";
  biology.borrow_cap = "500core-h";
  CHECK((*specs)[1] == biology);
}

TEST_CASE("a cap of none is no cap", "[unit][tenant_file]") {
  const auto specs = parse_tenant_file(
      "tenants: [{name: physics, lend_cap: none, borrow_cap: none}, {name: biology}]",
      "tenants.yaml");
  REQUIRE(specs);
  REQUIRE(specs->size() == 2);
  TenantSpec physics = (*specs)[1];
  physics.name = "physics";
  CHECK((*specs)[0] == physics);
}

TEST_CASE("tenants stand in others, or name theirs", "[unit][tenant_file]") {
  const auto specs = parse_tenant_file(R"(tenants:
  - {name: early, parent: science}
  - name: science
    weight: 3
    tenants:
      - name: physics
        tenants:
          - {name: optics, weight: 2}
      - name: biology
  - {name: arts, parent: known-already}
)",
                                       "tenants.yaml");
  REQUIRE(specs);
  std::vector<std::pair<std::string, std::string>> parents;
  for (const auto& spec : *specs) parents.emplace_back(spec.name, spec.parent);
  CHECK(parents == std::vector<std::pair<std::string, std::string>>{{"early", "science"},
                                                                    {"science", ""},
                                                                    {"physics", "science"},
                                                                    {"optics", "physics"},
                                                                    {"biology", "science"},
                                                                    {"arts", "known-already"}});
  CHECK((*specs)[3].weight == 2);
}

TEST_CASE("what one with tenants says of jobs is said for those within", "[unit][tenant_file]") {
  const auto specs = parse_tenant_file(R"(tenants:
  - name: science
    queue: fair
    repay: 0.5
    run_as: staff
    placement: spread
    may_lend: true
    may_borrow: true
    tenants:
      - {name: optics}
      - name: lasers
        queue: fifo
        tenants: [{name: red, repay: 0.25, run_as: alice, placement: pack}]
  - {name: arts}
)",
                                       "tenants.yaml");
  REQUIRE(specs);
  const auto spec = [](const char* name, const char* parent) {
    TenantSpec spec;
    spec.name = name;
    spec.parent = parent;
    return spec;
  };
  TenantSpec optics = spec("optics", "science");
  optics.queue = QueuePolicy::fair;
  optics.repay_millionths = 500'000;
  optics.run_as = {"staff", {}, {}};
  optics.placement = Placement::spread;
  TenantSpec red = spec("red", "lasers");
  red.repay_millionths = 250'000;
  red.run_as = {"alice", {}, {}};
  red.placement = Placement::pack;
  CHECK(*specs == std::vector<TenantSpec>{spec("science", ""), optics, spec("lasers", "science"),
                                          red, spec("arts", "")});
  const ErrorDetails bad =
      tenant_refusal("tenants:\n- name: a\n  repay: 2\n  tenants: [{name: b}]\n");
  CHECK(bad.field == "tenants[0].repay");
}

TEST_CASE("mu is read exactly", "[unit][tenant_file]") {
  const std::pair<const char*, std::uint32_t> values[] = {
      {"1", 1'000'000}, {"1.0", 1'000'000}, {"0.5", 500'000}, {"0.000001", 1}, {"0.3", 300'000}};
  for (const auto& [text, millionths] : values) {
    const auto specs =
        parse_tenant_file("tenants: [{name: a, repay: " + std::string{text} + "}]", "t");
    REQUIRE(specs);
    CHECK(specs->front().repay_millionths == millionths);
  }
}

TEST_CASE("a bad tenant file is refused naming line and key", "[golden][tenant_file]") {
  struct Refusal {
    const char* text;
    ErrorCode code;
    const char* field;
    const char* message;
  };
  constexpr auto invalid = ErrorCode::invalid_input;
  const Refusal refusals[] = {
      {"name: a\n", invalid, "tenants", "is missing (in tenants.yaml)"},
      {"tenants: 3\n", invalid, "tenants", "'3' is not a list (line 1 of tenants.yaml)"},
      {"tenants: []\nmore: 1\n", invalid, "more",
       "is not a key here; the keys are tenants (line 2 of tenants.yaml)"},
      {"tenants:\n  - weight: 3\n", invalid, "tenants[0].name",
       "is missing (line 2 of tenants.yaml)"},
      {"tenants:\n  - physics\n", invalid, "tenants[0]",
       "'physics' is not a mapping of keys to values (line 2 of tenants.yaml)"},
      {"tenants:\n  - name: a b\n", invalid, "tenants[0].name",
       "starting with a letter or digit (line 2 of tenants.yaml)"},
      {"tenants:\n  - name: a\n  - name: a\n", invalid, "tenants[1].name",
       "'a' is given twice (line 3 of tenants.yaml)"},
      {"tenants:\n  - name: a\n    weight: 0\n", invalid, "tenants[0].weight",
       "0 is not between 1 and 1000000000 (line 3 of tenants.yaml)"},
      {"tenants:\n  - name: a\n    weight: 2.5\n", invalid, "tenants[0].weight",
       "'2.5' is not a whole number (line 3 of tenants.yaml)"},
      {"tenants:\n  - name: a\n    wieght: 2\n", invalid, "tenants[0].wieght",
       "is not a key here; the keys are borrow_cap, lend_cap, max, may_borrow, may_lend, min, "
       "name, "
       "parent, placement, queue, repay, run_as, tenants, weight, weights (line 3 of "
       "tenants.yaml)"},
      {"tenants:\n  - name: a\n    min: {cpu: 4}\n    max: {cpu: 3}\n", invalid,
       "tenants[0].max.cpu", "3 is below min, which is 4 (line 4 of tenants.yaml)"},
      {"tenants:\n  - name: a\n    queue: lifo\n", invalid, "tenants[0].queue",
       "'lifo' is not one of fifo, fair, priority, shortest-first (line 3 of tenants.yaml)"},
      {"tenants:\n  - name: a\n    repay: 0\n", invalid, "tenants[0].repay",
       "0 is not above 0 and at most 1 (line 3 of tenants.yaml)"},
      {"tenants:\n  - name: a\n    repay: 1.5\n", invalid, "tenants[0].repay",
       "1.5 is not above 0 and at most 1 (line 3 of tenants.yaml)"},
      {"tenants:\n  - name: a\n    repay: 1e-3\n", invalid, "tenants[0].repay",
       "'1e-3' is not a number such as 0.5, with at most six decimals (line 3 of tenants.yaml)"},
      {"tenants:\n  - name: a\n    may_lend: 1\n", invalid, "tenants[0].may_lend",
       "'1' is not true or false (line 3 of tenants.yaml)"},
      {"tenants:\n  - name: a\n    run_as: a b\n", invalid, "tenants[0].run_as.user",
       "'a b' is not a user's name or number (line 3 of tenants.yaml)"},
      {"tenants:\n  - name: a\n    run_as: {group: staff}\n", invalid, "tenants[0].run_as.user",
       "is missing (line 3 of tenants.yaml)"},
      {"tenants:\n  - name: a\n    run_as: {user: b, group: c:d}\n", invalid,
       "tenants[0].run_as.group", "'c:d' is not a group's name or number (line 3 of tenants.yaml)"},
      {"tenants:\n  - name: a\n    tenants:\n      - name: b\n        parent: c\n", invalid,
       "tenants[0].tenants[0].parent",
       "is for tenants at the top of the file: this one stands in a (line 5 of tenants.yaml)"},
      {"tenants:\n  - name: a\n    parent: a b\n", invalid, "tenants[0].parent",
       "'a b' is not a tenant's name (line 3 of tenants.yaml)"},
  };
  for (const auto& expected : refusals) {
    INFO(expected.text);
    const ErrorDetails said = tenant_refusal(expected.text);
    CHECK(said.code == expected.code);
    CHECK(said.field == expected.field);
    CHECK_THAT(said.message, Catch::EndsWith(expected.message));
  }
}

TEST_CASE("a list of tenants that contains itself is refused", "[unit][tenant_file]") {
  CHECK(tenant_refusal("tenants: &all\n  - name: a\n    tenants: *all\n").code !=
        ErrorCode::internal);
}

}  // namespace fairwater
