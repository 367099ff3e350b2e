// QREA against a slow oracle that moves one unit at a time, and what holds for every elastic
// policy.
#include "policy/elastic/qrea.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "policy/elastic/baselines.hpp"
#include "tests/policy/property.hpp"

namespace fairwater {
namespace {

using test::check_property;
using test::draw;

ElasticCluster draw_cluster() {
  ElasticCluster cluster;
  std::uint64_t id = 0;
  const int users = draw(1, 6);
  for (int i = 0; i < users; ++i) {
    ElasticUser user;
    user.quota = draw<Units>(0, 30);
    user.credit.picounits = draw<Units>(-20, 20) * kPicounitsPerUnit / 2;
    const int running = draw(0, 5), queued = draw(0, 4);
    for (int j = 0; j < running; ++j) {
      const Units min = draw<Units>(1, 4), now = min + draw<Units>(0, 3);
      user.running.push_back({{++id}, min, now + draw<Units>(0, 3), now});
      cluster.units += now;
    }
    for (int j = 0; j < queued; ++j) {
      const Units min = draw<Units>(1, 4);
      user.queued.push_back({{++id}, min, min + draw<Units>(0, 4)});
    }
    cluster.users.push_back(user);
  }
  cluster.units += draw<Units>(0, 8) * draw<Units>(0, 2);
  return cluster;
}

std::string describe(const ElasticCluster& cluster) {
  std::ostringstream text;
  text << cluster.units << " units";
  for (const ElasticUser& user : cluster.users) {
    text << "\n  quota " << user.quota << ", half credits "
         << static_cast<Units>(user.credit.picounits * 2 / kPicounitsPerUnit) << ", running";
    for (const RunningJob& job : user.running)
      text << ' ' << job.min << ".." << job.now << ".." << job.max;
    text << ", queued";
    for (const QueuedJob& job : user.queued) text << ' ' << job.min << ".." << job.max;
  }
  return text.str();
}

/// The rule said once more, one unit at a time and with a search for every choice.
class UnitByUnit {
 public:
  struct Job {
    JobId id;
    Units min, max, now;
  };
  explicit UnitByUnit(const ElasticCluster& cluster) : idle(cluster.units), cluster_(cluster) {
    for (const ElasticUser& user : cluster.users) {
      jobs_.emplace_back();
      for (const RunningJob& job : user.running) {
        jobs_.back().push_back({job.id, job.min, job.max, job.now});
        idle -= job.now;
      }
    }
    start_all();
    while (idle > 0 && grow_one()) {
    }
  }
  std::map<JobId, Units> limited, started, grown;
  Units idle;

  /// Credit of user i times the common denominator, so that it is a whole number; zero when no
  /// quota is unused.
  [[nodiscard]] Wide earned_times_unused(std::size_t i) const {
    return Wide{unused(i)} * extras() - Wide{extras(i)} * all_unused();
  }
  [[nodiscard]] Wide all_unused() const {
    Wide sum = 0;
    for (std::size_t i = 0; i < jobs_.size(); ++i) sum += unused(i);
    return sum;
  }

 private:
  [[nodiscard]] Units used(std::size_t i) const {
    Units sum = 0;
    for (const Job& job : jobs_[i]) sum += job.min;
    return sum;
  }
  [[nodiscard]] Units unused(std::size_t i) const {
    return std::max<Units>(0, cluster_.users[i].quota - used(i));
  }
  [[nodiscard]] Units extras(std::size_t i) const {
    Units sum = 0;
    for (const Job& job : jobs_[i]) sum += job.now - job.min;
    return sum;
  }
  [[nodiscard]] Units extras() const {
    Units sum = 0;
    for (std::size_t i = 0; i < jobs_.size(); ++i) sum += extras(i);
    return sum;
  }
  void start_all() {
    std::vector<bool> served(jobs_.size());
    std::vector<Units> used_before(jobs_.size());
    for (std::size_t i = 0; i < jobs_.size(); ++i) used_before[i] = used(i);
    for (std::size_t turn = 0; turn < jobs_.size(); ++turn) {
      std::size_t user = jobs_.size();
      for (std::size_t i = 0; i < jobs_.size(); ++i) {
        if (served[i]) continue;
        if (user == jobs_.size() || uses_less(used_before[i], cluster_.users[i].quota,
                                              used_before[user], cluster_.users[user].quota))
          user = i;
      }
      served[user] = true;
      for (const QueuedJob& job : cluster_.users[user].queued) start(user, job);
    }
  }
  static bool uses_less(Units used, Units quota, Units other_used, Units other_quota) {
    if (quota == 0) return false;
    if (other_quota == 0) return true;
    return used * other_quota < other_used * quota;
  }
  void start(std::size_t user, const QueuedJob& job) {
    if (used(user) + job.min > cluster_.users[user].quota || idle + extras() < job.min) return;
    while (idle < job.min) limit_one();
    idle -= job.min;
    started[job.id] = job.min;
    jobs_[user].push_back({job.id, job.min, job.max, job.min});
  }
  void limit_one() {
    std::size_t user = jobs_.size();
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      if (extras(i) > 0 &&
          (user == jobs_.size() || cluster_.users[i].credit < cluster_.users[user].credit))
        user = i;
    const auto job = std::find_if(jobs_[user].rbegin(), jobs_[user].rend(),
                                  [](const Job& j) { return j.now > j.min; });
    --job->now;
    ++idle;
    ++limited[job->id];
  }
  bool grow_one() {
    const auto can_grow = [](const Job& j) { return j.now < j.max; };
    std::size_t user = jobs_.size();
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      if (std::any_of(jobs_[i].begin(), jobs_[i].end(), can_grow) &&
          (user == jobs_.size() || cluster_.users[i].credit > cluster_.users[user].credit))
        user = i;
    if (user == jobs_.size()) return false;
    const auto job = std::find_if(jobs_[user].begin(), jobs_[user].end(), can_grow);
    ++job->now;
    --idle;
    ++grown[job->id];
    return true;
  }

