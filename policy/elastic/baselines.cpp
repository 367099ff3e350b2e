#include "policy/elastic/baselines.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "policy/elastic/qrea.hpp"
#include "policy/elastic/rebalance.hpp"
#include "policy/elastic/round.hpp"

namespace fairwater::inline policy::inline elastic {
namespace {

/// Users ordered by `comes_first(a, b)`, input order on ties.
template <class Compare>
std::vector<std::size_t> users_by(const RoundInProgress& round, Compare comes_first) {
  std::vector<std::size_t> order(round.users().size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return comes_first(round.users()[a], round.users()[b]);
  });
  return order;
}

bool within_quota(const RoundInProgress::User& user, const QueuedJob& job) {
  return job.min <= user.quota - user.used;
}

/// Takes extras back until `wanted` units are idle, which must be possible.
void limit_most_extras(RoundInProgress& round, Units wanted) {
  const auto most_extras = [](const auto& a, const auto& b) { return a.extras > b.extras; };
  for (const std::size_t user : users_by(round, most_extras)) {
    if (round.idle() >= wanted) return;
    round.limit(user, wanted);
  }
}

Units held(const RoundInProgress::User& user) { return user.used + user.extras; }

bool holds_less_of_quota(const RoundInProgress::User& a, const RoundInProgress::User& b) {
  return uses_less_of_quota(held(a), a.quota, held(b), b.quota);
}

/// Kills running jobs of users above their quota until `wanted` units are idle; false, and kills
/// none, when there are not enough.
bool kill_to_make_room(RoundInProgress& round, Units wanted) {
  std::vector<std::pair<std::size_t, std::size_t>> victims;  // (user, job)
  Units room = round.idle();
  const auto most_over = [](const auto& a, const auto& b) { return holds_less_of_quota(b, a); };
  for (const std::size_t u : users_by(round, most_over)) {
    const RoundInProgress::User& user = round.users()[u];
    Units left = held(user);
    for (std::size_t j = user.jobs.size(); j-- > 0 && room < wanted;) {
      const RoundInProgress::Job& job = user.jobs[j];
      if (!job.was_running || job.killed || left - job.now < user.quota) continue;
      left -= job.now;
      room += job.now;
      victims.emplace_back(u, j);
    }
  }
  if (room < wanted) return false;
  for (const auto& [user, job] : victims) round.kill(user, job);
  return true;
}

/// Queued jobs that have not started yet, per user, in their order.
using Waiting = std::vector<std::vector<QueuedJob>>;

/// Starts what fits quotas; returns what still waits.
Waiting start_minimum_shares(const ElasticCluster& cluster, RoundInProgress& round) {
  Waiting waiting(cluster.users.size());
  for (const std::size_t u : users_by(round, holds_less_of_quota)) {
    for (const QueuedJob& job : cluster.users[u].queued) {
      const RoundInProgress::User& user = round.users()[u];
      if (job.min <= user.quota - held(user) &&
          (job.min <= round.idle() || kill_to_make_room(round, job.min)))
        round.start(u, job);
      else
        waiting[u].push_back(job);
    }
  }
  return waiting;
}

void lend_what_is_idle(const Waiting& waiting, RoundInProgress& round) {
  const auto comes_first = [&round](std::size_t a, std::size_t b) {
    const auto &left = round.users()[a], &right = round.users()[b];
    if (holds_less_of_quota(left, right)) return true;
    return !holds_less_of_quota(right, left) && a < b;
  };
  std::set<std::size_t, decltype(comes_first)> users(comes_first);
  for (std::size_t u = 0; u < waiting.size(); ++u)
    if (!waiting[u].empty()) users.insert(u);
  std::vector<std::size_t> next(waiting.size());
  while (!users.empty()) {
    const std::size_t u = *users.begin();
    users.erase(users.begin());  // before its place in the order changes
    const QueuedJob& job = waiting[u][next[u]];
    if (job.min > round.idle()) continue;
    round.start(u, job);
    if (++next[u] < waiting[u].size()) users.insert(u);
  }
}

}  // namespace

ElasticRound Bra::round(const ElasticCluster& cluster) const {
  RoundInProgress round(cluster);
  for (const std::size_t user : round.by_use_of_quota())
    for (const QueuedJob& job : cluster.users[user].queued)
      if (within_quota(round.users()[user], job) && job.min <= round.idle()) round.start(user, job);
  return std::move(round).finish(credits_of(cluster));
}

ElasticRound Crea::round(const ElasticCluster& cluster) const {
  RoundInProgress round(cluster);
  for (const std::size_t user : round.by_use_of_quota()) {
    for (const QueuedJob& job : cluster.users[user].queued) {
      if (!within_quota(round.users()[user], job)) continue;
      if (job.min > round.idle() + round.extras()) continue;
      if (job.min > round.idle()) limit_most_extras(round, job.min);
      round.start(user, job);
    }
  }
  const auto fewest_extras = [](const auto& a, const auto& b) { return a.extras < b.extras; };
  for (const std::size_t user : users_by(round, fewest_extras)) round.grow(user);
  return std::move(round).finish(credits_of(cluster));
}

ElasticRound Fair::round(const ElasticCluster& cluster) const {
  RoundInProgress round(cluster);
  lend_what_is_idle(start_minimum_shares(cluster, round), round);
  return std::move(round).finish(credits_of(cluster));
}

std::unique_ptr<ElasticPolicy> make_elastic_policy(std::string_view name) {
  if (name == "qrea") return std::make_unique<Qrea>();
  if (name == "qrea-rebalance") return std::make_unique<QreaRebalance>();
  if (name == "bra") return std::make_unique<Bra>();
  if (name == "crea") return std::make_unique<Crea>();
  if (name == "fair") return std::make_unique<Fair>();
  return nullptr;
}

}  // namespace fairwater::inline policy::inline elastic
