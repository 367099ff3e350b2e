// The readers of the openb lists on whatever libFuzzer comes up with: they refuse with one line
// that names the list's line, or give nodes and jobs that the simulator can take. The first byte
// chooses the list.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "sim/traces/openb_workload.hpp"

namespace {

using namespace fairwater;

constexpr std::size_t kGpu = 2;

void require(bool condition, const char* what, std::string_view input) {
  if (condition) return;
  std::cerr << "openb: " << what << " on\n" << input << '\n';
  std::abort();
}

void require_reason(const caf::error& error, bool names_line, std::string_view input) {
  const auto said = details(error);
  require(said.code == ErrorCode::invalid_input, "a failure other than bad input", input);
  require(!said.message.empty(), "no reason", input);
  require(!names_line || said.message.starts_with("line "), "no line", input);
}

void check_nodes(const std::string& input) {
  const auto cluster = sim::parse_openb_nodes(input);
  if (!cluster) return require_reason(cluster.error(), true, input);
  const auto nodes = sim::openb_nodes(*cluster, kGpu);
  require(nodes.size() == cluster->names.size(), "nodes are lost", input);
  for (const auto& node : nodes) {
    require(node.capacity[kCpu] >= 0 && node.capacity[kMemory] >= 0 && node.capacity[kGpu] >= 0,
            "a node with less than nothing", input);
    require((node.capacity[kGpu] > 0) == !node.traits.labels.empty(), "GPUs without a model",
            input);
  }
}

void check_pods(const std::string& input) {
  const std::vector<std::string> models{"T4", "G2"};
  const auto pods = sim::parse_openb_pods(input, models);
  if (!pods) return require_reason(pods.error(), true, input);
  const auto made = sim::openb_workload(*pods, models, kGpu, 0);
  if (!made) return require_reason(made.error(), false, input);
  require(made->workload.jobs.size() + made->skipped == pods->size(), "pods are lost", input);
  sim::TimeMs before = 0;
  for (const auto& job : made->workload.jobs) {
    require(job.submit_ms >= before, "jobs out of order", input);
    require(job.tenant < made->tenants.size(), "a tenant without a name", input);
    require(job.run_ms > 0, "a job that takes no time", input);
    require(job.demand[kCpu] >= 0 && job.demand[kMemory] >= 0 && job.demand[kGpu] >= 0,
            "a task that asks for less than nothing", input);
    before = job.submit_ms;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string input(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0)
    check_nodes(input);
  else
    check_pods(input);
  return 0;
}
