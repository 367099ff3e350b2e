#include "rpc/pages.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "rpc/wire.hpp"
#include "schema/byte_budget.hpp"

namespace fairwater::inline rpc {
namespace {

constexpr std::size_t kLedgerBudgetBytes = 4 * kMessageBudgetBytes;
/// An IOU's and a net position's size is fixed: with the list's overhead.
constexpr std::size_t kIouBytes = 24;
constexpr std::size_t kNetBytes = 16;
/// The name of the one whom the caller owes or is owed by: at most 63 bytes and a zero, with its
/// id.
constexpr std::size_t kNameBytes = 80;

std::pair<std::uint32_t, std::uint32_t> place_of(const IouBook::Iou& iou) {
  return {iou.debtor, iou.creditor};
}

/// Of records in the order of their ids, leaves those after the one with this id that fit. True
/// when there are more.
template <class Wire, class Value, class Id>
bool keep_page(std::vector<Value>& records, Id after) {
  const auto begin =
      std::partition_point(records.begin(), records.end(),
                           [after](const Value& value) { return !(after < value.record.id); });
  const auto first = static_cast<std::size_t>(begin - records.begin());
  const auto end = begin + static_cast<std::ptrdiff_t>(count_fitting<Wire>(records, first));
  const bool more = end != records.end();
  records.erase(end, records.end());
  records.erase(records.begin(), begin);
  return more;
}

}  // namespace

TenantList page_after(TenantList list, TenantId after) {
  list.more = keep_page<wire::TenantInfo>(list.tenants, after) || list.more;
  return list;
}

NodeList page_after(NodeList list, NodeId after) {
  list.more = keep_page<wire::NodeInfo>(list.nodes, after) || list.more;
  return list;
}

JobDetail first_page(JobDetail detail) {
  const auto count = count_fitting<wire::TaskInfo>(detail.tasks);
  if (count == detail.tasks.size()) return detail;
  detail.tasks.resize(count);
  detail.more = true;
  return detail;
}

LedgerView page_after(const LedgerView& ledger, const LedgerCursor& cursor) {
  LedgerView page;
  page.cycle = ledger.cycle;
  page.position = ledger.position;
  page.measure = ledger.measure;
  page.counts_time_since = ledger.counts_time_since;
  page.unit_ms_per_unit = ledger.unit_ms_per_unit;
  ByteBudget budget(kLedgerBudgetBytes);
  for (const auto& tenant : ledger.tenants) {
    if (tenant.id <= cursor.tenant) continue;
    page.more = !budget.take(wire_bytes<wire::TenantRecord>(tenant) + kNetBytes);
    if (page.more) return page;
    page.tenants.push_back(tenant);
    const auto net = ledger.net.find(tenant.id);
    if (net != ledger.net.end()) page.net.insert(*net);
  }
  // With the last tenants, all others that have a position.
  page.net.insert(ledger.net.upper_bound(cursor.tenant), ledger.net.end());
  // Only a tenant's view names others; the operator's shows all of them.
  const std::size_t iou_bytes = kIouBytes + (ledger.counterparties.empty() ? 0 : kNameBytes);
  for (const auto& iou : ledger.ious) {
    if (place_of(iou) <= std::pair{cursor.debtor, cursor.creditor}) continue;
    page.more = !budget.take(iou_bytes);
    if (page.more) return page;
    page.ious.push_back(iou);
    for (const std::uint32_t partner : {iou.debtor, iou.creditor})
      if (const auto name = ledger.counterparties.find(TenantId{partner});
          name != ledger.counterparties.end())
        page.counterparties.insert(*name);
  }
  return page;
}

LedgerCursor cursor_behind(const LedgerView& ledger) {
  LedgerCursor cursor;
  if (!ledger.tenants.empty()) cursor.tenant = ledger.tenants.back().id;
  if (!ledger.ious.empty()) std::tie(cursor.debtor, cursor.creditor) = place_of(ledger.ious.back());
  return cursor;
}

}  // namespace fairwater::inline rpc
