#include "policy/allocator/placement.hpp"

#include <catch2/catch.hpp>

namespace fairwater {
namespace {

using Labels = std::map<std::string, std::string>;

bool allows(const std::string& text, const Labels& labels) {
  const auto parsed = LabelExpression::parse(text);
  INFO(text);
  if (const auto* reason = std::get_if<std::string>(&parsed)) FAIL(*reason);
  return std::get<LabelExpression>(parsed).allows(labels);
}

std::string reason(const std::string& text) {
  const auto parsed = LabelExpression::parse(text);
  INFO(text);
  REQUIRE(std::holds_alternative<std::string>(parsed));
  return std::get<std::string>(parsed);
}

TEST_CASE("a label expression says where a task may run", "[unit][placement]") {
  const Labels node = {{"ssd", "true"}, {"zone", "a"}, {"gpu", "false"}, {"arch", "arm64"}};
  struct Case {
    const char* text;
    bool allowed;
  };
  const Case cases[] = {
      {"", true},
      {"  ", true},
      {"ssd", true},
      {"gpu", false},  // false means that the node does not have it
      {"absent", false},
      {"!gpu", true},
      {"!!ssd", true},
      {"zone == a", true},
      {"zone == b", false},
      {"zone != b", true},
      {"zone != a", false},
      {"absent != a", true},
      {"absent == a", false},
      {"zone in (a, b)", true},
      {"zone in (b,c)", false},
      {"zone not in (b, c)", true},
      {"zone not in (a)", false},
      {"ssd && zone in (a, b)", true},
      {"gpu && ssd || arch == arm64", true},  // && binds closer than ||
      {"gpu && (ssd || arch == arm64)", false},
      {"!(gpu || ssd)", false},
      {"!gpu || arch == arm", true},
      {"!gpu && !absent && arch==arm64", true},
  };
  for (const Case& c : cases) {
    INFO(c.text);
    CHECK(allows(c.text, node) == c.allowed);
  }
  CHECK(allows("india", {{"india", "1"}}));  // begins with a keyword
  CHECK(allows("in == x", {{"in", "x"}}));
  CHECK(allows("a.b/c-d_e == 1.5", {{"a.b/c-d_e", "1.5"}}));
}

TEST_CASE("a wrong label expression is refused with its column", "[unit][placement]") {
  CHECK(reason("ssd &&") ==
        "label expression, column 7: expected a label of letters, digits, '_', '-', '.' and '/'");
  CHECK(reason("ssd zone") == "label expression, column 5: expected && or || or the end");
  CHECK(reason("(ssd") == "label expression, column 5: expected )");
  CHECK(reason("zone in a") == "label expression, column 9: expected ( and a list of values");
  CHECK(reason("zone in (a") == "label expression, column 11: expected , or )");
  CHECK(reason("zone not a") == "label expression, column 10: expected in after not");
  CHECK(reason("zone = a") == "label expression, column 6: expected && or || or the end");
  CHECK(reason(std::string(1000, '(')) == "label expression, column 66: nested too deeply");
  CHECK(reason(std::string(1000, '!')) == "label expression, column 66: nested too deeply");
  CHECK(reason(std::string(5000, 'a')) == "label expression: longer than 4096 characters");
}

TEST_CASE("a placement rule asks for a site and for labels", "[unit][placement]") {
  PlacementRule rule;
  const NodeTraits north{.name = "n1", .site = "north", .labels = {{"ssd", "true"}}};
  const NodeTraits south{.name = "s1", .site = "south", .labels = {{"ssd", "true"}}};
  CHECK(rule.allows(north));
  rule.sites = {"north", "east"};
  CHECK(rule.allows(north));
  CHECK_FALSE(rule.allows(south));
  rule.labels = std::get<LabelExpression>(LabelExpression::parse("!ssd"));
  CHECK_FALSE(rule.allows(north));
}

}  // namespace
}  // namespace fairwater
