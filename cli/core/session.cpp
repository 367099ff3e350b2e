#include "cli/core/session.hpp"

#include <algorithm>
#include <thread>

#include "cli/core/progress.hpp"

namespace fairwater {
namespace {

constexpr std::chrono::milliseconds kFirstPause{50};
constexpr std::chrono::milliseconds kLongestPause{1000};
/// Lease and grace are 25 s unless configured: by then a silent node is lost and not waited for.
constexpr std::chrono::seconds kStartPatience{30};

}  // namespace

Session::Session(const Context& context, std::chrono::milliseconds patience)
    : context_(&context), patience_(patience) {}

bool Session::is_lost(const caf::error& error) {
  return details(error).code == ErrorCode::unavailable;
}

caf::error Session::connect() {
  auto client = context_->connect();
  if (!client) return client.error();
  client_ = std::move(*client);
  return {};
}

caf::error Session::reconnect() {
  const auto deadline = std::chrono::steady_clock::now() + patience_;
  for (auto pause = kFirstPause;; pause = std::min(pause * 2, kLongestPause)) {
    auto error = connect();
    if (!error || !is_lost(error) || std::chrono::steady_clock::now() + pause > deadline)
      return error;
    std::this_thread::sleep_for(pause);  // nothing tells when a coordinator will be back
  }
}

Expected<JobId> Session::submit(const JobSpec& spec) {
  const ProgressLine progress{"submitting; fairwater status says whether jobs are taken"};
  const auto deadline = std::chrono::steady_clock::now() + kStartPatience;
  for (auto pause = kFirstPause;; pause = std::min(pause * 2, kLongestPause)) {
    auto id = client_->submit(spec);
    if (id || std::chrono::steady_clock::now() + pause > deadline) return id;
    const auto why = details(id.error());
    if (why.code != ErrorCode::unavailable || why.field != kLedgerField) return id;
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace fairwater
