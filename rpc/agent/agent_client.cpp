#include "rpc/agent/agent_client.hpp"

#include <algorithm>
#include <ctime>
#include <optional>
#include <random>
#include <utility>

#include <caf/all.hpp>
#include <spdlog/spdlog.h>

#include "model/tenant.hpp"
#include "rpc/addresses.hpp"
#include "rpc/agent/back_off.hpp"
#include "rpc/agent/credential.hpp"
#include "rpc/agent/overdue.hpp"
#include "rpc/agent/patience.hpp"
#include "rpc/answers.hpp"
#include "rpc/bridge.hpp"
#include "rpc/faults.hpp"
#include "rpc/loop_thread.hpp"
#include "rpc/rpc_client.hpp"
#include "rpc/sockets.hpp"

namespace fairwater::inline rpc::inline agent {
namespace {

/// For the agent actor, which never waits for the network.
constexpr std::chrono::milliseconds kAgentTimeout{10'000};

std::int64_t boottime_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

/// The agent keeps it, in a line of its own. One of an earlier version has none.
caf::error check_cluster_id(const std::string& id) {
  if (id.empty() || is_valid_name(id)) return {};
  return make_error(ErrorCode::invalid_input,
                    "the coordinator's cluster has an id of " + std::to_string(id.size()) +
                        " bytes that is none: 1 to 63 letters, digits, '.', '_' and '-', starting "
                        "with a letter or digit");
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
      : shared_(shared), rpc_(rpc), node_(kj::mv(node)), tasks_(*this) {
    auto ended = kj::newPromiseAndFulfiller<void>();
    end_ = kj::mv(ended.fulfiller);
    ended_ = ended.promise.fork();
    shared_.current.session = this;
    link_ =
        shared_.system.spawn(coordinator_link, static_cast<const CurrentSession*>(&shared_.current),
                             shared_.bridge.outbox(), ++shared_.current.number);
    // The agent ends it when it knows that this coordinator was deposed.
    link_->attach_functor([&current = shared_.current, outbox = shared_.bridge.outbox(),
                           number = shared_.current.number] {
      outbox->post([&current, number] {
        if (current.number == number && current.session != nullptr) current.session->leave();
      });
    });
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
    keep_interval(reply);
    caf::anon_send(shared_.agent,
                   LinkUp{link_, epoch, std::move(reply), sent_boottime_ms, std::move(cluster_id)});
  }

  /// Until the connection is lost or the coordinator leaves a report unanswered.
  [[nodiscard]] kj::Promise<void> ended() {
    return rpc_.on_disconnect().exclusiveJoin(ended_.addBranch());
  }
  /// True when a report is not answered for longer than it should be; said again after as long.
  [[nodiscard]] kj::Promise<bool> ended_or_overdue() {
    return ended().then([] { return false; }).exclusiveJoin(overdue().then([] { return true; }));
  }

  void leave() {
    was_left_ = true;
    end_->fulfill();
  }
  /// By the agent, which knows a newer coordinator.
  [[nodiscard]] bool was_left() const { return was_left_; }
  /// Some report of it.
  [[nodiscard]] bool was_answered() const { return was_answered_; }

  void report(std::uint64_t request_number, const AgentReport& report) {
    auto request = node_.heartbeatRequest();
    encode(report, request.initReport());
    const auto timeout = shared_.options.call_timeout_ms * kj::MILLISECONDS;
    waiting_for_ = request_number;
    waiting_since_ = shared_.timer.now();
    tasks_.add(shared_.timer.afterDelay(patience()).then([this] {
      if (is_overdue() && overdue_.get() != nullptr) overdue_->fulfill();
    }));
    tasks_.add(shared_.timer.timeoutAfter(timeout, response_of(request))
                   .then([this, request_number](auto&& response) {
                     answer(request_number,
                            answer_in(response, [&] { return read(response.getReply()); }));
                   }));
  }

 private:
  [[nodiscard]] kj::Duration patience() const {
    return overdue_after_ms(interval_ms_) * kj::MILLISECONDS;
  }
  [[nodiscard]] kj::Duration waited() const { return shared_.timer.now() - waiting_since_; }
  [[nodiscard]] bool is_overdue() const { return waiting_for_ != 0 && waited() >= patience(); }
  kj::Promise<void> overdue() {
    if (is_overdue()) {
      const auto pause = ask_again_after_ms(interval_ms_, waited() / kj::MILLISECONDS);
      return shared_.timer.afterDelay(pause * kj::MILLISECONDS).then([this]() -> kj::Promise<void> {
        return is_overdue() ? kj::Promise<void>(kj::READY_NOW) : overdue();
      });
    }
    auto pair = kj::newPromiseAndFulfiller<void>();
    overdue_ = kj::mv(pair.fulfiller);
    return kj::mv(pair.promise);
  }
  void keep_interval(const ReportReply& reply) {
    if (reply.heartbeat_interval_ms > 0) interval_ms_ = reply.heartbeat_interval_ms;
  }
  void answer(std::uint64_t request, Expected<ReportReply> reply) {
    if (waiting_for_ == request) waiting_for_ = 0;
    if (reply) {
      was_answered_ = true;
      keep_interval(*reply);
    }
    caf::anon_send(caf::actor_cast<CoordinatorLinkActor>(link_),
                   ReplyAnswered{request, std::move(reply)});
  }
  /// The link's end answers the report itself.
  void taskFailed(kj::Exception&& fault) override {
    spdlog::warn("gateway: a report was not answered: {}", fault.getDescription().cStr());
    end_->fulfill();
  }

  Shared& shared_;
  RpcClient& rpc_;
  wire::NodeSession::Client node_;
  CoordinatorLink link_;
  kj::Own<kj::PromiseFulfiller<void>> end_;
  kj::ForkedPromise<void> ended_ = nullptr;
  bool was_left_ = false;
  bool was_answered_ = false;
  std::int64_t interval_ms_ = 1000;  ///< of heartbeats, as the coordinator names it
  std::uint64_t waiting_for_ = 0;    ///< the report that was sent last, while it is unanswered
  kj::TimePoint waiting_since_ = kj::origin<kj::TimePoint>();
  kj::Own<kj::PromiseFulfiller<void>> overdue_;
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

/// Connects, registers, waits for the end, and starts again, at one address or at several in turn.
///
/// A coordinator that leaves a report unanswered may be dead or slow. While it is waited for, the
/// node shows itself at another address: the leader takes it, and with that the node has left the
/// other; one that does not lead says who does.
class Connector {
 public:
  Connector(Shared& shared, kj::Network& network, AddressList addresses)
      : shared_(shared),
        network_(network),
        addresses_(std::move(addresses)),
        credential_(shared.options.credential_file),
        pinned_(shared.options.coordinator_key_file),
        back_off_(shared.options.reconnect_min_ms, shared.options.reconnect_max_ms,
                  std::random_device{}()) {}

  kj::Promise<void> run_for_ever() {
    return kj::evalNow([this] { return connect_once(); })
        .catch_([this](kj::Exception&& fault) {
          report_failure(fault.getDescription().cStr());
          if (session_.get() == nullptr) addresses_.advance();
        })
        .then([this] {
          end_session();
          return shared_.timer.afterDelay(next_delay());
        })
        .then([this] { return run_for_ever(); });
  }

 private:
  /// Resolves when the connection has ended or the coordinator refused the node.
  kj::Promise<void> connect_once() {
    return attempt(addresses_.current()).then([this](caf::error refused) -> kj::Promise<void> {
      if (!refused) return stay();
      move_on(details(refused));
      return kj::READY_NOW;
    });
  }

  void move_on(const ErrorDetails& refused) {
    report_failure(refused.message.c_str());
    is_redirected_ = refused.code == ErrorCode::not_leader && redirects_ < kMostRedirects &&
                     addresses_.follow(refused.leader);
    redirects_ = is_redirected_ ? redirects_ + 1 : 0;
    if (!is_redirected_) addresses_.advance();
  }

  /// Until the session, or the one that took its place, has ended.
  kj::Promise<void> stay() {
    if (addresses_.size() == 1) return session_->ended();
    return session_->ended_or_overdue().then([this](bool is_overdue) -> kj::Promise<void> {
      if (!is_overdue) return kj::READY_NOW;
      return probe(addresses_.other(probes_++), 0).then([this] { return stay(); });
    });
  }

  kj::Promise<void> probe(std::string address, int redirects) {
    if (address == addresses_.current()) return kj::READY_NOW;
    spdlog::warn("gateway: {} leaves a report unanswered; asking {}", addresses_.current(),
                 address);
    return attempt(address)
        .then([this, redirects](caf::error refused) -> kj::Promise<void> {
          const ErrorDetails said = details(refused);
          if (!refused || said.leader.empty() || redirects == kMostRedirects) return kj::READY_NOW;
          return probe(said.leader, redirects + 1);
        })
        .catch_([address](kj::Exception&& fault) {
          spdlog::warn("gateway: {} does not answer either: {}", address,
                       fault.getDescription().cStr());
        });
  }

  /// Registers there; without an error, the session there is the one from now on.
  kj::Promise<caf::error> attempt(const std::string& address) {
    const auto waits = patience({.try_ms = kTryTimeoutMs,
                                 .call_ms = shared_.options.call_timeout_ms,
                                 .lone_ms = shared_.options.lone_timeout_ms},
                                addresses_.size(), back_off_.failures());
    const auto meet_timeout = waits.meet_ms * kj::MILLISECONDS;
    const auto register_timeout = waits.register_ms * kj::MILLISECONDS;
    if (auto fault = credential_.prepare()) return fault;
    return shared_.timer.timeoutAfter(meet_timeout, connect_to(network_, address))
        .then([this, meet_timeout](kj::Own<kj::AsyncIoStream> stream) {
          trying_ = kj::heap<RpcClient>(kj::mv(stream));
          return shared_.timer.timeoutAfter(meet_timeout, meet_coordinator());
        })
        .then([this](caf::error refused) -> kj::Promise<Expected<NodeDescription>> {
          if (refused) return Expected<NodeDescription>(std::move(refused));
          return shared_.bridge.ask<NodeDescription>(shared_.agent, DescribeNode{}, kAgentTimeout);
        })
        .then([this, register_timeout,
               address](Expected<NodeDescription> node) -> kj::Promise<caf::error> {
          if (!node) return node.error();
          return shared_.timer.timeoutAfter(register_timeout, register_node(*node, address));
        })
        .attach(kj::defer([this] { trying_ = nullptr; }));
  }

  /// Before anything secret is shown: an error unless it is the coordinator whose key is pinned.
  kj::Promise<caf::error> meet_coordinator() {
    const auto pinned = pinned_.read();
    if (!pinned) return pinned.error();
    new_key_.reset();
    return trying_->identify(*pinned).then([this, pinned = *pinned](Identified coordinator) {
      if (!coordinator) return coordinator.error();
      if (!pinned && *coordinator) new_key_ = (*coordinator)->key;
      return caf::error{};
    });
  }

  /// The coordinator that accepted this node is taken for the right one from now on.
  caf::error pin_new_key() {
    if (!new_key_) return {};
    spdlog::warn("gateway: the key of the coordinator at {} was not known; pinned it: {}",
                 addresses_.current(), key_text(*new_key_));
    return pinned_.keep(*new_key_);
  }

  kj::Promise<caf::error> register_node(const NodeDescription& node, const std::string& address) {
    auto request = trying_->gateway().registerAgentRequest();
    request.setProtocolVersion(kProtocolVersion);
    request.setCredential(to_text(credential_.secret()));
    if (!credential_.accepted()) request.setJoinToken(to_text(shared_.options.join_token));
    encode(node.spec, request.initSpec());
    encode(node.report, request.initReport());
    request.getReport().setHighWaterCycle(node.identity.memory.seen.number);
    encode(node.identity, request.initIdentity());
    request.setControl(kj::heap<AgentControlServer>(shared_.bridge, shared_.agent));
    const std::int64_t sent_boottime_ms = boottime_ms();
    return response_of(request).then(
        [this, sent_boottime_ms, address](auto&& response) -> caf::error {
          if (response.hasError()) {
            const caf::error refused = read(response.getError());
            const ErrorDetails why = details(refused);
            if (why.code == ErrorCode::already_exists)
              caf::anon_send(shared_.agent, FoundDuplicate{why.message});
            return refused;
          }
          auto fault = check_cluster_id(to_std_string(response.getClusterId()));
          if (!fault) fault = pin_new_key();
          if (!fault) fault = credential_.accept();
          if (fault) return fault;
          spdlog::info("gateway: registered with {} as node {}", address, response.getNode());
          end_session();  // before the next begins: the agent has one link
          (void)addresses_.follow(address);
          redirects_ = 0;
          rpc_ = kj::mv(trying_);
          session_ = kj::heap<Session>(shared_, *rpc_, response.getSession());
          session_->announce(response.getEpoch(), read(response.getReply()), sent_boottime_ms,
                             to_std_string(response.getClusterId()));
          return {};
        });
  }

  void end_session() {
    if (session_.get() != nullptr && session_->was_left())
      addresses_.advance();
    else if (session_.get() != nullptr && session_->was_answered())
      back_off_.reset();
    session_ = nullptr;
    rpc_ = nullptr;
  }

  void report_failure(const char* what) {
    // Once per outage in the log: it may go on for days.
    if (back_off_.failures() == 0)
      spdlog::warn("gateway: not registered with {}: {}", addresses_.current(), what);
    else
      spdlog::debug("gateway: not registered with {}: {}", addresses_.current(), what);
  }

  kj::Duration next_delay() {
    if (std::exchange(is_redirected_, false)) return 0 * kj::MILLISECONDS;
    return back_off_.next_ms(addresses_.size()) * kj::MILLISECONDS;
  }

  Shared& shared_;
  kj::Network& network_;
  AddressList addresses_;
  std::size_t probes_ = 0;
  int redirects_ = 0;  ///< in a row
  bool is_redirected_ = false;
  Credential credential_;
  PinnedKey pinned_;
  std::optional<PublicKey> new_key_;  ///< of the coordinator at hand, while none is pinned
  BackOff back_off_;                  ///< since the last registration
  kj::Own<RpcClient> trying_;         ///< a connection that is not registered yet
  kj::Own<RpcClient> rpc_;
  kj::Own<Session> session_;  ///< after rpc_: it ends first
};

}  // namespace

class AgentClient::Impl {
 public:
  Impl(caf::actor_system& system, AgentPort agent, AgentClientOptions options,
       AddressList addresses)
      : thread_([&system, agent = std::move(agent), options = std::move(options),
                 addresses = std::move(addresses)](Loop& loop) {
          Shared shared{system, agent, options, loop.timer(), {system, loop.outbox, loop.timer()},
                        {}};
          {
            Connector connector(shared, loop.io.provider->getNetwork(), addresses);
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
  auto addresses = AddressList::parse(options.coordinator, "coordinator");
  if (!addresses) return addresses.error();
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
  auto impl =
      std::make_unique<Impl>(system, std::move(agent), std::move(options), std::move(*addresses));
  return std::unique_ptr<AgentClient>(new AgentClient(std::move(impl)));
}

AgentClient::AgentClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AgentClient::~AgentClient() = default;

}  // namespace fairwater::inline rpc::inline agent
