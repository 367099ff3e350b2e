#include "task_host_fixture.hpp"

#include <algorithm>
#include <chrono>
#include <poll.h>
#include <signal.h>
#include <thread>

namespace fairwater {

bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

std::vector<pid_t> processes_with_argument(const std::string& marker) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto arguments = read_file(entry.path() / "cmdline");
    if (arguments && ('\0' + *arguments).find('\0' + marker + '\0') != std::string::npos)
      found.push_back(std::stoi(name));
  }
  return found;
}

HostFixture::HostFixture(LimitMethod method) {
  options_.directory = directory_.path();
  options_.supervisor = TASK_HOST_PROGRAM;
  options_.limits = method;
  options_.users.allow_root = true;
  reopen();
}

HostFixture::~HostFixture() {
  for (const pid_t pid : processes_with_argument(marker())) ::kill(pid, SIGKILL);
}

void HostFixture::reopen() {
  host_.reset();
  auto opened = TaskHost::open(options_);
  REQUIRE(opened);
  host_ = std::move(*opened);
}

LaunchOrder HostFixture::shell(const std::string& script) {
  LaunchOrder order;
  order.task = {JobId{next_job_++}, 0, 1};
  // The marker becomes $0, so that everything a test leaves behind can be found.
  order.command = {"sh", "-c", script, marker()};
  return order;
}

void HostFixture::launch_held(const LaunchOrder& order) {
  REQUIRE(!host_->launch(order));
  REQUIRE(eventually([&] {
    const auto record = AttemptFile(directory(), order.task).read();
    return record && (record->started || record->result);
  }));
}

TaskResult HostFixture::run(const LaunchOrder& order) {
  REQUIRE(!host_->launch(order));
  return wait_for(order.task);
}

TaskResult HostFixture::wait_for(const TaskKey& task) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (;;) {
    const auto found = std::ranges::find(results_, task, &TaskResult::task);
    if (found != results_.end()) {
      const TaskResult result = *found;
      results_.erase(found);
      return result;
    }
    REQUIRE(std::chrono::steady_clock::now() < end);
    pollfd ended{host_->event_fd(), POLLIN, 0};
    ::poll(&ended, 1, 1000);
    for (TaskResult& result : host_->collect()) results_.push_back(std::move(result));
  }
}

std::string HostFixture::output(const TaskKey& task, bool standard_error) {
  const auto text = host_->read_log(task, standard_error, 0, 1u << 20);
  REQUIRE(text);
  return *text;
}

}  // namespace fairwater
