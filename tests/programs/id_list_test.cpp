#include "input/id_list.hpp"

#include <catch2/catch.hpp>

namespace fairwater {
namespace {

std::vector<std::uint64_t> ids(std::string_view text) {
  const auto list = parse_id_list(text);
  REQUIRE(list);
  REQUIRE(list->kind == IdList::Kind::ids);
  std::vector<std::uint64_t> result;
  for (const JobId id : list->ids) result.push_back(id.value);
  return result;
}

}  // namespace

TEST_CASE("id lists are numbers, ranges, all and last", "[unit][id_list]") {
  CHECK(ids("7") == std::vector<std::uint64_t>{7});
  CHECK(ids("1,3,5-8") == std::vector<std::uint64_t>{1, 3, 5, 6, 7, 8});
  CHECK(ids("5-6,6,5,9") == std::vector<std::uint64_t>{5, 6, 9});
  CHECK(ids("18446744073709551615-18446744073709551615").size() == 1);
  CHECK(parse_id_list("all")->kind == IdList::Kind::all);
  CHECK(parse_id_list("last")->kind == IdList::Kind::last);
}

TEST_CASE("what is no id list is refused naming the part", "[unit][id_list]") {
  const std::pair<const char*, const char*> refused[] = {
      {"", "'' is not a job's id"},
      {"0", "'0' is not a job's id"},
      {"1,,2", "'' is not a job's id"},
      {"1,x", "'x' is not a job's id"},
      {"-1", "'-1' is not a job's id"},
      {"1-", "'1-' is not a job's id"},
      {"1-2-3", "'1-2-3' is not a job's id"},
      {"1.5", "'1.5' is not a job's id"},
      {"all,1", "'all' is not a job's id"},
      {"18446744073709551616", "is not a job's id"},
      {"8-5", "'8-5' ends before it begins"},
      {"1-1000001", "longer than 1000000 ids"},
      {"1-999999,5000000-5000001", "longer than 1000000 ids"},
  };
  for (const auto& [text, message] : refused) {
    INFO(text);
    const auto list = parse_id_list(text);
    REQUIRE_FALSE(list);
    CHECK(details(list.error()).code == ErrorCode::invalid_input);
    CHECK(details(list.error()).field == "id");
    CHECK_THAT(details(list.error()).message, Catch::Contains(message));
  }
}

}  // namespace fairwater
