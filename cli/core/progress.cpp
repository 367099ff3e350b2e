#include "cli/core/progress.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace fairwater::inline cli::inline core {
namespace {

constexpr std::chrono::seconds kPatience{1};
constexpr std::chrono::milliseconds kRefresh{250};

}  // namespace

ProgressLine::ProgressLine(std::string text) : text_(std::move(text)) {
  if (isatty(STDERR_FILENO) == 1) thread_ = std::thread{[this] { run(); }};
}

ProgressLine::~ProgressLine() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock{mutex_};
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ProgressLine::set(std::string text) {
  const std::lock_guard lock{mutex_};
  text_ = std::move(text);
}

void ProgressLine::run() {
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock{mutex_};
  if (changed_.wait_for(lock, kPatience, [this] { return ended_; })) return;
  do {
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start);
    std::fprintf(stderr, "\r\033[K%s (%lld s)", text_.c_str(),
                 static_cast<long long>(seconds.count()));
    std::fflush(stderr);
  } while (!changed_.wait_for(lock, kRefresh, [this] { return ended_; }));
  std::fputs("\r\033[K", stderr);
}

std::string progress_bar(const std::string& what, double done) {
  constexpr std::size_t kWidth = 30;
  const double part = std::clamp(done, 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(part * static_cast<double>(kWidth));
  return fmt::format("{} [{}{}] {:3.0f} %", what, std::string(filled, '='),
                     std::string(kWidth - filled, ' '), 100 * part);
}

}  // namespace fairwater::inline cli::inline core
