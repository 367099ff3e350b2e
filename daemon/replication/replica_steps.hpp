// What one of several coordinators does on the journal that they share, apart from when: no thread,
// no waiting, no clock but the journal's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "actors/coordinator/leadership.hpp"
#include "storage/etcd/etcd_journal.hpp"
#include "storage/ledger.hpp"

namespace fairwater::inline daemon::inline replication {

/// How errors name a replica's ledger, and the journal in etcd.
struct ReplicaPlace {
  std::string data;
  std::string prefix;
  std::string version = {};  ///< of this program
};

struct TakenIn {
  bool behind = false;  ///< there is more
  bool disk_full = false;
};

/// Appends what is new to the ledger of one that follows. `storage_behind`: etcd keeps no longer
/// what it needs, or has lost what this ledger has; `storage_damaged`: it is of another history;
/// `wrong_state`: there is no journal;
/// `not_supported`: it needs a newer version; else as Ledger::follow.
[[nodiscard]] Expected<TakenIn> take_in(Ledger& ledger, const JournalView& view,
                                        const ReplicaPlace& place);

/// Whether a ledger of which `place.data` is a backup, and that ends with `end`, could take in what
/// the journal has from there on. Errors as take_in().
[[nodiscard]] caf::error check_backup(const LedgerMark& end, const JournalView& view,
                                      const ReplicaPlace& place);

/// `own`: of the coordinator that asks, which hears itself.
[[nodiscard]] std::vector<ReplicaInfo> replicas_of(const EtcdJournal& journal,
                                                   const std::string& own);

/// Whether a coordinator that follows has room to lead. One whose disk is full leaves it to another
/// that lives and has some; where none is, somebody has to that holds all: nothing is granted then,
/// but what runs is kept.
[[nodiscard]] bool may_lead(const EtcdJournal& journal, const std::string& own, bool has_full_disk,
                            bool holds_all);

/// How one that leads stands, as the journal tells it.
class Leading final : public Leadership {
 public:
  Leading(const EtcdJournal& journal, std::string name, std::function<void()> on_hand_over)
      : journal_(journal), name_(std::move(name)), on_hand_over_(std::move(on_hand_over)) {}

  std::string name() const override { return name_; }
  bool is_confirmed() const override { return journal_.is_confirmed(kConfirmedMs); }
  std::string why_waiting() const override;
  std::vector<ReplicaInfo> replicas() const override { return replicas_of(journal_, name_); }
  caf::error hand_over() const override;

 private:
  const EtcdJournal& journal_;
  std::string name_;
  std::function<void()> on_hand_over_;
};

}  // namespace fairwater::inline daemon::inline replication
