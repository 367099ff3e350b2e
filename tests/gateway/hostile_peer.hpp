// What tests of broken and greedy peers share: what such peers send, and what a process takes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <sys/resource.h>

#include <catch2/catch.hpp>

#include "rpc/client.hpp"
#include "tests/gateway/rpc_peer.hpp"

namespace fairwater::test {

/// The soft limit on file descriptors, put back afterwards.
class FileLimit {
 public:
  FileLimit() { REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0); }
  ~FileLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  void set(rlim_t soft) const {
    const rlimit limit{soft, before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
  }
  void restore() const { REQUIRE(::setrlimit(RLIMIT_NOFILE, &before_) == 0); }

 private:
  rlimit before_{};
};

/// The beginning of a message: numbers of 32 bits, little-endian.
[[nodiscard]] std::string frame_head(std::initializer_list<std::uint32_t> numbers);
/// What a client sends to log in: bytes of whole, valid messages.
[[nodiscard]] std::string login_bytes();

/// How much more memory than at its beginning this process had at its peak since.
class MemoryPeak {
 public:
  MemoryPeak();
  [[nodiscard]] std::int64_t grown_mib() const;

 private:
  std::int64_t before_kib_ = 0;
};

using RegisterRequest =
    capnp::Request<wire::Gateway::RegisterAgentParams, wire::Gateway::RegisterAgentResults>;
/// Of an agent that takes every order and does nothing.
[[nodiscard]] RegisterRequest registration(RpcPeer& peer);

inline void check_works(Client& client) { REQUIRE(client.status()); }

}  // namespace fairwater::test
