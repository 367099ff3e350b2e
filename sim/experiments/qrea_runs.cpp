#include "sim/experiments/qrea_runs.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "policy/core/splitmix64.hpp"
#include "sim/engine/engine.hpp"
#include "sim/experiments/parallel.hpp"
#include "sim/schedulers/elastic.hpp"
#include "sim/traces/generators.hpp"

namespace fairwater::sim::inline experiments {
namespace {

constexpr Units kUserQuota = kElasticPool / static_cast<Units>(kElasticUsers);
constexpr TimeMs kJobRunMs = 10'000;  ///< with one unit

Cluster elastic_pool() {
  Cluster cluster;
  cluster.resources = {"units"};
  cluster.settings.granules[0] = 1;
  cluster.nodes.emplace_back().capacity[0] = kElasticPool;
  cluster.tenants.resize(kElasticUsers);
  return cluster;
}

Workload elastic_jobs(const ElasticRates& rates, const ElasticAssumptions& assumptions,
                      std::uint64_t seed) {
  constexpr TimeMs kPeriodMs = 1000;
  const FractionalGaussianNoise noise(static_cast<std::size_t>(assumptions.duration_ms / kPeriodMs),
                                      assumptions.hurst);
  Workload workload;
  for (std::size_t user = 0; user < kElasticUsers; ++user) {
    SplitMix64 random(SplitMix64(seed * kElasticUsers + user).next());
    const SelfSimilarArrivals arrivals{rates[user], assumptions.variation, kPeriodMs};
    const std::vector<double> path = noise.draw(random);
    for (const TimeMs at : self_similar_arrivals_ms(arrivals, path, random)) {
      Job& job = workload.jobs.emplace_back();
      job.submit_ms = at;
      job.tenant = static_cast<TenantIndex>(user);
      job.demand[0] = 1;
      job.run_ms = job.estimate_ms = kJobRunMs;
      job.max_units = assumptions.max_units;
    }
  }
  std::stable_sort(workload.jobs.begin(), workload.jobs.end(),
                   [](const Job& a, const Job& b) { return a.submit_ms < b.submit_ms; });
  return workload;
}

class ExtrasMeter final : public Observer {
 public:
  ExtrasMeter(const Workload& workload, const ElasticAssumptions& assumptions)
      : workload_(workload), assumptions_(assumptions), was_killed_(workload.jobs.size()) {}

  void advance(TimeMs now) override {
    const TimeMs until = std::min(now, assumptions_.duration_ms);
    if (until > now_) pass(static_cast<double>(until - now_) / 1000);
    now_ = now;
  }
  void started(const Start& start) override {
    ++jobs_of(start.task);
    extras_of(start.task) += start.units - 1;
  }
  void resized(TaskId task, Units before, Units after) override {
    extras_of(task) += after - before;
    ++resizes_;
  }
  void ended(TaskId task, NodeIndex /*node*/, Units units, bool killed) override {
    --jobs_of(task);
    extras_of(task) -= units - 1;
    if (!killed)
      completion_ms_ += now_ - workload_.jobs[task.job].submit_ms;
    else if (!was_killed_[task.job])
      was_killed_[task.job] = true, ++run_.failed_jobs;
  }

  [[nodiscard]] ElasticRun finish() && {
    const auto jobs = static_cast<double>(std::max<std::size_t>(workload_.jobs.size(), 1));
    const double seconds = static_cast<double>(assumptions_.duration_ms) / 1000;
    run_.utilisation /= static_cast<double>(kElasticPool) * seconds;
    run_.mean_credit_deviation /= seconds;
    run_.mean_moment_deviation /= seconds;
    run_.mean_completion_s = static_cast<double>(completion_ms_) / 1000 / jobs;
    run_.resizes_per_job = static_cast<double>(resizes_) / jobs;
    return run_;
  }

 private:
  Units& jobs_of(TaskId task) { return jobs_[workload_.jobs[task.job].tenant]; }
  Units& extras_of(TaskId task) { return extras_[workload_.jobs[task.job].tenant]; }

  void pass(double seconds) {
    Units unused = 0, extras = 0, held = 0, room = 0;
    for (std::size_t u = 0; u < kElasticUsers; ++u) {
      unused += std::max<Units>(kUserQuota - jobs_[u], 0);
      extras += extras_[u];
      held += jobs_[u] + extras_[u];
      room += jobs_[u] * (assumptions_.max_units - 1) - extras_[u];
    }
    const bool contended = held == kElasticPool && room > 0;
    double beyond = 0, squares = 0;
    for (std::size_t u = 0; u < kElasticUsers; ++u) {
      const auto own = static_cast<double>(std::max<Units>(kUserQuota - jobs_[u], 0));
      const auto taken = static_cast<double>(extras_[u]);
      // As in QREA, nothing is earned or paid when no quota is unused.
      const double earned =
          unused == 0 ? taken : own / static_cast<double>(unused) * static_cast<double>(extras);
      const auto add_to = [&](ExtrasAccount& account) {
        account.extras += taken * seconds;
        account.earned += earned * seconds;
        account.unused += own * seconds;
      };
      add_to(run_.accounts[u]);
      if (contended) add_to(run_.contended[u]);
      beyond += std::max(taken - earned, 0.0);
      const double credit = run_.accounts[u].earned - run_.accounts[u].extras;
      squares += credit * credit;
    }
    run_.utilisation += static_cast<double>(held) * seconds;
    run_.mean_moment_deviation += beyond * seconds;
    run_.mean_credit_deviation += std::sqrt(squares / kElasticUsers) * seconds;
  }

