#include "rpc/agent/overdue.hpp"

#include <vector>

#include <catch2/catch.hpp>

using namespace fairwater;

namespace {

/// When an agent asks elsewhere whose report stays unanswered.
std::vector<std::int64_t> questions_ms(std::int64_t heartbeat_ms, std::int64_t until_ms) {
  std::vector<std::int64_t> questions;
  for (std::int64_t now = overdue_after_ms(heartbeat_ms); now < until_ms;
       now += ask_again_after_ms(heartbeat_ms, now))
    questions.push_back(now);
  return questions;
}

}  // namespace

TEST_CASE("an agent without an answer asks often while another may take over", "[gateway]") {
  CHECK(questions_ms(1'000, 7'000) ==
        std::vector<std::int64_t>{500, 1'000, 1'500, 2'000, 2'500, 3'000, 4'500, 6'000});
  CHECK(questions_ms(10'000, 40'000) == std::vector<std::int64_t>{5'000, 20'000, 35'000});
}