  const ElasticCluster& cluster_;
  std::vector<std::vector<Job>> jobs_;
};

std::map<JobId, Units> by_id(const std::vector<JobUnits>& jobs) {
  std::map<JobId, Units> result;
  for (const JobUnits& job : jobs) result[job.id] += job.units;
  return result;
}

Wide sum_of_credits(const std::vector<Credit>& credits) {
  Wide sum = 0;
  for (const Credit credit : credits) sum += credit.picounits;
  return sum;
}

TEST_CASE("A round of QREA starts, grows and pays by credit", "[unit]") {
  // 10 units: u1 runs one job with 2 extras, u2 waits within its quota.
  ElasticCluster cluster{10,
                         {{5, {}, {{{1}, 3, 6, 5}}, {}},
                          {8, {}, {{{2}, 4, 4, 4}}, {{{3}, 2, 4}, {{4}, 9, 9}, {{5}, 1, 1}}}}};
  const ElasticRound round = Qrea().round(cluster);
  CHECK(round.limit == std::vector<JobUnits>{{{1}, 2}});
  CHECK(round.start == std::vector<JobUnits>{{{3}, 2}, {{5}, 1}});
  CHECK(round.grow.empty());
  CHECK(round.kill.empty());
  CHECK(round.idle == 0);
  // Without queued jobs the idle unit goes to u1, who pays 3 and earns 2/6 of the 3 extras.
  cluster.users[1].queued.clear();
  const ElasticRound quiet = Qrea().round(cluster);
  CHECK(quiet.grow == std::vector<JobUnits>{{{1}, 1}});
  CHECK(quiet.credit[0].picounits == -2 * kPicounitsPerUnit);
  CHECK(quiet.credit[1].picounits == 2 * kPicounitsPerUnit);
}

TEST_CASE("QREA moves units as one at a time does", "[property]") {
  check_property("QREA", 10'000, [] {
    const ElasticCluster cluster = draw_cluster();
    RC_LOG() << describe(cluster) << "\n";
    const ElasticRound round = Qrea().round(cluster);
    const UnitByUnit oracle(cluster);
    RC_ASSERT(by_id(round.limit) == oracle.limited);
    RC_ASSERT(by_id(round.start) == oracle.started);
    RC_ASSERT(by_id(round.grow) == oracle.grown);
    RC_ASSERT(round.idle == oracle.idle);
    const Wide unused = oracle.all_unused();
    for (std::size_t i = 0; i < cluster.users.size(); ++i) {
      const Wide change = round.credit[i].picounits - cluster.users[i].credit.picounits;
      const Wide exact = unused == 0 ? 0 : oracle.earned_times_unused(i) * kPicounitsPerUnit;
      const Wide off = change * unused - exact;
      RC_ASSERT((off < 0 ? -off : off) <= unused);
      if (unused == 0) RC_ASSERT(change == 0);
    }
  });
}

TEST_CASE("Every elastic policy keeps to the units, the jobs' bounds and the sum of credits",
          "[property]") {
  check_property("elastic policies", 10'000, [] {
    const ElasticCluster cluster = draw_cluster();
    RC_LOG() << describe(cluster) << "\n";
    for (const char* name : {"qrea", "qrea-rebalance", "bra", "crea", "fair"}) {
      RC_LOG() << name << "\n";
      const ElasticRound round = make_elastic_policy(name)->round(cluster);
      const auto limited = by_id(round.limit), started = by_id(round.start),
                 grown = by_id(round.grow);
      Units held = 0;
      for (const ElasticUser& user : cluster.users) {
        for (const RunningJob& job : user.running) {
          const auto part = [&](const std::map<JobId, Units>& parts) {
            return parts.contains(job.id) ? parts.at(job.id) : 0;
          };
          if (std::count(round.kill.begin(), round.kill.end(), job.id) == 1) continue;
          const Units now = job.now - part(limited) + part(grown);
          RC_ASSERT(now >= job.min && now <= job.max);
          held += now;
        }
        for (const QueuedJob& job : user.queued) {
          if (!started.contains(job.id)) continue;
          const Units now = started.at(job.id) + (grown.contains(job.id) ? grown.at(job.id) : 0);
          RC_ASSERT(now >= job.min && now <= job.max);
          held += now;
        }
      }
      RC_ASSERT(held + round.idle == cluster.units);
      std::vector<Credit> before;
      for (const ElasticUser& user : cluster.users) before.push_back(user.credit);
      RC_ASSERT(sum_of_credits(round.credit) == sum_of_credits(before));
    }
  });
}

