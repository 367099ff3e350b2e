#include "cli/cluster/mark_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/cluster/journal_lines.hpp"
#include "cli/cluster/measure_text.hpp"

namespace fairwater::inline cli::inline cluster {
namespace {

/// Of more debtors or creditors, a line says what they come to.
constexpr std::size_t kMaxMovesShown = 10;

double units_of(MicroUnits micro) { return static_cast<double>(micro) / kMicroUnitsPerUnit; }

/// What a task would hold beyond its tenant's part.
MicroUnits beyond_part(const ExplainedMark& mark, const NextTask& next) {
  return std::max<MicroUnits>(0, mark.held + next.cost - mark.part);
}

/// Unit-milliseconds of credit that it takes.
Units credit_needed(const ExplainedMark& mark, const NextTask& next) {
  const Wide needed = Wide{beyond_part(mark, next)} * next.expected_ms;
  return static_cast<Units>((needed + kMicroUnitsPerUnit - 1) / kMicroUnitsPerUnit);
}

/// Beyond its part and its quota it has a claim by its credit alone.
bool needs_credit(const ExplainedMark& mark, const NextTask& next) {
  return mark.held + next.cost > mark.base;
}

const char* source_name(const NextTask& next) {
  if (next.expected_ms == 0) return "unknown";
  switch (next.expected_from) {
    case PredictionSource::task_class:
      return "class";
    case PredictionSource::tenant:
      return "tenant";
    case PredictionSource::limit:
      break;
  }
  return "limit";
}

/// Alike are tasks of a class, or of a name where jobs have no class, or that have neither.
const char* source_words(PredictionSource source) {
  switch (source) {
    case PredictionSource::task_class:
      return "as the last ones like it took";
    case PredictionSource::tenant:
      return "as the tenant's last tasks took: none like it has ended";
    case PredictionSource::limit:
      break;
  }
  return "its time limit: no task of the tenant has ended";
}

class MarkText {
 public:
  explicit MarkText(const Explanation& explanation)
      : mark_(*explanation.mark), names_(explanation.names), measure_(explanation.measure) {
    tenant_ = tenant_name(names_, explanation.job.tenant);
  }

  std::string run() {
    const std::string resource =
        mark_.resource < names_.resources.size() ? names_.resources[mark_.resource] : "?";
    text_ =
        fmt::format("what {} may hold with a claim, in {} (time is counted of {}, the scarcest):\n",
                    tenant_, cores_name(measure_, resource), resource);
    total(mark_.part, "its part");
    add(mark_.base - mark_.part, "its quota is more: others leave that much idle");
    moves();
    total(mark_.mark, fmt::format("its mark; it holds {:.3f}", cores(mark_.held)));
    if (mark_.next) next(*mark_.next);
    return std::move(text_);
  }

 private:
  [[nodiscard]] double cores(MicroUnits micro) const { return cores_of(micro, measure_); }
  [[nodiscard]] std::string balance(Units units) const { return balance_text(units, measure_); }

  void total(MicroUnits micro, const std::string& words) {
    text_ += fmt::format("  {:>9.3f}  {}\n", cores(micro), words);
  }
  void add(MicroUnits micro, const std::string& words) {
    if (micro != 0) text_ += fmt::format("  {:>+9.3f}  {}\n", cores(micro), words);
  }

  void moves() {
    const int sign = mark_.net > 0 ? 1 : -1;
    MicroUnits others = 0;
    for (std::size_t i = 0; i < mark_.moves.size(); ++i) {
      const MarkMove& move = mark_.moves[i];
      if (i >= kMaxMovesShown)
        others += move.moved;
      else
        text_ += fmt::format("  {:>+9.3f}  {}\n", sign * cores(move.moved), words_of(move));
    }
    add(sign * others, fmt::format("by {} others", mark_.moves.size() - std::min(mark_.moves.size(),
                                                                                 kMaxMovesShown)));
  }

  [[nodiscard]] std::string words_of(const MarkMove& move) const {
    const std::string other = tenant_name(names_, move.other);
    std::string words = fmt::format(
        "{}: {}, times {} of {} that it owes",
        mark_.net > 0 ? "from " + other + ", which owes it" : "to " + other + ", which it owes",
        words_of_part(move), balance(move.owed), balance(move.debtor_owes));
    if (move.moved == move.due) return words;
    return words + (move.moved == 0
                        ? fmt::format("; not now: {:.3f} would be due", cores(move.due))
                        : fmt::format("; of {:.3f}, what credit covers", cores(move.due)));
  }

