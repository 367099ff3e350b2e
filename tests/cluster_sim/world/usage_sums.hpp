// What was used, added up from the journal by itself: whole attempts, by tenant and user, of what
// their grants say that they hold.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "model/journal.hpp"
#include "storage/ledger.hpp"

namespace fairwater::cluster_sim {

class UsageSums {
 public:
  explicit UsageSums(std::vector<std::string> resources) : resources_(std::move(resources)) {}

  void take(const JournalRecord& record);
  /// What of the ledger's days, taken together, is other than this; empty: nothing.
  [[nodiscard]] std::string difference(const Ledger& ledger) const;

 private:
  using Whose = std::pair<TenantId, std::string>;
  struct Job {
    Whose whose;
    WallTime submitted_at;
  };
  struct Attempt {
    NodeId node;
    Whose whose;
    WallTime granted_at;
    ResourceVector demand;
  };

  void grant(NodeId node, const Grant& grant);
  void end(NodeId node, const TaskKey& task, const TaskResult* result);

  std::vector<std::string> resources_;  ///< by index in a ResourceVector
  std::map<JobId, Job> jobs_;
  std::map<TaskKey, Attempt> running_;
  std::set<std::pair<JobId, std::uint32_t>> begun_;
  std::map<Whose, UsageRecord> sums_;
  WallTime now_;  ///< of the record that is being taken
};

}  // namespace fairwater::cluster_sim
