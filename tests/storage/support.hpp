// What the ledger's tests share: directories, small clusters, and a generator of valid traffic.
#pragma once

#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "process/temporary_directory.hpp"
#include "storage/families.hpp"
#include "storage/ledger.hpp"

namespace fairwater::test {

/// The value, or a failed test that prints the error.
template <class T>
T must(Expected<T> value) {
  if (!value) throw std::runtime_error(details(value.error()).message);
  return std::move(*value);
}

[[nodiscard]] ErrorCode code_of(const caf::error& error);

// -- small pieces
[[nodiscard]] ClusterCreated small_cluster();
[[nodiscard]] TenantRecord tenant(std::uint32_t id, const std::string& name, Weight weight);
[[nodiscard]] NodeRecord node(std::uint32_t id, const std::string& name);
[[nodiscard]] NodeAdmitted registered(std::uint32_t id, const std::string& name);
[[nodiscard]] JobSpec job_spec(const std::string& tenant, std::uint32_t tasks);
/// Cluster, epoch 1, tenants `a`, `b`, `c` of weights 5, 3, 2 (ids 1 to 3) and nodes 1 and 2.
[[nodiscard]] std::vector<JournalBody> founding();
/// A deal on node 1 that gives `tenant` these tasks, one unit each, all slots having fallen to it.
[[nodiscard]] Deal plain_deal(std::uint64_t position, TenantId tenant,
                              const std::vector<TaskKey>& tasks);
[[nodiscard]] TaskResult success(const TaskKey& task);

[[nodiscard]] LedgerOptions options_for(const std::string& directory, rocksdb::Env* env = nullptr);

/// Random but valid traffic: submissions, cycles with grants, loans and repayments, results,
/// requeues, cancels. Continues from what the ledger holds.
class Traffic {
 public:
  Traffic(const Ledger& ledger, std::uint64_t seed);
  /// Up to `most` bodies, valid in this order when all earlier batches were appended.
  [[nodiscard]] std::vector<JournalBody> next_batch(std::size_t most);

 private:
  struct Job {
    JobRecord record;
    std::map<std::uint32_t, TaskRecord> tasks;
  };
  using Place = std::pair<JobId, std::uint32_t>;

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  [[nodiscard]] JournalBody next();
  [[nodiscard]] JournalBody submit();
  [[nodiscard]] JournalBody cancel();
  [[nodiscard]] JournalBody finish();
  [[nodiscard]] JournalBody requeue();
  [[nodiscard]] JournalBody cycle();
  void place_tasks(Deal& deal, std::map<TenantId, TenantLine>& lines);
  void settle_debts(Deal& deal, std::map<TenantId, TenantLine>& lines);
  void close(Deal& deal, std::map<TenantId, TenantLine>& lines);
  [[nodiscard]] TaskKey key_of(Place place) const;

  std::mt19937_64 random_;
  std::map<TenantId, TenantRecord> tenants_;
  IouBook book_;
  std::uint64_t position_ = 0;
  std::uint64_t period_ = 0;
  JobId next_job_;
  std::map<JobId, Job> jobs_;
  std::set<Place> waiting_;
  std::set<Place> running_;
};

/// A ledger with some of everything, closed.
void make_ledger(const std::string& directory, int batches = 40);
/// Of a ledger that must be there.
[[nodiscard]] LedgerOptions existing(const std::string& directory);
/// Changes one key behind the ledger's back; none: takes it away.
void tamper(const std::string& directory, Family family, const std::string& key,
            const std::optional<std::string>& bytes);
/// What opening says against it; fails when it opens.
[[nodiscard]] ErrorDetails open_error(const LedgerOptions& options);

}  // namespace fairwater::test
