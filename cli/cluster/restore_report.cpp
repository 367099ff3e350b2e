#include "cli/cluster/restore_report.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "cli/cluster/journal_lines.hpp"

namespace fairwater::inline cli::inline cluster {
namespace {

constexpr std::uint64_t kWindow = 1000;

bool gives_all_up(const LedgerTrusted& beginning) {
  return beginning.given_up == ~std::uint64_t{0};
}

/// `stopped`, `ended`, or `runs_again`, as JSON has it.
const char* outcome_of(const ReportedTask& task) {
  if (!task.result) return "runs_again";
  return task.result->reason == EndReason::cancelled ? "stopped" : "ended";
}

std::string outcome_text(const ReportedTask& task) {
  if (!task.result) return "runs again: what became of it is not known";
  if (task.result->reason == EndReason::cancelled) return "still ran, and was stopped";
  return fmt::format("had ended: {} with status {}", to_string(task.result->reason),
                     task.result->exit_code);
}

/// Records `from` to `to`, in as many answers as they take.
Expected<JournalPage> read_window(Client& client, std::uint64_t from, std::uint64_t to) {
  JournalPage window;
  while (from <= to) {
    auto page = client.journal(from, static_cast<std::uint32_t>(to - from + 1), 0);
    if (!page) return page.error();
    // The oldest that is kept may come after all of these.
    std::erase_if(page->records, [to](const auto& record) { return record.number > to; });
    if (page->records.empty()) break;
    from = page->records.back().number + 1;
    std::move(page->records.begin(), page->records.end(), std::back_inserter(window.records));
    window.names.nodes.merge(page->names.nodes);
  }
  return window;
}

}  // namespace

bool add_page(RestoreReport& report, const JournalPage& page) {
  std::vector<ReportedTask> tasks;
  bool is_before = true;
  for (const JournalRecord& record : page.records) {
    if (const auto* trusted = std::get_if<LedgerTrusted>(&record.body)) {
      report.cycle = record.number;
      report.time = record.time;
      report.beginning = *trusted;
      tasks.clear();  // an earlier life's
      is_before = false;
    } else if (const auto* disowned = std::get_if<TasksDisowned>(&record.body)) {
      for (const auto& result : disowned->results)
        tasks.push_back({record.time, node_name(page.names, disowned->node), result.task, result});
    } else if (const auto* requeued = std::get_if<TasksRequeued>(&record.body)) {
      if (requeued->reason != kReturnedFromLostLife) continue;
      for (const auto& task : requeued->tasks)
        tasks.push_back({record.time, node_name(page.names, requeued->node), task, std::nullopt});
    }
  }
  std::move(report.tasks.begin(), report.tasks.end(), std::back_inserter(tasks));
  report.tasks = std::move(tasks);
  return is_before;
}

Expected<std::optional<RestoreReport>> read_restore_report(Client& client) {
  const auto standing = client.ledger_standing();
  if (!standing) return standing.error();
  if (standing->end.incarnation == 0) return std::optional<RestoreReport>{};
  RestoreReport report;
  for (std::uint64_t to = standing->end.number; to > 0;) {
    const std::uint64_t from = to > kWindow ? to - kWindow + 1 : 1;
    const auto page = read_window(client, from, to);
    if (!page) return page.error();
    if (page->records.empty() || !add_page(report, *page)) break;
    to = from - 1;
  }
  if (report.cycle == 0)
    return make_error(ErrorCode::not_found,
                      "this ledger was taken back, and the record of it is not kept any more");
  return std::optional(std::move(report));
}

std::string restore_text(const std::optional<RestoreReport>& report) {
  if (!report) return "this ledger was never taken back\n";
  const LedgerTrusted& beginning = report->beginning;
  std::string text = printable(fmt::format("taken back with cycle {} of {}: {}", report->cycle,
                                           table_time(report->time), beginning.reason)) +
                     "\n";
  text += gives_all_up(beginning)
              ? "given up: all that had followed\n"
              : fmt::format("given up: what had followed, up to cycle {}\n", beginning.given_up);
  text += fmt::format("incarnation {}; {} job ids and {} tenants' numbers are left out\n",
                      beginning.incarnation, beginning.skipped_jobs, beginning.skipped_tenants);
  if (report->tasks.empty()) return text + "no node had any task of the life that was lost\n";
  Table table({{"TASK"}, {"NODE"}, {"WHAT BECAME OF IT"}});
  for (const auto& task : report->tasks)
    table.add_row({text_of(task.task), task.node, outcome_text(task)});
  return text + table.str();
}

Json restore_json(const std::optional<RestoreReport>& report) {
  if (!report) return Json{{"restored", nullptr}, {"tasks", Json::array()}};
  const LedgerTrusted& beginning = report->beginning;
  Json tasks = Json::array();
  for (const auto& task : report->tasks) {
    Json json{{"task", text_of(task.task)},  {"job", task.task.job.value},
              {"index", task.task.index},    {"node", task.node},
              {"outcome", outcome_of(task)}, {"time", json_time(task.time)}};
    json["reason"] = task.result ? Json(to_string(task.result->reason)) : Json(nullptr);
    json["exit_code"] = task.result ? Json(task.result->exit_code) : Json(nullptr);
    tasks.push_back(std::move(json));
  }
  return Json{
      {"restored",
       Json{{"cycle", report->cycle},
            {"time", json_time(report->time)},
            {"incarnation", beginning.incarnation},
            {"given_up_cycle", gives_all_up(beginning) ? Json(nullptr) : Json(beginning.given_up)},
            {"skipped_jobs", beginning.skipped_jobs},
            {"skipped_tenants", beginning.skipped_tenants},
            {"reason", beginning.reason}}},
      {"tasks", std::move(tasks)}};
}

}  // namespace fairwater::inline cli::inline cluster
