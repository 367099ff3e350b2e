#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/sim/file_parts.hpp"
#include "input/tenants.hpp"
#include "model/tenant.hpp"
#include "policy/elastic/elastic.hpp"

namespace fairwater::inline cli::inline sim_cli {
namespace {

/// What simulation files say of a tenant beyond its spec.
struct SimTenantKeys {
  Units quota = 0;  ///< 0: none given
  std::optional<QueuePolicy> queue;
};
using KeysOfTenants = std::map<std::string, SimTenantKeys>;

class SimTenantTree {
 public:
  SimTenantTree(SimFileDraft& draft, const KeysOfTenants& keys) : draft_(draft), keys_(keys) {}

  /// Adds them and all below. What they have as min together.
  /// `queue`: of those that say none.
  ResourceVector add(const std::vector<DeclaredTenant>& tenants, GroupId parent,
                     std::optional<QueuePolicy> queue) {
    ResourceVector mins;
    for (const auto& tenant : tenants) {
      if (const auto error = validate(tenant.spec)) tenant.field.fail(error);
      const auto terms = terms_of(tenant.spec, draft_.catalog);
      if (!terms) tenant.field.fail(terms.error());
      const ResourceVector min = tenant.tenants.empty() ? add_leaf(tenant, *terms, parent, queue)
                                                        : add_group(tenant, *terms, parent, queue);
      for (std::size_t r = 0; r < kMaxResources; ++r)
        mins[r] = std::min(kUnlimited, mins[r] + min[r]);
    }
    return mins;
  }

 private:
  static QuotaPlace place_in(GroupId parent, const TenantTerms& terms) {
    QuotaPlace place = place_of(terms);
    place.group = parent;
    return place;
  }

  ResourceVector add_leaf(const DeclaredTenant& tenant, TenantTerms terms, GroupId parent,
                          std::optional<QueuePolicy> queue) {
    const std::string& name = tenant.spec.name;
    auto& tenants = draft_.scenario.cluster.tenants;
    if (parent) terms.place = place_in(parent, terms);
    draft_.tenants.emplace(name, static_cast<sim::TenantIndex>(tenants.size()));
    const SimTenantKeys& keys = keys_.at(name);
    tenants.push_back(
        {name, terms, keys.quota, tenant.spec.placement, keys.queue ? keys.queue : queue});
    return terms.min;
  }

  ResourceVector add_group(const DeclaredTenant& tenant, const TenantTerms& terms, GroupId parent,
                           std::optional<QueuePolicy> queue) {
    const FieldMap fields = tenant.field.object();
    if (const auto field = fields.find("quota"))
      field->fail("is for tenants that run jobs: this one has tenants, which run its jobs");
    auto& groups = draft_.scenario.cluster.groups;
    const std::size_t place = groups.size();
    draft_.groups.insert(tenant.spec.name);
    groups.push_back(
        {.place = place_in(parent, terms),
         .max = terms.max,
         .rights = {
             .may_lend = terms.may_lend, .may_borrow = terms.may_borrow, .caps = terms.caps}});
    const auto& own_queue = keys_.at(tenant.spec.name).queue;
    ResourceVector mins = add(tenant.tenants, GroupId{static_cast<std::uint32_t>(place + 1)},
                              own_queue ? own_queue : queue);
    for (const auto& [name, min] : tenant.spec.min) {
      const std::size_t r = *draft_.catalog.index_of(name);
      check_amount(fields, "min", name, min, mins[r]);
      groups[place].min[r] = mins[r] = min;
    }
    for (const auto& [name, max] : tenant.spec.max)
      check_amount(fields, "max", name, max, mins[*draft_.catalog.index_of(name)]);
    return mins;
  }

  static void check_amount(const FieldMap& fields, const char* key, const std::string& resource,
                           Amount amount, Amount mins) {
    if (amount < mins)
      fields.at(key).object().at(resource).fail(
          fmt::format("{} is below the min of its tenants together, which is {}",
                      format_amount(resource, amount), format_amount(resource, mins)));
  }

  SimFileDraft& draft_;
  const KeysOfTenants& keys_;
};

}  // namespace

void read_sim_tenants(SimFileDraft& draft, const FieldMap& file) {
  const auto list = file.find("tenants");
  if (!list) return;
  KeysOfTenants keys;
  const auto tenants = read_tenants(*list, [&](const FieldMap& fields, const TenantSpec& spec) {
    SimTenantKeys& its = keys[spec.name];
    fields.read("quota", its.quota, integer_from(1, kMaxElasticUnits));
    if (const auto queue = fields.find("queue")) its.queue = read_queue(*queue);
  });
  SimTenantTree{draft, keys}.add(tenants, {}, std::nullopt);
}

}  // namespace fairwater::inline cli::inline sim_cli
