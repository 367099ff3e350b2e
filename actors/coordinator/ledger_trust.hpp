// Whether a coordinator may take its ledger for the newest there is: a ledger that was restored
// from a backup does not know what it forgot, but the nodes do. Pure: no clock, no messages.
//
//   from the start   nothing is granted or taken in before enough nodes have registered and seen
//                    nothing that the ledger does not hold: half of those known that are not lost,
//                    and every one of them where the directory is a copy. A node that is declared
//                    lost is not waited for, unless the directory is a copy: silence is no word.
//   at any time      a node of this cluster that has seen more stops it, until that node comes back
//                    and agrees, or is removed
//   an operator      may vouch for the ledger, which then begins a new incarnation (LedgerTrusted).
//                    What the life that was lost had started may still run: until its leases are
//                    over, and the nodes that came back have stopped it, nothing is granted, or a
//                    task would run twice at once
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "model/journal.hpp"
#include "model/requests.hpp"

namespace fairwater::inline actors::inline coordinator {

/// A ledger that was restored counts a second as an incarnation: three years. Of one that is
/// farther ahead no agent can have been told.
inline constexpr std::uint32_t kMaxIncarnationsAhead = 100'000'000;

/// The ledger as a registration is judged against it.
struct LedgerEnd {
  LedgerMark mark;
  std::uint64_t given_up = 0;
  std::uint64_t epoch = 0;  ///< of the coordinator, which is durable in it
};

/// Why the ledger cannot be the one that an agent was told of; none when it can. `own` is the hash
/// of the ledger's record `seen.number`, where it has one. A coordinator's epoch is durable before
/// it tells it to anybody: a ledger without the start of an epoch that was told is behind.
[[nodiscard]] std::optional<std::string> contradiction(const ClusterMemory& memory,
                                                       const LedgerEnd& ledger,
                                                       const std::optional<Hash>& own);

/// What begins the new life of a ledger that was restored from a backup which ends there, with a
/// record of the time `recorded`. All that followed is given up.
[[nodiscard]] LedgerTrusted restoring(const LedgerMark& end, WallTime recorded, WallTime now,
                                      std::string reason);

class LedgerTrust {
 public:
  struct Doubt {
    LedgerMark seen;
    std::string reason;
    WallTime since;
  };

  LedgerTrust() = default;
  /// `known`: the nodes of the ledger that are not lost.
  LedgerTrust(std::set<NodeId> known, bool copied);

  /// The node's agent registered and has seen nothing else.
  void agree(NodeId node);
  void doubt(NodeId node, Doubt doubt);
  /// The node was declared lost.
  void lose(NodeId node);
  /// The node is no longer one of the cluster.
  void remove(NodeId node);
  /// An operator has vouched, and it is durable.
  void vouch();
  /// No agent holds a lease any more that was given before this coordinator's start.
  void leases_over();
  /// True from when an operator vouched until nothing of the lost life can run any more.
  [[nodiscard]] bool is_cleaning_up() const { return cleaning_up_; }
  /// Whether something of the lost life runs on the node, as it says. While cleaning up.
  void clean_up(NodeId node, bool runs_lost_life);

  [[nodiscard]] bool holds() const { return confirmed_ && doubts_.empty() && !cleaning_up_; }
  [[nodiscard]] bool copied() const { return copied_; }
  /// Nodes without whose word it does not hold (some of them may be enough).
  [[nodiscard]] const std::set<NodeId>& awaited() const { return awaited_; }
  [[nodiscard]] const std::map<NodeId, Doubt>& doubts() const { return doubts_; }
  /// One sentence; empty while it holds.
  [[nodiscard]] std::string why_not() const;
  /// What vouching writes, for a ledger that ends there.
  [[nodiscard]] LedgerTrusted vouching(const LedgerMark& end, std::string reason) const;

 private:
  void consider();

  bool copied_ = false;
  bool confirmed_ = false;
  bool leases_over_ = false;
  bool cleaning_up_ = false;
  std::set<NodeId> unclean_;  ///< where something of the lost life runs
  std::size_t agreed_ = 0;
  std::set<NodeId> awaited_;
  std::map<NodeId, Doubt> doubts_;
};

}  // namespace fairwater::inline actors::inline coordinator
