#include "actors/coordinator/name_directory.hpp"

namespace fairwater::inline actors::inline coordinator {

void NameDirectory::put(TenantId tenant, const std::string& name) {
  const std::lock_guard lock(mutex_);
  all_.tenants[tenant] = name;
}

void NameDirectory::put(NodeId node, const std::string& name, const std::string& address) {
  const std::lock_guard lock(mutex_);
  all_.nodes[node] = name;
  addresses_[node] = address;
}

void NameDirectory::remove(TenantId tenant) {
  const std::lock_guard lock(mutex_);
  all_.tenants.erase(tenant);
}

void NameDirectory::remove(NodeId node) {
  const std::lock_guard lock(mutex_);
  all_.nodes.erase(node);
  addresses_.erase(node);
}

std::string NameDirectory::name_of(NodeId node) const {
  const std::lock_guard lock(mutex_);
  const auto known = all_.nodes.find(node);
  return known == all_.nodes.end() ? std::string{} : known->second;
}

std::vector<GangHost> NameDirectory::hosts_of(const std::vector<GangPart>& gang) const {
  const std::lock_guard lock(mutex_);
  std::vector<GangHost> hosts;
  for (const GangPart& part : gang) {
    GangHost& host = hosts.emplace_back();
    if (const auto name = all_.nodes.find(part.node); name != all_.nodes.end())
      host.node = name->second;
    const auto address = addresses_.find(part.node);
    const bool is_told = address != addresses_.end() && !address->second.empty();
    host.address = is_told ? address->second : host.node;
    host.tasks = part.tasks;
  }
  return hosts;
}

}  // namespace fairwater::inline actors::inline coordinator
