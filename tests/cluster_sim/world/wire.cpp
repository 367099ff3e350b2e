#include "tests/cluster_sim/world/wire.hpp"

#include <algorithm>

namespace fairwater::cluster_sim {

std::int64_t Wire::delay_us() { return stage_.chance.spread(200, quality_.max_delay_us); }

void Wire::send(const std::function<void()>& deliver) {
  const auto cut_until_us = direction_ == Direction::up
                                ? std::max(quality_.up_cut_until_us, path_.up_until_us)
                                : std::max(quality_.down_cut_until_us, path_.down_until_us);
  const auto now_us = stage_.time.now_us();
  const bool is_cut = now_us < cut_until_us;
  // What is sent while the network is away is sent again for a while, and may arrive afterwards.
  if (stage_.chance.permille(quality_.loses_permille) || (is_cut && stage_.chance.percent(30)))
    is_dead_ = true;
  if (is_dead_) return;
  auto at_us = std::max(now_us, cut_until_us) + delay_us();
  if (!stage_.chance.permille(quality_.reorders_permille))
    at_us = last_delivery_us_ = std::max(at_us, last_delivery_us_);
  stage_.time.at(at_us, deliver);
  if (stage_.chance.permille(quality_.doubles_permille))
    stage_.time.at(at_us + delay_us(), deliver);
}

}  // namespace fairwater::cluster_sim
