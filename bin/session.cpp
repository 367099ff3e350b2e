#include "bin/session.hpp"

#include <algorithm>
#include <thread>

namespace fairwater {
namespace {

constexpr std::chrono::milliseconds kFirstPause{50};
constexpr std::chrono::milliseconds kLongestPause{1000};

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

}  // namespace fairwater