  [[nodiscard]] std::string words_of_part(const MarkMove& move) const {
    const MicroUnits beyond_min = move.debtor_part - move.kept_for_min;
    const Wide repaid = Wide{move.debtor_part} * move.repay_millionths / kMicroUnitsPerUnit;
    if (beyond_min < repaid)
      return fmt::format("{:.3f} of the debtor's part of {:.3f}, all but what it keeps for a min",
                         cores(beyond_min), cores(move.debtor_part));
    return fmt::format("{:g} (repay) of the debtor's part of {:.3f}", move.repay_millionths / 1e6,
                       cores(move.debtor_part));
  }

  void next(const NextTask& next) {
    text_ += fmt::format("its next task, job {} task {}, asks for {:.3f}", next.job.value,
                         next.index, cores(next.cost));
    if (!needs_credit(mark_, next)) {
      text_ += ": within its part or quota, it needs no credit\n";
      return;
    }
    text_ += fmt::format(", which goes {:.3f} beyond its part: ", cores(beyond_part(mark_, next)));
    if (mark_.net <= 0)
      text_ += "not covered, nobody owes the tenant anything\n";
    else if (next.expected_ms == 0)
      text_ += fmt::format(
          "not covered, for nobody knows how long it runs (no task of the tenant has ended, and it "
          "has no time limit); the credit is {}\n",
          balance(mark_.net));
    else
      text_ += fmt::format("for {} ({}) that takes {} of a credit of {}: {}\n",
                           format_duration_ms(next.expected_ms), source_words(next.expected_from),
                           balance(credit_needed(mark_, next)), balance(mark_.net),
                           next.is_covered ? "covered" : "not covered");
  }

  const ExplainedMark& mark_;
  const NameTable& names_;
  const LedgerMeasure& measure_;
  std::string tenant_;
  std::string text_;
};

Json next_json(const ExplainedMark& mark, const NextTask& next) {
  const bool is_known = next.expected_ms > 0;
  return Json{{"job", next.job.value},
              {"task", next.index},
              {"units", units_of(next.cost)},
              {"beyond_part_units", units_of(beyond_part(mark, next))},
              {"expected_seconds",
               is_known ? Json(static_cast<double>(next.expected_ms) / 1000) : Json(nullptr)},
              {"expected_from", source_name(next)},
              {"needs_credit", needs_credit(mark, next)},
              {"credit_needed", is_known ? Json(credit_needed(mark, next)) : Json(nullptr)},
              {"covered", next.is_covered}};
}

}  // namespace

std::string mark_text(const Explanation& explanation) {
  return explanation.mark ? MarkText(explanation).run() : std::string{};
}

Json mark_json(const Explanation& explanation) {
  const ExplainedMark& mark = *explanation.mark;
  const NameTable& names = explanation.names;
  const std::string tenant = tenant_name(names, explanation.job.tenant);
  Json moves = Json::array();
  for (const MarkMove& move : mark.moves) {
    const std::string other = tenant_name(names, move.other);
    moves.push_back(Json{{"debtor", mark.net > 0 ? other : tenant},
                         {"creditor", mark.net > 0 ? tenant : other},
                         {"owed", move.owed},
                         {"debtor_owes", move.debtor_owes},
                         {"debtor_part_units", units_of(move.debtor_part)},
                         {"repay", move.repay_millionths / 1e6},
                         {"kept_for_min_units", units_of(move.kept_for_min)},
                         {"due_units", units_of(move.due)},
                         {"moved_units", units_of(move.moved)}});
  }
  return Json{
      {"resource", mark.resource < names.resources.size() ? Json(names.resources[mark.resource])
                                                          : Json(nullptr)},
      {"held_units", units_of(mark.held)},
      {"part_units", units_of(mark.part)},
      {"base_units", units_of(mark.base)},
      {"mark_units", units_of(mark.mark)},
      {"net", mark.net},
      {"moves", moves},
      {"next_task", mark.next ? next_json(mark, *mark.next) : Json(nullptr)}};
}

}  // namespace fairwater::inline cli::inline cluster
