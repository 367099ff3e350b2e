#include "model/shared_value.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace fairwater {
namespace {

using Words = SharedValue<std::vector<std::string>>;

TEST_CASE("copies of a shared value are one in memory until one is changed", "[unit][model]") {
  Words first{"a", "b"};
  Words second = first;
  CHECK(second.is_copy_of(first));
  second.change().emplace_back("c");
  CHECK(*first == std::vector<std::string>{"a", "b"});
  CHECK(*second == std::vector<std::string>{"a", "b", "c"});
  CHECK_FALSE(second.is_copy_of(first));
  const auto* place = &*second;
  second.change().pop_back();  // nobody else has it
  CHECK(&*second == place);
}

TEST_CASE("shared values are equal when what they hold is", "[unit][model]") {
  CHECK(Words{"a"} == Words{"a"});
  CHECK_FALSE(Words{"a"} == Words{"b"});
  CHECK(Words{} == Words(std::vector<std::string>{}));
  CHECK(Words{}.empty());
  Words fresh;
  fresh.change().emplace_back("a");
  CHECK(fresh == Words{"a"});
}

}  // namespace
}  // namespace fairwater
