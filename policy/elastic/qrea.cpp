#include "policy/elastic/qrea.hpp"

#include <algorithm>
#include <numeric>

namespace fairwater::inline policy::inline elastic {

std::vector<std::size_t> users_by_credit(const ElasticCluster& cluster, CreditOrder order) {
  std::vector<std::size_t> users(cluster.users.size());
  std::iota(users.begin(), users.end(), std::size_t{0});
  std::stable_sort(users.begin(), users.end(), [&](std::size_t a, std::size_t b) {
    const Credit left = cluster.users[a].credit, right = cluster.users[b].credit;
    return order == CreditOrder::smallest_first ? left < right : right < left;
  });
  return users;
}

Units unused_quota(const RoundInProgress::User& user) {
  return std::max<Units>(user.quota - user.used, 0);
}

void start_by_credit(const ElasticCluster& cluster, RoundInProgress& round) {
  const std::vector<std::size_t> payers = users_by_credit(cluster, CreditOrder::smallest_first);
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

std::vector<Credit> settle_credits(const ElasticCluster& cluster, const RoundInProgress& round) {
  std::vector<Credit> credits = credits_of(cluster);
  const auto unused = [&round](std::size_t i) { return unused_quota(round.users()[i]); };
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

ElasticRound Qrea::round(const ElasticCluster& cluster) const {
  RoundInProgress round(cluster);
  start_by_credit(cluster, round);
  for (const std::size_t user : users_by_credit(cluster, CreditOrder::largest_first))
    round.grow(user);
  std::vector<Credit> credits = settle_credits(cluster, round);
  return std::move(round).finish(std::move(credits));
}

}  // namespace fairwater::inline policy::inline elastic