  const Workload& workload_;
  const ElasticAssumptions& assumptions_;
  std::vector<bool> was_killed_;
  std::array<Units, kElasticUsers> jobs_{};  ///< that run; each has a `min` of 1
  std::array<Units, kElasticUsers> extras_{};
  TimeMs now_ = 0;
  TimeMs completion_ms_ = 0;
  std::uint64_t resizes_ = 0;
  ElasticRun run_;
};

// -- readings of phi ----------------------------------------------------------------------------

double part(double value, double sum) { return sum > 0 ? value / sum : 0; }

double share_distance(const ExtrasAccounts& accounts) {
  double extras = 0, unused = 0, squares = 0;
  for (const ExtrasAccount& account : accounts) {
    extras += account.extras;
    unused += account.unused;
  }
  for (const ExtrasAccount& account : accounts) {
    const double off = part(account.extras, extras) - part(account.unused, unused);
    squares += off * off;
  }
  return std::sqrt(squares);
}

double misplaced_part(const ExtrasAccounts& accounts) {
  double extras = 0, beyond = 0;
  for (const ExtrasAccount& account : accounts) {
    extras += account.extras;
    beyond += std::max(account.extras - account.earned, 0.0);
  }
  return part(beyond, extras);
}

std::vector<double> extras_per_unused(const ElasticRun& run) {
  std::vector<double> ratios;
  for (const ExtrasAccount& account : run.accounts)
    ratios.push_back(account.extras / std::max(account.unused, 1.0));
  return ratios;
}

double credit_deviation(const ElasticRun& run) {
  double squares = 0;
  for (const ExtrasAccount& account : run.accounts)
    squares += (account.earned - account.extras) * (account.earned - account.extras);
  return std::sqrt(squares / kElasticUsers);
}

constexpr std::array<FairnessReading, 8> kReadings{{
    {"shares", "root of the sum of (part of all extras - part of all unused quota)^2, over users",
     [](const ElasticRun& run) { return share_distance(run.accounts); }},
    {"misplaced", "part of all extras that went to users beyond what they earned",
     [](const ElasticRun& run) { return misplaced_part(run.accounts); }},
    {"credits", "standard deviation of the users' credits at the end, in unit-seconds",
     [](const ElasticRun& run) { return credit_deviation(run); }},
    {"credits over time", "the same at every moment, averaged over time",
     [](const ElasticRun& run) { return run.mean_credit_deviation; }},
    {"moments", "units held beyond the part that is earned at the moment, averaged over time",
     [](const ElasticRun& run) { return run.mean_moment_deviation; }},
    {"ratios", "coefficient of variation of extras per unit of unused quota, over users",
     [](const ElasticRun& run) {
       const std::vector<double> ratios = extras_per_unused(run);
       return part(sample_standard_deviation(ratios), mean(ratios));
     }},
    {"Jain", "1 - Jain's index of extras per unit of unused quota",
     [](const ElasticRun& run) { return 1 - jain_index(extras_per_unused(run)); }},
    {"contended",
     "extras beyond what was earned while nothing was idle and somebody could have grown, as a "
     "part "
     "of all extras",
     [](const ElasticRun& run) {
       double extras = 0, in_contention = 0;
       for (const ExtrasAccount& account : run.accounts) extras += account.extras;
       for (const ExtrasAccount& account : run.contended) in_contention += account.extras;
       return misplaced_part(run.contended) * part(in_contention, extras);
     }},
}};

}  // namespace

std::span<const FairnessReading> fairness_readings() { return kReadings; }

Expected<ElasticRun> run_elastic(const ElasticRule& rule, const ElasticRates& rates,
                                 const ElasticAssumptions& assumptions, std::uint64_t seed) {
  const Cluster cluster = elastic_pool();
  const Workload workload = elastic_jobs(rates, assumptions, seed);
  auto scheduler = ElasticScheduler::make({.policy = std::string{rule.policy},
                                           .credit_period_ms = assumptions.credit_period_ms,
                                           .rebalance = rule.rebalance},
                                          cluster, workload);
  if (!scheduler) return scheduler.error();
  ExtrasMeter extras(workload, assumptions);
  run_engine(cluster, workload, **scheduler, extras,
             {.cycle_ms = assumptions.cycle_ms, .end_ms = 0});
  return std::move(extras).finish();
}

Expected<ElasticSamples> sample_elastic(std::span<const ElasticRule> rules,
                                        const std::vector<ElasticRates>& rates,
                                        const ElasticAssumptions& assumptions, std::size_t samples,
                                        const ExperimentOptions& options, double from, double to) {
  ElasticSamples result{.rates = rates.size(), .samples = samples, .runs = {}};
  std::vector<std::optional<Expected<ElasticRun>>> runs(rules.size() * rates.size() * samples);
  for_each_index(runs.size(), options, from, to, [&](std::size_t i) {
    const std::size_t rate = i / samples % rates.size();
    runs[i] =
        run_elastic(rules[i / samples / rates.size()], rates[rate], assumptions, i % samples + 1);
  });
  for (const auto& run : runs) {
    if (!*run) return run->error();
    result.runs.push_back(**run);
  }
  return result;
}

Estimate relative_decrease(std::span<const double> base, std::span<const double> values) {
  const Estimate difference = estimate_difference(base, values);
  const double scale = mean(base);
  if (scale == 0) return {};
  return {difference.mean / scale, difference.half_width / scale};
}

}  // namespace fairwater::sim::inline experiments
