#include "sim/traces/trace_workload.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace fairwater::sim::inline traces {
namespace {

constexpr std::int64_t kMaxProcessors = 1'000'000;
constexpr std::int64_t kMaxSeconds = 10'000'000'000;
constexpr std::int64_t kBytesPerMebibyte = 1 << 20;

caf::error refuse_job(const SwfJob& job, const std::string& message) {
  return make_error(ErrorCode::invalid_input, fmt::format("job {}: {}", job.number, message),
                    "trace");
}

/// From `8:ppn=8:x86_64:cl_zegox#excl`; a host's name in front stands for that one node. How many
/// processors a node gives is better told by the log's own columns: some texts have `ppn=1.5`.
struct NodeRequest {
  std::int64_t nodes = 1;
  std::string site;
};

std::optional<NodeRequest> parse_node_request(std::string_view text) {
  NodeRequest request;
  text = text.substr(0, text.find('#'));
  const std::string_view count = text.substr(0, text.find(':'));
  if (count.empty()) return std::nullopt;
  if (count.find_first_not_of("0123456789") == std::string_view::npos) {
    const auto [end, code] =
        std::from_chars(count.data(), count.data() + count.size(), request.nodes);
    if (code != std::errc{} || request.nodes < 1) return std::nullopt;
  }
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(':'));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (word.starts_with("cl_")) request.site = word.substr(3);
  }
  return request;
}

class Reader {
 public:
  explicit Reader(const TraceOptions& options) : options_(options) {}

  caf::error add(const SwfJob& line, std::int64_t start_s) {
    if (line.processors > kMaxProcessors)
      return refuse_job(
          line, fmt::format("{} processors, more than {}", line.processors, kMaxProcessors));
    if (line.run_s > kMaxSeconds || line.submit_s - start_s > kMaxSeconds)
      return refuse_job(line, fmt::format("a time of more than {} s", kMaxSeconds));
    Job job;
    job.submit_ms = (line.submit_s - start_s) * 1000;
    job.run_ms = line.run_s * 1000;
    job.has_estimate = line.requested_s > 0 && line.requested_s <= kMaxSeconds;
    job.estimate_ms = job.has_estimate ? line.requested_s * 1000 : job.run_ms;
    job.tenant = tenant(tenant_name_of(line, options_.tenants));
    if (options_.tenants != TenantColumn::user) job.user = tenant_name_of(line, TenantColumn::user);
    return add_tasks(line, std::move(job));
  }

  TraceWorkload take() { return std::move(result_); }

 private:
  TenantIndex tenant(const std::string& name) {
    const auto [found, is_new] =
        tenants_.emplace(name, static_cast<TenantIndex>(result_.tenants.size()));
    if (is_new) result_.tenants.push_back(name);
    return found->second;
  }

  void add_part(Job job, std::int64_t tasks, std::int64_t processors) {
    job.tasks = static_cast<std::uint32_t>(tasks);
    job.demand[kCpu] = processors * options_.processor_amount;
    result_.workload.jobs.push_back(std::move(job));
  }

  caf::error add_tasks(const SwfJob& line, Job job) {
    if (options_.memory_in_bytes_per_node && line.requested_memory > 0)
      job.demand[kMemory] = (line.requested_memory - 1) / kBytesPerMebibyte + 1;
    switch (options_.shape) {
      case JobShape::whole:
        add_part(std::move(job), 1, line.processors);
        break;
      case JobShape::split:
      case JobShape::gang: {
        const auto width = options_.processors_per_task;
        if (line.processors % width != 0)
          return refuse_job(
              line, fmt::format("{} processors are not a multiple of {}", line.processors, width));
        job.is_gang = options_.shape == JobShape::gang;
        add_part(std::move(job), line.processors / width, width);
        break;
      }
      case JobShape::nodes: {
        const auto request = parse_node_request(line.extra);
        if (!request || request->nodes > line.processors)
          return refuse_job(
              line, fmt::format("'{}' does not begin with a host or a number of nodes up to {}",
                                line.extra.substr(0, 60), line.processors));
        if (options_.clusters_as_sites && !request->site.empty()) job.rule = rule(request->site);
        add_part(std::move(job), request->nodes, (line.processors - 1) / request->nodes + 1);
        break;
      }
    }
    return {};
  }

  PlacementRulePtr rule(const std::string& site) {
    auto& rule = rules_[site];
    if (!rule) rule = std::make_shared<PlacementRule>(PlacementRule{{site}, {}});
    return rule;
  }

  const TraceOptions& options_;
  std::map<std::string, TenantIndex> tenants_;
  std::map<std::string, PlacementRulePtr> rules_;
  TraceWorkload result_;
};

}  // namespace

Expected<TraceWorkload> workload_from(const SwfLog& log, const TraceOptions& options) {
  Reader reader{options};
  const std::int64_t start_s = log.jobs.empty() ? 0 : log.jobs.front().submit_s;
  for (const auto& job : log.jobs)
    if (auto error = reader.add(job, start_s)) return error;
  TraceWorkload result = reader.take();
  result.skipped = log.skipped;
  return result;
}

std::size_t remove_impossible_jobs(const Cluster& cluster, Workload& workload) {
  return std::erase_if(workload.jobs,
                       [&](const Job& job) { return !could_ever_run(cluster, job); });
}

}  // namespace fairwater::sim::inline traces
