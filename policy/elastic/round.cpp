#include "policy/elastic/round.hpp"

#include <algorithm>
#include <numeric>

#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline elastic {

bool uses_less_of_quota(Units left_used, Units left_quota, Units right_used, Units right_quota) {
  if (left_quota == 0 || right_quota == 0) return left_quota > right_quota;
  return Wide{left_used} * right_quota < Wide{right_used} * left_quota;
}

RoundInProgress::RoundInProgress(const ElasticCluster& cluster) : idle_(cluster.units) {
  FAIRWATER_CHECK(cluster.units >= 0 && cluster.units <= kMaxElasticUnits, "units out of range");
  FAIRWATER_CHECK(cluster.users.size() <= kMaxElasticUsers, "too many users");
  users_.reserve(cluster.users.size());
  for (const ElasticUser& user : cluster.users) {
    FAIRWATER_CHECK(user.quota >= 0 && user.quota <= kMaxElasticUnits, "quota out of range");
    User& entry = users_.emplace_back();
    entry.quota = user.quota;
    entry.jobs.reserve(user.running.size() + user.queued.size());
    for (const RunningJob& job : user.running) {
      FAIRWATER_CHECK(1 <= job.min && job.min <= job.now && job.now <= job.max,
                      "a job runs outside its bounds");
      FAIRWATER_CHECK(job.now <= idle_, "more runs than there is");
      entry.jobs.push_back({job.id, job.min, job.max, job.now, true, false, 0});
      entry.used += job.min;
      entry.extras += job.now - job.min;
      idle_ -= job.now;
    }
    for (const QueuedJob& job : user.queued)
      FAIRWATER_CHECK(1 <= job.min && job.min <= job.max, "a job's bounds cross");
    extras_ += entry.extras;
  }
}

std::vector<std::size_t> RoundInProgress::by_use_of_quota() const {
  std::vector<std::size_t> order(users_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
    return uses_less_of_quota(users_[a].used, users_[a].quota, users_[b].used, users_[b].quota);
  });
  return order;
}

void RoundInProgress::limit(std::size_t user, Units wanted) {
  User& entry = users_[user];
  for (std::size_t j = entry.jobs.size(); j-- > 0 && idle_ < wanted && entry.extras > 0;) {
    Job& job = entry.jobs[j];
    const Units taken = std::min(job.now - job.min, wanted - idle_);
    if (taken == 0) continue;
    if (job.given_up == 0) limited_.emplace_back(user, j);
    job.given_up += taken;
    job.now -= taken;
    entry.extras -= taken;
    extras_ -= taken;
    idle_ += taken;
  }
}

void RoundInProgress::start(std::size_t user, const QueuedJob& job) {
  FAIRWATER_CHECK(job.min <= idle_, "a job was started without room");
  User& entry = users_[user];
  entry.jobs.push_back({job.id, job.min, job.max, job.min, false, false, 0});
  entry.used += job.min;
  idle_ -= job.min;
  result_.start.push_back({job.id, job.min});
}

void RoundInProgress::grow(std::size_t user, Units at_most) {
  User& entry = users_[user];
  Units left = std::min(at_most, idle_);
  for (Job& job : entry.jobs) {
    if (left == 0) return;
    if (job.killed) continue;
    const Units given = std::min(job.max - job.now, left);
    if (given == 0) continue;
    left -= given;
    job.now += given;
    entry.extras += given;
    extras_ += given;
    idle_ -= given;
    result_.grow.push_back({job.id, given});
  }
}

void RoundInProgress::kill(std::size_t user, std::size_t job) {
  User& entry = users_[user];
  Job& killed = entry.jobs[job];
  FAIRWATER_CHECK(killed.was_running && !killed.killed, "only a running job is killed, once");
  killed.killed = true;
  entry.used -= killed.min;
  entry.extras -= killed.now - killed.min;
  extras_ -= killed.now - killed.min;
  idle_ += killed.now;
  result_.kill.push_back(killed.id);
}

ElasticRound RoundInProgress::finish(std::vector<Credit> credit) && {
  for (const auto& [user, job] : limited_)
    result_.limit.push_back({users_[user].jobs[job].id, users_[user].jobs[job].given_up});
  result_.credit = std::move(credit);
  result_.idle = idle_;
  return std::move(result_);
}

std::vector<Credit> credits_of(const ElasticCluster& cluster) {
  std::vector<Credit> credits;
  for (const ElasticUser& user : cluster.users) credits.push_back(user.credit);
  return credits;
}

}  // namespace fairwater::inline policy::inline elastic
