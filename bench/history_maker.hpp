// A ledger's history, written in minutes through the same fold as any other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "storage/ledger.hpp"

namespace fairwater::bench {

/// Appends to a ledger that has had no job, and to which these tenants, with ids from 1 on, and a
/// first node are known before there are any. Throws std::runtime_error with what the ledger says.
class HistoryMaker {
 public:
  HistoryMaker(const std::string& directory, bool create, std::vector<std::string> tenants);

  void add(JournalBody body);
  /// So many tasks that have succeeded, in arrays, of all tenants in turn; after `cut_every` of
  /// them each time history is archived, unless that is 0.
  void add_ended(std::uint64_t tasks, std::uint64_t cut_every = 0);
  /// So many jobs of one task that wait, likewise.
  void add_waiting(std::uint64_t jobs, const std::vector<std::string>& command);
  /// What was added before is in the ledger then.
  void flush();

 private:
  JobId submit(std::uint32_t tasks, const std::vector<std::string>& command);
  /// As a coordinator does by itself, behind a checkpoint; the jobs stay listed.
  void cut();
  void end_all(JobId job, std::uint32_t tasks);
  [[nodiscard]] TenantId tenant_of(std::uint64_t job) const;

  std::unique_ptr<Ledger> ledger_;
  std::vector<std::string> tenants_;
  std::vector<JournalBody> bodies_;
  std::size_t entries_ = 0;  ///< of these
  std::uint64_t jobs_ = 0;
};

/// Does the work in a process of its own, so that what it takes is none of what is measured. Throws
/// std::runtime_error, naming `what`, when it throws. Only where no other thread runs.
void run_apart(const std::string& what, const std::function<void()>& work);

}  // namespace fairwater::bench
