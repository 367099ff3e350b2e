#include "cli/cluster/explain_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/cluster/journal_fields.hpp"
#include "cli/cluster/journal_lines.hpp"
#include "cli/cluster/json_shapes.hpp"
#include "cli/cluster/mark_text.hpp"
#include "cli/cluster/measure_text.hpp"
#include "state/elastic.hpp"

namespace fairwater::inline cli::inline cluster {
namespace {

const char* step_words(GrantStep step) {
  switch (step) {
    case GrantStep::guarantee:
      return "by its guarantee (the tenant was below min; not charged)";
    case GrantStep::allowance:
      return "within the tenant's allowance";
    case GrantStep::remainder:
      return "as the next whole task, to whom most was due of parts too small alone";
    case GrantStep::reserved:
      return "as the task that the node had kept its room for";
    case GrantStep::growth:
      return "by growth into room that nobody else could use (no quota counts it; credits pay)";
    case GrantStep::backfill:
      break;
  }
  return "as the largest waiting task that fits what nobody else could use";
}

/// Where time is counted (policy/allocator/by_time.hpp).
const char* time_words(GrantStep step) {
  switch (step) {
    case GrantStep::guarantee:
      return "by its guarantee (the tenant was below min)";
    case GrantStep::allowance:
      return "with a claim: within what the tenant may hold by its quota and debts";
    case GrantStep::remainder:
      return "with a claim: in part beyond what the tenant may hold by its quota and debts";
    case GrantStep::reserved:
      return "before all in turn: it was late, or room had been made for it by preemption";
    case GrantStep::growth:
    case GrantStep::backfill:
      break;
  }
  return "in room that nobody with a claim could use";
}

/// Of a deal by dominant shares.
const char* share_words(GrantStep step) {
  return step == GrantStep::guarantee
             ? "by its guarantee (the tenant, or one that it is in, was below min)"
             : "as the next task of the tenant with the smallest weighted dominant share (among "
               "its "
               "siblings; and so were those that it is in)";
}

/// Growth keeps no accounts, by whatever rule all else is dealt.
const char* deal_words(const Deal& deal, GrantStep step, Accounting accounting) {
  if (step == GrantStep::growth) return step_words(step);
  if (!deal.keeps_accounts) return share_words(step);
  return accounting == Accounting::time ? time_words(step) : step_words(step);
}

/// By which rule the node was chosen; empty where none did.
std::string choice_text(const Grant& grant) {
  const auto words = [&]() -> const char* {
    switch (grant.placement) {
      case Placement::gdrf:
        return "of the nodes with room, those of the task's type first, the one with the largest f";
      case Placement::best_fit:
        return "of the nodes with room, the one whose room was most alike to what the task asks "
               "for";
      case Placement::spread:
        return "of the nodes with room, the one that is least full with the task on it";
      case Placement::pack:
        return "of the nodes with room, the one that is fullest with the task on it";
      case Placement::unset:
      case Placement::in_turn:
        break;
    }
    return nullptr;
  }();
  if (words == nullptr) return {};
  return fmt::format("\nnode chosen by placement {}: {}", to_string(grant.placement), words);
}

std::string units(Units count) {
  return fmt::format("{} unit{}", count, count == 1 || count == -1 ? "" : "s");
}

template <class Lines>
const auto* line_of(const Lines& lines, TenantId tenant) {
  const auto found = std::find_if(lines.begin(), lines.end(),
                                  [&](const auto& line) { return line.tenant == tenant; });
  return found == lines.end() ? nullptr : &*found;
}

const Grant* grant_of(const Explanation& explanation) {
  if (!explanation.deal) return nullptr;
  for (const auto& grant : explanation.deal->grants)
    if (grant.task.job == explanation.job.id && grant.task.index == explanation.task.index &&
        grant.task.attempt == explanation.task.record.attempt &&
        grant.task.incarnation == explanation.task.record.incarnation)
      return &grant;
  return nullptr;
}

std::string heading(const Explanation& explanation) {
  const TaskInfo& task = explanation.task;
  std::string text = fmt::format(
      "job {} task {} of tenant {}: {}", explanation.job.id.value, task.index,
      tenant_name(explanation.names, explanation.job.tenant),
      is_unneeded(explanation.job, task.record) ? "not needed" : to_string(task.record.state));
  if (task.record.state != TaskState::pending && !task.node.empty())
    text += fmt::format(" on node {}, attempt {}", printable(task.node), task.record.attempt);
  return text + "\n";
}

std::string permille_text(std::uint32_t permille) {
  return permille == 0 ? "" : fmt::format(", confidence {:.0f} %", permille / 10.0);
}

/// Where the amounts come from, and why there is more memory than at first.
std::string profiled_text(const Explanation& explanation) {
  const JobSpec& spec = explanation.job.spec;
  const ProfiledAmounts& profiled = spec.profiled;
  if (!profiled.wanted()) return {};
  NamedAmounts taken;
  for (const std::string& name : profiled.resources) taken[name] = spec.resources.at(name);
  std::string text = fmt::format("{} by the profile of class {}: {} runs{}\n",
                                 format_amounts(taken), printable(spec.job_class), profiled.runs,
                                 permille_text(profiled.confidence_permille));
  const TaskRecord& task = explanation.task.record;
  const std::uint32_t step =
      task.state == TaskState::pending ? explanation.job.memory_step : task.memory_step;
  if (step == 0) return text;
  const auto memory_at = [&](std::uint32_t at) {
    return format_amount("memory", amounts_at(spec, at).at("memory"));
  };
  return text + fmt::format(
                    "memory {} since a task hit its limit with {}: the next measured amount "
                    "(step {} of {})\n",
                    memory_at(step), memory_at(step - 1), step, profiled.memory_steps.size());
}

std::string obstacles_text(const Explanation& explanation) {
  const auto& obstacles = explanation.obstacles;
  if (obstacles.empty())
    return "nothing keeps it waiting: the next heartbeat of a node with room places it\n";
  std::string text = "waits because " + printable(obstacles.front().message) + " [" +
                     obstacles.front().code + "]\n";
  if (obstacles.size() > 1) text += "and if that were gone:\n";
  for (std::size_t i = 1; i < obstacles.size(); ++i)
    text += "  - " + printable(obstacles[i].message) + " [" + obstacles[i].code + "]\n";
  return text;
}

/// Lines of how many units, and what for. Those with nothing to say are left out.
class Account {
 public:
  void add(Units count, std::string_view words) {
    if (count == 0) return;
    text_ += fmt::format("  {:>+8}  {}\n", count, words);
    sum_ += count;
  }
  void total() { text_ += fmt::format("  {:>8}  in all\n", sum_); }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
  Units sum_ = 0;
};

std::string quota_text(const TenantLine& line, const NameTable& names) {
  std::string text = "runtime quota (the water level at that moment) and what it held before:\n";
  for (std::size_t i = 0; i < std::min(names.resources.size(), kMaxResources); ++i) {
    if (line.quota[i] == 0 && line.used[i] == 0) continue;
    const std::string& name = names.resources[i];
    text += fmt::format("  {}: level {}, held {}\n", name, format_amount(name, line.quota[i]),
                        format_amount(name, line.used[i]));
  }
  return text;
}

void add_transfers(Account& account, const Deal& deal, TenantId tenant, const NameTable& names) {
  for (const auto& repayment : deal.repayments) {
    if (repayment.creditor == tenant)
      account.add(repayment.units, "repaid by " + tenant_name(names, repayment.debtor));
    if (repayment.debtor == tenant)
      account.add(-repayment.units, "repaid to " + tenant_name(names, repayment.creditor));
  }
  for (const auto& loan : deal.loans) {
    if (loan.borrower == tenant)
      account.add(loan.units, "borrowed from " + tenant_name(names, loan.lender));
    if (loan.lender == tenant)
      account.add(-loan.units, "lent to " + tenant_name(names, loan.borrower));
  }
}

/// Of the pool nothing is its own: what it placed of that was lent or passed on to it, or is
/// carried on below zero.
std::string allowance_text(const TenantLine& line) {
  std::string text = fmt::format("its allowance was {}", units(line.allowance));
  if (line.pooled > 0)
    text += fmt::format(", {} of them from the pool of what others did not need", line.pooled);
  if (line.pooled < 0)
    text += fmt::format("; it had left {} to the pool, which its waiting tasks did not need",
                        -line.pooled);
  return text + "\n";
}

/// The closing equation of policy/allocator/deal.hpp, so that what comes in and goes out is what
/// was placed and what is carried on.
std::string account_text(const Deal& deal, const TenantLine& line, Accounting accounting,
                         const NameTable& names) {
  Account account;
  account.add(line.deficit_before, line.deficit_before > 0
                                       ? "carried over: not enough for a whole task before"
                                       : "carried over: placed before beyond what it had");
  account.add(line.granted, "granted by the sequence");
  account.add(-line.passed_on, "passed on to others without a claim");
  account.add(line.passed_to, "passed on by others, who have no claim for it");
  account.add(-line.rolled_back, "rolled back: slots that nobody could use");
  add_transfers(account, deal, line.tenant, names);
  account.total();
  account.add(line.placed, "of them placed in this deal");
  account.add(line.deficit_after, "carried on to the next deal");
  std::string text = account.take();
  if (line.guaranteed != 0)
    text += fmt::format("beside that {} placed by its guarantee, which no account counts\n",
                        units(line.guaranteed));
  return accounting == Accounting::time ? text : text + allowance_text(line);
}

std::string sequence_text(const Deal& deal, Accounting accounting, const NameTable& names) {
  const Units slots = deal.free_units - deal.unused;
  std::string text =
      fmt::format("node {} had {} to deal", node_name(names, deal.node), units(deal.free_units));
  if (accounting == Accounting::time)
    text = fmt::format("node {} was dealt {}, in the order of time held",
                       node_name(names, deal.node), units(deal.free_units));
  if (deal.unused > 0) text += fmt::format(", {} unused", deal.unused);
  return text +
         fmt::format(": {} slot{} of the sequence, which goes round, from position {} to {}\n",
                     slots, slots == 1 ? "" : "s", deal.position_before, deal.position_after);
}

std::string never_granted_text(const Explanation& explanation) {
  const JobRecord& job = explanation.job;
  if (!is_unneeded(job, explanation.task.record)) return "it was never granted\n";
  const std::string why =
      job.tasks.succeeded > 0
          ? "a task of its job ended with success, which says that no work is left"
          : fmt::format("{} of its job's tasks failed, its least is {}, and none ran any more",
                        job.tasks.failed, job.spec.tasks_min);
  return "it had not begun, and will not: " + why + "\n";
}

std::string grant_text(const Explanation& explanation) {
  if (!explanation.deal) return never_granted_text(explanation);
  const Deal& deal = *explanation.deal;
  const NameTable& names = explanation.names;
  const Grant* grant = grant_of(explanation);
  std::string text = fmt::format("granted in cycle {}", explanation.grant_cycle);
  if (grant != nullptr) {
    text += fmt::format(" for {}, {}", units(grant->cost),
                        deal_words(deal, grant->step, explanation.measure.accounting));
    if (grant->beyond_quota && grant->step != GrantStep::growth)
      text += ", above its runtime quota on units that were owed to it";
    text += choice_text(*grant);
  }
  if (!deal.keeps_accounts) return text + "\n";
  const Accounting accounting = explanation.measure.accounting;
  text += "\n" + sequence_text(deal, accounting, names);
  const TenantLine* line = line_of(deal.lines, explanation.job.tenant);
  if (line == nullptr) return text;
  return text + quota_text(*line, names) +
         fmt::format("account of {} in this deal, in units:\n",
                     tenant_name(names, explanation.job.tenant)) +
         account_text(deal, *line, accounting, names);
}

}  // namespace

std::string explain_text(const Explanation& explanation) {
  const bool pending = explanation.task.record.state == TaskState::pending;
  return heading(explanation) + profiled_text(explanation) +
         (pending ? obstacles_text(explanation) + mark_text(explanation) : grant_text(explanation));
}

Json explain_json(const Explanation& explanation) {
  Json obstacles = Json::array();
  for (const auto& obstacle : explanation.obstacles)
    obstacles.push_back(Json{{"code", obstacle.code}, {"message", obstacle.message}});
  Json json{{"job", job_json(explanation.job)},
            {"task", task_json(explanation.task)},
            {"obstacles", obstacles},
            {"grant", nullptr},
            {"expected_start", json_time(explanation.expected_start)},
            {"mark", nullptr}};
  if (explanation.deal)
    json["grant"] = Json{{"cycle", explanation.grant_cycle},
                         {"deal", deal_json(*explanation.deal, explanation.names)}};
  if (explanation.mark) json["mark"] = mark_json(explanation);
  put_measure(json, explanation.measure);
  return json;
}

}  // namespace fairwater::inline cli::inline cluster
