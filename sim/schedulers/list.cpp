#include "sim/schedulers/list.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/schedulers/batch.hpp"
#include "sim/schedulers/conservative.hpp"
#include "sim/schedulers/dominant.hpp"
#include "sim/schedulers/elastic.hpp"
#include "sim/schedulers/resource_time.hpp"
#include "sim/schedulers/sequence.hpp"

namespace fairwater::sim::inline schedulers {

const std::vector<std::string_view>& policy_names() {
  static const std::vector<std::string_view> names{
      "sequence",  "proportional", "drf", "gdrf", "drfh-best-fit", "fifo",           "easy",
      "easy-sjbf", "conservative", "bra", "crea", "qrea",          "qrea-rebalance", "fair"};
  return names;
}

bool needs_pool(std::string_view policy) { return make_elastic_policy(policy) != nullptr; }

bool knows_weights(std::string_view policy) {
  constexpr std::string_view kIgnorant[] = {"fifo", "easy", "easy-sjbf", "conservative", "gdrf"};
  return std::find(std::begin(kIgnorant), std::end(kIgnorant), policy) == std::end(kIgnorant);
}

bool knows_limits(const PolicyOptions& policy) {
  return policy.name == "sequence" && policy.accounting != SequenceAccounting::resource_time;
}

bool knows_gangs(std::string_view policy) {
  return policy != "proportional" && !needs_pool(policy);
}

bool grows_over_nodes(const PolicyOptions& policy) {
  return policy.name == "sequence" && policy.allocation == AllocationRule::sequence &&
         policy.accounting != SequenceAccounting::resource_time;
}

bool knows_preemption(const PolicyOptions& policy) { return grows_over_nodes(policy); }

bool knows_services(const PolicyOptions& policy) { return knows_limits(policy); }

bool knows_drains(const PolicyOptions& policy) { return knows_limits(policy); }

bool knows_queues(const PolicyOptions& policy) { return knows_limits(policy); }

Expected<std::unique_ptr<Scheduler>> make_scheduler(const PolicyOptions& options,
                                                    const Cluster& cluster,
                                                    const Workload& workload) {
  using Made = std::unique_ptr<Scheduler>;
  const std::string_view name = options.name;
  if (name == "sequence" && options.accounting == SequenceAccounting::resource_time)
    return Made{std::make_unique<TimeSequenceScheduler>(cluster, workload)};
  if (name == "sequence")
    return Made{std::make_unique<SequenceScheduler>(options, cluster, workload)};
  if (name == "proportional")
    return Made{std::make_unique<ProportionalScheduler>(cluster, workload)};
  if (name == "fifo") return Made{std::make_unique<FifoScheduler>(cluster, workload)};
  if (name == "easy" || name == "easy-sjbf") {
    const auto order = name == "easy" ? BackfillOrder::arrival : BackfillOrder::shortest_estimate;
    return Made{std::make_unique<EasyScheduler>(cluster, workload, order)};
  }
  if (name == "conservative")
    return Made{std::make_unique<ConservativeScheduler>(cluster, workload)};
  if (name == "drf" || name == "drfh-best-fit" || name == "gdrf") {
    const auto policy = name == "drf"    ? DominantPolicy::drf
                        : name == "gdrf" ? DominantPolicy::gdrf
                                         : DominantPolicy::drfh_best_fit;
    return Made{std::make_unique<DominantScheduler>(policy, cluster, workload)};
  }
  if (needs_pool(name))
    return ElasticScheduler::make({options.name, options.credit_period_ms}, cluster, workload);
  return make_error(
      ErrorCode::invalid_input,
      fmt::format("'{}' is not a policy; there are {}", name, fmt::join(policy_names(), ", ")),
      "policy");
}

}  // namespace fairwater::sim::inline schedulers
