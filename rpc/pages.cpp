#include "rpc/pages.hpp"

#include <utility>

namespace fairwater {
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

}  // namespace

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

}  // namespace fairwater
