// One of several coordinators of a cluster: follow -> lead -> follow, in one process.
//
//               the leader is silent, or has left         taken over
//   following ───────────────────────────────> taking over ───────> leading
//      ^  ^                                          │ another was faster   │
//      │  └──────────────────────────────────────────┘                      │
//      └───────────── another leads ────────────────────────────────────────┘
//
// While it follows it listens, too: who calls is told who leads.
#pragma once

#include "daemon/daemon.hpp"

namespace fairwater::inline daemon {

struct ReplicaStart {
  bool init = false;   ///< create the data directory; with `found`
  bool found = false;  ///< etcd holds nothing yet: begin with this ledger
  std::string
      join;  ///< a backup of another replica to begin with; empty: the directory has a ledger
};

/// Until the signal, or until it cannot go on. `config.replicas` is set.
[[nodiscard]] caf::error run_replica(const CoordinatorConfig& config, const ReplicaStart& start,
                                     const StopSignal& stop, const DaemonLog& log);

/// `wrong_state` when the data directory is one of several coordinators': alone it would go on
/// where the others may have gone on already.
[[nodiscard]] caf::error refuse_replica_alone(const CoordinatorConfig& config);

}  // namespace fairwater::inline daemon
