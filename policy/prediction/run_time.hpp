// How long a task will run, by what came before (Tsafrir, Etsion and Feitelson, "Backfilling using
// system-generated predictions rather than user runtime estimates", IEEE TPDS 2007).
//
// Expected is the mean of the last two runs of the tenant's class, else of the tenant, else the
// user's limit; never more than the limit. A class is whatever the caller knows that makes tasks
// alike: a name, a size, a limit. Values in, values out: whoever uses it keeps what he was told
// with the run, asks `expected_total_ms` while it runs, and tells `PredictionErrors` in the end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline prediction {

enum class PredictionSource : std::uint8_t {
  task_class = 0,  ///< runs of the class
  tenant = 1,      ///< runs of the tenant's other classes
  limit = 2,       ///< no runs: the user's own word
};

struct Prediction {
  std::int64_t expected_ms = 0;
  PredictionSource source = PredictionSource::limit;
  friend bool operator==(const Prediction&, const Prediction&) = default;
};

class RunTimePredictor {
 public:
  /// Of a tenant; of more, the one that has not ended for longest is forgotten.
  static constexpr std::size_t kMaxClasses = 1000;
  static constexpr std::size_t kRecentRuns = 2;

  explicit RunTimePredictor(std::size_t recent_runs = kRecentRuns) : recent_runs_(recent_runs) {}

  /// A task ended by itself. O(log tenants + log classes).
  void finished(std::string_view task_class, TenantId tenant, std::int64_t run_ms);
  /// None: there is neither history nor limit. O(log tenants + log classes).
  [[nodiscard]] std::optional<Prediction> expected(std::string_view task_class, TenantId tenant,
                                                   std::optional<std::int64_t> limit_ms) const;
  void forget(TenantId tenant) { tenants_.erase(tenant); }

  friend bool operator==(const RunTimePredictor&, const RunTimePredictor&) = default;

 private:
  struct History {
    std::vector<std::int64_t> recent_ms;  ///< the oldest first
    std::uint64_t last_end = 0;           ///< counts the tenant's ends
    friend bool operator==(const History&, const History&) = default;
  };
  struct Tenant {
    History all;
    std::map<std::string, History, std::less<>> classes;
    std::map<std::uint64_t, std::string> by_last_end;
    friend bool operator==(const Tenant&, const Tenant&) = default;
  };
  void add(History& history, std::int64_t run_ms, std::uint64_t end) const;
  [[nodiscard]] static std::int64_t mean(const History& history);

  std::size_t recent_runs_;
  std::map<TenantId, Tenant> tenants_;
};

/// How long a task that has run for `ran_ms` is expected to run in all: as predicted, and once that
/// has passed twice as long, and so on, up to the limit. A task at its limit is expected to end in
/// the next millisecond. Changes only when what was expected has passed.
[[nodiscard]] std::int64_t expected_total_ms(const Prediction& prediction, std::int64_t ran_ms,
                                             std::optional<std::int64_t> limit_ms);

/// How far predictions were off.
class PredictionErrors {
 public:
  void add(std::int64_t expected_ms, std::int64_t run_ms);

  [[nodiscard]] std::uint64_t runs() const { return runs_; }
  /// Runs that took longer than expected.
  [[nodiscard]] std::uint64_t exceeded() const { return exceeded_; }
  /// Of |expected - run|, rounded down; 0 without runs.
  [[nodiscard]] std::int64_t mean_absolute_ms() const;

 private:
  std::uint64_t runs_ = 0;
  std::uint64_t exceeded_ = 0;
  Wide absolute_ms_ = 0;
};

}  // namespace fairwater::inline policy::inline prediction
