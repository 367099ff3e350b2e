// A tenant's users in a fair queue: whose task comes next, and that a restart goes on in the same
// order.
#include <algorithm>
#include <map>
#include <random>
#include <tuple>

#include <catch2/catch.hpp>

#include "state/tenant_jobs.hpp"

namespace fairwater {
namespace {

constexpr TenantId kShared{3};
constexpr NodeId kUserNode{1};
constexpr WallTime kUserTime{1'000'000'000};

JobSubmitted user_job(std::uint64_t id, const std::string& user, std::uint32_t tasks,
                      Amount cpu = 100) {
  JobSpec spec;
  spec.command = {"true"};
  spec.tasks_min = spec.tasks_max = tasks;
  spec.resources = {{"cpu", cpu}};
  spec.user = user;
  return {JobId{id}, kShared, spec};
}

Grant user_grant(const TaskKey& task, Units cost = 1) {
  Grant grant;
  grant.task = task;
  grant.tenant = kShared;
  grant.cost = cost;
  return grant;
}

std::vector<TaskKey> tasks_in(const DemandWindow& window) {
  std::vector<TaskKey> tasks;
  for (const WaitingRange& range : window.next)
    for (std::uint32_t i = 0; i < range.count; ++i)
      tasks.push_back({range.job, range.first_index + i, range.attempt});
  return tasks;
}

/// What a journal makes of the tenant's jobs, and what lives of them.
class UserHistory {
 public:
  UserHistory() : live_(kShared, QueuePolicy::fair, ResourceCatalog{}) {}

  void submit(const std::string& user, std::uint32_t tasks, Amount cpu) {
    ++record_;
    const auto submitted = user_job(++last_job_, user, tasks, cpu);
    const JobRecord job = submitted_job(submitted, kUserTime);
    stored_.emplace(job.id, UnfinishedJob{job, {}, {}});
    if (!user.empty())
      for (const std::string& tracked : {std::string{}, user}) served_.try_emplace(tracked);
    live_.add({job, {}, {}});
  }
  void grant(const TaskKey& key) {
    ++record_;
    UnfinishedJob& job = stored_.at(key.job);
    const auto cost = static_cast<Units>(job.record.spec.resources.at("cpu") / 100);
    grant_task(job.record, job.tasks[key.index], user_grant(key, cost), kUserNode,
               {record_, kUserTime});
    if (const auto served = served_.find(job.record.spec.user); served != served_.end())
      served->second = record_;
    REQUIRE(live_.grant(user_grant(key, cost), kUserNode, {record_, kUserTime}));
  }
  void end(const TaskKey& key, int exit_code) {
    ++record_;
    TaskResult result;
    result.task = key;
    result.exit_code = exit_code;
    UnfinishedJob& job = stored_.at(key.job);
    end_task(job.record, job.tasks.at(key.index), result, kUserTime);
    (void)live_.end(result, kUserTime);
    if (is_terminal(state_of(job.record))) stored_.erase(key.job);
  }
  void restart() { live_ = restarted(); }

  /// Looks at everything for every task.
  [[nodiscard]] std::vector<TaskKey> slow_order() const {
    struct User {
      Units held = 0;
      std::uint64_t served = 0;
      std::uint64_t first = 0;
      std::map<JobId, std::pair<std::uint32_t, std::vector<std::uint32_t>>> jobs;  // busy, waiting
    };
    std::map<std::string, User> users;
    std::uint64_t served = 0;
    for (const auto& [id, job] : stored_) {
      User& user = users[job.record.spec.user];
      const auto known = served_.find(job.record.spec.user);
      if (known != served_.end()) user.served = known->second;
      served = std::max(served, user.served);
      auto& [busy, waiting] = user.jobs[id];
      busy = job.record.tasks.running;
      for (std::uint32_t index = 0; index < job.record.tasks.total; ++index) {
        const auto task = job.tasks.find(index);
        if (task == job.tasks.end() || task->second.state == TaskState::pending)
          waiting.push_back(index);
        else if (task->second.state == TaskState::running)
          user.held += task->second.cost;
      }
      if (waiting.empty()) user.jobs.erase(id);
    }
    const auto next_job = [](User& user) {
      auto next = user.jobs.begin();
      for (auto job = user.jobs.begin(); job != user.jobs.end(); ++job)
        if (job->second.first < next->second.first) next = job;
      return next;
    };
    for (auto& [name, user] : users)
      if (!user.jobs.empty()) user.first = next_job(user)->first.value;
    std::vector<TaskKey> order;
    for (;;) {
      User* next = nullptr;
      for (auto& [name, user] : users)
        if (!user.jobs.empty() && (!next || std::tie(user.held, user.served, user.first) <
                                                std::tie(next->held, next->served, next->first)))
          next = &user;
      if (!next) return order;
      const auto job = next_job(*next);
      auto& [busy, waiting] = job->second;
      const JobRecord& record = stored_.at(job->first).record;
      const auto task = stored_.at(job->first).tasks.find(waiting.front());
      order.push_back({job->first, waiting.front(),
                       task == stored_.at(job->first).tasks.end() ? 1 : task->second.attempt});
      waiting.erase(waiting.begin());
      ++busy;
      next->held += static_cast<Units>(record.spec.resources.at("cpu") / 100);
      next->served = ++served;
      if (waiting.empty()) next->jobs.erase(job);
    }
  }
  [[nodiscard]] std::vector<TaskKey> running() const {
    std::vector<TaskKey> tasks;
    for (const auto& [id, job] : stored_)
      for (const auto& [index, task] : job.tasks)
        if (task.state == TaskState::running) tasks.push_back({id, index, task.attempt});
    return tasks;
  }
  [[nodiscard]] std::vector<TaskKey> order() const { return order_of(live_); }
  [[nodiscard]] std::vector<TaskKey> order_after_restart() const { return order_of(restarted()); }

 private:
  [[nodiscard]] static std::vector<TaskKey> order_of(const TenantJobs& jobs) {
    return tasks_in(jobs.window(10'000, 10'000, 0, {}));
  }
  [[nodiscard]] TenantJobs restarted() const {
    TenantJobs jobs(kShared, QueuePolicy::fair, ResourceCatalog{});
    jobs.remember_served(served_);
    for (const auto& [id, job] : stored_) jobs.add(job);
    return jobs;
  }

  std::map<JobId, UnfinishedJob> stored_;
  std::map<std::string, std::uint64_t> served_;
  TenantJobs live_;
  std::uint64_t record_ = 0;
  std::uint64_t last_job_ = 0;
};

}  // namespace

TEST_CASE("a fair queue gives each user a task in turn, and looks at no other job",
          "[unit][tenant_jobs]") {
  TenantJobs jobs(kShared, QueuePolicy::fair, ResourceCatalog{});
  jobs.add({submitted_job(user_job(1, "ada", 3), kUserTime), {}, {}});
  jobs.add({submitted_job(user_job(2, "bob", 2), kUserTime), {}, {}});
  const auto indices = [&] {
    std::string text;
    for (const TaskKey& task : tasks_in(jobs.window(100, 100, 0, {})))
      text += std::to_string(task.job.value) + "." + std::to_string(task.index) + " ";
    return text;
  };
  CHECK(indices() == "1.0 2.0 1.1 2.1 1.2 ");
  CHECK(jobs.window(100, 100, 0, {}).takes_turns);
  REQUIRE(jobs.grant(user_grant({JobId{1}, 0, 1}), kUserNode, {7, kUserTime}));
  CHECK(indices() == "2.0 1.1 2.1 1.2 ");
  CHECK(jobs.share_of("ada").held == 1);
  CHECK(jobs.share_of("ada").served == 7);
  CHECK(jobs.window(100, 100, 0, {}).served ==
        std::map<std::string, std::uint64_t>{{"ada", 7}, {"bob", 0}});
  const auto next = jobs.next_users();
  REQUIRE(next);
  CHECK(next->next == "bob");
  CHECK(next->second == "ada");
  CHECK(jobs.tasks_before(JobId{1}, 2) == 1);  // of ada's
  TaskResult ended;
  ended.task = {JobId{1}, 0, 1};
  (void)jobs.end(ended, kUserTime);
  CHECK(jobs.share_of("ada").held == 0);
  CHECK(indices() == "2.0 1.1 2.1 1.2 ");  // bob was never served

  jobs.set_policy(QueuePolicy::fifo);
  CHECK(indices() == "1.1 1.2 2.0 2.1 ");
  CHECK_FALSE(jobs.window(100, 100, 0, {}).takes_turns);
  CHECK_FALSE(jobs.next_users());
  jobs.set_policy(QueuePolicy::fair);
  CHECK(indices() == "2.0 1.1 2.1 1.2 ");
}

TEST_CASE("what one user submits does not come before what another waits for",
          "[unit][tenant_jobs]") {
  // There is room for one task at a time, and ada submits a new job whenever one of hers has ended.
  TenantJobs jobs(kShared, QueuePolicy::fair, ResourceCatalog{});
  jobs.add({submitted_job(user_job(1, "bob", 10), kUserTime), {}, {}});
  std::uint64_t record = 0;
  std::string served;
  for (std::uint64_t id = 2; id < 12; ++id) {
    jobs.add({submitted_job(user_job(id, "ada", 1), kUserTime), {}, {}});
    for (int turn = 0; turn < 2; ++turn) {
      const TaskKey task = tasks_in(jobs.window(1, 1, 0, {})).front();
      served += jobs.record(task.job).spec.user.front();
      REQUIRE(jobs.grant(user_grant(task), kUserNode, {++record, kUserTime}));
      TaskResult ended;
      ended.task = task;
      (void)jobs.end(ended, kUserTime);
    }
  }
  CHECK(std::count(served.begin(), served.end(), 'a') == 10);
  CHECK(served.find("aaa") == std::string::npos);
  CHECK(served.find("bbb") == std::string::npos);
}

TEST_CASE("tasks that have room nowhere hide no others for ever", "[unit][tenant_jobs]") {
  // Two jobs whose tasks alternate, and one that has its tasks already and could have more.
  const bool are_of_one_user = GENERATE(false, true);
  const auto user = [&](const std::string& name) { return are_of_one_user ? "ada" : name; };
  TenantJobs jobs(kShared, QueuePolicy::fair, ResourceCatalog{});
  jobs.add({submitted_job(user_job(1, user("ada"), 100), kUserTime), {}, {}});
  jobs.add({submitted_job(user_job(2, user("bob"), 100), kUserTime), {}, {}});
  jobs.add({submitted_job(user_job(3, user("eve"), 100), kUserTime), {}, {}});
  for (std::uint32_t index = 0; index < 50; ++index)
    REQUIRE(jobs.grant(user_grant({JobId{3}, index, 1}), kUserNode, {index + 1, kUserTime}));
  std::string text;
  for (const TaskKey& task : tasks_in(jobs.window(6, 1000, 0, {})))
    text += std::to_string(task.job.value) + "." + std::to_string(task.index) + " ";
  CHECK(text == "1.0 2.0 1.1 2.1 1.2 3.50 ");
  CHECK(tasks_in(jobs.window(1, 1000, 0, {})).front() == TaskKey{JobId{1}, 0, 1});
}

TEST_CASE("the order of users is what looking at everything gives, and a restart goes on in it",
          "[property][tenant_jobs]") {
  std::size_t compared = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t limit) { return random() % limit; };
    const std::vector<std::string> names{"", "ada", "bob", "eve"};
    UserHistory history;
    for (int step = 0; step < 100; ++step) {
      const std::vector<TaskKey> waiting = history.order();
      const std::vector<TaskKey> running = history.running();
      const std::uint64_t choice = below(10);
      if (choice < 2 || (waiting.empty() && running.empty())) {
        history.submit(names[below(names.size())], static_cast<std::uint32_t>(1 + below(5)),
                       static_cast<Amount>(1 + below(4)) * 100);
      } else if (choice < 7 && !waiting.empty()) {
        // Mostly the first; others where the first does not fit.
        history.grant(waiting[below(4) == 0 ? below(waiting.size()) : 0]);
      } else if (!running.empty()) {
        history.end(running[below(running.size())], 0);
      }
      if (below(10) == 0) history.restart();
      compared += history.order().size();
      CHECK(history.order() == history.slow_order());
      CHECK(history.order_after_restart() == history.order());
    }
  }
  CHECK(compared > 10'000);
}

}  // namespace fairwater
