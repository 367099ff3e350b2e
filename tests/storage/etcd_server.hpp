// A member of etcd, alone, for one test.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>

#include "process/temporary_directory.hpp"
#include "tests/storage/certificates.hpp"

namespace fairwater::test {

/// By which it proves who it is, and whose clients it takes.
struct EtcdIdentity {
  std::string authority;
  KeyFiles own;  ///< for `localhost`
};

class EtcdServer {
 public:
  /// Null where etcd is not installed. It may not listen yet. With an identity at
  /// https://localhost.
  [[nodiscard]] static std::unique_ptr<EtcdServer> start(
      const std::optional<EtcdIdentity>& identity = std::nullopt,
      std::size_t max_request_bytes = std::size_t{16} << 20,
      std::uint64_t quota_bytes = std::uint64_t{2} << 30);
  ~EtcdServer();
  EtcdServer(const EtcdServer&) = delete;
  EtcdServer& operator=(const EtcdServer&) = delete;
  [[nodiscard]] const std::string& endpoint() const { return endpoint_; }

 private:
  EtcdServer() = default;
  TemporaryDirectory directory_;
  std::string endpoint_;
  pid_t pid_ = -1;
};

}  // namespace fairwater::test
