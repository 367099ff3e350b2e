#include "rpc/agent/agent_client.hpp"

#include <algorithm>
#include <ctime>
#include <optional>
#include <random>

#include <caf/all.hpp>
#include <spdlog/spdlog.h>

#include "rpc/agent/credential.hpp"
#include "rpc/answers.hpp"
#include "rpc/bridge.hpp"
#include "rpc/faults.hpp"
#include "rpc/loop_thread.hpp"
#include "rpc/rpc_client.hpp"
#include "rpc/sockets.hpp"

namespace fairwater {
namespace {

/// For the agent actor, which never waits for the network.
constexpr std::chrono::milliseconds kAgentTimeout{10'000};

std::int64_t boottime_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

// -- CoordinatorLink: the agent actor's way out ---------------------------------------------------

class Session;
using ReplyAnswered = Answered<ReportReply>;
using CoordinatorLinkActor = CoordinatorLink::extend<caf::reacts_to<ReplyAnswered>>;

struct CoordinatorLinkState {
  OpenRequests<ReportReply> reports;
};

/// Finds the session that a posted task was meant for, or nothing when it has ended.
struct CurrentSession {
  std::uint64_t number = 0;
  Session* session = nullptr;
};

CoordinatorLinkActor::behavior_type coordinator_link(
    CoordinatorLinkActor::stateful_pointer<CoordinatorLinkState> self,
    const CurrentSession* current, std::shared_ptr<Outbox> outbox, std::uint64_t number);

// -- AgentControl: the coordinator's way in -------------------------------------------------------

class AgentControlServer final : public wire::AgentControl::Server {
 public:
  AgentControlServer(Bridge& bridge, AgentPort agent) : bridge_(bridge), agent_(std::move(agent)) {}

 protected:
  kj::Promise<void> orders(OrdersContext context) override {
    caf::anon_send(agent_, read(context.getParams()));
    return kj::READY_NOW;
  }

  kj::Promise<void> readLog(ReadLogContext context) override {
    const auto params = context.getParams();
    const ReadAgentLog request{read(params.getTask()), params.getStandardError(),
                               params.getOffset()};
    context.allowCancellation();
    return bridge_.ask<LogChunk>(agent_, request, kAgentTimeout)
        .then([context](Expected<LogChunk> chunk) mutable {
          auto results = context.getResults();
          if (chunk)
            encode(*chunk, results.initChunk());
          else
            encode(chunk.error(), results.initError());
        });
  }

 private:
  Bridge& bridge_;
  const AgentPort agent_;
};

// -- one connection -------------------------------------------------------------------------------

/// What the connections of one client share.
struct Shared {
  caf::actor_system& system;
  AgentPort agent;
  AgentClientOptions options;
  kj::Timer& timer;
  Bridge bridge;
  CurrentSession current;
};

/// A registered connection: lives from LinkUp to LinkDown.
class Session final : private kj::TaskSet::ErrorHandler {
 public:
  Session(Shared& shared, RpcClient& rpc, wire::NodeSession::Client node)
      : shared_(shared),
        rpc_(rpc),
        node_(kj::mv(node)),
        ended_(kj::newPromiseAndFulfiller<void>()),
        tasks_(*this) {
    shared_.current.session = this;
    link_ =
        shared_.system.spawn(coordinator_link, static_cast<const CurrentSession*>(&shared_.current),
                             shared_.bridge.outbox(), ++shared_.current.number);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() noexcept {
    shared_.current.session = nullptr;
    caf::anon_send_exit(link_, caf::exit_reason::user_shutdown);
    caf::anon_send(shared_.agent, LinkDown{});
  }

  void announce(std::uint64_t epoch, ReportReply reply, std::int64_t sent_boottime_ms,
                std::string cluster_id) {
    caf::anon_send(shared_.agent,
                   LinkUp{link_, epoch, std::move(reply), sent_boottime_ms, std::move(cluster_id)});
  }

  /// Until the connection is lost or the coordinator leaves a report unanswered.
  [[nodiscard]] kj::Promise<void> ended() {
    return rpc_.on_disconnect().exclusiveJoin(kj::mv(ended_.promise));
  }

  void report(std::uint64_t request_number, const AgentReport& report) {
    auto request = node_.heartbeatRequest();
    encode(report, request.initReport());
    const auto timeout = shared_.options.call_timeout_ms * kj::MILLISECONDS;
    tasks_.add(shared_.timer.timeoutAfter(timeout, response_of(request))
                   .then([this, request_number](auto&& response) {
                     answer(request_number,
                            answer_in(response, [&] { return read(response.getReply()); }));
                   }));
  }

 private:
  void answer(std::uint64_t request, Expected<ReportReply> reply) const {
    caf::anon_send(caf::actor_cast<CoordinatorLinkActor>(link_),
                   ReplyAnswered{request, std::move(reply)});
  }
  /// The link's end answers the report itself.
  void taskFailed(kj::Exception&& fault) override {
    spdlog::warn("gateway: a report was not answered: {}", fault.getDescription().cStr());
    ended_.fulfiller->fulfill();
  }

  Shared& shared_;
  RpcClient& rpc_;
  wire::NodeSession::Client node_;
  CoordinatorLink link_;
  kj::PromiseFulfillerPair<void> ended_;
  kj::TaskSet tasks_;  ///< last: its promises refer to the rest
};

// Bound: one agent actor sends one report per heartbeat interval; each leaves within the call
// timeout.
CoordinatorLinkActor::behavior_type coordinator_link(
    CoordinatorLinkActor::stateful_pointer<CoordinatorLinkState> self,
    const CurrentSession* current, std::shared_ptr<Outbox> outbox, std::uint64_t number) {
  fail_on_exit(
      self, [](CoordinatorLinkState & state) -> auto& { return state.reports; });
  return {
      [=](AgentReport& report) -> caf::result<ReportReply> {
        auto promise = self->make_response_promise<ReportReply>();
        const std::uint64_t request = self->state.reports.add(promise);
        outbox->post([current, number, request, report = std::move(report)] {
          if (current->number == number && current->session != nullptr)
            current->session->report(request, report);
        });
        return promise;
      },
      [=](ReplyAnswered& answered) { self->state.reports.settle(answered); },
  };
}

// -- for ever -------------------------------------------------------------------------------------

/// Connects, registers, waits for the end, and starts again.
class Connector {
 public:
  Connector(Shared& shared, kj::Network& network)
      : shared_(shared),
        network_(network),
        credential_(shared.options.credential_file),
        pinned_(shared.options.coordinator_key_file) {}

  kj::Promise<void> run_for_ever() {
    return kj::evalNow([this] { return connect_once(); })
        .catch_([this](kj::Exception&& fault) { report_failure(fault.getDescription().cStr()); })
        .then([this] {
          end_session();
          return shared_.timer.afterDelay(next_delay());
        })
        .then([this] { return run_for_ever(); });
  }

 private:
  /// Resolves when the connection has ended or the coordinator refused the node.
  kj::Promise<void> connect_once() {
    const auto timeout = shared_.options.call_timeout_ms * kj::MILLISECONDS;
    if (auto fault = credential_.prepare()) {
      report_failure(details(fault).message.c_str());
      return kj::READY_NOW;
    }
    return shared_.timer.timeoutAfter(timeout, connect_to(network_, shared_.options.coordinator))
        .then([this, timeout](kj::Own<kj::AsyncIoStream> stream) {
          rpc_ = kj::heap<RpcClient>(kj::mv(stream));
          return shared_.timer.timeoutAfter(timeout, meet_coordinator());
        })
        .then([this](caf::error refused) -> kj::Promise<Expected<NodeDescription>> {
          if (refused) return Expected<NodeDescription>(std::move(refused));
          return shared_.bridge.ask<NodeDescription>(shared_.agent, DescribeNode{}, kAgentTimeout);
        })
        .then([this, timeout](Expected<NodeDescription> node) -> kj::Promise<void> {
          if (!node) {
            report_failure(details(node.error()).message.c_str());
            return kj::READY_NOW;
          }
          return shared_.timer.timeoutAfter(timeout, register_node(*node)).then([this] {
            return session_.get() == nullptr ? kj::Promise<void>(kj::READY_NOW) : session_->ended();
          });
        });
  }

  /// Before anything secret is shown: an error unless it is the coordinator whose key is pinned.
  kj::Promise<caf::error> meet_coordinator() {
    const auto pinned = pinned_.read();
    if (!pinned) return pinned.error();
    new_key_.reset();
    return rpc_->identify(*pinned).then([this, pinned = *pinned](Identified coordinator) {
      if (!coordinator) return coordinator.error();
      if (!pinned && *coordinator) new_key_ = (*coordinator)->key;
      return caf::error{};
    });
  }

  /// The coordinator that accepted this node is taken for the right one from now on.
  caf::error pin_new_key() {
    if (!new_key_) return {};
    spdlog::warn("gateway: the key of the coordinator at {} was not known; pinned it: {}",
                 shared_.options.coordinator, key_text(*new_key_));
    return pinned_.keep(*new_key_);
  }

  kj::Promise<void> register_node(const NodeDescription& node) {
    auto request = rpc_->gateway().registerAgentRequest();
    request.setProtocolVersion(kProtocolVersion);
    request.setCredential(to_text(credential_.secret()));
    if (!credential_.accepted()) request.setJoinToken(to_text(shared_.options.join_token));
    encode(node.spec, request.initSpec());
    encode(node.report, request.initReport());
    request.getReport().setHighWaterCycle(node.identity.memory.seen.number);
    encode(node.identity, request.initIdentity());
    request.setControl(kj::heap<AgentControlServer>(shared_.bridge, shared_.agent));
    const std::int64_t sent_boottime_ms = boottime_ms();
    return response_of(request).then([this, sent_boottime_ms](auto&& response) {
      if (response.hasError()) {
        const ErrorDetails refused = details(read(response.getError()));
        report_failure(refused.message.c_str());
        if (refused.code == ErrorCode::already_exists)
          caf::anon_send(shared_.agent, FoundDuplicate{refused.message});
        return;
      }
      auto fault = pin_new_key();
      if (!fault) fault = credential_.accept();
      if (fault) {
        report_failure(details(fault).message.c_str());
        return;
      }
      failures_ = 0;
      spdlog::info("gateway: registered with {} as node {}", shared_.options.coordinator,
                   response.getNode());
      session_ = kj::heap<Session>(shared_, *rpc_, response.getSession());
      session_->announce(response.getEpoch(), read(response.getReply()), sent_boottime_ms,
                         to_std_string(response.getClusterId()));
    });
  }

  void end_session() {
    session_ = nullptr;
    rpc_ = nullptr;
  }

  void report_failure(const char* what) {
    // Once per outage in the log: it may go on for days.
    if (failures_ == 0)
      spdlog::warn("gateway: not registered with {}: {}", shared_.options.coordinator, what);
    else
      spdlog::debug("gateway: not registered with {}: {}", shared_.options.coordinator, what);
  }

  /// At random up to what doubles with each failure, so that all agents of a cluster return spread
  /// over the longest delay: a coordinator that starts anew lets in some thousand a second.
  kj::Duration next_delay() {
    std::int64_t delay_ms = shared_.options.reconnect_min_ms;
    for (int i = 0; i < failures_ && delay_ms < shared_.options.reconnect_max_ms; ++i)
      delay_ms *= 2;
    delay_ms = std::clamp<std::int64_t>(delay_ms, 1, shared_.options.reconnect_max_ms);
    ++failures_;
    const std::int64_t least_ms = std::min(shared_.options.reconnect_min_ms, delay_ms);
    return std::uniform_int_distribution<std::int64_t>(least_ms, delay_ms)(random_) *
           kj::MILLISECONDS;
  }

  Shared& shared_;
  kj::Network& network_;
  Credential credential_;
  PinnedKey pinned_;
  std::optional<PublicKey> new_key_;  ///< of the coordinator at hand, while none is pinned
  std::mt19937_64 random_{std::random_device{}()};
  int failures_ = 0;  ///< since the last registration
  kj::Own<RpcClient> rpc_;
  kj::Own<Session> session_;  ///< after rpc_: it ends first
};

}  // namespace

class AgentClient::Impl {
 public:
  Impl(caf::actor_system& system, AgentPort agent, AgentClientOptions options)
      : thread_([&system, agent = std::move(agent), options = std::move(options)](Loop& loop) {
          Shared shared{system, agent, options, loop.timer(), {system, loop.outbox, loop.timer()},
                        {}};
          {
            Connector connector(shared, loop.io.provider->getNetwork());
            connector.run_for_ever().exclusiveJoin(kj::mv(loop.stopped)).wait(loop.io.waitScope);
          }
          loop.settle();
        }) {}

 private:
  LoopThread thread_;
};

Expected<std::unique_ptr<AgentClient>> AgentClient::start(caf::actor_system& system,
                                                          AgentPort agent,
                                                          AgentClientOptions options) {
  if (auto invalid = validate_address(options.coordinator)) return invalid;
  if (options.credential_file.empty())
    return make_error(ErrorCode::invalid_input, "an agent needs a file for its credential",
                      "credential_file");
  if (options.coordinator_key_file.empty())
    return make_error(ErrorCode::invalid_input, "an agent needs a file for the coordinator's key",
                      "coordinator_key_file");
  // What the file says is known at once; later it is only written.
  Credential credential(options.credential_file);
  if (auto fault = credential.prepare()) return fault;
  if (!credential.accepted() && !credential.was_shown() && options.join_token.empty())
    return make_error(ErrorCode::invalid_input,
                      "this node has no credential yet ('" + options.credential_file +
                          "'): start it once with a join token",
                      "join_token");
  if (options.coordinator_key)
    if (auto fault = PinnedKey(options.coordinator_key_file).keep(*options.coordinator_key))
      return fault;
  auto impl = std::make_unique<Impl>(system, std::move(agent), std::move(options));
  return std::unique_ptr<AgentClient>(new AgentClient(std::move(impl)));
}

AgentClient::AgentClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AgentClient::~AgentClient() = default;

}  // namespace fairwater
