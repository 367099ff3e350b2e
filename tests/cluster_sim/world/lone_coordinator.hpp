// A cluster's only coordinator: its disk is all that is durable, but for a backup.
#pragma once

#include <optional>
#include <string>

#include "tests/cluster_sim/world/coordinator.hpp"
#include "tests/cluster_sim/world/machine.hpp"

namespace fairwater::cluster_sim {

class LoneCoordinator final : public Coordinator {
 public:
  LoneCoordinator(Stage& stage, Checker& checker, const CoordinatorTerms& terms);
  ~LoneCoordinator() override;

  bool start() override;
  void kill(bool keeps_unsynced) override;
  void run_one() override;

  /// The next start finds the end of its write-ahead log gone, and gets it back when it says so.
  bool loses_end = false;
  /// When the newest run took over, and as which.
  [[nodiscard]] std::int64_t started_at_us() const { return started_at_us_; }
  [[nodiscard]] Term newest_term() const { return newest_term_; }
  /// Makes a backup of the ledger, in place of the one before.
  void back_up();
  /// Nothing is left of the ledger: the next start goes on from the backup, if there is one.
  void lose_ledger();

 private:
  [[nodiscard]] Expected<std::shared_ptr<Ledger>> open_ledger();
  /// A log without its end must be refused.
  void try_without_end();
  /// False when its disk does not let it, for now.
  bool restore();
  bool failed_to_start(const caf::error& error);

  std::int64_t started_at_us_ = 0;
  Term newest_term_;
  struct Backup {
    std::string directory;
    Checker known;  ///< what was known of the ledger then
  };
  std::optional<Backup> backup_;
  std::uint64_t backups_ = 0;
  bool is_lost_ = false;  ///< the ledger
  std::int64_t lost_at_us_ = 0;
  bool is_restored_ = false;  ///< from a backup, and nothing was granted since
};

}  // namespace fairwater::cluster_sim
