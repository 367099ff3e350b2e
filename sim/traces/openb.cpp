#include "sim/traces/openb.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>

#include <fmt/format.h>

namespace fairwater::sim::inline traces {
namespace {

constexpr std::string_view kNodeHead = "sn,cpu_milli,memory_mib,gpu,model";
constexpr std::string_view kPodHead =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time";
constexpr std::string_view kResultHead = "workload,sc_policy,tune,seed,total_gpus";

/// Bounds on what a node has or a pod wants: sums stay in 64 bits.
constexpr std::int64_t kMaxMilliCpu = 100'000'000;
constexpr std::int64_t kMaxMemoryMib = 1'000'000'000;
constexpr std::int64_t kMaxPodSeconds = 10'000'000'000;
/// A cluster of more nodes or pods would take hours.
constexpr std::size_t kMaxLines = 1'000'000;

caf::error refuse_openb(std::size_t line, const std::string& message) {
  return make_error(ErrorCode::invalid_input, fmt::format("line {}: {}", line, message), "trace");
}

std::vector<std::string_view> split_cells(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

/// A line's cells; `line` counts from 1.
struct OpenbRow {
  std::size_t line = 0;
  std::span<const std::string_view> columns;
  std::vector<std::string_view> cells;

  [[nodiscard]] caf::error refuse(std::size_t column, const std::string& message) const {
    return refuse_openb(line,
                        fmt::format("column {} ({}): {}", column + 1, columns[column], message));
  }

  [[nodiscard]] Expected<std::int64_t> number(std::size_t column, std::int64_t least,
                                              std::int64_t most) const {
    const std::string_view cell = cells[column];
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (code != std::errc{} || end != cell.data() + cell.size() || value < least || value > most)
      return refuse(column, fmt::format("'{}' is not a whole number from {} to {}",
                                        cell.substr(0, 40), least, most));
    return value;
  }
};

/// Calls `take(row)` for every line below the head, which must be `head`; stops at its first error.
template <class Take>
caf::error for_each_row(std::string_view text, std::string_view head, Take take) {
  const auto columns = split_cells(head, ',');
  std::size_t line_number = 0;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (++line_number == 1) {
      if (line != head)
        return refuse_openb(1, fmt::format("the head must be '{}..'", head.substr(0, 60)));
      continue;
    }
    if (line_number > kMaxLines) return refuse_openb(line_number, "too many lines");
    OpenbRow row{line_number, columns, split_cells(line, ',')};
    if (row.cells.size() != columns.size())
      return refuse_openb(
          line_number, fmt::format("{} columns instead of {}", row.cells.size(), columns.size()));
    if (auto error = take(row)) return error;
  }
  if (line_number < 2) return refuse_openb(line_number + 1, "no lines below the head");
  return {};
}

std::optional<std::size_t> find_model(const std::vector<std::string>& models,
                                      std::string_view name) {
  const auto found = std::find(models.begin(), models.end(), name);
  if (found == models.end()) return std::nullopt;
  return static_cast<std::size_t>(found - models.begin());
}

caf::error add_node(const OpenbRow& row, OpenbCluster& cluster) {
  const auto cpu = row.number(1, 0, kMaxMilliCpu);
  if (!cpu) return cpu.error();
  const auto memory = row.number(2, 0, kMaxMemoryMib);
  if (!memory) return memory.error();
  const auto gpus = row.number(3, 0, kMaxGpusPerNode);
  if (!gpus) return gpus.error();
  GpuNode node{.cpu_milli = *cpu,
               .memory_mib = *memory,
               .model = 0,
               .gpus = static_cast<std::uint32_t>(*gpus)};
  std::fill_n(node.gpu_milli.begin(), node.gpus, kMilliPerGpu);
  const std::string_view name = row.cells[4];
  if (name.empty() != (node.gpus == 0))
    return row.refuse(4, "a node has a model when it has GPUs, and only then");
  if (node.gpus > 0) {
    auto model = find_model(cluster.models, name);
    if (!model) {
      if (cluster.models.size() == kMaxGpuModels)
        return row.refuse(4, fmt::format("more than {} models", kMaxGpuModels));
      model = cluster.models.size();
      cluster.models.emplace_back(name);
    }
    node.model = static_cast<std::uint32_t>(*model);
  }
  cluster.nodes.push_back(node);
  cluster.names.emplace_back(row.cells[0]);
  return {};
}

/// The set of the models named in the cell; any model when it is empty.
Expected<std::uint64_t> models_of(const OpenbRow& row, std::size_t column,
                                  const std::vector<std::string>& models) {
  if (row.cells[column].empty()) return kAnyGpuModel;
  std::uint64_t set = 0;
  for (const std::string_view name : split_cells(row.cells[column], '|'))
    if (const auto model = find_model(models, name)) set |= std::uint64_t{1} << *model;
  if (set == 0)
    return row.refuse(
        column, fmt::format("the cluster has no model of '{}'", row.cells[column].substr(0, 40)));
  return set;
}

/// The cell's seconds, or none when it is empty; what is wrong with it goes to `error`.
std::optional<std::int64_t> seconds_of(const OpenbRow& row, std::size_t column, caf::error& error) {
  if (row.cells[column].empty()) return std::nullopt;
  auto seconds = row.number(column, 0, kMaxPodSeconds);
  if (seconds) return *seconds;
  error = std::move(seconds.error());
  return std::nullopt;
}

caf::error add_pod(const OpenbRow& row, const std::vector<std::string>& models,
                   std::vector<OpenbPod>& pods) {
  const auto cpu = row.number(1, 0, kMaxMilliCpu);
  if (!cpu) return cpu.error();
  const auto memory = row.number(2, 0, kMaxMemoryMib);
  if (!memory) return memory.error();
  const auto gpus = row.number(3, 0, kMaxGpusPerNode);
  if (!gpus) return gpus.error();
  const auto milli = *gpus == 0 ? row.number(4, 0, 0) : row.number(4, 1, kMilliPerGpu);
  if (!milli) return milli.error();
  const auto allowed = models_of(row, 5, models);
  if (!allowed) return allowed.error();
  caf::error error;
  OpenbPod pod{.request = {.cpu_milli = *cpu,
                           .memory_mib = *memory,
                           .gpus = static_cast<std::uint32_t>(*gpus),
                           .milli_per_gpu = *milli,
                           .models = *gpus == 0 ? kAnyGpuModel : *allowed},
               .qos = std::string{row.cells[6]},
               .creation_s = seconds_of(row, 8, error),
               .scheduled_s = seconds_of(row, 10, error),
               .deletion_s = seconds_of(row, 9, error)};
  if (error) return error;
  pods.push_back(std::move(pod));
  return {};
}

/// A percentage with a decimal point, as in 95.23.
std::optional<double> read_percentage(std::string_view cell) {
  double value = 0;
  const auto [end, code] =
      std::from_chars(cell.data(), cell.data() + cell.size(), value, std::chars_format::fixed);
  const bool whole = code == std::errc{} && end == cell.data() + cell.size();
  if (!whole || !(value >= 0 && value <= 100)) return std::nullopt;
  return value;
}

caf::error add_result(const OpenbRow& row, std::size_t first_load,
                      std::vector<OpenbResult>& results) {
  OpenbResult result{.workload = std::string{row.cells[0]}, .policy = std::string{row.cells[1]}};
  for (std::size_t load = 0; load <= kMaxOpenbLoad; ++load) {
    const auto value = read_percentage(row.cells[first_load + load]);
    if (!value)
      return row.refuse(first_load + load, fmt::format("'{}' is not a percentage",
                                                       row.cells[first_load + load].substr(0, 40)));
    result.allocation[load] = *value;
  }
  results.push_back(std::move(result));
  return {};
}

}  // namespace

Expected<OpenbCluster> parse_openb_nodes(std::string_view text) {
  OpenbCluster cluster;
  if (auto error = for_each_row(text, kNodeHead,
                                [&](const OpenbRow& row) { return add_node(row, cluster); }))
    return error;
  return cluster;
}

Expected<std::vector<OpenbPod>> parse_openb_pods(std::string_view text,
                                                 const std::vector<std::string>& models) {
  std::vector<OpenbPod> pods;
  if (auto error = for_each_row(text, kPodHead,
                                [&](const OpenbRow& row) { return add_pod(row, models, pods); }))
    return error;
  return pods;
}

Expected<std::vector<OpenbResult>> parse_openb_results(std::string_view text) {
  std::string head{kResultHead};
  for (std::size_t load = 0; load <= kMaxOpenbLoad; ++load) head += fmt::format(",{}", load);
  const std::size_t first_load = split_cells(kResultHead, ',').size();
  std::vector<OpenbResult> results;
  if (auto error = for_each_row(
          text, head, [&](const OpenbRow& row) { return add_result(row, first_load, results); }))
    return error;
  return results;
}

}  // namespace fairwater::sim::inline traces
