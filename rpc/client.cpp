#include "rpc/client.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>

#include "policy/core/check.hpp"
#include "rpc/calls.hpp"
#include "rpc/faults.hpp"
#include "rpc/loop_thread.hpp"
#include "rpc/pages.hpp"
#include "rpc/rpc_client.hpp"
#include "rpc/sockets.hpp"
#include "rpc/wire.hpp"

namespace fairwater::inline rpc {
namespace {

/// A coordinator that has not answered by then is taken for gone.
constexpr auto kCallTimeout = 60 * kj::SECONDS;
/// Verifying reads the whole journal.
constexpr auto kVerifyTimeout = 660 * kj::SECONDS;
/// Of many calls at once so many are in flight: below what a server admits per connection.
constexpr std::size_t kCallsInFlight = 128;

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

// A fresh request for each call of the table.
template <class Params, class Results, class Asked>
auto filled(capnp::Request<Params, Results> request, const Asked& asked) {
  encode_fields(asked, typename Params::Builder(request));
  return request;
}
#define FAIRWATER_REQUEST(method, Asked)                                         \
  auto request_for(wire::OperatorSession::Client& session, const Asked& asked) { \
    return filled(session.method##Request(), asked);                             \
  }
FAIRWATER_CALLS(FAIRWATER_REQUEST)
#undef FAIRWATER_REQUEST

template <class Asked>
constexpr kj::Duration timeout_of() {
  if (requires { Asked::kTakesLong; }) return kVerifyTimeout;
  if (requires(Asked asked) { asked.wait_ms; }) return kCallTimeout + kMaxWaitMs * kj::MILLISECONDS;
  return kCallTimeout;
}

caf::error error_of(const Expected<Done>& answer) { return answer ? caf::error{} : answer.error(); }

}  // namespace

class Client::Impl {
 public:
  Impl(AddressList addresses, std::string token, std::int64_t timeout_ms,
       std::optional<PublicKey> key, Reads reads)
      : addresses_(std::move(addresses)),
        token_(std::move(token)),
        timeout_ms_(addresses_.size() > 1 ? std::min(timeout_ms, kTryTimeoutMs) : timeout_ms),
        key_(key),
        reads_(reads),
        thread_([this](Loop& loop) {
          loop_ = &loop;
          loop.stopped.wait(loop.io.waitScope);
          session_ = nullptr;
          rpc_ = nullptr;
        }) {}

  /// At the current address, else at the next in turn, once round. Where one only follows that is
  /// what is wrong, whatever the others say: another is about to lead.
  caf::error log_in() {
    caf::error follows;
    int redirects = 0;
    for (std::size_t failed = 0;;) {
      const auto error = log_in_here();
      if (!error) return error;
      const ErrorDetails said = details(error);
      if (said.code == ErrorCode::not_leader) follows = error;
      const bool is_redirected = said.code == ErrorCode::not_leader &&
                                 redirects++ < kMostRedirects && addresses_.follow(said.leader);
      if (is_redirected) continue;
      if (!is_elsewhere(said.code)) return error;
      addresses_.advance();
      if (++failed == addresses_.size()) return follows ? follows : error;
    }
  }

  /// The error in the response to come, or what `take` makes of it.
  template <class Request, class Take>
  auto answer_to(Request& request, kj::Duration timeout, Take take) {
    return loop_->timer().timeoutAfter(timeout, response_of(request)).then([take](auto&& response) {
      return answer_in(response, [&] { return take(response); });
    });
  }

  /// Makes one call and waits for it. Callable from any thread but the loop's.
  template <class Asked>
  Expected<ShownOf<Asked>> call(const Asked& asked) {
    for (int redirects = 0;; ++redirects) {
      auto answer = call_here(asked);
      if (answer || redirects == kMostRedirects) return answer;
      const ErrorDetails said = details(answer.error());
      if (said.code != ErrorCode::not_leader) return answer;
      // Nothing was done, so it may be asked elsewhere.
      if (!addresses_.follow(said.leader)) addresses_.advance();
      if (auto failed = log_in()) return failed;
    }
  }

  template <class Asked>
  Expected<ShownOf<Asked>> call_here(const Asked& asked) {
    return on_loop<ShownOf<Asked>>([&] {
      auto request = request_for(*session(), asked);
      return answer_to(request, timeout_of<Asked>(),
                       [](auto& response) { return take_answer<Asked>(response); });
    });
  }

