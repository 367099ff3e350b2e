#include "model/errors.hpp"

#include <caf/sec.hpp>
#include <catch2/catch.hpp>

namespace fairwater {

TEST_CASE("an error carries its code, message and field", "[unit][errors]") {
  const auto error = make_error(ErrorCode::wrong_state, "a debtor may not leave", "tenant");
  const ErrorDetails read = details(error);
  CHECK(read.code == ErrorCode::wrong_state);
  CHECK(read.message == "a debtor may not leave");
  CHECK(read.field == "tenant");
}

TEST_CASE("an error of the actor framework becomes internal", "[unit][errors]") {
  const ErrorDetails read = details(caf::error{caf::sec::request_timeout});
  CHECK(read.code == ErrorCode::internal);
  CHECK_THAT(read.message, Catch::Contains("request_timeout"));
}

TEST_CASE("error codes have names that read back", "[unit][errors]") {
  for (auto code = ErrorCode::invalid_input; code <= ErrorCode::internal;
       code = static_cast<ErrorCode>(static_cast<int>(code) + 1))
    CHECK(error_code_from(to_string(code)) == code);
  CHECK(error_code_from("whatever") == ErrorCode::internal);
}

TEST_CASE("only what may pass by itself is worth another try", "[unit][errors]") {
  CHECK(is_retryable(ErrorCode::unavailable));
  CHECK(is_retryable(ErrorCode::overloaded));
  CHECK(is_retryable(ErrorCode::disk_full));
  CHECK_FALSE(is_retryable(ErrorCode::invalid_input));
  CHECK_FALSE(is_retryable(ErrorCode::storage_failed));
}

}  // namespace fairwater
