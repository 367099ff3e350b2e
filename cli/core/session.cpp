#include "cli/core/session.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <thread>

#include "cli/core/progress.hpp"
#include "model/ledger_mark.hpp"

namespace fairwater::inline cli::inline core {
namespace {

constexpr std::chrono::milliseconds kFirstPause{50};
constexpr std::chrono::milliseconds kLongestPause{1000};
/// Lease and grace are 25 s unless configured: by then a silent node is lost and not waited for.
constexpr std::chrono::seconds kStartPatience{30};
/// For what an operator or a tenant must make room for: not long, so that it is heard of.
constexpr std::chrono::seconds kRoomPatience{3};

/// Never made twice: 128 random bits.
std::string random_request_id() {
  std::random_device device;
  std::array<std::uint8_t, 16> bytes;
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(device());
  return to_hex(bytes);
}

}  // namespace

Session::Session(const Context& context, std::chrono::milliseconds patience)
    : context_(&context), patience_(patience) {}

bool Session::pause(Retries& retries) const {
  const auto now = std::chrono::steady_clock::now();
  if (!retries.since) retries = {now, kFirstPause};
  if (now + retries.pause > *retries.since + patience_) return false;
  std::this_thread::sleep_for(retries.pause);  // nothing tells when it can be done
  retries.pause = std::min(retries.pause * 2, kLongestPause);
  return true;
}

caf::error Session::connect() {
  auto client = addresses_ ? context_->connect(*addresses_) : context_->connect();
  if (!client) return client.error();
  client_ = std::move(*client);
  addresses_ = client_->addresses();
  return {};
}

caf::error Session::reconnect() {
  const auto deadline = std::chrono::steady_clock::now() + patience_;
  for (auto pause = kFirstPause;; pause = std::min(pause * 2, kLongestPause)) {
    auto error = connect();
    if (!is_undone(error) || std::chrono::steady_clock::now() + pause > deadline) return error;
    std::this_thread::sleep_for(pause);  // nothing tells when a coordinator will be back
  }
}

Expected<JobId> Session::submit(const JobSpec& spec, std::string request_id) {
  const ProgressLine progress{"submitting; fairwater status says whether jobs are taken"};
  if (request_id.empty()) request_id = random_request_id();
  const auto begun = std::chrono::steady_clock::now();
  for (auto pause = kFirstPause;; pause = std::min(pause * 2, kLongestPause)) {
    auto id = client_->submit(spec, request_id);
    if (id) return id;
    const ErrorDetails why = details(id.error());
    const bool waits_for_nodes = why.field == kLedgerField;
    const bool is_cut_off = is_undone(id.error()) && !waits_for_nodes;
    const auto patience = is_cut_off        ? patience_
                          : waits_for_nodes ? std::chrono::milliseconds(kStartPatience)
                                            : std::chrono::milliseconds(kRoomPatience);
    const bool is_over = std::chrono::steady_clock::now() + pause > begun + patience;
    if (!is_retryable(why.code) || is_over) return id;
    std::this_thread::sleep_for(pause);
    if (!is_cut_off) continue;
    // One that does not know request ids would take it as another job.
    if (!client_->remembers_requests()) return id;
    if (auto error = reconnect()) return error;
    if (!client_->remembers_requests()) return id;
  }
}

}  // namespace fairwater::inline cli::inline core
