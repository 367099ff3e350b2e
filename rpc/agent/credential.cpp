#include "rpc/agent/credential.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "rpc/tokens.hpp"

namespace fairwater::inline rpc::inline agent {

caf::error Credential::prepare() {
  if (!secret_.empty()) return {};
  auto accepted = read_secret_file(file_);
  if (accepted) {
    secret_ = *accepted;
    accepted_ = true;
    return {};
  }
  if (details(accepted.error()).code != ErrorCode::not_found) return accepted.error();
  auto pending = read_secret_file(pending_file());
  if (pending) {
    secret_ = *pending;
    was_shown_ = true;
    return {};
  }
  // An empty file is a crash within writing, by an earlier version: it was never shown.
  const ErrorCode cause = details(pending.error()).code;
  if (cause == ErrorCode::invalid_input)
    std::remove(pending_file().c_str());
  else if (cause != ErrorCode::not_found)
    return pending.error();
  std::string secret = make_token("fw_ag_");
  if (auto fault = write_secret_file(pending_file(), secret)) return fault;
  secret_ = std::move(secret);
  return {};
}

caf::error Credential::accept() {
  if (accepted_) return {};
  if (std::rename(pending_file().c_str(), file_.c_str()) != 0)
    return make_error(ErrorCode::unavailable, "cannot rename '" + pending_file() + "' to '" +
                                                  file_ + "': " + std::strerror(errno));
  accepted_ = true;
  return {};
}

}  // namespace fairwater::inline rpc::inline agent
