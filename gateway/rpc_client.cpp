#include "gateway/rpc_client.hpp"

namespace fairwater {
namespace {

capnp::ReaderOptions answer_options() {
  capnp::ReaderOptions options;
  options.traversalLimitInWords = kMaxAnswerBytes / sizeof(capnp::word);
  return options;
}

wire::Gateway::Client bootstrap(capnp::RpcSystem<capnp::rpc::twoparty::VatId>& rpc) {
  capnp::MallocMessageBuilder message;
  auto server = message.initRoot<capnp::rpc::twoparty::VatId>();
  server.setSide(capnp::rpc::twoparty::Side::SERVER);
  return rpc.bootstrap(server).castAs<wire::Gateway>();
}

}  // namespace

RpcClient::RpcClient(kj::Own<kj::AsyncIoStream> stream)
    : stream_(kj::mv(stream)),
      messages_(*stream_, kMaxAnswerBytes, bytes_),
      network_(messages_, capnp::rpc::twoparty::Side::CLIENT, answer_options()),
      rpc_(capnp::makeRpcClient(network_)),
      gateway_(bootstrap(rpc_)) {}

}  // namespace fairwater
