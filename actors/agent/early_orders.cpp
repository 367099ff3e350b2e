#include "actors/agent/early_orders.hpp"

#include <algorithm>
#include <utility>

#include "schema/byte_budget.hpp"
#include "schema/codec.hpp"
#include "schema/fields/agent.hpp"
#include "schema/fields/convert.hpp"

namespace fairwater::inline actors::inline agent {
namespace {

std::size_t bytes_of(const AgentOrders& orders) {
  std::size_t bytes = orders.stops.size() * sizeof(StopOrder);
  for (const LaunchOrder& order : orders.launches) bytes += wire_bytes<wire::LaunchOrder>(order);
  for (const JobMembers& members : orders.members) bytes += wire_bytes<wire::JobMembers>(members);
  return bytes;
}

}  // namespace

std::uint64_t newest_epoch(const AgentOrders& orders) {
  std::uint64_t newest = 0;
  for (const LaunchOrder& order : orders.launches) newest = std::max(newest, order.epoch);
  for (const StopOrder& order : orders.stops) newest = std::max(newest, order.epoch);
  for (const JobMembers& members : orders.members) newest = std::max(newest, members.epoch);
  return newest;
}

void EarlyOrders::keep(const AgentOrders& orders) {
  const std::size_t bytes = bytes_of(orders);
  if (bytes_ + bytes > kMaxBytes) return;
  bytes_ += bytes;
  orders_.push_back(orders);
}

std::vector<AgentOrders> EarlyOrders::take() {
  bytes_ = 0;
  return std::exchange(orders_, {});
}

}  // namespace fairwater::inline actors::inline agent
