#include "model/tenant.hpp"

#include <catch2/catch.hpp>

namespace fairwater {
namespace {

TenantSpec physics() {
  TenantSpec spec;
  spec.name = "physics";
  spec.weight = 5;
  spec.min = {{"cpu", 4000}};
  spec.max = {{"cpu", 64000}};
  return spec;
}

}  // namespace

TEST_CASE("names are letters, digits and a few signs", "[unit][tenant]") {
  for (const auto* name : {"a", "Physics", "u1", "team.a_b-c", "9"}) CHECK(is_valid_name(name));
  for (const auto* name : {"", ".a", "-a", "a b", "a/b", "\xc3\xa9", "a\n"})
    CHECK_FALSE(is_valid_name(name));
  CHECK(is_valid_name(std::string(63, 'x')));
  CHECK_FALSE(is_valid_name(std::string(64, 'x')));
}

TEST_CASE("an invalid tenant is refused naming the field", "[unit][tenant]") {
  struct Rejection {
    void (*spoil)(TenantSpec&);
    const char* field;
    const char* message;
  };
  const Rejection rejections[] = {
      {[](TenantSpec& s) { s.name = ""; }, "name", "is not a name"},
      {[](TenantSpec& s) { s.parent = "a b"; }, "parent", "'a b' is not a tenant's name"},
      {[](TenantSpec& s) { s.weight = 0; }, "weight", "0 is not between 1 and 1000000000"},
      {[](TenantSpec& s) { s.weight = 1'000'000'001; }, "weight", "1000000001"},
      {[](TenantSpec& s) { s.min["cpu"] = -1; }, "min.cpu", "-1"},
      {[](TenantSpec& s) { s.max["cpu"] = 3500; }, "max.cpu", "3.5 is below min, which is 4"},
      {[](TenantSpec& s) { s.max["a b"] = 1; }, "max", "'a b'"},
      {[](TenantSpec& s) { s.repay_millionths = 0; }, "repay", "0 is not above 0 and at most 1"},
      {[](TenantSpec& s) { s.repay_millionths = 1'000'001; }, "repay",
       "1.000001 is not above 0 and at most 1"},
      {[](TenantSpec& s) { s.repay_millionths = 2'000'000; }, "repay", "2 is not above 0"},
  };
  CHECK_FALSE(validate(physics()));
  for (const auto& rejection : rejections) {
    TenantSpec spec = physics();
    rejection.spoil(spec);
    const auto error = validate(spec);
    REQUIRE(error);
    CHECK(details(error).field == rejection.field);
    CHECK_THAT(details(error).message, Catch::Contains(rejection.message));
  }
}

TEST_CASE("terms leave unnamed resources unlimited", "[unit][tenant]") {
  const auto terms = terms_of(physics(), ResourceCatalog{});
  REQUIRE(terms);
  CHECK(terms->weight == 5);
  CHECK(terms->min[kCpu] == 4000);
  CHECK(terms->max[kCpu] == 64000);
  CHECK(terms->max[kMemory] == kUnlimited);
}

TEST_CASE("caps are a duration of the tenant's own part, or a balance", "[unit][tenant]") {
  TenantSpec spec = physics();
  CHECK(terms_of(spec, ResourceCatalog{})->caps == LoanCaps{});
  spec.lend_cap = "24h";
  spec.borrow_cap = "2core-h";
  const auto terms = terms_of(spec, ResourceCatalog{});
  REQUIRE(terms);
  CHECK(terms->caps == LoanCaps{{86'400'000, 0}, {0, 2 * 10 * 3'600'000}});
  for (const char* wrong : {"0h", "-1h", "0core-h", "12", "much", "1 core-d"}) {
    spec.lend_cap = "1h";
    spec.borrow_cap = wrong;
    const auto refused = terms_of(spec, ResourceCatalog{});
    INFO(wrong);
    REQUIRE_FALSE(refused);
    CHECK(details(refused.error()).field == "borrow_cap");
    CHECK(details(refused.error()).message ==
          "'" + std::string(wrong) +
              "' is neither how long of a tenant's own part, e.g. 24h, nor how much, e.g. "
              "500core-h");
    spec.borrow_cap = "";
    spec.lend_cap = wrong;
    CHECK(details(terms_of(spec, ResourceCatalog{}).error()).field == "lend_cap");
  }
}

TEST_CASE("a tenant may have weights of its own for single resources", "[unit][tenant]") {
  TenantSpec spec = physics();
  CHECK_FALSE(terms_of(spec, ResourceCatalog{})->place);
  spec.weight = 5;
  spec.weights = {{"memory", 3}, {"gpu", 1'000'000'000}};
  CHECK(weights_text(spec.weights) == "gpu 1000000000, memory 3");
  REQUIRE_FALSE(validate(spec));
  const auto terms = terms_of(spec, ResourceCatalog{});
  REQUIRE(terms);
  CHECK(terms->weight == 5);
  REQUIRE(terms->place);
  CHECK_FALSE(terms->place->group);
  CHECK(terms->place->weight_of(kCpu) == 5);
  CHECK(terms->place->weight_of(kMemory) == 3);
  CHECK(terms->place->weight_of(2) == 1'000'000'000);
  spec.weights["tpu"] = 1;
  CHECK(details(terms_of(spec, ResourceCatalog{}).error()).field == "weights.tpu");
  for (const Weight wrong : {Weight{0}, Weight{-1}, kMaxWeight + 1}) {
    spec.weights = {{"cpu", wrong}};
    CHECK(details(validate(spec)).field == "weights.cpu");
    CHECK(details(validate(spec)).message ==
          std::to_string(wrong) + " is not between 1 and 1000000000");
  }
}

TEST_CASE("terms name the amount of a resource that the cluster lacks", "[unit][tenant]") {
  TenantSpec spec = physics();
  spec.max["tpu"] = 1;
  const auto terms = terms_of(spec, ResourceCatalog{});
  REQUIRE_FALSE(terms);
  CHECK(details(terms.error()).field == "max.tpu");
}

TEST_CASE("queue policies have stable names", "[unit][tenant]") {
  for (const auto policy : {QueuePolicy::fifo, QueuePolicy::fair, QueuePolicy::priority})
    CHECK(queue_policy_from(to_string(policy)) == policy);
  CHECK_FALSE(queue_policy_from("lifo").has_value());
}

TEST_CASE("guarantees that no cluster of this size can keep are named with their numbers",
          "[unit][tenant]") {
  const NamedAmounts capacity{{"cpu", 8000}, {"memory", 4096}};
  const NamedAmounts guaranteed{{"cpu", 10'000}, {"memory", 1024}, {"gpu", 1}};
  CHECK(guarantees_beyond(capacity, {{"cpu", 6000}, {"memory", 1024}}).empty());
  const auto said = guarantees_beyond(capacity, guaranteed);
  REQUIRE(said.size() == 1);
  CHECK(
      said.front() ==
      "min of all tenants together is cpu 10, the nodes that are up have 8: while they ask for it, "
      "nobody else gets any");
  CHECK(guarantees_beyond({}, guaranteed).empty());  // no node is up: nothing is known
}

}  // namespace fairwater
