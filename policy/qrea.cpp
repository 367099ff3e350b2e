#include "policy/qrea.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "policy/elastic_round.hpp"

namespace fairwater {
namespace {

/// Users by credit, input order on ties.
template <class Compare>
std::vector<std::size_t> by_credit(const ElasticCluster& cluster, Compare comes_first) {
  std::vector<std::size_t> order(cluster.users.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return comes_first(cluster.users[a].credit, cluster.users[b].credit);
  });
  return order;
}

void start_jobs(const ElasticCluster& cluster, RoundInProgress& round) {
  const std::vector<std::size_t> payers = by_credit(cluster, std::less<>{});
  // Extras only shrink while jobs start: payers who have none left are never asked again.
  std::size_t payer = 0;
  for (const std::size_t user : round.by_use_of_quota()) {
    for (const QueuedJob& job : cluster.users[user].queued) {
      const RoundInProgress::User& entry = round.users()[user];
      if (job.min > entry.quota - entry.used || job.min > round.idle() + round.extras()) continue;
      while (round.idle() < job.min) {
        round.limit(payers[payer], job.min);
        if (round.idle() < job.min) ++payer;
      }
      round.start(user, job);
    }
  }
}

std::vector<Credit> settle(const ElasticCluster& cluster, const RoundInProgress& round) {
  std::vector<Credit> credits = credits_of(cluster);
  const auto unused = [&round](std::size_t i) {
    const RoundInProgress::User& user = round.users()[i];
    return std::max<Units>(user.quota - user.used, 0);
  };
  Wide all_unused = 0;
  for (std::size_t i = 0; i < credits.size(); ++i) all_unused += unused(i);
  if (all_unused == 0) return credits;
  // Laid end to end: what the users before some place earn, rounded down to a picounit.
  const auto earned_before = [&](Wide unused_before) {
    const Wide product = Wide{round.extras()} * unused_before;
    return product / all_unused * kPicounitsPerUnit +
           product % all_unused * kPicounitsPerUnit / all_unused;
  };
  Wide before = 0;
  for (std::size_t i = 0; i < credits.size(); ++i) {
    const Wide after = before + unused(i);
    credits[i].picounits +=
        earned_before(after) - earned_before(before) - round.users()[i].extras * kPicounitsPerUnit;
    before = after;
  }
  return credits;
}

}  // namespace

ElasticRound Qrea::round(const ElasticCluster& cluster) const {
  RoundInProgress round(cluster);
  start_jobs(cluster, round);
  for (const std::size_t user : by_credit(cluster, std::greater<>{})) round.grow(user);
  std::vector<Credit> credits = settle(cluster, round);
  return std::move(round).finish(std::move(credits));
}

}  // namespace fairwater
