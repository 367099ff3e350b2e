// Which jobs a tenant may submit.
#include <utility>

#include "actors/coordinator/state.hpp"

namespace fairwater::inline actors::inline coordinator::coordination {
namespace {

caf::error no_such_devices(const JobSpec& spec) {
  return make_error(ErrorCode::invalid_input,
                    "no node that the job allows has " + list_of(spec.devices) +
                        "; fairwater node show NAME lists a node's devices",
                    "devices");
}

/// By the first node that it allows. `invalid_input` also where no node has them.
Expected<NamedAmounts> amounts_of_devices(const CoordinatorState& state, const AdmittedJob& job) {
  const JobSpec& spec = job.spec();
  if (spec.devices.empty()) return NamedAmounts{};
  for (const auto& [id, node] : state.nodes)
    if (const NodeTraits& traits = node.record.spec.traits; job.rule()->allows(traits))
      return amounts_of_devices(spec.devices, spec.resources, traits);
  return no_such_devices(spec);
}

/// A job that no node could ever run is refused by the first of its demands that none meets: sites,
/// then labels, then size.
caf::error check_some_node_fits(const CoordinatorState& state, const JobSpec& spec,
                                const ResourceVector& demand, const PlacementRule* rule) {
  const auto& allocation = *state.allocation;
  if (state.nodes.empty() || allocation.could_ever_fit(demand, rule)) return {};
  PlacementRule sites;
  sites.sites = spec.sites;
  if (!allocation.could_ever_fit({}, &sites))
    return make_error(ErrorCode::invalid_input, "no node is at " + list_of(spec.sites), "sites");
  if (!allocation.could_ever_fit({}, rule))
    return make_error(ErrorCode::invalid_input,
                      "no node" + (spec.sites.empty() ? "" : " at " + list_of(spec.sites)) +
                          " has labels that match '" + spec.labels + "'",
                      "labels");
  return make_error(
      ErrorCode::invalid_input,
      "no node that the job allows could ever give " + text_of(spec.resources) + " to one task",
      "resources");
}

/// What is started at once is a gang, or the least of an elastic job.
std::uint32_t tasks_at_once(const JobSpec& spec) {
  if (spec.gang) return spec.tasks_max;
  return is_elastic(spec) ? spec.tasks_min : 1;
}

/// So many tasks together have room within the limit.
Amount most_within(const ResourceVector& limit, const ResourceVector& demand) {
  Amount most = kUnlimited;
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (demand[r] > 0) most = std::min(most, limit[r] / demand[r]);
  return most;
}

/// Nothing of the job could ever start where so many of its tasks, which start at once, are beyond
/// a max.
caf::error check_max(const CoordinatorState& state, TenantId tenant, const JobSpec& spec,
                     const ResourceVector& demand, std::uint32_t at_once) {
  const auto check = [&](TenantId holder, const std::string& whose) -> caf::error {
    const NamedAmounts& max = state.nesting.spec(holder).max;
    const Amount most = most_within(*state.context->catalog.to_limit(max, "max"), demand);
    if (most >= at_once) return {};
    if (most == 0)
      return make_error(
          ErrorCode::invalid_input,
          "one task asks for " + text_of(spec.resources) + ", more than " + whose + text_of(max),
          "resources");
    return make_error(ErrorCode::invalid_input,
                      std::to_string(at_once) + " tasks start together, each with " +
                          text_of(spec.resources) + ", more than " + whose + text_of(max) +
                          " has room for; write " + std::to_string(most) + " or less",
                      spec.gang ? "tasks" : "tasks.min");
  };
  if (auto wrong = check(tenant, "the tenant's max ")) return wrong;
  for (const TenantId outer : state.nesting.around(tenant))
    if (auto wrong = check(
            outer, "the max of " + state.nesting.spec(outer).name + ", which the tenant is in, "))
      return wrong;
  return {};
}

/// Of the job's steps of memory, those that every max and some node allow. Tasks that run again
/// start one by one but for a gang's.
std::size_t steps_that_fit(const CoordinatorState& state, TenantId tenant, const JobSpec& spec,
                           const PlacementRule* rule) {
  const std::uint32_t at_once = spec.gang ? spec.tasks_max : 1;
  std::uint32_t step = 0;
  for (; step < spec.profiled.memory_steps.size(); ++step) {
    const auto demand = state.context->catalog.to_vector(amounts_at(spec, step + 1), "resources");
    if (!demand || check_max(state, tenant, spec, *demand, at_once)) break;
    if (!state.nodes.empty() && !state.allocation->could_ever_fit(*demand, rule)) break;
  }
  return step;
}

}  // namespace

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string text_of(const NamedAmounts& amounts) {
  std::string text = "{";
  for (const auto& [name, amount] : amounts)
    text += (text.size() > 1 ? ", " : "") + name + ": " + format_amount(name, amount);
  return text + "}";
}

caf::result<TenantAddress> find_tenant(const CoordinatorState& state, const FindTenant& request) {
  auto id = request.id;
  if (!request.name.empty()) {
    const auto known = state.tenant_ids.find(request.name);
    id = known == state.tenant_ids.end() ? TenantId{} : known->second;
  }
  const auto tenant = state.tenants.find(id);
  if (tenant == state.tenants.end())
    return make_error(ErrorCode::not_found, "there is no tenant " + request.name, "tenant");
  return TenantAddress{id, tenant->second.spec.name, tenant->second.actor};
}

caf::result<TenantAddress> admit_job(const CoordinatorState& state, const AdmitJob& request) {
  if (auto refused = refuse_untrusted(state)) return refused;
  JobSpec spec = request.job.spec();
  const auto known = state.tenant_ids.find(spec.tenant);
  if (known == state.tenant_ids.end())
    return make_error(ErrorCode::invalid_input, "there is no tenant '" + spec.tenant + "'",
                      "tenant");
  if (state.nesting.has_tenants(known->second))
    return make_error(ErrorCode::invalid_input,
                      "tenant " + spec.tenant + " has tenants, which run its jobs: " +
                          list_of(state.nesting.names_in(known->second)),
                      "tenant");
  const auto of_devices = amounts_of_devices(state, request.job);
  if (!of_devices) return of_devices.error();
  for (const auto& [resource, amount] : *of_devices) spec.resources[resource] = amount;
  const auto demand = state.context->catalog.to_vector(spec.resources, "resources");
  if (!demand) return demand.error();
  if (auto wrong = check_max(state, known->second, spec, *demand, tasks_at_once(spec)))
    return wrong;
  const PlacementRule* rule = request.job.rule();
  if (auto wrong = check_some_node_fits(state, spec, *demand, rule)) return wrong;
  return TenantAddress{known->second, spec.tenant, state.tenants.at(known->second).actor,
                       steps_that_fit(state, known->second, spec, rule), *of_devices};
}

}  // namespace fairwater::inline actors::inline coordinator::coordination
