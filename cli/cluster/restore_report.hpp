// What became of the tasks of a life of the ledger that was lost, from the journal of the one that
// went on: `ledger restored`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/core/output.hpp"
#include "model/requests.hpp"
#include "rpc/client.hpp"

namespace fairwater::inline cli::inline cluster {

struct ReportedTask {
  WallTime time;
  std::string node;
  TaskKey task;
  std::optional<TaskResult> result;  ///< none: what became of it is not known, it runs again
};
struct RestoreReport {
  std::uint64_t cycle = 0;  ///< of the record with which the present life began
  WallTime time;
  LedgerTrusted beginning;
  std::vector<ReportedTask> tasks;  ///< in the journal's order
};

/// Adds the page's part. Pages come from the journal's end backwards; false when one held the
/// beginning and nothing before it counts.
[[nodiscard]] bool add_page(RestoreReport& report, const JournalPage& page);
/// The report of the newest life; none when it is the ledger's first. O(records since it began).
[[nodiscard]] Expected<std::optional<RestoreReport>> read_restore_report(Client& client);

[[nodiscard]] std::string restore_text(const std::optional<RestoreReport>& report);
[[nodiscard]] Json restore_json(const std::optional<RestoreReport>& report);

}  // namespace fairwater::inline cli::inline cluster
