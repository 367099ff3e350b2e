#include "storage/state.hpp"

#include <algorithm>
#include <set>
#include <vector>

namespace fairwater::inline storage {

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

/// What the accounts take for granted of what they are restored from.
void check_accounts(const AccountsSnapshot& accounts, Weight period) {
  check_ious(accounts.ious);
  Units sum = 0;
  for (const Account& account : accounts.tenants) sum += account.deficit;
  if (sum != 0)
    throw StorageFault(ErrorCode::storage_damaged,
                       "the deficits of all tenants add up to " + std::to_string(sum));
  std::int64_t rests = 0;
  for (const TimeAccount& account : accounts.time.accounts) rests += account.rest;
  if (rests != 0)
    throw StorageFault(
        ErrorCode::storage_damaged,
        "what is left of all tenants' settlements adds up to " + std::to_string(rests));
  const TimeSnapshot& time = accounts.time;
  if (time.resource >= kMaxResources || time.decayed_ms < 0 || time.decayed_ms > time.settled_ms)
    throw StorageFault(ErrorCode::storage_damaged,
                       "time is counted of resource " + std::to_string(time.resource) +
                           ", and debts shrank up to " + std::to_string(time.decayed_ms) + " of " +
                           std::to_string(time.settled_ms) + " ms");
  if (accounts.position != 0 && accounts.position >= static_cast<std::uint64_t>(period))
    throw StorageFault(ErrorCode::storage_damaged, "the sequence stands at " +
                                                       std::to_string(accounts.position) +
                                                       " of a period of " + std::to_string(period));
  for (const auto& [node, reservation] : accounts.reservations) {
    const TenantId holder = reservation.tenant;
    const auto is_holder = [&](const Account& account) { return account.tenant == holder; };
    if (std::none_of(accounts.tenants.begin(), accounts.tenants.end(), is_holder))
      throw StorageFault(
          ErrorCode::storage_damaged,
          "node " + std::to_string(node.value) + " keeps room for a tenant that does not exist");
  }
}

LedgerMeta read_meta(const StateView& view) {
  const auto bytes = view.get(Family::meta, kMetaKey);
  return bytes ? decode_stored<LedgerMeta>(Family::meta, kMetaKey, *bytes) : LedgerMeta{};
}

}  // namespace

AccountsSnapshot read_accounts(const StateView& view) {
  AccountsSnapshot accounts;
  const LedgerMeta meta = read_meta(view);
  accounts.position = meta.position;
  accounts.last_iou_age = std::max<std::uint64_t>(meta.next_iou_age, 1) - 1;
  accounts.time.now_ms = accounts.time.settled_ms = meta.ledger_ms;
  accounts.time.decayed_ms = meta.ledger_ms - meta.undecayed_ms;
  accounts.time.resource = meta.time_resource;
  std::vector<TenantRecord> tenants;
  TenantNesting::Specs specs;
  view.scan(Family::tenants, [&](std::string_view key, std::string_view bytes) {
    tenants.push_back(decode_stored<TenantRecord>(Family::tenants, key, bytes));
    specs.emplace(tenants.back().id, tenants.back().spec);
  });
  const TenantNesting nesting(std::move(specs));
  for (const TenantRecord& tenant : tenants) {
    if (nesting.has_tenants(tenant.id)) continue;
    accounts.tenants.push_back({tenant.id, tenant.deficit, tenant.repay_remainder_millionths,
                                tenant.forgiven_total, tenant.credit});
    if (meta.ledger_ms > 0) {
      TimeAccount& account = accounts.time.accounts.emplace_back();
      account.tenant = tenant.id;
      account.rest = tenant.time_rest;
      account.held_total = tenant.held_total.micro();
      account.part_total = tenant.part_total.micro();
    }
  }
  Weight period = 0;
  for (const auto& [tenant, weight] : nesting.members()) period += weight;
  view.scan(Family::balances, [&](std::string_view key, std::string_view bytes) {
    const auto iou = decode_stored<IouRecord>(Family::balances, key, bytes);
    accounts.ious.push_back({from_big_endian<std::uint32_t>(key),
                             from_big_endian<std::uint32_t>(key.substr(4)), iou.units, iou.age,
                             iou.rest});
  });
  view.scan(Family::reservations, [&](std::string_view key, std::string_view bytes) {
    accounts.reservations.emplace(NodeId{from_big_endian<std::uint32_t>(key)},
                                  decode_stored<Reservation>(Family::reservations, key, bytes));
  });
  check_accounts(accounts, period);
  return accounts;
}

