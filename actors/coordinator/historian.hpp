// The historian: makes checkpoints, and cuts history behind them (storage/history.hpp).
//
//   takes  HistoryTurn   from itself, kHistoryPause after the turn before
//   sends  Commit        to the ledger: a checkpoint
//   bound  one turn at a time, and one commit
//
//             HistoryTurn, a checkpoint is due              Committed, or refused
//   resting ────────────────────────────────────> committing ──────────────────> cutting
//     │ ^                                                                         ^ │ │
//     │ └─────────────────────────────────────────────────────────────────────────│─┘ │
//     └── HistoryTurn, none is due ───────────────────────────────────────────────┘   │
//                                                      the ledger is damaged          v
//   idle: the alarm is raised, everything stays where it is <─────────────────────────┘
//
// Detached: measuring what stands and folding what is archived take seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include <caf/actor_system.hpp>

#include "actors/coordinator/ledger.hpp"
#include "model/history.hpp"

namespace fairwater::inline actors::inline coordinator {

/// Long beside what a turn without work costs, short beside the time in which history grows.
inline constexpr std::chrono::seconds kHistoryPause{10};

/// Whether a checkpoint is due, so many records after the last one, of a state with so many: a
/// file of the archive holds the state, too, which shall not be most of it.
[[nodiscard]] bool is_checkpoint_due(const HistoryLimits& limits, std::uint64_t records_since,
                                     std::uint64_t standing_records);

/// It makes no checkpoint while a replica does not know what that is (Ledger::admit). It ends with
/// caf::exit_reason::user_shutdown, as the ledger's other actors do.
[[nodiscard]] caf::actor spawn_historian(caf::actor_system& system, Threading threading,
                                         std::shared_ptr<Ledger> ledger, LedgerActor writer,
                                         std::shared_ptr<StorageAlarm> alarm,
                                         const HistoryLimits& limits);

}  // namespace fairwater::inline actors::inline coordinator