  std::vector<Expected<JobId>> submit_all(const std::vector<JobSpec>& specs) {
    return answers_to<JobId>(specs.size(), [&](std::size_t index) {
      auto request = session()->submitJobRequest();
      encode(specs[index], request.initSpec());
      return answer_to(request, kCallTimeout,
                       [](auto& response) { return JobId{response.getId()}; });
    });
  }

  std::vector<Expected<Done>> cancel_all(const std::vector<JobId>& ids, const std::string& reason) {
    return answers_to<Done>(ids.size(), [&](std::size_t index) {
      auto request = request_for(*session(), CancelJob{{}, ids[index], reason});
      return answer_to(request, kCallTimeout, [](auto&) { return Done{}; });
    });
  }

  [[nodiscard]] const Caller& caller() const { return caller_; }
  [[nodiscard]] const AddressList& addresses() const { return addresses_; }
  [[nodiscard]] bool remembers_requests() const { return remembers_requests_; }

 private:
  using Session = wire::OperatorSession::Client;

  /// Whether a coordinator at another address may do better.
  static bool is_elsewhere(ErrorCode code) {
    return code == ErrorCode::unavailable || code == ErrorCode::internal ||
           code == ErrorCode::not_leader;
  }

  caf::error log_in_here() {
    const auto entered = on_loop<Caller>(
        [&] { return loop_->timer().timeoutAfter(timeout_ms_ * kj::MILLISECONDS, enter()); });
    if (!entered) return entered.error();
    caller_ = *entered;
    return {};
  }

  Session* session() {
    FAIRWATER_CHECK(session_.get() != nullptr, "a client was used before it logged in");
    return session_.get();
  }

  /// Runs `body`, which promises an Expected<Value>, on the loop; what it throws becomes an error.
  template <class Value, class Body>
  Expected<Value> on_loop(Body body) {
    std::optional<Expected<Value>> result;
    thread_.run([&]() -> kj::Promise<void> {
      return kj::evalNow([&]() -> kj::Promise<Expected<Value>> { return body(); })
          .then([&result](Expected<Value>&& value) { result = std::move(value); },
                [&result](kj::Exception&& fault) { result = translate_fault(fault); });
    });
    return *result;
  }

  kj::Promise<Expected<Caller>> enter() {
    return connect_to(loop_->io.provider->getNetwork(), addresses_.current())
        .then([this](kj::Own<kj::AsyncIoStream> stream) {
          session_ = nullptr;
          rpc_ = kj::heap<RpcClient>(kj::mv(stream));
          if (!key_) return show_token();
          return rpc_->identify(key_).then(
              [this](Identified coordinator) -> kj::Promise<Expected<Caller>> {
                if (!coordinator) return Expected<Caller>(coordinator.error());
                return show_token();
              });
        });
  }

  kj::Promise<Expected<Caller>> show_token() {
    auto request = rpc_->gateway().loginRequest();
    request.setToken(to_text(token_));
    request.setProtocolVersion(kProtocolVersion);
    request.setAcceptsFollower(reads_ == Reads::of_any);
    return response_of(request).then([this](auto&& response) -> Expected<Caller> {
      if (response.hasError()) return read(response.getError());
      remembers_requests_ = response.getRemembersRequests();
      // A tenant's session refuses operator calls by itself: it does not have them.
      session_ = kj::heap<Session>(response.getSession().template castAs<wire::OperatorSession>());
      return guard_decoding([&] {
        return Caller{read(response.getRole()),
                      TenantId{response.getTenant()},
                      to_std_string(response.getTenantName()),
                      {},
                      to_std_string(response.getUser())};
      });
    });
  }

  /// Many calls at once; `make(index)` makes one and promises its answer.
  template <class Value>
  struct ManyCalls {
    std::function<kj::Promise<Expected<Value>>(std::size_t)> make;
    std::vector<Expected<Value>> answers;
    std::size_t next = 0;
  };

