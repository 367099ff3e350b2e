// What a grant used of others' slots.
#include "policy/allocator/advances.hpp"

#include <catch2/catch.hpp>

namespace fairwater {
namespace {

TenantLine line(std::uint32_t tenant, Units granted, Units placed) {
  TenantLine result;
  result.tenant = TenantId{tenant};
  result.granted = granted;
  result.placed = placed;
  return result;
}

Grant grant(std::uint32_t tenant, std::uint32_t index, Units cost,
            GrantStep step = GrantStep::allowance) {
  return {{JobId{1}, index, 1}, TenantId{tenant}, cost, {}, step, false};
}

using Advances = std::vector<std::vector<Advance>>;

}  // namespace

TEST_CASE("what a tenant places last is what others advance", "[unit][advances]") {
  Deal deal;
  deal.lines = {line(1, 6, 0), line(2, 4, 10)};
  deal.grants = {grant(2, 0, 3), grant(2, 1, 3), grant(2, 2, 4)};
  CHECK(advances_of(deal) == Advances{{}, {{TenantId{1}, 2}}, {{TenantId{1}, 4}}});
}

TEST_CASE("a grant within what fell to its tenant has no advance", "[unit][advances]") {
  Deal deal;
  deal.lines = {line(1, 5, 5), line(2, 5, 5)};
  deal.grants = {grant(1, 0, 5), grant(2, 1, 5)};
  CHECK(advances_of(deal) == Advances{{}, {}});
}

TEST_CASE("guarantees are outside the deal's arithmetic", "[unit][advances]") {
  Deal deal;
  deal.lines = {line(1, 4, 0), line(2, 0, 4)};
  deal.grants = {grant(2, 0, 4), grant(2, 1, 9, GrantStep::guarantee)};
  CHECK(advances_of(deal) == Advances{{{TenantId{1}, 4}}, {}});
}

TEST_CASE("several lenders, and what was passed on without a claim", "[unit][advances]") {
  Deal deal;
  deal.lines = {line(1, 3, 0), line(2, 5, 0), line(3, 0, 6)};
  deal.lines[1].passed_on = 2;  // a gift: nothing goes back for it
  deal.lines[2].passed_to = 2;
  deal.lines[2].placed = 8;
  deal.grants = {grant(3, 0, 4), grant(3, 1, 4)};
  CHECK(advances_of(deal) == Advances{{{TenantId{1}, 2}}, {{TenantId{2}, 3}, {TenantId{1}, 1}}});
}

}  // namespace fairwater
