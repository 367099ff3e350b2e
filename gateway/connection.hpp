// One accepted connection: its limits and what it has shown of itself so far. The capabilities that
// were handed out over it share it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <capnp/rpc-twoparty.h>
#include <kj/refcount.h>
#include <kj/timer.h>

#include "gateway/agent_line.hpp"
#include "gateway/call_queue.hpp"
#include "gateway/server.hpp"
#include "rpc/bridge.hpp"
#include "rpc/message_guard.hpp"
#include "rpc/wire.hpp"

namespace fairwater::inline gateway {

class Connection;

/// Before a peer has shown a token its messages stay below this: a login is small, and an agent
/// registers with some hundred bytes per task that it runs.
inline constexpr std::uint64_t kMaxAnonymousMessageBytes = 2u << 20;
/// Messages that are read of a peer before it has shown a token: enough to log in or register.
/// Calls on a session that it does not have yet would wait in memory.
inline constexpr std::uint64_t kMaxAnonymousMessages = 64;
/// In a place that is kept for operators there is less time to show a token.
inline constexpr auto kMaxReservedLoginTime = 2 * kj::SECONDS;
/// Refusals that one connection has to wait for: with more it is not read.
inline constexpr std::uint32_t kMaxRefusals = 16;
/// Calls of one connection that wait for their turn: with more it is not read. Reading costs as
/// much as carrying out.
inline constexpr std::uint32_t kMaxWaitingCalls = 16;
/// A peer asks who the coordinator is once per connection; each answer costs a signature.
inline constexpr int kMaxIdentifications = 4;
/// The wrong tokens that one connection may show.
inline constexpr int kMaxFailedLogins = 5;
/// Answers that wait for a slow reader: this many times the largest message, and not longer than
/// that.
inline constexpr std::uint64_t kMaxQueuedMessages = 4;
inline constexpr auto kMaxQueueTime = 30 * kj::SECONDS;
/// Verifying reads the whole journal.
inline constexpr std::chrono::milliseconds kVerifyTimeout{600'000};

/// What goes on although the one who began it has gone.
class Background final : private kj::TaskSet::ErrorHandler {
 public:
  void add(kj::Promise<void> task) { tasks_.add(kj::mv(task)); }

 private:
  void taskFailed(kj::Exception&& fault) override;
  kj::TaskSet tasks_{*this};
};

/// What the server's objects share; lives on the loop's thread for as long as the server.
struct Services {
  caf::actor_system& system;
  FrontendActor frontend;
  ServerOptions options;
  kj::Timer& timer;
  CallQueue calls;
  Bridge bridge;  ///< keeps calls until they are answered
  AgentLines agent_lines;
  std::set<Connection*> connections;
  std::uint64_t wrong_tokens = 0;
  std::uint32_t in_reserved_places = 0;  ///< of the connections
  Refusals refusals{timer};
  ByteMeter anonymous_bytes{options.max_anonymous_bytes};
  ByteMeter client_bytes{options.max_client_bytes};
  std::map<TenantId, ByteMeter> tenant_bytes = {};  ///< of these, since the tenant's first login
  ByteMeter agent_bytes{};             ///< an agent has one connection, and few calls on it
  std::set<Hash> revoked_tokens = {};  ///< since the start: a login may still be on its way back
  std::uint64_t last_connection = 0;
  Background background{};  ///< last: its tasks refer to the rest

  /// Revokes a token and ends its sessions when that is durable, also when nobody waits for the
  /// answer any more: the caller has gone, or the commit took longer than a call may.
  [[nodiscard]] kj::Promise<Expected<RevokedToken>> revoke(RevokeToken request, Bridge::Kept place,
                                                           const Connection& caller);
  /// Closes every connection that logged in with the token but the caller's, which is to get its
  /// answer: calls that it makes from now on are refused.
  void end_sessions_of(const Hash& token, std::uint64_t caller);
  [[nodiscard]] ByteMeter& bytes_of(TenantId tenant) {
    return tenant_bytes.try_emplace(tenant, ByteMeter{options.max_tenant_bytes, 0, &client_bytes})
        .first->second;
  }
  [[nodiscard]] std::chrono::milliseconds answer_timeout() const {
    return std::chrono::milliseconds(options.answer_timeout_ms);
  }
  /// A join token as it is handed out.
  [[nodiscard]] std::string join_token_text(const std::string& token) const;
};

class Connection final : public kj::Refcounted {
 public:
  /// `full`: why it takes one of the places that are kept for operators; empty: it does not.
  Connection(Services& services, kj::Own<kj::AsyncIoStream> stream, std::string peer,
             std::string full);
  ~Connection() noexcept;

  /// Speaks the protocol until the peer goes, must go, or the promise is dropped.
  [[nodiscard]] static kj::Promise<void> serve(kj::Own<Connection> connection);

  /// Ends serve(), from within a call too.
  void close(const char* reason);
  /// True when answers pile up because the peer does not read them.
  [[nodiscard]] bool reads_too_slowly();

  // -- showing a token ----------------------------------------------------------------------------
  /// Only one attempt at a time, and none after success: `wrong_state`, or `not_supported` for a
  /// version that is too old.
  [[nodiscard]] caf::error begin_entry(std::uint32_t peer_version);
  /// As this tenant, or as an operator.
  void client_entered(std::optional<TenantId> tenant);
  void agent_entered();
  /// `overloaded` where only an operator may stay.
  [[nodiscard]] caf::error check_place() const;
  /// Who the coordinator is; `overloaded` when that was asked too often.
  [[nodiscard]] Expected<IdentityProof> identify(const Nonce& nonce);
  /// The session lives as long as its token. `unauthenticated` when that has been revoked
  /// meanwhile.
  [[nodiscard]] caf::error begin_session(const Hash& token, WallTime expires_at);
  /// Promises to fail: at once, or late when the token was wrong.
  [[nodiscard]] kj::Promise<void> entry_failed(const caf::error& error);
  /// The attempt was dropped. Harmless after the two above.
  void entry_abandoned();

  // -- calls --------------------------------------------------------------------------------------
  /// Counts a call until destroyed.
  class Admission {
   public:
    explicit Admission(Connection& connection) : connection_(kj::addRef(connection)) {
      ++connection_->calls_;
    }
    Admission(Connection& connection, kj::Own<CallQueue::Call> call) : Admission(connection) {
      call_ = kj::mv(call);
    }
    Admission(const Admission&) = delete;
    Admission& operator=(const Admission&) = delete;
    ~Admission() { --connection_->calls_; }
    /// Of a client's call: its turn, and its place among those that the actors work on.
    [[nodiscard]] kj::Promise<void> turn();
    [[nodiscard]] Bridge::Kept place() { return kj::addRef(*call_); }

   private:
    kj::Own<Connection> connection_;
    kj::Own<CallQueue::Call> call_;  ///< of a client
  };
  /// An agent's call, and a client's of this tenant; `overloaded`.
  [[nodiscard]] Expected<kj::Own<Admission>> admit();
  [[nodiscard]] Expected<kj::Own<Admission>> admit(TenantId tenant);
  /// When a refusal is to be answered. Meanwhile little more is read.
  [[nodiscard]] kj::Promise<void> refuse();

  [[nodiscard]] Services& services() { return services_; }
  /// No other connection of the server has or had it.
  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] bool is_session_of(const Hash& token) const { return token_ == token; }

 private:
  enum class Entry { none, trying, done };

  void entered(ByteMeter& bytes);
  [[nodiscard]] kj::Promise<void> closed();
  /// Resolves when the peer has had so long to log in and has not. What the actors take to answer
  /// is not the peer's: a busy coordinator would do for it anew what it has done.
  [[nodiscard]] kj::Promise<void> without_entry(kj::Duration patience);
  [[nodiscard]] caf::error check_calls();
  void read_or_pause();
  /// Why the token opens nothing any more.
  [[nodiscard]] caf::error check_token() const;

  Services& services_;
  const std::uint64_t number_;
  kj::Own<kj::AsyncIoStream> stream_;
  const std::string peer_;
  const std::string full_;
  MessageGuard messages_;
  capnp::TwoPartyVatNetwork network_;
  kj::PromiseFulfillerPair<void> close_requested_;
  Entry entry_ = Entry::none;
  int failed_logins_ = 0;
  int identifications_ = 0;
  std::optional<Hash> token_;  ///< that a client logged in with
  WallTime token_expires_at_;
  std::uint32_t calls_ = 0;
  std::uint32_t refusals_ = 0;
  std::uint32_t waiting_calls_ = 0;
};

}  // namespace fairwater::inline gateway
