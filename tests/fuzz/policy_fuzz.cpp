// One policy command (FAIRWATER_FUZZ_POLICY) on whatever libFuzzer comes up with. Whatever goes in,
// the command either prints one JSON object and returns 0, or prints nothing but one line that says
// what is wrong and returns 2.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>

#include "cli/policy/commands.hpp"

namespace {

void require(bool condition, const char* what, const std::string& input) {
  if (condition) return;
  std::cerr << FAIRWATER_FUZZ_POLICY << ": " << what << " on\n" << input << '\n';
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  std::ostringstream out, err;
  const int status = fairwater::policy_command(FAIRWATER_FUZZ_POLICY, input, false, out, err);
  const std::string output = out.str(), error = err.str();
  if (status == 0) {
    require(error.empty(), "an error beside a result", input);
    require(fairwater::Json::parse(output).is_object(), "a result that is no object", input);
  } else {
    require(status == 2 && output.empty(), "a failure other than bad input", input);
    require(std::count(error.begin(), error.end(), '\n') == 1, "an error of several lines", input);
  }
  return 0;
}
