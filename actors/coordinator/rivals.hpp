// Which run of a node's agent holds the node. Pure: no clock, no messages.
//
// Two agents with one credential (copied data) are told apart by AgentRun: an agent counts its
// starts in its data directory. Who has counted less, or as much but is another process, is a
// duplicate. Who has counted more is the agent started anew, when the earlier connection is gone.
// When a report still comes over that one, there are two: the earlier is fenced, which is durable,
// closed, and never answered again; the later gets the node once the earlier has been silent beyond
// lease and grace, and so has stopped everything.
//
//                 later run asks              the holder reports, an interval later
//   held ───────────────────────> rivalled ───────────────────────────────────────> fenced
//    ^  ^  nothing heard of it for a lease │                                           │
//    │  └──────────────────────────────────┘                                           │
//    └──────────────── a run is let in: the holder is gone, or lost ───────────────────┘
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "model/node.hpp"

namespace fairwater::inline actors::inline coordinator {

class Rivals {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// A refused agent asks again within seconds (rpc/agent/agent_client.hpp): one that was not heard
  /// of for this long is gone.
  static constexpr auto kGone = std::chrono::minutes(1);

  enum class Verdict : std::uint8_t {
    let_in,
    superseded,  ///< a later start holds the node
    fenced,      ///< the earlier run was shut out, and its lease is not over yet
    copied,      ///< its data directory is that of the run that holds the node
    connected,   ///< the earlier run has a connection still
  };
  /// What is known of the node when a run asks for it.
  struct Holder {
    AgentRun run;
    bool is_lost = false;
    bool is_connected = false;
  };
  [[nodiscard]] Verdict judge(const AgentRun& run, bool moved, const Holder& holder, TimePoint now);

  /// The holder reported. True: a later run has asked for the node for as long as a live agent
  /// keeps silent at the most, so both live; what a killed agent had sent before was read by then.
  [[nodiscard]] bool is_contested(TimePoint now, std::chrono::milliseconds lease,
                                  std::chrono::milliseconds heartbeat_interval);
  /// Shuts the holder out; the run that gets the node. is_contested() was true.
  [[nodiscard]] AgentRun fence();
  /// A run was let in and has connected.
  void settle();
  [[nodiscard]] bool is_fenced() const { return is_fenced_; }

  /// A second agent was met. True when the sentence is news: it asks every second or two.
  [[nodiscard]] bool note(std::string problem, TimePoint now);
  /// For listings; empty when no second agent was heard of for kGone.
  [[nodiscard]] const std::string& problem(TimePoint now);

 private:
  std::optional<AgentRun> rival_;  ///< a later run that asked while the holder was connected
  TimePoint rival_since_;
  TimePoint seen_;  ///< also of runs that were refused
  bool is_fenced_ = false;
  std::string problem_;
};

}  // namespace fairwater::inline actors::inline coordinator