State::State(const StateView& view)
    : meta(read_meta(view)),
      balances(view, Family::balances),
      tenants(view, Family::tenants),
      nodes(view, Family::nodes),
      jobs(view, Family::jobs),
      tasks(view, Family::tasks),
      live(view, Family::live),
      tokens(view, Family::tokens),
      classes(view, Family::classes),
      tenant_jobs(view, Family::tenant_jobs),
      reservations(view, Family::reservations),
      class_jobs(view, Family::class_jobs),
      requests(view, Family::requests),
      users(view, Family::users),
      usage(view, Family::usage) {
  accounts.follow_tree(nesting().members(), {});
  accounts.restore(read_accounts(view));
  (void)accounts.take_changes();
}

TenantNesting State::nesting() const {
  TenantNesting::Specs specs;
  for (auto& [key, tenant] : tenants.all()) specs.emplace(tenant.id, tenant.spec);
  return TenantNesting(std::move(specs));
}

void State::store_accounts() {
  const Accounts::Changes& changes = accounts.take_changes();
  for (const TenantId id : changes.tenants) {
    if (!accounts.has(id)) continue;
    TenantRecord& tenant = *tenants.edit(key_of(id));
    tenant.deficit = accounts.account(id).deficit;
    tenant.repay_remainder_millionths = accounts.account(id).repay_remainder_millionths;
    tenant.forgiven_total = accounts.account(id).forgiven_total;
    tenant.credit = accounts.account(id).credit;
    const TimeAccount time = accounts.time().account(id);
    tenant.time_rest = time.rest;
    tenant.held_total = UnitTime::of(time.held_total);
    tenant.part_total = UnitTime::of(time.part_total);
  }
  for (const IouBook::Iou& iou : changes.ious) {
    const std::string key = balance_key(iou.debtor, iou.creditor);
    if (iou.units == 0)
      balances.erase(key);
    else
      balances.put(key, {iou.units, iou.age, iou.rest});
  }
  for (const NodeId node : changes.nodes) {
    if (const Reservation* kept = accounts.reservation(node))
      reservations.put(key_of(node), *kept);
    else
      reservations.erase(key_of(node));
  }
  meta.position = accounts.position();
  meta.ledger_ms = accounts.time().settled_ms();
  meta.time_resource = accounts.time().resource();
  meta.undecayed_ms = meta.ledger_ms - accounts.time().decayed_ms();
  meta.next_iou_age = accounts.book().last_age() + 1;
}

void State::write_changes(const ChangeSink& sink) {
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
  reservations.write_changes(sink);
  class_jobs.write_changes(sink);
  requests.write_changes(sink);
  users.write_changes(sink);
  usage.write_changes(sink);
}

void State::hold() {
  balances.hold();
  tenants.hold();
  nodes.hold();
  jobs.hold();
  tasks.hold();
  live.hold();
  tokens.hold();
  classes.hold();
  tenant_jobs.hold();
  reservations.hold();
  class_jobs.hold();
  requests.hold();
  users.hold();
  usage.hold();
}

void State::stored() {
  balances.stored();
  tenants.stored();
  nodes.stored();
  jobs.stored();
  tasks.stored();
  live.stored();
  tokens.stored();
  classes.stored();
  tenant_jobs.stored();
  reservations.stored();
  class_jobs.stored();
  requests.stored();
  users.stored();
  usage.stored();
}

}  // namespace fairwater::inline storage
