#include "model/journal.hpp"

#include <set>
#include <utility>

#include <catch2/catch.hpp>

namespace fairwater {
namespace {

template <std::size_t... I>
std::set<std::string_view> all_kinds(std::index_sequence<I...>) {
  return {kind_of(JournalBody{std::in_place_index<I>})...};
}

}  // namespace

TEST_CASE("every kind of journal record has a name of its own", "[unit][journal]") {
  constexpr std::size_t count = std::variant_size_v<JournalBody>;
  CHECK(all_kinds(std::make_index_sequence<count>{}).size() == count);
  CHECK(kind_of(Cycle{}) == "cycle");
  CHECK(kind_of(JobSubmitted{}) == "job_submitted");
}

TEST_CASE("node states have stable names", "[unit][node]") {
  CHECK(to_string(NodeState::up) == "up");
  CHECK(to_string(NodeState::draining) == "draining");
  CHECK(to_string(NodeState::drained) == "drained");
  CHECK(to_string(NodeState::down) == "down");
}

}  // namespace fairwater
