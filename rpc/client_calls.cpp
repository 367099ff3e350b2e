// A method of Client for each call of the table.
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <variant>

#include "rpc/client.hpp"
#include "rpc/pages.hpp"

namespace fairwater::inline rpc {
namespace {

template <class Value>
void append(std::vector<Value>& values, std::vector<Value> more) {
  values.insert(values.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
}

template <class Value>
struct Page {
  std::vector<Value> values;
  bool more = false;
};

/// The list in an answer, and whether there is more.
template <class List, class Value>
Expected<Page<Value>> page_of(Expected<List> list, std::vector<Value> List::*values) {
  if (!list) return list.error();
  return Page<Value>{std::move((*list).*values), list->more};
}

/// Page after page of records in the order of their ids. `page_after(id)` asks for the next.
template <class Value, class PageAfter>
Expected<std::vector<Value>> whole_list(PageAfter page_after) {
  std::vector<Value> values;
  for (;;) {
    auto page = page_after(values.empty() ? decltype(Value::record.id){} : values.back().record.id);
    if (!page) return page.error();
    const bool progress = !page->values.empty();
    append(values, std::move(page->values));
    if (!page->more || !progress) return values;
  }
}

/// What would be done twice may have been done before its answer was lost: `done` looks, as soon as
/// somebody leads, and has the answer then; else it is asked once more. What is `not_found` then
/// was done meanwhile, where `is_gone` has an answer for that.
template <class Ask, class Look, class Answer = typename std::invoke_result_t<Ask>::value_type>
Expected<Answer> unless_done(Ask ask, Look done, std::optional<Answer> is_gone = std::nullopt) {
  Expected<Answer> answer = ask();
  if (answer || !is_undone(answer.error())) return answer;
  auto found = done();
  if (!found) return found.error();
  if (*found) return **std::move(found);
  answer = ask();
  if (!answer && is_gone && details(answer.error()).code == ErrorCode::not_found) return *is_gone;
  return answer;
}

/// As a coordinator finds it: by name first.
std::optional<TokenInfo> token_called(const std::vector<TokenInfo>& tokens,
                                      const std::string& name_or_id) {
  const auto found = [&](std::string TokenInfo::*key) -> std::optional<TokenInfo> {
    for (const TokenInfo& token : tokens)
      if (!name_or_id.empty() && token.*key == name_or_id) return token;
    return std::nullopt;
  };
  const auto named = found(&TokenInfo::name);
  return named ? named : found(&TokenInfo::id);
}

bool is_as_wanted(const DebtForgiven& body, const NameTable& names, const ForgiveDebt& wanted) {
  const auto is_called = [&](TenantId tenant, const std::string& name) {
    const auto found = names.tenants.find(tenant);
    return found != names.tenants.end() && found->second == name;
  };
  return body.reason == wanted.reason && is_called(body.debtor, wanted.debtor) &&
         std::all_of(body.debts.begin(), body.debts.end(), [&](const ForgivenDebt& debt) {
           return wanted.creditor.empty() || is_called(debt.creditor, wanted.creditor);
         });
}

DebtsForgiven describe(const DebtForgiven& body, const NameTable& names, const LedgerView& ledger) {
  DebtsForgiven forgiven;
  forgiven.measure = ledger.measure;
  for (const ForgivenDebt& debt : body.debts) {
    const auto name = names.tenants.find(debt.creditor);
    forgiven.shares.push_back({name == names.tenants.end() ? "" : name->second, debt.units});
  }
  for (const IouBook::Iou& iou : ledger.ious)
    if (TenantId{iou.debtor} == body.debtor) forgiven.left += iou.units;
  return forgiven;
}

/// What was forgiven as wanted in a record after that one.
Expected<std::optional<DebtsForgiven>> forgiven_after(Client& client, std::uint64_t cycle,
                                                      const ForgiveDebt& wanted) {
  constexpr std::uint32_t kPage = 1000;
  for (std::uint64_t next = cycle + 1;;) {
    const auto page = client.journal(next, kPage, 0);
    if (!page) return page.error();
    for (const JournalRecord& record : page->records) {
      const auto* body = std::get_if<DebtForgiven>(&record.body);
      if (body == nullptr || !is_as_wanted(*body, page->names, wanted)) continue;
      const auto ledger = client.ledger();
      if (!ledger) return ledger.error();
      return std::optional(describe(*body, page->names, *ledger));
    }
    if (page->records.empty() || page->records.back().number < next)
      return std::optional<DebtsForgiven>{};
    next = page->records.back().number + 1;
  }
}

caf::error error_of(const Expected<Done>& answer) { return answer ? caf::error{} : answer.error(); }

}  // namespace

Expected<ClusterStatus> Client::status() { return call(GetStatus{}); }

Expected<Freshness> Client::freshness() {
  auto answer = call(GetFreshness{});
  if (!answer && details(answer.error()).code == ErrorCode::not_permitted) return Freshness{};
  return answer;
}

Expected<std::vector<TenantInfo>> Client::list_tenants() {
  return whole_list<TenantInfo>([this](TenantId after) {
    return page_of(call(ListTenants{{}, after}), &TenantList::tenants);
  });
}

Expected<std::vector<TenantChange>> Client::apply_tenants(const std::vector<TenantSpec>& specs,
                                                          bool dry_run) {
  for (std::size_t i = 0; i < specs.size(); ++i)
    if (!specs[i].weights.empty() && !takes_weights())
      return make_error(ErrorCode::not_supported,
                        "the coordinator is of an older version and would leave out weights of "
                        "single resources",
                        "tenants[" + std::to_string(i) + "].weights");
  auto applied = call(ApplyTenants{{}, specs, dry_run});
  if (!applied) return applied.error();
  return std::move(applied->changes);
}

Expected<TenantDeparture> Client::remove_tenant(const std::string& name) {
  const std::optional<TenantDeparture> gone = TenantDeparture{};
  const auto look = [&]() -> Expected<std::optional<TenantDeparture>> {
    const auto tenants = list_tenants();
    if (!tenants) return tenants.error();
    for (const TenantInfo& tenant : *tenants)
      if (const TenantSpec& spec = tenant.record.spec; spec.name == name)
        return spec.leaving ? std::optional(TenantDeparture{true}) : std::nullopt;
    return gone;
  };
  return unless_done([&] { return call(RemoveTenant{{}, name}); }, look, gone);
}

Expected<MadeToken> Client::create_token(const NewToken& wanted) {
  return call(CreateToken{{}, wanted});
}

Expected<std::vector<TokenInfo>> Client::list_tokens() {
  auto list = call(ListTokens{});
  if (!list) return list.error();
  return std::move(list->tokens);
}

Expected<TokenInfo> Client::revoke_token(const std::string& name_or_id) {
  const auto tokens = list_tokens();
  if (!tokens) return tokens.error();
  const std::optional<TokenInfo> known = token_called(*tokens, name_or_id);
  const auto look = [&]() -> Expected<std::optional<TokenInfo>> {
    const auto left = list_tokens();
    if (!left) return left.error();
    return known && token_called(*left, known->id) ? std::nullopt : known;
  };
  return unless_done([&] { return call(RevokeToken{{}, name_or_id}); }, look, known);
}

Expected<std::vector<NodeInfo>> Client::list_nodes() {
  return whole_list<NodeInfo>([this](NodeId after) {
    return page_of(call(ListNodes{{}, after}), &NodeList::nodes);
  });
}

caf::error Client::drain_node(const std::string& name, const std::string& reason,
                              std::int64_t deadline_ms) {
  return error_of(call(DrainNode{{}, name, reason, true, deadline_ms}));
}

caf::error Client::plan_drain(const std::string& name, const std::string& reason, WallTime begins,
                              std::int64_t deadline_ms) {
  return error_of(call(PlanDrain{{}, name, reason, begins, deadline_ms}));
}

caf::error Client::undrain_node(const std::string& name) {
  return error_of(call(DrainNode{{}, name, {}, false}));
}

caf::error Client::remove_node(const std::string& name) {
  const std::optional<Done> gone = Done{};
  const auto look = [&]() -> Expected<std::optional<Done>> {
    const auto nodes = list_nodes();
    if (!nodes) return nodes.error();
    for (const NodeInfo& node : *nodes)
      if (node.record.spec.traits.name == name) return std::nullopt;
    return gone;
  };
  return error_of(unless_done([&] { return call(RemoveNode{{}, name}); }, look, gone));
}

Expected<JobId> Client::submit(const JobSpec& spec, const std::string& request_id) {
  const auto accepted = call(SubmitJob{{}, spec, request_id});
  if (!accepted) return accepted.error();
  return accepted->id;
}

Expected<std::vector<JobRecord>> Client::list_jobs(const JobQuery& query) {
  std::vector<JobRecord> jobs;
  for (JobQuery rest = query;;) {
    auto page = call(ListJobs{{}, rest});
    if (!page) return page.error();
    append(jobs, std::move(page->jobs));
    if (!page->more || jobs.empty() || jobs.size() >= query.limit) return jobs;
    rest.before = jobs.back().id;
    rest.limit = query.limit - static_cast<std::uint32_t>(jobs.size());
  }
}

Expected<std::vector<UsageRow>> Client::query_usage(const UsageQuery& query) {
  std::vector<UsageRow> rows;
  for (UsageQuery rest = query;;) {
    auto page = call(QueryUsage{{}, rest});
    if (!page) return page.error();
    const bool progress = !page->rows.empty();
    append(rows, std::move(page->rows));
    if (!page->more || !progress) return rows;
    rest.after = rows.back().group;
  }
}

Expected<JobDetail> Client::show_job(JobId id) {
  JobDetail whole;
  for (;;) {
    auto page = call(ShowJob{{}, id, static_cast<std::uint32_t>(whole.tasks.size())});
    if (!page) return page.error();
    const bool progress = !page->tasks.empty();
    append(whole.tasks, std::move(page->tasks));
    whole.job = std::move(page->job);
    whole.more = page->more;
    whole.expected_start = page->expected_start;
    if (!whole.more || !progress || whole.tasks.size() >= kMaxTasksShown) return whole;
  }
}

caf::error Client::cancel_job(JobId id, const std::string& reason) {
  return error_of(call(CancelJob{{}, id, reason}));
}

Expected<JobRecord> Client::wait_job(JobId id, std::int64_t timeout_ms) {
  return call(WaitJob{{}, id, timeout_ms});
}

Expected<Explanation> Client::explain(JobId id, std::uint32_t index) {
  return call(ExplainTask{{}, id, index});
}

Expected<LogChunk> Client::read_log(JobId id, std::uint32_t index, bool standard_error,
                                    std::uint64_t offset) {
  return call(ReadLog{{}, id, index, standard_error, offset});
}

Expected<LedgerView> Client::ledger() {
  LedgerView whole;
  for (;;) {
    auto page = call(ShowLedger{{}, cursor_behind(whole)});
    if (!page) return page.error();
    const bool progress = !page->tenants.empty() || !page->ious.empty();
    whole.cycle = page->cycle;
    whole.position = page->position;
    whole.measure = page->measure;
    whole.counts_time_since = page->counts_time_since;
    whole.unit_ms_per_unit = page->unit_ms_per_unit;
    whole.net.merge(page->net);
    whole.counterparties.merge(page->counterparties);
    append(whole.tenants, std::move(page->tenants));
    append(whole.ious, std::move(page->ious));
    if (!page->more || !progress) return whole;
  }
}

Expected<JournalPage> Client::journal(std::uint64_t since, std::uint32_t limit,
                                      std::int64_t wait_ms) {
  return call(ReadJournal{{}, since, limit, wait_ms});
}

Expected<VerifyReport> Client::verify_ledger(bool with_archive) {
  return call(VerifyLedger{{}, with_archive});
}

Expected<LedgerBackup> Client::backup_ledger(const std::string& directory) {
  return call(BackupLedger{{}, directory});
}

caf::error Client::hand_over() { return error_of(call(HandOver{})); }

Expected<LedgerStanding> Client::ledger_standing() { return call(ShowStanding{}); }

caf::error Client::trust_ledger(const std::string& reason) {
  return error_of(unless_done(
      [&] {
        return call(TrustLedger{{}, reason});
      },
      [&]() -> Expected<std::optional<Done>> {
        const auto standing = ledger_standing();
        if (!standing) return standing.error();
        return standing->trusted ? std::optional(Done{}) : std::nullopt;
      }));
}

Expected<DebtsForgiven> Client::forgive_debt(const ForgiveDebt& wanted) {
  if (wanted.dry_run) return call(wanted);
  const auto before = status();
  if (!before) return before.error();
  return unless_done([&] { return call(wanted); },
                     [&] { return forgiven_after(*this, before->cycle, wanted); });
}

}  // namespace fairwater::inline rpc
