// Many nodes that run nothing: each has a connection of its own, registers, reports and takes
// orders as an agent does, and lets a task end when the time that its command names is over.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rpc/identity.hpp"

namespace fairwater::load {

using Clock = std::chrono::steady_clock;

[[nodiscard]] inline double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct FleetOptions {
  std::string coordinators;  ///< HOST:PORT, or those of several with commas between
  JoinToken join;
  std::uint32_t nodes = 0;
  std::uint32_t slots = 1;  ///< tasks of one cpu that a node has room for
  double time_scale = 1;    ///< what a task claims to have taken, over the time that it takes
  double spread = 0;        ///< a task takes up to so much of its time more or less
  std::uint32_t zones = 1;  ///< nodes have a label `zone` of so many values in turn, and a site
  std::uint32_t joining_at_once = 256;  ///< the first time; later each returns when it likes
};

/// What the nodes have seen since the fleet began.
struct FleetSeen {
  std::uint32_t registered = 0;  ///< now
  std::uint64_t registrations = 0;
  Clock::time_point registered_at;  ///< the newest
  std::uint64_t tries = 0;          ///< to connect and register
  std::uint64_t refusals = 0;       ///< of registrations
  std::uint64_t lost_connections = 0;
  std::uint64_t leases_ended = 0;  ///< before the coordinator was heard again
  std::uint64_t reports = 0;       ///< answered
  std::uint64_t launches = 0;
  std::uint64_t launches_told_twice = 0;
  std::uint64_t launches_beyond_capacity = 0;
  std::uint64_t stops = 0;    ///< tasks that ended on order
  std::uint64_t running = 0;  ///< now
  std::uint64_t ends = 0;
  std::uint64_t durable_ends = 0;  ///< acknowledged
  Clock::time_point durable_at;    ///< the newest
  double busy_slot_seconds = 0;
};

struct FleetSamples {
  std::vector<double> end_to_start_ms;  ///< of a slot: from a task's end to the next one's order
  std::vector<double> report_ms;        ///< until it was answered
};

class Fleet {
 public:
  /// Begins to connect; one thread for all.
  explicit Fleet(FleetOptions options);
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  [[nodiscard]] const FleetOptions& options() const;
  [[nodiscard]] FleetSeen seen() const;
  /// Those since they were last taken.
  FleetSamples take_samples();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fairwater::load
