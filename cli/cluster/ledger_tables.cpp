#include "cli/cluster/ledger_tables.hpp"

#include <set>

#include <fmt/format.h>

#include "cli/cluster/journal_lines.hpp"
#include "cli/cluster/measure_text.hpp"
#include "cli/core/output.hpp"

namespace fairwater::inline cli::inline cluster {
namespace {

/// Who owes or is owed what, in all. Those in one that has tenants have the accounts.
std::string nets_table(const LedgerView& ledger) {
  std::set<std::string> parents;
  for (const auto& tenant : ledger.tenants) parents.insert(tenant.spec.parent);
  const bool counts_units = ledger.measure.accounting == Accounting::units;
  std::vector<Column> columns{{"TENANT"}, {"NET", Align::right}};
  if (counts_units) {
    columns.push_back({"BORROWED", Align::right});
    columns.push_back({"LENT", Align::right});
  }
  Table nets{columns};
  for (const auto& tenant : ledger.tenants) {
    const auto found = ledger.net.find(tenant.id);
    const Units net = found == ledger.net.end() ? 0 : found->second;
    const bool has_account = net != 0 || !parents.contains(tenant.spec.name);
    std::vector<std::string> row{tenant.spec.name,
                                 has_account ? signed_balance_text(net, ledger.measure) : "-"};
    if (counts_units) {
      row.push_back(std::to_string(tenant.borrowed_total));
      row.push_back(std::to_string(tenant.lent_total));
    }
    nets.add_row(row);
  }
  return nets.str();
}

}  // namespace

std::string ledger_text(const LedgerView& ledger) {
  std::string text = fmt::format("cycle {}, sequence at {}\n", ledger.cycle, ledger.position);
  if (ledger.counts_time_since)
    text += fmt::format("counts time since {}; {}\n", table_time(ledger.counts_time_since),
                        ledger.unit_ms_per_unit == 0
                            ? "what was owed in units was forgiven"
                            : "each unit that was owed became " +
                                  balance_text(ledger.unit_ms_per_unit, ledger.measure));
  text += fmt::format("\n{}\n", nets_table(ledger));
  const NameTable names = names_of(ledger);
  for (const auto& iou : ledger.ious)
    text += fmt::format("{} owes {} {}\n", tenant_name(names, TenantId{iou.debtor}),
                        tenant_name(names, TenantId{iou.creditor}),
                        ledger.measure.accounting == Accounting::units
                            ? counted(static_cast<std::uint64_t>(iou.units), "unit")
                            : balance_text(iou.units, ledger.measure));
  return text + (ledger.ious.empty() ? "nobody owes anything\n" : "");
}

std::string forgiven_text(const ForgiveDebt& wanted, const DebtsForgiven& forgiven) {
  const auto text_of = [&](Units units) {
    return forgiven.measure.accounting == Accounting::units
               ? counted(static_cast<std::uint64_t>(units), "unit")
               : balance_text(units, forgiven.measure);
  };
  std::string text;
  for (const auto& share : forgiven.shares)
    text += printable(fmt::format("{} is forgiven {} that it owes {}", wanted.debtor,
                                  text_of(share.units), share.creditor)) +
            "\n";
  const std::string left = forgiven.left == 0 ? "nothing" : text_of(forgiven.left);
  text += printable(fmt::format("{} owes {} then", wanted.debtor, left)) + "\n";
  return text + (wanted.dry_run ? "dry run: nothing was changed\n" : "");
}

std::string verify_text(const VerifyReport& report) {
  const std::string after =
      report.begins_after == 0
          ? ""
          : fmt::format(" after record {}, which stands in the archive", report.begins_after);
  std::string text =
      fmt::format("ledger verify: {} ({}{}, nets sum to {})\n", report.ok ? "ok" : "DIFFERENCES",
                  counted(report.records, "journal record"), after, report.net_sum);
  for (const auto& difference : report.differences) text += "  " + printable(difference) + "\n";
  return text;
}

std::string backup_text(const std::string& directory, const LedgerBackup& backup) {
  const LedgerMark& end = backup.manifest.end;
  return paragraph({
      {"backup", directory + ", verified"},
      {"ends at", fmt::format("cycle {} of incarnation {}, {}", end.number, end.incarnation,
                              table_time(backup.manifest.recorded))},
      {"hash", to_hex(end.hash.value_or(Hash{}))},
      {"size", fmt::format("{} bytes", backup.bytes)},
      {"took", fmt::format("{:.1f} s", static_cast<double>(backup.took_ms) / 1000)},
  });
}

std::string standing_text(const LedgerStanding& standing) {
  std::string awaited;
  for (const auto& node : standing.awaited) awaited += (awaited.empty() ? "" : ", ") + node;
  std::string text = paragraph({
      {"trusted", standing.trusted ? "yes" : "NO: " + standing.why},
      {"ledger", fmt::format("ends at cycle {} of incarnation {}", standing.end.number,
                             standing.end.incarnation)},
      {"awaited", awaited},
  });
  for (const auto& doubt : standing.doubts)
    text += printable(
                fmt::format("{}: node {} {}", table_time(doubt.since), doubt.node, doubt.reason)) +
            "\n";
  // Nodes that are waited for, or that doubt, mean that a newer copy may exist. Else somebody has
  // vouched for this one already.
  const bool may_be_older = !standing.awaited.empty() || !standing.doubts.empty();
  if (!standing.trusted && !may_be_older)
    text += "There is nothing to do but wait: it grants once these leases are over.\n";
  if (!standing.trusted && may_be_older)
    text +=
        "Bring the newest copy of the ledger back and start the coordinator on it. When there is "
        "none:\n  fairwater ledger trust --reason TEXT\ngoes on from here and gives up what is "
        "missing.\n";
  return text;
}

}  // namespace fairwater::inline cli::inline cluster