  template <class Value, class Make>
  std::vector<Expected<Value>> answers_to(std::size_t count, Make make) {
    ManyCalls<Value> calls{std::move(make), std::vector<Expected<Value>>(count, Value{}), 0};
    const auto done = on_loop<bool>([&] {
      const std::size_t lanes = std::min(kCallsInFlight, count);
      auto promises = kj::heapArrayBuilder<kj::Promise<void>>(lanes);
      for (std::size_t i = 0; i < lanes; ++i) promises.add(make_next(calls));
      return kj::joinPromises(promises.finish()).then([]() -> Expected<bool> { return true; });
    });
    if (!done) std::fill(calls.answers.begin(), calls.answers.end(), Expected<Value>(done.error()));
    return std::move(calls.answers);
  }

  template <class Value>
  static kj::Promise<void> make_next(ManyCalls<Value>& calls) {
    if (calls.next == calls.answers.size()) return kj::READY_NOW;
    const std::size_t index = calls.next++;
    return calls.make(index)
        .then(
            [&calls, index](Expected<Value>&& answer) { calls.answers[index] = std::move(answer); },
            [&calls, index](kj::Exception&& fault) {
              calls.answers[index] = translate_fault(fault);
            })
        .then([&calls] { return make_next(calls); });
  }

  // Used on the loop's thread only.
  Loop* loop_ = nullptr;
  kj::Own<RpcClient> rpc_;
  kj::Own<Session> session_;

  AddressList addresses_;
  const std::string token_;
  const std::int64_t timeout_ms_;
  const std::optional<PublicKey> key_;
  const Reads reads_;
  bool remembers_requests_ = false;
  Caller caller_;
  LoopThread thread_;  ///< last: it uses what stands above
};

Expected<std::unique_ptr<Client>> Client::connect(const std::string& address,
                                                  const std::string& token, std::int64_t timeout_ms,
                                                  std::optional<PublicKey> key, Reads reads) {
  auto addresses = AddressList::parse(address);
  if (!addresses) return addresses.error();
  return connect(std::move(*addresses), token, timeout_ms, key, reads);
}

Expected<std::unique_ptr<Client>> Client::connect(AddressList addresses, const std::string& token,
                                                  std::int64_t timeout_ms,
                                                  std::optional<PublicKey> key, Reads reads) {
  const std::string tried = addresses.text();
  auto impl = std::make_unique<Impl>(std::move(addresses), token, timeout_ms, key, reads);
  if (auto failed = impl->log_in()) {
    const ErrorDetails parts = details(failed);
    if (parts.code != ErrorCode::unavailable && parts.code != ErrorCode::internal) return failed;
    return make_error(ErrorCode::unavailable,
                      "no coordinator answers at " + tried + ": " + parts.message);
  }
  return std::unique_ptr<Client>(new Client(std::move(impl)));
}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;

const Caller& Client::caller() const { return impl_->caller(); }
const AddressList& Client::addresses() const { return impl_->addresses(); }
bool Client::remembers_requests() const { return impl_->remembers_requests(); }

template <class Request>
Expected<ShownOf<Request>> Client::call(const Request& request) {
  return impl_->call(request);
}
#define FAIRWATER_CALL(method, Request) \
  template Expected<ShownOf<Request>> Client::call(const Request& request);
FAIRWATER_CALLS(FAIRWATER_CALL)
#undef FAIRWATER_CALL

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
  auto applied = call(ApplyTenants{{}, specs, dry_run});
  if (!applied) return applied.error();
  return std::move(applied->changes);
}

Expected<TenantDeparture> Client::remove_tenant(const std::string& name) {
  return call(RemoveTenant{{}, name});
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
  return call(RevokeToken{{}, name_or_id});
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
  return error_of(call(RemoveNode{{}, name}));
}

Expected<JobId> Client::submit(const JobSpec& spec, const std::string& request_id) {
  const auto accepted = call(SubmitJob{{}, spec, request_id});
  if (!accepted) return accepted.error();
  return accepted->id;
}

std::vector<Expected<JobId>> Client::submit_all(const std::vector<JobSpec>& specs) {
  return impl_->submit_all(specs);
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

std::vector<caf::error> Client::cancel_jobs(const std::vector<JobId>& ids,
                                            const std::string& reason) {
  std::vector<caf::error> errors;
  for (const auto& answer : impl_->cancel_all(ids, reason)) errors.push_back(error_of(answer));
  return errors;
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
  return error_of(call(TrustLedger{{}, reason}));
}

Expected<DebtsForgiven> Client::forgive_debt(const ForgiveDebt& wanted) { return call(wanted); }

}  // namespace fairwater::inline rpc
