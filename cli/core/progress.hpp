// One line on a terminal that says what takes so long.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace fairwater::inline cli::inline core {

/// Shows its text on standard error once it is a second old, renewed as time goes by, and wipes it
/// when it goes out of scope. Does nothing when standard error is no terminal. Thread-safe.
class ProgressLine {
 public:
  explicit ProgressLine(std::string text);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void set(std::string text);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  bool ended_ = false;
  std::thread thread_;
};

/// `what [=====>    ]  52 %`; `done` from 0 to 1.
[[nodiscard]] std::string progress_bar(const std::string& what, double done);

}  // namespace fairwater::inline cli::inline core
