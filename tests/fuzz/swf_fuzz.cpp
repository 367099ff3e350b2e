// The reader of workload traces on whatever libFuzzer comes up with: it refuses with one line that
// says why, or gives a workload that the simulator can take. The first byte chooses how the log is
// read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "sim/traces/swf.hpp"
#include "sim/traces/trace_workload.hpp"

namespace {

using namespace fairwater;

void require(bool condition, const char* what, std::string_view input) {
  if (condition) return;
  std::cerr << "swf: " << what << " on\n" << input << '\n';
  std::abort();
}

void require_reason(const caf::error& error, std::string_view input) {
  const auto said = details(error);
  require(said.code == ErrorCode::invalid_input, "a failure other than bad input", input);
  require(!said.message.empty() && said.message.find('\n') == std::string::npos,
          "no reason, or one of several lines", input);
}

sim::TraceOptions options_from(std::uint8_t choice) {
  sim::TraceOptions options;
  options.tenants = static_cast<TenantColumn>(choice % 3);
  options.shape = static_cast<sim::JobShape>(choice / 3 % 4);
  options.processors_per_task = choice & 0x80 ? 4 : 1;
  options.memory_in_bytes_per_node = (choice & 0x40) != 0;
  options.clusters_as_sites = (choice & 0x20) != 0;
  return options;
}

void check_workload(const sim::TraceWorkload& made, std::string_view input) {
  sim::TimeMs before = 0;
  for (const auto& job : made.workload.jobs) {
    require(job.submit_ms >= before, "jobs out of order", input);
    require(job.tenant < made.tenants.size(), "a tenant without a name", input);
    require(job.tasks >= 1 && job.run_ms >= 0 && job.estimate_ms >= 0, "a job that cannot be",
            input);
    require(job.demand[kCpu] >= 1 && job.demand[kMemory] >= 0, "a task that asks for nothing",
            input);
    before = job.submit_ms;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto log = parse_swf(input, 0);
  if (!log) {
    require_reason(log.error(), input);
    return 0;
  }
  const auto first = parse_swf(input, 1);
  require(first.engaged() && first->jobs.size() == (log->jobs.empty() ? 0 : 1),
          "fewer jobs are refused", input);
  const auto made = sim::workload_from(*log, options_from(data[0]));
  if (!made) {
    require_reason(made.error(), input);
    return 0;
  }
  require(made->workload.jobs.size() == log->jobs.size() && made->skipped == log->skipped,
          "jobs are lost", input);
  check_workload(*made, input);
  return 0;
}
