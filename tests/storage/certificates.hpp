// Certificates of an authority made for one test, by Debian's openssl.
#pragma once

#include <string>

#include "process/temporary_directory.hpp"

namespace fairwater::test {

/// In PEM. A certificate for `localhost`, or a client's.
struct KeyFiles {
  std::string certificate;
  std::string key;
};

class Authority {
 public:
  /// False where openssl is not installed.
  [[nodiscard]] static bool can_be_made();
  Authority();
  [[nodiscard]] std::string file() const { return directory_ / "ca.pem"; }
  /// For a server at `host` and for clients.
  [[nodiscard]] KeyFiles issue(const std::string& name, const std::string& host) const;

 private:
  void run(const std::string& command) const;
  TemporaryDirectory directory_;
};

}  // namespace fairwater::test