TEST_CASE("BRA never goes beyond a quota nor takes anything back", "[property]") {
  check_property("BRA", 10'000, [] {
    const ElasticCluster cluster = draw_cluster();
    const ElasticRound round = Bra().round(cluster);
    RC_ASSERT(round.limit.empty());
    RC_ASSERT(round.grow.empty());
    RC_ASSERT(round.kill.empty());
    const auto started = by_id(round.start);
    for (const ElasticUser& user : cluster.users) {
      Units used = 0, more = 0;
      for (const RunningJob& job : user.running) used += job.min;
      for (const QueuedJob& job : user.queued)
        if (started.contains(job.id)) more += job.min;
      RC_ASSERT(more == 0 || used + more <= user.quota);
      for (const QueuedJob& job : user.queued)
        if (!started.contains(job.id))
          RC_ASSERT(used + more + job.min > user.quota || job.min > round.idle);
    }
  });
}

TEST_CASE("CREA takes from the most extras and gives to the fewest", "[unit]") {
  ElasticCluster cluster{12,
                         {{4, {}, {{{1}, 1, 9, 5}}, {}},
                          {4, {}, {{{2}, 1, 9, 4}}, {}},
                          {4, {-9}, {{{3}, 1, 9, 2}}, {{{4}, 3, 3}}}}};
  ElasticRound round = Crea().round(cluster);
  CHECK(round.limit == std::vector<JobUnits>{{{1}, 2}});
  CHECK(round.start == std::vector<JobUnits>{{{4}, 3}});
  cluster.users[2].queued.clear();
  round = Crea().round(cluster);
  CHECK(round.grow == std::vector<JobUnits>{{{3}, 1}});
}

TEST_CASE("Fair kills the newest job above a quota, and only if that helps", "[unit]") {
  ElasticCluster cluster{
      10,
      {{4, {}, {{{1}, 4, 4, 4}, {{2}, 3, 3, 3}, {{3}, 3, 3, 3}}, {}}, {6, {}, {}, {{{4}, 3, 3}}}}};
  ElasticRound round = Fair().round(cluster);
  CHECK(round.kill == std::vector<JobId>{{3}});
  CHECK(round.start == std::vector<JobUnits>{{{4}, 3}});
  cluster.users[1].queued[0] = {{4}, 7, 7};
  cluster.users[1].quota = 8;
  round = Fair().round(cluster);
  CHECK(round.kill.empty());
  CHECK(round.start.empty());
}

TEST_CASE("Fair lends idle units to who uses least of its quota", "[unit]") {
  const ElasticCluster cluster{9,
                               {{2, {}, {{{1}, 2, 2, 2}}, {{{2}, 2, 2}, {{3}, 1, 1}}},
                                {4, {}, {{{4}, 3, 3, 3}}, {{{5}, 2, 2}}}}};
  const ElasticRound round = Fair().round(cluster);
  CHECK(round.start == std::vector<JobUnits>{{{5}, 2}, {{2}, 2}});
  CHECK(round.idle == 0);
}

TEST_CASE("There is a policy by each name and none by others", "[unit]") {
  CHECK(make_elastic_policy("qrea"));
  CHECK_FALSE(make_elastic_policy("QREA"));
}

}  // namespace
}  // namespace fairwater
