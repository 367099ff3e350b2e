#include "gateway/connection.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include <spdlog/spdlog.h>

#include "gateway/sessions.hpp"

namespace fairwater::inline gateway {
namespace {

/// What a wrong token costs, doubled each time.
constexpr auto kFirstPenalty = 100 * kj::MILLISECONDS;

capnp::ReaderOptions reader_options(const ServerOptions& options) {
  capnp::ReaderOptions reader;
  reader.traversalLimitInWords = options.max_message_bytes / sizeof(capnp::word);
  reader.nestingLimit = 32;
  return reader;
}

}  // namespace

void Background::taskFailed(kj::Exception&& fault) {
  spdlog::error("gateway: work in the background failed: {}", fault.getDescription().cStr());
}

// Bound: of each token one revocation waits for its commit; others are answered at once.
kj::Promise<Expected<RevokedToken>> Services::revoke(RevokeToken request, Bridge::Kept place,
                                                     const Connection& caller) {
  auto revoked =
      bridge.ask<RevokedToken>(frontend, std::move(request), Bridge::kNever, kj::mv(place))
          .then([this, caller = caller.number()](Expected<RevokedToken> answer) {
            if (answer) end_sessions_of(answer->token_hash, caller);
            return answer;
          })
          .fork();
  background.add(revoked.addBranch().ignoreResult());
  auto late = timer.afterDelay(options.answer_timeout_ms * kj::MILLISECONDS).then([] {
    return Expected<RevokedToken>(translate_actor_error(caf::sec::request_timeout));
  });
  return revoked.addBranch().exclusiveJoin(kj::mv(late));
}

void Services::end_sessions_of(const Hash& token, std::uint64_t caller) {
  revoked_tokens.insert(token);
  for (Connection* connection : connections)
    if (connection->number() != caller && connection->is_session_of(token))
      connection->close("its token was revoked");
}

std::string Services::join_token_text(const std::string& token) const {
  return options.key ? fairwater::join_token_text(token, options.key->public_key()) : token;
}

Connection::Connection(Services& services, kj::Own<kj::AsyncIoStream> stream, std::string peer,
                       std::string full)
    : services_(services),
      number_(++services.last_connection),
      stream_(kj::mv(stream)),
      peer_(std::move(peer)),
      full_(std::move(full)),
      messages_(*stream_, std::min(services.options.max_message_bytes, kMaxAnonymousMessageBytes),
                services.anonymous_bytes),
      network_(messages_, capnp::rpc::twoparty::Side::SERVER, reader_options(services.options)),
      close_requested_(kj::newPromiseAndFulfiller<void>()) {
  messages_.set_messages_left(kMaxAnonymousMessages);
  messages_.set_patience(services.timer, services.options.message_timeout_ms * kj::MILLISECONDS);
  services_.connections.insert(this);
  if (!full_.empty()) ++services_.in_reserved_places;
}

Connection::~Connection() noexcept {
  services_.connections.erase(this);
  if (!full_.empty()) --services_.in_reserved_places;
}

kj::Promise<void> Connection::serve(kj::Own<Connection> connection) {
  using Rpc = capnp::RpcSystem<capnp::rpc::twoparty::VatId>;
  auto rpc = kj::heap<Rpc>(capnp::makeRpcServer(connection->network_, make_gateway(*connection)));
  // Calls whose parameters exceed this stop the reading until some are answered.
  rpc->setFlowLimit(2 * connection->services_.options.max_message_bytes / sizeof(capnp::word));
  auto closed = connection->closed();
  // The RPC system goes before the connection that it speaks over.
  return closed.attach(kj::mv(rpc)).attach(kj::mv(connection));
}

kj::Promise<void> Connection::closed() {
  kj::Duration patience = services_.options.login_timeout_ms * kj::MILLISECONDS;
  if (!full_.empty()) patience = kj::min(patience, kMaxReservedLoginTime);
  return network_.onDisconnect()
      .exclusiveJoin(kj::mv(close_requested_.promise))
      .exclusiveJoin(without_entry(patience));
}

kj::Promise<void> Connection::without_entry(kj::Duration patience) {
  return services_.timer.afterDelay(patience).then([this, patience]() -> kj::Promise<void> {
    if (entry_ == Entry::done) return kj::NEVER_DONE;
    if (entry_ == Entry::trying) return without_entry(patience);
    spdlog::debug("gateway: closing {}: it did not log in in time", peer_);
    return kj::READY_NOW;
  });
}

void Connection::close(const char* reason) {
  spdlog::debug("gateway: closing {}: {}", peer_, reason);
  close_requested_.fulfiller->fulfill();
}

bool Connection::reads_too_slowly() {
  return network_.getCurrentQueueSize() >
             kMaxQueuedMessages * services_.options.max_message_bytes ||
         network_.getOutgoingMessageWaitTime() > kMaxQueueTime;
}

caf::error Connection::begin_entry(std::uint32_t peer_version) {
  if (entry_ != Entry::none)
    return make_error(ErrorCode::wrong_state, entry_ == Entry::done
                                                  ? "this connection has logged in already"
                                                  : "this connection is logging in already");
  if (failed_logins_ >= kMaxFailedLogins) {
    close("it showed too many wrong tokens");
    return make_error(ErrorCode::unauthenticated, "too many wrong tokens");
  }
  if (peer_version < kOldestProtocolVersion)
    return make_error(ErrorCode::not_supported,
                      "protocol version " + std::to_string(peer_version) +
                          " is not served any more; the oldest is " +
                          std::to_string(kOldestProtocolVersion),
                      "protocolVersion");
  entry_ = Entry::trying;
  return {};
}

void Connection::client_entered(std::optional<TenantId> tenant) {
  entered(tenant ? services_.bytes_of(*tenant) : services_.client_bytes);
}

void Connection::agent_entered() { entered(services_.agent_bytes); }

void Connection::entered(ByteMeter& bytes) {
  entry_ = Entry::done;
  messages_.set_limits(services_.options.max_message_bytes, bytes);
  messages_.set_messages_left(std::numeric_limits<std::uint64_t>::max());
}

caf::error Connection::check_place() const {
  if (full_.empty()) return {};
  return make_error(ErrorCode::overloaded, full_ + "; try again later");
}

Expected<IdentityProof> Connection::identify(const Nonce& nonce) {
  const auto& options = services_.options;
  if (!options.key)
    return make_error(ErrorCode::not_supported, "this coordinator has no key of its own");
  if (++identifications_ > kMaxIdentifications)
    return make_error(ErrorCode::overloaded, "a connection may ask who this is " +
                                                 std::to_string(kMaxIdentifications) + " times");
  return IdentityProof{options.cluster_id, options.key->public_key(),
                       options.key->sign(nonce, options.cluster_id)};
}

caf::error Connection::begin_session(const Hash& token, WallTime expires_at) {
  token_ = token;
  token_expires_at_ = expires_at;
  return check_token();
}

caf::error Connection::check_token() const {
  if (token_ && services_.revoked_tokens.contains(*token_))
    return make_error(ErrorCode::unauthenticated, "this token has been revoked", "token");
  if (token_expires_at_ && token_expires_at_ <= wall_time_now())
    return make_error(ErrorCode::unauthenticated, "this token has expired", "token");
  return {};
}

kj::Promise<void> Connection::entry_failed(const caf::error& error) {
  if (details(error).code != ErrorCode::unauthenticated) return kj::READY_NOW;
  // At 1, 2, 4, 8, ..: guessing is not to fill the log.
  if (std::has_single_bit(++services_.wrong_tokens))
    spdlog::warn("gateway: {} wrong tokens so far, now from {}", services_.wrong_tokens, peer_);
  return services_.timer.afterDelay(kFirstPenalty * (1 << failed_logins_++));
}

void Connection::entry_abandoned() {
  if (entry_ == Entry::trying) entry_ = Entry::none;
}

caf::error Connection::check_calls() {
  if (reads_too_slowly()) close("it does not read its answers");
  if (auto refused = check_token()) return refused;
  if (calls_ < services_.options.max_calls_per_connection) return {};
  return make_error(ErrorCode::overloaded,
                    "more than " + std::to_string(services_.options.max_calls_per_connection) +
                        " calls at once on one connection");
}

Expected<kj::Own<Connection::Admission>> Connection::admit() {
  if (auto full = check_calls()) return full;
  return kj::heap<Admission>(*this);
}

Expected<kj::Own<Connection::Admission>> Connection::admit(TenantId tenant) {
  if (auto full = check_calls()) return full;
  auto call = services_.calls.open(tenant);
  if (!call) return call.error();
  return kj::heap<Admission>(*this, kj::mv(*call));
}

kj::Promise<void> Connection::refuse() {
  ++refusals_;
  read_or_pause();
  return services_.refusals.next().attach(kj::defer([connection = kj::addRef(*this)]() mutable {
    --connection->refusals_;
    connection->read_or_pause();
  }));
}

kj::Promise<void> Connection::Admission::turn() {
  ++connection_->waiting_calls_;
  connection_->read_or_pause();
  return call_->turn().attach(kj::defer([connection = kj::addRef(*connection_)]() mutable {
    --connection->waiting_calls_;
    connection->read_or_pause();
  }));
}

void Connection::read_or_pause() {
  if (refusals_ < kMaxRefusals && waiting_calls_ < kMaxWaitingCalls)
    messages_.resume();
  else
    messages_.pause();
}

}  // namespace fairwater::inline gateway
