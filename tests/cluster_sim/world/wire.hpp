// One direction of a connection: bytes in order, late, until it dies. On top of what TCP does to
// messages it may deliver one twice, or before the one that went first.
#pragma once

#include <cstdint>
#include <functional>

#include "tests/cluster_sim/world/stage.hpp"

namespace fairwater::cluster_sim {

/// How good a machine's network is at the moment.
struct NetworkQuality {
  std::int64_t up_cut_until_us = 0;    ///< towards the coordinator
  std::int64_t down_cut_until_us = 0;  ///< towards the machine
  std::int64_t max_delay_us = 3 * kMs;
  std::uint64_t loses_permille = 0;
  std::uint64_t doubles_permille = 0;
  std::uint64_t reorders_permille = 0;
};

/// Between a machine and one coordinator.
struct CutPath {
  std::int64_t up_until_us = 0;    ///< towards the coordinator
  std::int64_t down_until_us = 0;  ///< towards the machine
};

class Wire {
 public:
  enum class Direction : bool { up, down };
  Wire(Stage& stage, const NetworkQuality& quality, const CutPath& path, Direction direction)
      : stage_(stage), quality_(quality), path_(path), direction_(direction) {}

  /// `deliver` is called once, twice, or never.
  void send(const std::function<void()>& deliver);

 private:
  [[nodiscard]] std::int64_t delay_us();

  Stage& stage_;
  const NetworkQuality& quality_;
  const CutPath& path_;
  Direction direction_;
  bool is_dead_ = false;  ///< what was lost was not sent again: nothing behind it arrives
  std::int64_t last_delivery_us_ = 0;
};

}  // namespace fairwater::cluster_sim
