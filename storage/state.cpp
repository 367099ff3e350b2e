#include "storage/state.hpp"

#include <algorithm>
#include <set>
#include <vector>

namespace fairwater {

std::string printable_key(std::string_view key) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "0x";
  for (const char byte : key) {
    text += kDigits[static_cast<std::uint8_t>(byte) >> 4];
    text += kDigits[static_cast<std::uint8_t>(byte) & 15];
  }
  return text;
}

namespace {

/// What the book takes for granted: positive, to another, and nobody on both sides.
void check_ious(const std::vector<IouBook::Iou>& ious) {
  std::set<std::uint32_t> debtors;
  for (const IouBook::Iou& iou : ious) debtors.insert(iou.debtor);
  for (const IouBook::Iou& iou : ious)
    if (iou.units <= 0 || debtors.contains(iou.creditor))
      throw StorageFault(ErrorCode::storage_damaged,
                         "the IOU of tenant " + std::to_string(iou.debtor) + " to tenant " +
                             std::to_string(iou.creditor) +
                             " is not positive, or its creditor owes to others");
}

}  // namespace

State::State(const StateView& view)
    : balances(view, Family::balances),
      tenants(view, Family::tenants),
      nodes(view, Family::nodes),
      jobs(view, Family::jobs),
      tasks(view, Family::tasks),
      live(view, Family::live),
      tokens(view, Family::tokens),
      classes(view, Family::classes),
      tenant_jobs(view, Family::tenant_jobs) {
  if (const auto bytes = view.get(Family::meta, kMetaKey))
    meta = decode_stored<LedgerMeta>(Family::meta, kMetaKey, *bytes);
  std::vector<IouBook::Iou> ious;
  for (const auto& [key, iou] : balances.all())
    ious.push_back({from_big_endian<std::uint32_t>(key),
                    from_big_endian<std::uint32_t>(std::string_view(key).substr(4)), iou.units,
                    iou.age});
  check_ious(ious);
  std::sort(ious.begin(), ious.end(), [](const auto& a, const auto& b) { return a.age < b.age; });
  for (const IouBook::Iou& iou : ious) {
    book.restore(iou);
    book_ages[{iou.debtor, iou.creditor}] = iou.age;
  }
  (void)book.take_changes();
  for (const auto& [key, tenant] : tenants.all()) weight_sum += tenant.spec.weight;
}

void State::write_changes(const ChangeSink& sink) const {
  sink(Family::meta, kMetaKey, to_bytes(meta));
  balances.write_changes(sink);
  tenants.write_changes(sink);
  nodes.write_changes(sink);
  jobs.write_changes(sink);
  tasks.write_changes(sink);
  live.write_changes(sink);
  tokens.write_changes(sink);
  classes.write_changes(sink);
  tenant_jobs.write_changes(sink);
}

void State::forget() {
  balances.forget();
  tenants.forget();
  nodes.forget();
  jobs.forget();
  tasks.forget();
  live.forget();
  tokens.forget();
  classes.forget();
  tenant_jobs.forget();
}

}  // namespace fairwater
