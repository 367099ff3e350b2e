#include "rpc/rpc_client.hpp"

#include "rpc/faults.hpp"

namespace fairwater::inline rpc {
namespace {

capnp::ReaderOptions answer_options() {
  capnp::ReaderOptions options;
  options.traversalLimitInWords = kMaxAnswerBytes / sizeof(capnp::word);
  return options;
}

/// The coordinator is trusted with this process's memory. Of the thread's loop, not of a client:
/// the RPC system may let go of a message only in a turn of the loop after its client has gone.
ByteMeter& unlimited() {
  thread_local ByteMeter meter;
  return meter;
}

wire::Gateway::Client bootstrap(capnp::RpcSystem<capnp::rpc::twoparty::VatId>& rpc) {
  capnp::MallocMessageBuilder message;
  auto server = message.initRoot<capnp::rpc::twoparty::VatId>();
  server.setSide(capnp::rpc::twoparty::Side::SERVER);
  return rpc.bootstrap(server).castAs<wire::Gateway>();
}

caf::error not_genuine(const std::string& why) {
  return make_error(ErrorCode::unauthenticated,
                    "whoever answers there is not the coordinator that is known here: " + why +
                        ". Nothing secret was shown to it.",
                    "coordinator_key");
}

Identified judge(const IdentityProof& proof, const Nonce& nonce,
                 const std::optional<PublicKey>& expected) {
  if (expected && proof.key != *expected)
    return not_genuine("its key is " + key_text(proof.key) + ", not " + key_text(*expected));
  if (!is_genuine(proof, nonce)) return not_genuine("it cannot sign with the key it names");
  return std::optional(proof);
}

/// It does not know the question, or has no key.
Identified judge_unknown(const std::optional<PublicKey>& expected) {
  if (expected) return not_genuine("it cannot say who it is");
  return std::optional<IdentityProof>{};
}

}  // namespace

kj::Promise<Identified> RpcClient::identify(std::optional<PublicKey> expected) {
  const Nonce nonce = make_nonce();
  auto request = gateway_.identifyRequest();
  request.setNonce({nonce.data(), nonce.size()});
  return response_of(request).then(
      [nonce, expected](auto&& response) -> Identified {
        if (response.hasError()) {
          auto refused = read(response.getError());
          if (details(refused).code != ErrorCode::not_supported) return refused;
          return judge_unknown(expected);
        }
        const auto proof = guard_decoding([&] { return read(response); });
        if (!proof) return proof.error();
        return judge(*proof, nonce, expected);
      },
      [expected](kj::Exception&& fault) -> Identified {
        if (fault.getType() != kj::Exception::Type::UNIMPLEMENTED) return translate_fault(fault);
        return judge_unknown(expected);
      });
}

RpcClient::RpcClient(kj::Own<kj::AsyncIoStream> stream)
    : stream_(kj::mv(stream)),
      messages_(*stream_, kMaxAnswerBytes, unlimited()),
      network_(messages_, capnp::rpc::twoparty::Side::CLIENT, answer_options()),
      rpc_(capnp::makeRpcClient(network_)),
      gateway_(bootstrap(rpc_)) {}

}  // namespace fairwater::inline rpc
