// A tenant's jobs with tasks that may start, in the order in which it wants them to: by a key, and
// where its users take turns, each user's by themselves (policy/allocator/user_turns.hpp). And the
// same by the kind of their tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "policy/allocator/task_kind.hpp"
#include "policy/allocator/user_share.hpp"
#include "policy/core/check.hpp"
#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline allocator {

/// Smaller first; by arrival where the first is equal.
using QueueKey = std::pair<std::int64_t, JobId>;

/// What decides when a user comes who waits: smaller comes first.
struct UserTurn {
  UserShare share;
  JobId first;  ///< of its jobs
  std::string user;
  friend auto operator<=>(const UserTurn&, const UserTurn&) = default;
};

/// Jobs in their order: all, and those of each kind.
template <class Job>
class JobQueue {
 public:
  using Jobs = std::map<QueueKey, Job>;
  struct First {
    QueueKey key;  ///< of the kind's first job
    TaskKind kind;
    friend auto operator<=>(const First&, const First&) = default;
  };

  [[nodiscard]] const Jobs& jobs() const { return jobs_; }
  [[nodiscard]] const Jobs& of(TaskKind kind) const { return kinds_.at(kind); }
  /// Of each kind, in the order of these jobs.
  [[nodiscard]] const std::set<First>& firsts() const { return firsts_; }

  /// False: there is one with that key.
  [[nodiscard]] bool insert(const QueueKey& key, TaskKind kind, Job job) {
    if (!jobs_.emplace(key, job).second) return false;
    Jobs& of_kind = kinds_[kind];
    const auto added = of_kind.emplace(key, job).first;
    if (added != of_kind.begin()) return true;
    if (of_kind.size() > 1) firsts_.erase({std::next(added)->first, kind});
    firsts_.insert({key, kind});
    return true;
  }
  /// False: there is none with that key, of that kind.
  [[nodiscard]] bool erase(const QueueKey& key, TaskKind kind) {
    const auto of_kind = kinds_.find(kind);
    if (of_kind == kinds_.end() || of_kind->second.erase(key) == 0) return false;
    jobs_.erase(key);
    if (firsts_.erase({key, kind}) == 1 && !of_kind->second.empty())
      firsts_.insert({of_kind->second.begin()->first, kind});
    if (of_kind->second.empty()) kinds_.erase(of_kind);
    return true;
  }

 private:
  Jobs jobs_;
  std::map<TaskKind, Jobs> kinds_;  ///< none is empty
  std::set<First> firsts_;
};

/// `Job` is what its owner calls a job, and small. Every change is O(log jobs).
template <class Job>
class UserQueues {
 public:
  using Queue = JobQueue<Job>;

  explicit UserQueues(bool takes_turns) : takes_turns_(takes_turns) {}

  [[nodiscard]] bool takes_turns() const { return takes_turns_; }
  /// By user where they take turns, else all in one under no name; none is empty.
  [[nodiscard]] const std::map<std::string, Queue>& queues() const { return queues_; }
  /// In which the user's jobs are, or would be.
  [[nodiscard]] const std::string& name_of(const std::string& user) const {
    static const std::string kOfAll;
    return takes_turns_ ? user : kOfAll;
  }
  /// Nobody's jobs hide another kind: all are of one, in one queue.
  [[nodiscard]] bool is_of_one_kind() const {
    return queues_.empty() || (queues_.size() == 1 && queues_.begin()->second.firsts().size() == 1);
  }
  /// Of users who wait, where they take turns.
  [[nodiscard]] const std::set<UserTurn>& turns() const { return turns_; }
  [[nodiscard]] UserShare share_of(const std::string& user) const {
    const auto held = held_.find(user);
    const auto served = served_.find(user);
    return {held == held_.end() ? 0 : held->second, served == served_.end() ? 0 : served->second};
  }
  [[nodiscard]] bool is_any_held() const { return !held_.empty(); }

  /// Without any job from here on; what users hold stays, and how many tasks wait.
  void begin_anew(bool takes_turns) {
    takes_turns_ = takes_turns;
    queues_.clear();
    turns_.clear();
  }
  void insert(const std::string& user, const QueueKey& key, TaskKind kind, Job job) {
    change(user, [&] {
      const bool is_new = queues_[name_of(user)].insert(key, kind, job);
      FAIRWATER_CHECK(is_new, "a job is in its queue once");
    });
  }
  void erase(const std::string& user, const QueueKey& key, TaskKind kind) {
    change(user, [&] {
      const auto queue = queues_.find(name_of(user));
      FAIRWATER_CHECK(queue != queues_.end() && queue->second.erase(key, kind),
                      "a job is taken out of the queue that it is in");
      if (queue->second.jobs().empty()) queues_.erase(queue);
    });
  }
  /// So many tasks of the kind wait more, or less.
  void count_tasks(TaskKind kind, std::int64_t tasks) {
    const auto counted = tasks_.try_emplace(kind).first;
    counted->second += tasks;
    FAIRWATER_CHECK(counted->second >= 0, "no kind has fewer tasks than none");
    if (counted->second == 0) tasks_.erase(counted);
  }
  /// Of all users.
  [[nodiscard]] std::int64_t tasks_of(TaskKind kind) const {
    const auto counted = tasks_.find(kind);
    return counted == tasks_.end() ? 0 : counted->second;
  }
  /// The user holds so many units more, or less.
  void hold(const std::string& user, Units units) {
    if (units == 0) return;
    change(user, [&] {
      Units& held = held_[user];
      held += units;
      FAIRWATER_CHECK(held >= 0, "a user holds nothing negative");
      if (held == 0) held_.erase(user);
    });
  }
  /// Jobs may be the user's from here on: when those of others were served counts, too.
  void know(const std::string& user) {
    if (user.empty()) return;
    served_.try_emplace(std::string{});
    served_.try_emplace(user);
  }
  /// The user, if known, was granted something: numbers grow.
  void serve(const std::string& user, std::uint64_t number) {
    const auto served = served_.find(user);
    if (served != served_.end()) change(user, [&] { served->second = number; });
  }
  /// When users that are known were served, before any is here.
  void remember_served(std::map<std::string, std::uint64_t> served) { served_ = std::move(served); }

 private:
  [[nodiscard]] std::optional<UserTurn> turn_of(const std::string& user) const {
    if (!takes_turns_) return std::nullopt;
    const auto queue = queues_.find(user);
    if (queue == queues_.end()) return std::nullopt;
    return UserTurn{share_of(user), queue->second.jobs().begin()->first.second, user};
  }
  template <class Change>
  void change(const std::string& user, Change&& apply) {
    if (const auto turn = turn_of(user)) turns_.erase(*turn);
    apply();
    if (auto turn = turn_of(user)) turns_.insert(*std::move(turn));
  }

  bool takes_turns_;
  std::map<std::string, Queue> queues_;
  std::map<TaskKind, std::int64_t> tasks_;  ///< that wait; none is 0
  std::set<UserTurn> turns_;                ///< one for each of queues_, where users take turns
  std::map<std::string, Units> held_;       ///< by user; none is 0
  std::map<std::string, std::uint64_t> served_;  ///< by user; empty while none is known
};

}  // namespace fairwater::inline policy::inline allocator
