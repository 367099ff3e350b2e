// Who is within whom, and what the allocator is told of it.
#include "model/tenant_nesting.hpp"

#include <catch2/catch.hpp>

namespace fairwater {
namespace {

struct Placed {
  const char* name;
  const char* parent;
  Weight weight = 1;
  NamedAmounts min = {};
  NamedAmounts max = {};
};

TenantNesting::Specs specs_of(const std::vector<Placed>& tenants) {
  TenantNesting::Specs specs;
  for (const Placed& placed : tenants) {
    TenantSpec spec;
    spec.name = placed.name;
    spec.parent = placed.parent;
    spec.weight = placed.weight;
    spec.min = placed.min;
    spec.max = placed.max;
    specs.emplace(TenantId{static_cast<std::uint32_t>(specs.size() + 1)}, spec);
  }
  return specs;
}

TenantNesting nested(const std::vector<Placed>& tenants) {
  return TenantNesting(specs_of(tenants));
}

std::vector<Weight> weights_of(const TenantNesting& nesting) {
  std::vector<Weight> weights;
  for (const auto& [tenant, weight] : nesting.members()) weights.push_back(weight);
  return weights;
}

/// The first.
std::string text_of(const std::vector<TenantNesting::Fault>& faults) {
  if (faults.empty()) return "none";
  return faults[0].tenant + ", " + faults[0].key + ": " + faults[0].message;
}

/// science (3) with physics (2; optics, lasers) and biology (1); arts (1).
const std::vector<Placed> kDepartments{
    {"lasers", "physics"},  {"science", "", 3}, {"physics", "science", 2},
    {"biology", "science"}, {"arts", ""},       {"optics", "physics"}};

}  // namespace

TEST_CASE("tenants that are in none have the weights and terms that they say",
          "[unit][tenant_nesting]") {
  const auto nesting = nested({{"a", "", 5}, {"b", "", 3}});
  CHECK(weights_of(nesting) == std::vector<Weight>{5, 3});
  const auto tree = nesting.tree(ResourceCatalog{});
  REQUIRE(tree);
  CHECK(tree->groups.empty());
  CHECK(tree->tenants.at(1).terms == TenantTerms{.weight = 3});
}

TEST_CASE("those without tenants are dealt to, in proportion to the tree",
          "[unit][tenant_nesting]") {
  const auto nesting = nested(kDepartments);
  CHECK(nesting.shape_faults().empty());
  CHECK(nesting.terms_faults().empty());
  // 3/4 * 2/3 / 2 for lasers and optics, 3/4 / 3 for biology, a quarter for arts.
  CHECK(weights_of(nesting) ==
        std::vector<Weight>{250'000'000, 250'000'000, 250'000'000, 250'000'000});
  const auto tree = nesting.tree(ResourceCatalog{});
  REQUIRE(tree);
  REQUIRE(tree->groups.size() == 2);
  CHECK(tree->groups[0].id == GroupId{2});
  CHECK(tree->groups[0].terms.place == QuotaPlace{.group = {}, .weight = 3});
  CHECK(tree->groups[1].id == GroupId{3});
  CHECK(tree->groups[1].terms.place == QuotaPlace{.group = GroupId{2}, .weight = 2});
  CHECK(tree->tenants.at(0).id == TenantId{1});
  CHECK(tree->tenants.at(0).terms.place == QuotaPlace{.group = GroupId{3}, .weight = 1});
  CHECK(tree->tenants.at(2).id == TenantId{5});
  CHECK(tree->tenants.at(2).terms.place == QuotaPlace{.group = {}, .weight = 1});
  CHECK(nesting.leaves(TenantId{2}) == std::vector{TenantId{1}, TenantId{4}, TenantId{6}});
  CHECK(nesting.leaves(TenantId{5}) == std::vector{TenantId{5}});
  CHECK(nesting.around(TenantId{6}) == std::vector{TenantId{3}, TenantId{2}});
  CHECK(nesting.names_in(TenantId{3}) == std::vector<std::string>{"lasers", "optics"});
  const auto divided = nesting.divisions([](TenantId tenant) { return tenant == TenantId{3}; });
  REQUIRE(divided.size() == 1);
  CHECK(divided[0].heirs == std::vector{TenantId{1}, TenantId{6}});
}

TEST_CASE("what is no tree is told by name", "[unit][tenant_nesting]") {
  const auto shape = [](const std::vector<Placed>& tenants) {
    return text_of(nested(tenants).shape_faults());
  };
  CHECK(shape({{"a", "b"}}) == "a, parent: there is no tenant 'b'");
  CHECK(shape({{"a", "a"}}) == "a, parent: a would be in a");
  CHECK(shape({{"out", "a"}, {"a", "b"}, {"b", "c"}, {"c", "a"}}) ==
        "a, parent: a would be in b, b in c, c in a");
  std::vector<std::string> names;
  for (int i = 0; i < 18; ++i) names.push_back("t" + std::to_string(i));
  std::vector<Placed> chain{{"t0", ""}};
  for (std::size_t i = 1; i < 17; ++i) chain.push_back({names[i].c_str(), names[i - 1].c_str()});
  CHECK(shape(chain) == "none");
  chain.push_back({names[17].c_str(), names[16].c_str()});
  CHECK(shape(chain) == "t17, parent: more than 16 tenants would be around t17");
}

TEST_CASE("what one with tenants may not say is told by name", "[unit][tenant_nesting]") {
  auto specs = specs_of(kDepartments);
  TenantSpec& physics = specs.at(TenantId{3});
  const auto fault = [&] { return text_of(TenantNesting(specs).terms_faults()); };
  const auto refused = [](const std::string& value) {
    return ": " + value +
           " is for tenants that run jobs, and physics has tenants, which run its jobs; name "
           "physics in the file without it";
  };
  SECTION("queue") {
    physics.queue = QueuePolicy::fair;
    CHECK(fault() == "physics, queue" + refused("fair"));
  }
  SECTION("repay") {
    physics.repay_millionths = 250'000;
    CHECK(fault() == "physics, repay" + refused("0.25"));
  }
  SECTION("placement") {
    physics.placement = Placement::spread;
    CHECK(fault() == "physics, placement" + refused("spread"));
  }
  SECTION("run_as") {
    physics.run_as.user = "alice";
    CHECK(fault() == "physics, run_as" + refused("alice"));
  }
}

TEST_CASE("rights and caps of one with tenants are those of its group", "[unit][tenant_nesting]") {
  auto specs = specs_of(kDepartments);
  TenantSpec& physics = specs.at(TenantId{3});
  physics.may_lend = false;
  physics.may_borrow = false;
  physics.lend_cap = "1h";
  physics.borrow_cap = "5core-h";
  const TenantNesting nesting(specs);
  CHECK(nesting.terms_faults().empty());
  const auto tree = nesting.tree(ResourceCatalog{});
  REQUIRE(tree);
  for (const auto& [id, terms] : tree->groups) {
    const bool is_physics = id.value == 3;
    CHECK((terms.rights == LoanRights{}) == !is_physics);
    if (!is_physics) continue;
    CHECK_FALSE(terms.rights.may_lend);
    CHECK_FALSE(terms.rights.may_borrow);
    CHECK(terms.rights.caps.lend.part_ms == 3'600'000);
    CHECK(terms.rights.caps.borrow.unit_ms == 5 * 3'600'000 * 10);  // units of a tenth of a core
  }
}

TEST_CASE("one that leaves gets no tenants", "[unit][tenant_nesting]") {
  auto specs = specs_of(kDepartments);
  specs.at(TenantId{3}).leaving = true;
  CHECK(text_of(TenantNesting(specs).terms_faults()) ==
        "physics, leaving: physics is leaving; it stays where the file names it, too");
}

TEST_CASE("a tenant promises no more than its own min or max", "[unit][tenant_nesting]") {
  const auto terms = [](const NamedAmounts& min, const NamedAmounts& max) {
    return nested({{"outer", "", 1, min, max},
                   {"inner", "outer"},
                   {"a", "inner", 1, {{"cpu", 2000}}},
                   {"b", "inner", 1, {{"cpu", 4000}, {"gpu", 1}}}});
  };
  CHECK(text_of(terms({{"cpu", 6000}}, {{"cpu", 6000}}).terms_faults()) == "none");
  CHECK(text_of(terms({{"cpu", 5000}}, {}).terms_faults()) ==
        "outer, min.cpu: 5 is below the min of its tenants together, which is 6");
  CHECK(text_of(terms({}, {{"cpu", 5000}}).terms_faults()) ==
        "outer, max.cpu: 5 is below the min of its tenants together, which is 6");
  CHECK(terms({{"cpu", 7000}}, {}).guaranteed({}) == NamedAmounts{{"cpu", 7000}, {"gpu", 1}});
}

}  // namespace fairwater
