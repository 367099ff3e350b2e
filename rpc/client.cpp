#include "rpc/client.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>

#include "rpc/calls.hpp"
#include "rpc/faults.hpp"
#include "rpc/loop_thread.hpp"
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
/// Between two looks for one that leads.
constexpr std::chrono::milliseconds kTakeoverPause{100};

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

/// Whether a coordinator at another address may do better.
bool is_elsewhere(const caf::error& error) {
  const ErrorCode code = details(error).code;
  return code == ErrorCode::unavailable || code == ErrorCode::internal ||
         code == ErrorCode::not_leader;
}

/// How a call ended without an answer.
enum class Cut {
  none,  ///< it did not
  broken,
  silent,  ///< it took too long
};
Cut cut_of(const kj::Exception& fault) {
  switch (fault.getType()) {
    case kj::Exception::Type::DISCONNECTED:
      return Cut::broken;
    case kj::Exception::Type::OVERLOADED:
      return Cut::silent;
    default:
      return Cut::none;
  }
}

template <class Asked>
constexpr kj::Duration timeout_of() {
  if (requires { Asked::kTakesLong; }) return kVerifyTimeout;
  if (requires(Asked asked) { asked.wait_ms; }) return kCallTimeout + kMaxWaitMs * kj::MILLISECONDS;
  return kCallTimeout;
}

}  // namespace

bool is_undone(const caf::error& error) {
  if (!error) return false;
  const ErrorCode code = details(error).code;
  return code == ErrorCode::unavailable || code == ErrorCode::not_leader;
}

class Client::Impl {
 public:
  Impl(AddressList addresses, std::string token, const ClientOptions& options)
      : addresses_(std::move(addresses)),
        token_(std::move(token)),
        options_(options),
        timeout_ms_(addresses_.size() > 1 ? std::min(options.timeout_ms, kTryTimeoutMs)
                                          : options.timeout_ms),
        thread_([this](Loop& loop) {
          loop_ = &loop;
          loop.stopped.wait(loop.io.waitScope);
          session_ = nullptr;
          rpc_ = nullptr;
        }) {}

  /// Where one leads, once one does: as long as patience lasts.
  caf::error log_in() {
    using Clock = std::chrono::steady_clock;
    using std::chrono::milliseconds;
    const TakeoverPatience& patience = options_.patience;
    const auto begun = Clock::now();
    for (auto answered_at = begun;;) {
      const auto error = log_in_once();
      if (!error) return error;
      const auto now = Clock::now();
      const ErrorDetails said = details(error);
      if (said.code == ErrorCode::not_leader) {
        if (now >= begun + milliseconds(patience.leaderless_ms)) return error;
        answered_at = now;
      } else if (!is_elsewhere(error)) {
        return error;
      } else if (addresses_.size() == 1 ||
                 now >= answered_at + milliseconds(patience.unanswered_ms)) {
        return make_error(ErrorCode::unavailable,
                          "no coordinator answers at " + addresses_.text() + ": " + said.message);
      }
      std::this_thread::sleep_for(kTakeoverPause);  // nothing tells when another leads
    }
  }

  /// At the current address, else at the next in turn, once round. Where one only follows that is
  /// what is wrong, whatever the others say: another is about to lead.
  caf::error log_in_once() {
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
      if (!is_elsewhere(error)) return error;
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
    bool was_silent = false;  // one that does not answer is asked twice
    for (int redirects = 0;; ++redirects) {
      Cut cut = Cut::none;
      auto answer = call_here(asked, cut);
      if (answer || redirects == kMostRedirects) return answer;
      const ErrorDetails said = details(answer.error());
      if (said.code == ErrorCode::not_leader) {
        // Nothing was done, so it may be asked elsewhere.
        if (!addresses_.follow(said.leader)) addresses_.advance();
      } else if (!kRepeatable<Asked> || cut == Cut::none || !is_patient() || was_silent) {
        return answer;
      }
      was_silent = cut == Cut::silent;
      if (auto failed = log_in()) return failed;
    }
  }

