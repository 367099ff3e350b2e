// An agent's credential on disk. It is made by the agent and becomes good when the coordinator
// accepts it, so there are two files, and a crash at any point leaves a state from which
// registering again succeeds:
//
//   FILE.pending   written before the credential is first shown, together with a join token
//   FILE           the same, renamed after acceptance: no join token is needed any more
#pragma once

#include <string>

#include "model/errors.hpp"

namespace fairwater::inline rpc::inline agent {

class Credential {
 public:
  explicit Credential(std::string file) : file_(std::move(file)) {}

  /// Reads what is there or makes a new pending credential, durably. Does nothing once it has
  /// succeeded.
  [[nodiscard]] caf::error prepare();
  /// The coordinator knows the credential now.
  [[nodiscard]] caf::error accept();

  [[nodiscard]] const std::string& secret() const { return secret_; }
  [[nodiscard]] bool accepted() const { return accepted_; }
  /// A pending credential of an earlier run: the coordinator may know it already.
  [[nodiscard]] bool was_shown() const { return was_shown_; }

 private:
  [[nodiscard]] std::string pending_file() const { return file_ + ".pending"; }

  std::string file_;
  std::string secret_;
  bool accepted_ = false;
  bool was_shown_ = false;
};

}  // namespace fairwater::inline rpc::inline agent
