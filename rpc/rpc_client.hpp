// The calling end of a connection: the RPC system over a connected stream. On the loop's thread.
#pragma once

#include <capnp/rpc-twoparty.h>

#include "rpc/identity.hpp"
#include "rpc/message_guard.hpp"
#include "rpc/wire.hpp"

namespace fairwater::inline rpc {

/// Answers (listings, batches of orders) may be larger than what a coordinator accepts as a
/// request.
inline constexpr std::uint64_t kMaxAnswerBytes = 256u << 20;

/// Who is at the other end. `unauthenticated` when it cannot prove what it says, or is not the
/// `expected` one; none when it does not know the question, as coordinators before they had keys.
using Identified = Expected<std::optional<IdentityProof>>;

class RpcClient {
 public:
  explicit RpcClient(kj::Own<kj::AsyncIoStream> stream);

  [[nodiscard]] wire::Gateway::Client& gateway() { return gateway_; }
  /// To be called before a secret is shown.
  [[nodiscard]] kj::Promise<Identified> identify(std::optional<PublicKey> expected);
  [[nodiscard]] kj::Promise<void> on_disconnect() { return network_.onDisconnect(); }

 private:
  kj::Own<kj::AsyncIoStream> stream_;
  MessageGuard messages_;
  capnp::TwoPartyVatNetwork network_;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc_;
  wire::Gateway::Client gateway_;
};

}  // namespace fairwater::inline rpc