  template <class Asked>
  Expected<ShownOf<Asked>> call_here(const Asked& asked, Cut& cut) {
    const auto ask = [&] {
      auto request = request_for(*session(), asked);
      return answer_to(request, timeout_of<Asked>(),
                       [](auto& response) { return take_answer<Asked>(response); });
    };
    return on_loop<ShownOf<Asked>>(ask, &cut);
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
  [[nodiscard]] bool takes_weights() const { return takes_weights_; }
  [[nodiscard]] std::uint64_t login() const { return login_; }

 private:
  using Session = wire::OperatorSession::Client;

  /// What a follower said of its age would not hold for the next one's answers.
  [[nodiscard]] bool is_patient() const {
    return options_.patience.unanswered_ms > 0 && options_.reads == Reads::of_leader;
  }

  caf::error log_in_here() {
    const auto entered = on_loop<Caller>(
        [&] { return loop_->timer().timeoutAfter(timeout_ms_ * kj::MILLISECONDS, enter()); });
    if (!entered) return entered.error();
    caller_ = *entered;
    return {};
  }

  /// There is none when the connection broke and logging in anew failed.
  Session* session() {
    if (session_.get() == nullptr) kj::throwFatalException(KJ_EXCEPTION(DISCONNECTED));
    return session_.get();
  }

  /// Runs `body`, which promises an Expected<Value>, on the loop; what it throws becomes an error.
  template <class Value, class Body>
  Expected<Value> on_loop(Body body, Cut* cut = nullptr) {
    std::optional<Expected<Value>> result;
    thread_.run([&]() -> kj::Promise<void> {
      return kj::evalNow([&]() -> kj::Promise<Expected<Value>> { return body(); })
          .then([&result](Expected<Value>&& value) { result = std::move(value); },
                [&result, cut](kj::Exception&& fault) {
                  result = translate_fault(fault);
                  if (cut != nullptr) *cut = cut_of(fault);
                });
    });
    return *result;
  }

  kj::Promise<Expected<Caller>> enter() {
    return connect_to(loop_->io.provider->getNetwork(), addresses_.current())
        .then([this](kj::Own<kj::AsyncIoStream> stream) {
          session_ = nullptr;
          rpc_ = kj::heap<RpcClient>(kj::mv(stream));
          if (!options_.key) return show_token();
          return rpc_->identify(options_.key)
              .then([this](Identified coordinator) -> kj::Promise<Expected<Caller>> {
                if (!coordinator) return Expected<Caller>(coordinator.error());
                return show_token();
              });
        });
  }

  kj::Promise<Expected<Caller>> show_token() {
    auto request = rpc_->gateway().loginRequest();
    request.setToken(to_text(token_));
    request.setProtocolVersion(kProtocolVersion);
    request.setAcceptsFollower(options_.reads == Reads::of_any);
    return response_of(request).then([this](auto&& response) -> Expected<Caller> {
      if (response.hasError()) return read(response.getError());
      remembers_requests_ = response.getRemembersRequests();
      takes_weights_ = response.getTakesWeights();
      static std::atomic<std::uint64_t> logins = 0;
      login_ = ++logins;
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
  const ClientOptions options_;
  const std::int64_t timeout_ms_;
  bool remembers_requests_ = false;
  bool takes_weights_ = false;
  std::atomic<std::uint64_t> login_ = 0;
  Caller caller_;
  LoopThread thread_;  ///< last: it uses what stands above
};

Expected<std::unique_ptr<Client>> Client::connect(const std::string& address,
                                                  const std::string& token,
                                                  const ClientOptions& options) {
  auto addresses = AddressList::parse(address);
  if (!addresses) return addresses.error();
  return connect(std::move(*addresses), token, options);
}

Expected<std::unique_ptr<Client>> Client::connect(AddressList addresses, const std::string& token,
                                                  const ClientOptions& options) {
  auto impl = std::make_unique<Impl>(std::move(addresses), token, options);
  if (auto failed = impl->log_in()) return failed;
  return std::unique_ptr<Client>(new Client(std::move(impl)));
}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;

const Caller& Client::caller() const { return impl_->caller(); }
const AddressList& Client::addresses() const { return impl_->addresses(); }
bool Client::remembers_requests() const { return impl_->remembers_requests(); }
bool Client::takes_weights() const { return impl_->takes_weights(); }
std::uint64_t Client::login() const { return impl_->login(); }

template <class Request>
Expected<ShownOf<Request>> Client::call(const Request& request) {
  return impl_->call(request);
}
#define FAIRWATER_CALL(method, Request) \
  template Expected<ShownOf<Request>> Client::call(const Request& request);
FAIRWATER_CALLS(FAIRWATER_CALL)
#undef FAIRWATER_CALL

std::vector<Expected<JobId>> Client::submit_all(const std::vector<JobSpec>& specs) {
  return impl_->submit_all(specs);
}

std::vector<caf::error> Client::cancel_jobs(const std::vector<JobId>& ids,
                                            const std::string& reason) {
  const auto answers = impl_->cancel_all(ids, reason);
  std::vector<caf::error> errors;
  caf::error nobody;  // patience is for all of them together
  for (std::size_t i = 0; i < ids.size(); ++i) {
    caf::error error = answers[i] ? caf::error{} : answers[i].error();
    if (is_undone(error) && !nobody) {
      error = cancel_again(ids[i], reason, error);
      if (is_undone(error)) nobody = error;
    }
    errors.push_back(std::move(error));
  }
  return errors;
}

caf::error Client::cancel_again(JobId id, const std::string& reason, const caf::error& failed) {
  if (details(failed).code == ErrorCode::not_leader) return cancel_job(id, reason);
  // It may have been done before the answer was lost.
  const auto detail = show_job(id);
  if (!detail) return detail.error();
  return detail->job.cancelled ? caf::error{} : cancel_job(id, reason);
}

}  // namespace fairwater::inline rpc
