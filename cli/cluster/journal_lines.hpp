// The journal's records as lines: `ledger journal` prints a record per line, `events` what happened
// in it, one thing per line.
#pragma once

#include <string>
#include <vector>

#include "cli/core/output.hpp"
#include "model/requests.hpp"

namespace fairwater::inline cli::inline cluster {

/// The tenants of a ledger.
[[nodiscard]] NameTable names_of(const LedgerView& ledger);
/// The name, or `tenant-7` and `node-7` for ids that the table does not have.
[[nodiscard]] std::string tenant_name(const NameTable& names, TenantId id);
[[nodiscard]] std::string node_name(const NameTable& names, NodeId id);
/// Amounts by name; zero and unlimited ones are left out.
[[nodiscard]] NamedAmounts named(const NameTable& names, const ResourceVector& amounts);

/// `{"cycle", "time", "kind", ..}` with everything that the record says, but for hashes of secrets.
[[nodiscard]] Json journal_json(const JournalRecord& record, const NameTable& names);
/// The same for people, on one line.
[[nodiscard]] std::string journal_text(const JournalRecord& record, const NameTable& names);

/// `{"cycle", "time", "kind", ..}` for each thing that happened: `task_granted`, `task_finished`,
/// `loan`, `repayment` and so on; other kinds are the record's own.
[[nodiscard]] std::vector<Json> events_json(const JournalRecord& record, const NameTable& names);
/// An event for people, on one line.
[[nodiscard]] std::string event_text(const Json& event);

}  // namespace fairwater::inline cli::inline cluster
