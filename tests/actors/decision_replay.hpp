// Gives what happened to a coordinator, by its journal, to the simulator's `sequence`, and compares
// what both decided.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/schedulers/list.hpp"
#include "tests/actors/drawn_cluster.hpp"

namespace fairwater {

[[nodiscard]] sim::Cluster simulated_cluster(const Scenario& scenario);

struct Comparison {
  int events = 0;
  std::size_t deals = 0;
  std::size_t grants = 0;
  std::map<GrantStep, std::size_t> by_step{};  ///< of the grants
  std::size_t loans = 0;
  std::size_t repayments = 0;
  std::size_t reclaims = 0;           ///< tasks told to end
  std::size_t preempted = 0;          ///< of those
  std::map<TenantId, Units> nets;     ///< by the simulator, at the end
  std::map<TenantId, Units> credits;  ///< likewise
  /// Journal number of the first event that was decided otherwise, 0: none. The comparison ends
  /// there.
  std::uint64_t difference = 0;
  std::string event{}, by_coordinator{}, by_simulator{};  ///< then: what each decided, in words

  [[nodiscard]] std::size_t grown() const;
  /// Of several runs; nets and credits are of one.
  Comparison& operator+=(const Comparison& other);
};

/// `options` say how the coordinator deals.
[[nodiscard]] Comparison replay(const sim::Cluster& cluster,
                                const std::vector<JournalRecord>& journal,
                                sim::PolicyOptions options = {.name = "sequence"});

/// Whether nothing differs, nets and credits included; what does is told to Catch2.
void check_same(const Comparison& found, ActorRun& actors);

/// How many of the gangs that started did so on more than one node.
[[nodiscard]] std::size_t gangs_on_several_nodes(const std::vector<JournalRecord>& journal);

}  // namespace fairwater
