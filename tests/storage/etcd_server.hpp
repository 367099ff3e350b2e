// A member of etcd, alone, for one test.
#pragma once

#include <memory>
#include <string>
#include <sys/types.h>

#include "process/temporary_directory.hpp"

namespace fairwater::test {

class EtcdServer {
 public:
  /// Null where etcd is not installed. It may not listen yet.
  [[nodiscard]] static std::unique_ptr<EtcdServer> start();
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
