#include "policy/elastic/rebalance.hpp"

#include <algorithm>

#include "policy/core/check.hpp"
#include "policy/elastic/qrea.hpp"
#include "policy/elastic/round.hpp"

namespace fairwater::inline policy::inline elastic {
namespace {

constexpr Units kMaxDebtLine = 1'000'000'000;

/// Who gives up and who gets how much, decided before anything grows: a job that grew in a round
/// cannot give up units in it.
class Rebalancing {
 public:
  Rebalancing(const ElasticCluster& cluster, RoundInProgress& round)
      : cluster_(cluster),
        round_(round),
        richest_first_(users_by_credit(cluster, CreditOrder::largest_first)),
        room_(cluster.users.size()),
        gets_(cluster.users.size()) {
    for (std::size_t u = 0; u < room_.size(); ++u)
      for (const RoundInProgress::Job& job : round.users()[u].jobs) room_[u] += job.max - job.now;
  }

  void hold_debtors(Units debt_line) {
    Wide all_unused = 0;
    for (const RoundInProgress::User& user : round_.users()) all_unused += unused_quota(user);
    const Units all_extras = round_.extras();
    for (std::size_t u = 0; u < room_.size(); ++u) {
      const RoundInProgress::User& user = round_.users()[u];
      if (credit_of(u) >= -Wide{debt_line} * user.quota * kPicounitsPerUnit) continue;
      const Units earned =
          all_unused == 0 ? 0
                          : static_cast<Units>(Wide{unused_quota(user)} * all_extras / all_unused);
      room_[u] = std::min(room_[u], std::max<Units>(earned - user.extras, 0));
      if (user.extras > earned) round_.limit(u, round_.idle() + user.extras - earned);
    }
  }

  void hand_out_idle() {
    unplanned_ = round_.idle();
    for (const std::size_t u : richest_first_) give(u, std::min(room_[u], unplanned_));
  }

  /// From both ends of the order of credits. The credits are kept up to date with what moves.
  void level() {
    if (unplanned_ > 0 || room_.empty()) return;
    std::vector<Wide> credits;
    for (std::size_t u = 0; u < room_.size(); ++u) credits.push_back(credit_of(u));
    for (std::size_t high = 0, low = room_.size() - 1; high < low;) {
      const std::size_t taker = richest_first_[high], giver = richest_first_[low];
      const Units extras = round_.users()[giver].extras;
      if (room_[taker] == 0) {
        ++high;
      } else if (extras == 0 || gets_[giver] > 0) {
        --low;
      } else {
        const Wide half = (credits[taker] - credits[giver]) / (2 * kPicounitsPerUnit);
        const auto moved = static_cast<Units>(std::min<Wide>(std::min(room_[taker], extras), half));
        if (moved <= 0) return;
        round_.limit(giver, round_.idle() + moved);
        unplanned_ += moved;
        give(taker, moved);
        credits[giver] += moved * kPicounitsPerUnit;
        credits[taker] -= moved * kPicounitsPerUnit;
      }
    }
  }

  void grow() {
    for (const std::size_t u : richest_first_) round_.grow(u, gets_[u]);
  }

 private:
  [[nodiscard]] Wide credit_of(std::size_t user) const {
    return cluster_.users[user].credit.picounits;
  }
  void give(std::size_t user, Units units) {
    gets_[user] += units;
    room_[user] -= units;
    unplanned_ -= units;
  }

  const ElasticCluster& cluster_;
  RoundInProgress& round_;
  const std::vector<std::size_t> richest_first_;
  std::vector<Units> room_;  ///< what the user's jobs may still get
  std::vector<Units> gets_;
  Units unplanned_ = 0;  ///< idle units that nobody gets so far
};

}  // namespace

QreaRebalance::QreaRebalance(RebalanceOptions options) : options_(options) {
  FAIRWATER_CHECK(
      !options.debt_line || (*options.debt_line >= 0 && *options.debt_line <= kMaxDebtLine),
      "a debt line is out of range");
}

ElasticRound QreaRebalance::round(const ElasticCluster& cluster) const {
  RoundInProgress round(cluster);
  start_by_credit(cluster, round);
  Rebalancing rebalancing(cluster, round);
  if (options_.debt_line) rebalancing.hold_debtors(*options_.debt_line);
  rebalancing.hand_out_idle();
  if (options_.level) rebalancing.level();
  rebalancing.grow();
  std::vector<Credit> credits = settle_credits(cluster, round);
  return std::move(round).finish(std::move(credits));
}

}  // namespace fairwater::inline policy::inline elastic
