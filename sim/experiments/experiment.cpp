#include "sim/experiments/experiment.hpp"

#include <array>

#include <fmt/format.h>

namespace fairwater::sim::inline experiments {
namespace {

constexpr std::array kVerdicts{Verdict::holds, Verdict::holds_in_part, Verdict::does_not_hold,
                               Verdict::measured_only};

/// `3 claims: 2 holds, 1 does not hold.`
std::string verdict_counts(const std::vector<Claim>& claims) {
  std::string counts;
  for (const Verdict verdict : kVerdicts) {
    std::size_t count = 0;
    for (const Claim& claim : claims) count += claim.verdict == verdict ? 1 : 0;
    if (count == 0) continue;
    counts += fmt::format("{}{}: {}", counts.empty() ? "" : ", ", to_string(verdict), count);
  }
  return fmt::format("Claims by verdict: {}.", counts.empty() ? "there are none" : counts);
}

/// What Markdown would take for its own stands as it is written.
std::string markdown(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|' || c == '<' || c == '*' || c == '\\' || c == '`') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds:
      return "holds";
    case Verdict::holds_in_part:
      return "holds in part";
    case Verdict::does_not_hold:
      return "does not hold";
    default:
      return "measured only";
  }
}

Page to_page(const ExperimentReport& report) {
  Page page{.title = report.title, .summary = verdict_counts(report.claims), .items = {}};
  Table claims{.title = "Claims", .columns = {"paper", "claim", "measured", "verdict"}, .rows = {}};
  for (const Claim& claim : report.claims)
    claims.rows.push_back(
        {claim.paper, claim.statement, claim.measured, std::string{to_string(claim.verdict)}});
  page.items.emplace_back(std::move(claims));
  if (!report.assumptions.empty()) page.items.emplace_back(Heading{"Assumptions"});
  for (const std::string& assumption : report.assumptions)
    page.items.emplace_back(Paragraph{assumption});
  page.items.insert(page.items.end(), report.items.begin(), report.items.end());
  return page;
}

Page overview_page(const std::vector<Reproduction>& reproductions) {
  Table table{.title = "Claims",
              .columns = {"experiment", "paper", "claim", "measured", "verdict"},
              .rows = {}};
  std::vector<Claim> all;
  for (const auto& [name, report] : reproductions) {
    if (!report) {
      table.rows.push_back({name, "", "", "", "skipped: needs traces"});
      table.links.emplace_back();
      continue;
    }
    for (const Claim& claim : report->claims) {
      table.rows.push_back({name, claim.paper, claim.statement, claim.measured,
                            std::string{to_string(claim.verdict)}});
      table.links.push_back(name + ".html");
    }
    all.insert(all.end(), report->claims.begin(), report->claims.end());
  }
  return {.title = "What papers claim, and what comes out",
          .summary = verdict_counts(all),
          .items = {std::move(table)}};
}

std::vector<std::string> markdown_rows(std::string_view name, const ExperimentReport& report) {
  std::vector<std::string> rows;
  for (const Claim& claim : report.claims) {
    const std::string statement =
        claim.paper.empty() ? claim.statement : claim.paper + ": " + claim.statement;
    rows.push_back(fmt::format("| {} | {} | {} | {} |", name, markdown(statement),
                               markdown(claim.measured), to_string(claim.verdict)));
  }
  return rows;
}

}  // namespace fairwater::sim::inline experiments
