#include "model/node.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "model/tenant.hpp"
#include "model/text.hpp"
#include "policy/gpu/node.hpp"

namespace fairwater::inline model {

std::string_view to_string(NodeState state) {
  switch (state) {
    case NodeState::up:
      return "up";
    case NodeState::draining:
      return "draining";
    case NodeState::drained:
      return "drained";
    case NodeState::down:
      break;
  }
  return "down";
}

namespace {

constexpr std::size_t kMaxShownResourceBytes = 100;

}  // namespace

bool is_valid_host(std::string_view host) {
  constexpr std::size_t kMostBytes = 255;
  const bool has_port = std::count(host.begin(), host.end(), ':') == 1;  // IPv6 has two or more
  return !host.empty() && host.size() <= kMostBytes && !has_port &&
         std::all_of(host.begin(), host.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  std::string_view(".-_:%").find(c) != std::string_view::npos;
         });
}

caf::error validate_site(const std::string& site) {
  if (is_valid_name(site)) return {};
  return make_error(ErrorCode::invalid_input,
                    quoted(site) +
                        " is not a site's name, which jobs could give in sites: 1 to 63 letters, "
                        "digits, '.', '_' and '-', starting with a letter or digit",
                    "site");
}

caf::error validate_labels(const std::map<std::string, std::string>& labels) {
  const auto refuse = [](const std::string& key, const std::string& what) {
    return make_error(ErrorCode::invalid_input,
                      what +
                          ", which no job's expression can name: write letters, digits, '_', "
                          "'-', '.' and '/'",
                      "labels." + key);
  };
  std::size_t bytes = 0;
  for (const auto& [key, value] : labels) {
    if (!is_label_word(key)) return refuse(key, "the label is called " + quoted(key));
    if (!is_label_word(value)) return refuse(key, "its value is " + quoted(value));
    bytes += key.size() + value.size();
  }
  if (bytes <= kMaxNodeLabelsBytes) return {};
  return make_error(ErrorCode::invalid_input,
                    std::to_string(bytes) + " bytes of keys and values are more than " +
                        std::to_string(kMaxNodeLabelsBytes),
                    "labels");
}

caf::error validate_node_text(const char* field, const std::string& text) {
  if (text.size() > kMaxNodeTextBytes)
    return make_error(
        ErrorCode::invalid_input,
        std::to_string(text.size()) + " bytes are more than " + std::to_string(kMaxNodeTextBytes),
        field);
  if (auto fault = fault_of_text(text); !fault.empty())
    return make_error(ErrorCode::invalid_input, std::move(fault), field);
  return {};
}

caf::error validate(const std::vector<NodeDevices>& devices, const NamedAmounts& capacity) {
  std::set<std::string_view> names, resources;
  for (const NodeDevices& kind : devices) {
    const auto amount = capacity.find(kind.resource);
    if (amount == capacity.end())
      return make_error(ErrorCode::invalid_input,
                        "the node's resources have no " + quoted(kind.resource) +
                            "; write how many there are, or leave their names out",
                        "devices." + cut_text(kind.resource, kMaxShownResourceBytes));
    const Amount count = amount->second;
    const bool is_shared = kind.resource == kSharedGpus;
    if (is_shared && kind.names.size() > kMaxGpusPerNode)
      return make_error(ErrorCode::invalid_input,
                        std::to_string(kind.names.size()) +
                            " gpus that tasks share are more than " +
                            std::to_string(kMaxGpusPerNode) + " on one node",
                        "devices." + kind.resource);
    if (!resources.insert(kind.resource).second ||
        count != static_cast<Amount>(kind.names.size()) * (is_shared ? kMilliPerGpu : 1))
      return make_error(ErrorCode::invalid_input,
                        std::to_string(kind.names.size()) + " names of " + std::to_string(count) +
                            (is_shared ? " thousandths of devices, 1000 of each" : " devices"),
                        "devices." + cut_text(kind.resource, kMaxShownResourceBytes));
    for (const std::string& name : kind.names)
      if (!is_valid_name(name) || !names.insert(name).second)
        return make_error(ErrorCode::invalid_input,
                          quoted(name) + " is no name for a device, or is given twice",
                          "devices." + kind.resource);
  }
  const auto shared = capacity.find(std::string(kSharedGpus));
  if (shared != capacity.end() && shared->second > 0 && !resources.contains(kSharedGpus))
    return make_error(ErrorCode::invalid_input,
                      std::to_string(shared->second) +
                          " thousandths of gpus are of no gpu that has a name; list them in "
                          "agent.yaml, as in devices: {gpu_milli: [0, 1]}",
                      "resources.gpu_milli");
  return {};
}

Expected<NamedAmounts> amounts_of_devices(const std::vector<std::string>& devices,
                                          const NamedAmounts& asked, const NodeTraits& node) {
  NamedAmounts amounts;
  for (const NodeDevices& kind : node.devices) {
    const Amount named =
        std::count_if(devices.begin(), devices.end(), [&](const std::string& name) {
          return std::find(kind.names.begin(), kind.names.end(), name) != kind.names.end();
        });
    if (named == 0) continue;
    const bool is_shared = kind.resource == kSharedGpus;
    const Amount of_all = named * (is_shared ? kMilliPerGpu : 1);
    const auto said = asked.find(kind.resource);
    if (said == asked.end()) {
      amounts[kind.resource] = of_all;
      continue;
    }
    const Amount amount = said->second;
    if ((is_shared ? Amount{shared_gpus(amount).gpus} : amount) < named)
      return make_error(ErrorCode::invalid_input,
                        "a task asks for " + std::to_string(amount) +
                            (is_shared ? " thousandths of a gpu" : "") + ", and devices names " +
                            std::to_string(named) + (is_shared ? " gpus" : " of them") +
                            "; leave the amount out, or write " + std::to_string(of_all),
                        "resources." + kind.resource);
  }
  return amounts;
}

LaunchOrder launch_order(const JobRecord& job, const LaunchText& text, const TaskKey& task,
                         std::uint32_t memory_step) {
  LaunchOrder order;
  order.task = task;
  order.task_count = job.tasks.total;
  order.command = text.command;
  order.environment = text.environment;
  order.directory = job.spec.directory;
  order.limits = amounts_at(job.spec, memory_step);
  order.time_limit_ms = job.spec.time_limit_ms;
  order.grace_ms = job.spec.grace_ms;
  order.lease_ms = job.spec.lease_ms;
  order.tenant = job.tenant;
  order.exclusive_cpus = job.spec.exclusive_cpus;
  order.follows_members = follows_members(job.spec);
  return order;
}

}  // namespace fairwater::inline model
