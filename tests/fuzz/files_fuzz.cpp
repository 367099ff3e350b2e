// Job and tenant files on whatever libFuzzer comes up with: what is refused says why, and
// what is taken is valid. A first byte of `t` makes the rest a tenant file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "input/job_file.hpp"
#include "input/tenants.hpp"
#include "model/job_validation.hpp"

namespace {

using namespace fairwater;

void require(bool condition, const char* what, std::string_view input) {
  if (condition) return;
  std::cerr << "files: " << what << " on\n" << input << '\n';
  std::abort();
}

void require_reason(const caf::error& error, std::string_view input) {
  const auto said = details(error);
  require(said.code == ErrorCode::invalid_input || said.code == ErrorCode::not_supported,
          "a failure other than bad input", input);
  require(!said.message.empty(), "no reason", input);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.starts_with('t')) {
    const auto tenants = parse_tenant_file(input.substr(1), "f");
    if (!tenants) require_reason(tenants.error(), input);
    if (tenants)
      for (const auto& tenant : *tenants)
        require(!validate(tenant), "a tenant that is not valid", input);
  } else {
    const auto job = parse_job_file(input, "f");
    if (!job) require_reason(job.error(), input);
    if (job) require(validate(job->spec).engaged(), "a job that is not valid", input);
  }
  return 0;
}
