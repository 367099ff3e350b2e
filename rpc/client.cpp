#include "rpc/client.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include "policy/core/check.hpp"
#include "rpc/faults.hpp"
#include "rpc/loop_thread.hpp"
#include "rpc/pages.hpp"
#include "rpc/rpc_client.hpp"
#include "rpc/sockets.hpp"
#include "rpc/wire.hpp"

namespace fairwater {
namespace {

/// A coordinator that has not answered by then is taken for gone.
constexpr auto kCallTimeout = 60 * kj::SECONDS;
/// Verifying reads the whole journal.
constexpr auto kVerifyTimeout = 660 * kj::SECONDS;
/// Calls that submit_all keeps in flight: below what a server admits per connection.
constexpr std::size_t kSubmitWindow = 128;

template <class Value>
void append(std::vector<Value>& values, std::vector<Value> more) {
  values.insert(values.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
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

}  // namespace

class Client::Impl {
 public:
  Impl()
      : thread_([this](Loop& loop) {
          loop_ = &loop;
          loop.stopped.wait(loop.io.waitScope);
          session_ = nullptr;
          rpc_ = nullptr;
        }) {}

  caf::error log_in(const std::string& address, const std::string& token, std::int64_t timeout_ms,
                    std::optional<PublicKey> key) {
    if (auto invalid = validate_address(address)) return invalid;
    const auto entered = on_loop<Caller>([&] {
      return loop_->timer().timeoutAfter(timeout_ms * kj::MILLISECONDS, enter(address, token, key));
    });
    if (!entered) return entered.error();
    caller_ = *entered;
    return {};
  }

  /// Makes one call and waits for it. `prepare(session)` returns the filled request,
  /// `read_value(response)` the result. Callable from any thread but the loop's.
  template <class Value, class Prepare, class ReadValue>
  Expected<Value> call(Prepare prepare, ReadValue read_value, kj::Duration timeout = kCallTimeout) {
    return on_loop<Value>([&] {
      auto request = prepare(*session());
      return loop_->timer()
          .timeoutAfter(timeout, response_of(request))
          .then([&read_value](auto&& response) -> Expected<Value> {
            return answer_in(response, [&]() -> Value { return read_value(response); });
          });
    });
  }

  /// As call(), for calls without a result.
  template <class Prepare>
  caf::error order(Prepare prepare) {
    const auto answer = call<bool>(prepare, [](auto&) { return true; });
    return answer ? caf::error{} : answer.error();
  }

  std::vector<Expected<JobId>> submit_all(const std::vector<JobSpec>& specs) {
    std::vector<Expected<JobId>> ids(specs.size(), JobId{});
    const auto done = on_loop<bool>([&] {
      auto lanes = kj::heapArrayBuilder<kj::Promise<void>>(std::min(kSubmitWindow, specs.size()));
      next_submission_ = 0;
      for (std::size_t i = 0; i < std::min(kSubmitWindow, specs.size()); ++i)
        lanes.add(submit_next(specs, ids));
      return kj::joinPromises(lanes.finish()).then([]() -> Expected<bool> { return true; });
    });
    if (!done) std::fill(ids.begin(), ids.end(), Expected<JobId>(done.error()));
    return ids;
  }

  [[nodiscard]] const Caller& caller() const { return caller_; }

 private:
  using Session = wire::OperatorSession::Client;

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

  kj::Promise<Expected<Caller>> enter(const std::string& address, const std::string& token,
                                      std::optional<PublicKey> key) {
    return connect_to(loop_->io.provider->getNetwork(), address)
        .then([this, &token, key](kj::Own<kj::AsyncIoStream> stream) {
          rpc_ = kj::heap<RpcClient>(kj::mv(stream));
          if (!key) return show_token(token);
          return rpc_->identify(key).then(
              [this, &token](Identified coordinator) -> kj::Promise<Expected<Caller>> {
                if (!coordinator) return Expected<Caller>(coordinator.error());
                return show_token(token);
              });
        });
  }

  kj::Promise<Expected<Caller>> show_token(const std::string& token) {
    auto request = rpc_->gateway().loginRequest();
    request.setToken(to_text(token));
    request.setProtocolVersion(kProtocolVersion);
    return response_of(request).then([this](auto&& response) -> Expected<Caller> {
      if (response.hasError()) return read(response.getError());
      // A tenant's session refuses operator calls by itself: it does not have them.
      session_ = kj::heap<Session>(response.getSession().template castAs<wire::OperatorSession>());
      return guard_decoding([&] {
        return Caller{read(response.getRole()), TenantId{response.getTenant()},
                      to_std_string(response.getTenantName())};
      });
    });
  }

  kj::Promise<void> submit_next(const std::vector<JobSpec>& specs,
                                std::vector<Expected<JobId>>& ids) {
    if (next_submission_ == specs.size()) return kj::READY_NOW;
    const std::size_t index = next_submission_++;
    auto request = session()->submitJobRequest();
    encode(specs[index], request.initSpec());
    return loop_->timer()
        .timeoutAfter(kCallTimeout, response_of(request))
        .then(
            [&ids, index](auto&& response) {
              ids[index] = answer_in(response, [&] { return JobId{response.getId()}; });
            },
            [&ids, index](kj::Exception&& fault) { ids[index] = translate_fault(fault); })
        .then([this, &specs, &ids] { return submit_next(specs, ids); });
  }

  // Used on the loop's thread only.
  Loop* loop_ = nullptr;
  kj::Own<RpcClient> rpc_;
  kj::Own<Session> session_;
  std::size_t next_submission_ = 0;

  Caller caller_;
  LoopThread thread_;  ///< last: it uses what stands above
};

Expected<std::unique_ptr<Client>> Client::connect(const std::string& address,
                                                  const std::string& token, std::int64_t timeout_ms,
                                                  std::optional<PublicKey> key) {
  auto impl = std::make_unique<Impl>();
  if (auto failed = impl->log_in(address, token, timeout_ms, key)) {
    const ErrorDetails parts = details(failed);
    if (parts.code != ErrorCode::unavailable && parts.code != ErrorCode::internal) return failed;
    return make_error(ErrorCode::unavailable,
                      "no coordinator answers at " + address + ": " + parts.message);
  }
  return std::unique_ptr<Client>(new Client(std::move(impl)));
}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;

const Caller& Client::caller() const { return impl_->caller(); }

Expected<ClusterStatus> Client::status() {
  return impl_->call<ClusterStatus>([](auto& session) { return session.getStatusRequest(); },
                                    [](auto& response) { return read(response.getStatus()); });
}

Expected<std::vector<TenantInfo>> Client::list_tenants() {
  return whole_list<TenantInfo>([this](TenantId after) {
    return impl_->call<Page<TenantInfo>>(
        [&](auto& session) {
          auto request = session.listTenantsRequest();
          request.setAfter(after.value);
          return request;
        },
        [](auto& response) {
          return Page<TenantInfo>{read_elements(response.getTenants()), response.getMore()};
        });
  });
}

Expected<std::vector<TenantChange>> Client::apply_tenants(const std::vector<TenantSpec>& specs,
                                                          bool dry_run) {
  return impl_->call<std::vector<TenantChange>>(
      [&](auto& session) {
        auto request = session.applyTenantsRequest();
        encode_list(specs, request.initSpecs(specs.size()));
        request.setDryRun(dry_run);
        return request;
      },
      [](auto& response) { return read_elements(response.getChanges()); });
}

caf::error Client::remove_tenant(const std::string& name) {
  return impl_->order([&](auto& session) {
    auto request = session.removeTenantRequest();
    request.setName(to_text(name));
    return request;
  });
}

Expected<std::string> Client::issue_token(const std::string& tenant) {
  return impl_->call<std::string>(
      [&](auto& session) {
        auto request = session.issueTokenRequest();
        request.setTenant(to_text(tenant));
        return request;
      },
      [](auto& response) { return to_std_string(response.getToken()); });
}

Expected<MadeToken> Client::create_token(const NewToken& wanted) {
  return impl_->call<MadeToken>(
      [&](auto& session) {
        auto request = session.createTokenRequest();
        request.setRole(to_wire(wanted.role));
        request.setTenant(to_text(wanted.tenant));
        request.setName(to_text(wanted.name));
        request.setLifetimeMs(wanted.lifetime_ms);
        return request;
      },
      [](auto& response) {
        return MadeToken{to_std_string(response.getToken()), read(response.getInfo())};
      });
}

Expected<std::vector<TokenInfo>> Client::list_tokens() {
  return impl_->call<std::vector<TokenInfo>>(
      [](auto& session) { return session.listTokensRequest(); },
      [](auto& response) { return read_elements(response.getTokens()); });
}

Expected<TokenInfo> Client::revoke_token(const std::string& name_or_id) {
  return impl_->call<TokenInfo>(
      [&](auto& session) {
        auto request = session.revokeTokenRequest();
        request.setToken(to_text(name_or_id));
        return request;
      },
      [](auto& response) { return read(response.getInfo()); });
}

Expected<std::vector<NodeInfo>> Client::list_nodes() {
  return whole_list<NodeInfo>([this](NodeId after) {
    return impl_->call<Page<NodeInfo>>(
        [&](auto& session) {
          auto request = session.listNodesRequest();
          request.setAfter(after.value);
          return request;
        },
        [](auto& response) {
          return Page<NodeInfo>{read_elements(response.getNodes()), response.getMore()};
        });
  });
}

caf::error Client::drain_node(const std::string& name, const std::string& reason) {
  return impl_->order([&](auto& session) {
    auto request = session.drainNodeRequest();
    request.setName(to_text(name));
    request.setReason(to_text(reason));
    request.setDrain(true);
    return request;
  });
}

caf::error Client::undrain_node(const std::string& name) {
  return impl_->order([&](auto& session) {
    auto request = session.drainNodeRequest();
    request.setName(to_text(name));
    request.setDrain(false);
    return request;
  });
}

caf::error Client::remove_node(const std::string& name) {
  return impl_->order([&](auto& session) {
    auto request = session.removeNodeRequest();
    request.setName(to_text(name));
    return request;
  });
}

Expected<JobId> Client::submit(const JobSpec& spec) {
  return impl_->call<JobId>(
      [&](auto& session) {
        auto request = session.submitJobRequest();
        encode(spec, request.initSpec());
        return request;
      },
      [](auto& response) { return JobId{response.getId()}; });
}

std::vector<Expected<JobId>> Client::submit_all(const std::vector<JobSpec>& specs) {
  return impl_->submit_all(specs);
}

Expected<std::vector<JobRecord>> Client::list_jobs(const JobQuery& query) {
  std::vector<JobRecord> jobs;
  for (JobQuery rest = query;;) {
    auto page = impl_->call<Page<JobRecord>>(
        [&](auto& session) {
          auto request = session.listJobsRequest();
          encode(rest, request.initQuery());
          return request;
        },
        [](auto& response) {
          return Page<JobRecord>{read_elements(response.getJobs()), response.getMore()};
        });
    if (!page) return page.error();
    append(jobs, std::move(page->values));
    if (!page->more || jobs.empty() || jobs.size() >= query.limit) return jobs;
    rest.before = jobs.back().id;
    rest.limit = query.limit - static_cast<std::uint32_t>(jobs.size());
  }
}

Expected<JobDetail> Client::show_job(JobId id) {
  JobDetail whole;
  for (;;) {
    const auto first = static_cast<std::uint32_t>(whole.tasks.size());
    auto page = impl_->call<JobDetail>(
        [&](auto& session) {
          auto request = session.showJobRequest();
          request.setId(id.value);
          request.setFirstTask(first);
          return request;
        },
        [](auto& response) { return read(response.getDetail()); });
    if (!page) return page.error();
    const bool progress = !page->tasks.empty();
    append(whole.tasks, std::move(page->tasks));
    whole.job = std::move(page->job);
    whole.more = page->more;
    if (!whole.more || !progress || whole.tasks.size() >= kMaxTasksShown) return whole;
  }
}

caf::error Client::cancel_job(JobId id, const std::string& reason) {
  return impl_->order([&](auto& session) {
    auto request = session.cancelJobRequest();
    request.setId(id.value);
    request.setReason(to_text(reason));
    return request;
  });
}

Expected<JobRecord> Client::wait_job(JobId id, std::int64_t timeout_ms) {
  return impl_->call<JobRecord>(
      [&](auto& session) {
        auto request = session.waitJobRequest();
        request.setId(id.value);
        request.setTimeoutMs(timeout_ms);
        return request;
      },
      [](auto& response) { return read(response.getJob()); },
      kCallTimeout + kMaxWaitMs * kj::MILLISECONDS);
}

Expected<Explanation> Client::explain(JobId id, std::uint32_t index) {
  return impl_->call<Explanation>(
      [&](auto& session) {
        auto request = session.explainTaskRequest();
        request.setId(id.value);
        request.setIndex(index);
        return request;
      },
      [](auto& response) { return read(response.getExplanation()); });
}

Expected<LogChunk> Client::read_log(JobId id, std::uint32_t index, bool standard_error,
                                    std::uint64_t offset) {
  return impl_->call<LogChunk>(
      [&](auto& session) {
        auto request = session.readLogRequest();
        request.setId(id.value);
        request.setIndex(index);
        request.setStandardError(standard_error);
        request.setOffset(offset);
        return request;
      },
      [](auto& response) { return read(response.getChunk()); });
}

Expected<LedgerView> Client::ledger() {
  LedgerView whole;
  for (;;) {
    const auto cursor = cursor_behind(whole);
    auto page = impl_->call<LedgerView>(
        [&](auto& session) {
          auto request = session.showLedgerRequest();
          request.setAfterTenant(cursor.tenant.value);
          request.setAfterDebtor(cursor.debtor);
          request.setAfterCreditor(cursor.creditor);
          return request;
        },
        [](auto& response) { return read(response.getLedger()); });
    if (!page) return page.error();
    const bool progress = !page->tenants.empty() || !page->ious.empty();
    whole.cycle = page->cycle;
    whole.position = page->position;
    whole.net.merge(page->net);
    whole.counterparties.merge(page->counterparties);
    append(whole.tenants, std::move(page->tenants));
    append(whole.ious, std::move(page->ious));
    if (!page->more || !progress) return whole;
  }
}

Expected<JournalPage> Client::journal(std::uint64_t since, std::uint32_t limit,
                                      std::int64_t wait_ms) {
  return impl_->call<JournalPage>(
      [&](auto& session) {
        auto request = session.readJournalRequest();
        request.setSince(since);
        request.setLimit(limit);
        request.setWaitMs(wait_ms);
        return request;
      },
      [](auto& response) { return read(response.getPage()); },
      kCallTimeout + kMaxWaitMs * kj::MILLISECONDS);
}

Expected<VerifyReport> Client::verify_ledger() {
  return impl_->call<VerifyReport>([](auto& session) { return session.verifyLedgerRequest(); },
                                   [](auto& response) { return read(response.getReport()); },
                                   kVerifyTimeout);
}

Expected<LedgerStanding> Client::ledger_standing() {
  return impl_->call<LedgerStanding>([](auto& session) { return session.showStandingRequest(); },
                                     [](auto& response) { return read(response.getStanding()); });
}

caf::error Client::trust_ledger(const std::string& reason) {
  return impl_->order([&](auto& session) {
    auto request = session.trustLedgerRequest();
    request.setReason(to_text(reason));
    return request;
  });
}

}  // namespace fairwater
