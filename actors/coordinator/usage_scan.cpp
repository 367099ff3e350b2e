#include "actors/coordinator/usage_scan.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "model/tenant_nesting.hpp"
#include "schema/byte_budget.hpp"
#include "schema/codec.hpp"

namespace fairwater::inline actors::inline coordinator {
namespace {

/// A slice takes about ten milliseconds.
constexpr int kSumsPerSlice = 1024;
/// To go on elsewhere costs as much as so many sums.
constexpr int kSumsPerJump = 8;
/// Of a row, beside its sums and names.
constexpr std::size_t kRowBytes = 64;

/// N of `tenant-N`, which was removed; none for what is no such name.
std::optional<TenantId> removed_tenant(const Ledger& ledger, std::string_view name) {
  constexpr std::string_view kPrefix = "tenant-";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  TenantId tenant;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), tenant.value);
  const bool is_known = read.ec == std::errc{} && read.ptr == name.data() + name.size() && tenant &&
                        tenant < ledger.next_tenant_id();
  return is_known ? std::optional(tenant) : std::nullopt;
}

/// The tenant and all that are in it.
std::set<TenantId> tenants_within(const TenantNesting& nesting, const TenantNesting::Specs& specs,
                                  TenantId wanted) {
  std::set<TenantId> within{wanted};
  for (const auto& [id, spec] : specs) {
    const auto around = nesting.around(id);
    if (std::find(around.begin(), around.end(), wanted) != around.end()) within.insert(id);
  }
  return within;
}

}  // namespace

UsageScan::UsageScan(const QuerySums& request, std::size_t most_groups)
    : query_(request.query),
      shown_as_(request.of ? std::optional(request.of) : std::nullopt),
      most_groups_(most_groups) {
  UsageGroup first{query_.first_day, {}, {}};
  if (query_.after) first.day = std::max(first.day, query_.after->day);
  next_ = first;
}

Expected<UsageScan> UsageScan::make(const Ledger& ledger, const QuerySums& request,
                                    std::size_t most_groups) {
  UsageScan scan(request, most_groups);
  TenantNesting::Specs specs;
  std::optional<TenantId> wanted = scan.shown_as_;
  for (TenantRecord& tenant : ledger.tenants()) {
    scan.names_.emplace(tenant.id, tenant.spec.name);
    if (!wanted && tenant.spec.name == request.query.tenant) wanted = tenant.id;
    specs.emplace(tenant.id, std::move(tenant.spec));
  }
  if (!wanted && request.query.tenant.empty()) return scan;
  if (!wanted) wanted = removed_tenant(ledger, request.query.tenant);
  if (!wanted)
    return make_error(ErrorCode::not_found, "there is no tenant " + request.query.tenant, "tenant");
  const TenantNesting nesting(specs);
  scan.tenants_ = tenants_within(nesting, specs, *wanted);
  return scan;
}

void UsageScan::count(const UsageGroup& group, const UsageRecord& usage) {
  if (is_beyond(group) || (query_.after && group <= *query_.after)) return;
  add(sums_[group], usage);
  if (sums_.size() <= most_groups_) return;
  const auto last = std::prev(sums_.end());
  beyond_ = last->first;
  sums_.erase(last);
}

UsageGroup UsageScan::next_wanted(const UsageGroup& sums) const {
  const auto tenant = tenants_->upper_bound(sums.tenant);
  if (tenant == tenants_->end()) return {sums.day + 1, *tenants_->begin(), {}};
  return {sums.day, *tenant, {}};
}

bool UsageScan::take_sums(const UsageGroup& sums, const UsageRecord& usage) {
  UsageGroup group = group_of(sums, query_);
  const bool is_over = sums.day > query_.last_day || (beyond_ && group.day > beyond_->day);
  if (is_over) {
    next_.reset();
    return false;
  }
  if (tenants_ && !tenants_->contains(sums.tenant)) {
    next_ = next_wanted(sums);
    return false;
  }
  next_ = {sums.day, sums.tenant, sums.user + '\0'};
  if (!query_.user.empty() && sums.user != query_.user) return true;
  if (query_.by_tenant && shown_as_) group.tenant = *shown_as_;
  count(group, usage);
  return true;
}

bool UsageScan::read_slice(const Ledger& ledger) {
  for (int left = kSumsPerSlice; next_ && left > 0; left -= kSumsPerJump) {
    bool goes_on = true;
    ledger.visit_usage(*next_, [&](const UsageGroup& sums, const UsageRecord& usage) {
      goes_on = take_sums(sums, usage);
      return goes_on && --left > 0;
    });
    if (goes_on && left > 0) next_.reset();
  }
  return !next_;
}

UsageList UsageScan::take() {
  UsageList list;
  ByteBudget budget;
  list.more = beyond_.has_value();
  for (auto& [group, usage] : sums_) {
    UsageRow row{group, {}, std::move(usage)};
    if (const auto name = names_.find(group.tenant); name != names_.end())
      row.tenant = name->second;
    const std::size_t bytes = wire_bytes<wire::UsageRecord>(row.usage) + row.tenant.size() +
                              row.group.user.size() + kRowBytes;
    if (!budget.take(bytes)) {
      list.more = true;
      break;
    }
    list.rows.push_back(std::move(row));
  }
  return list;
}

}  // namespace fairwater::inline actors::inline coordinator
