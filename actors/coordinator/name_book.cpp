#include "actors/coordinator/name_book.hpp"

namespace fairwater {

void NameBook::put(TenantId tenant, const std::string& name) {
  const std::lock_guard lock(mutex_);
  all_.tenants[tenant] = name;
}

void NameBook::put(NodeId node, const std::string& name) {
  const std::lock_guard lock(mutex_);
  all_.nodes[node] = name;
}

void NameBook::remove(TenantId tenant) {
  const std::lock_guard lock(mutex_);
  all_.tenants.erase(tenant);
}

void NameBook::remove(NodeId node) {
  const std::lock_guard lock(mutex_);
  all_.nodes.erase(node);
}

std::string NameBook::name_of(NodeId node) const {
  const std::lock_guard lock(mutex_);
  const auto known = all_.nodes.find(node);
  return known == all_.nodes.end() ? std::string{} : known->second;
}

}  // namespace fairwater
