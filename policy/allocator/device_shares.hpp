// Which of a node's shared GPUs a task gets: a part of one, or whole ones that nobody has a part
// of. Pure.
//
// The choice, of devices and between nodes, is policy/gpu/offer.hpp's. What it knows of the tasks
// to come are those that run (ShareMix).
//
// Internal to policy/allocator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policy/allocator/device_use.hpp"
#include "policy/allocator/placement.hpp"
#include "policy/core/types.hpp"
#include "policy/gpu/fragmentation.hpp"
#include "policy/gpu/node.hpp"

namespace fairwater::inline policy::inline allocator {

/// Tasks that take shares and run, by what they ask for.
class ShareMix {
 public:
  /// Such a task is held from now on, or (`is_held` false) no longer. True: the mix is another. It
  /// counts of each kind the largest power of two: so it is what is held that it hangs on, not what
  /// was, and it is made anew seldom. That costs O(kMostKinds * kMilliPerGpu).
  bool note(const ResourceVector& demand, std::size_t resource, bool is_held);
  [[nodiscard]] const GpuTaskMix& mix() const { return mix_; }

  /// The most frequent count, so that a choice costs no more.
  static constexpr std::size_t kMostKinds = 64;

 private:
  std::map<GpuRequest, std::uint64_t> running_;
  GpuTaskMix mix_{{}, {}};
};

struct WantedShares {
  const ResourceVector& demand;
  const std::vector<std::string>& names;         ///< asked for
  const std::set<std::string>& left_for_last;    ///< others ask for these
  const std::set<std::string>& kept_for_others;  ///< not to be given
};

struct ChosenShares {
  std::vector<std::string> names;  ///< in the node's order
  std::int64_t cost = 0;           ///< GpuOffer::cost
};

/// `kind`: the node's shared GPUs, of which `room` is free; `free`: of the whole node. None: no GPU
/// has enough free, or what is asked for by name is not free. O(GPUs * kinds of tasks).
[[nodiscard]] std::optional<ChosenShares> choose_shares(const NodeDevices& kind,
                                                        std::size_t resource, GpuNode room,
                                                        const ResourceVector& free,
                                                        const GpuTaskMix& mix,
                                                        const WantedShares& wanted);

/// So much is free again of each of those, or (a negative amount) taken. O(GPUs * names).
void give_shares(GpuNode& room, const NodeDevices& kind, const std::vector<std::string>& names,
                 Amount milli_of_each);
/// But for those. O(GPUs * log names).
[[nodiscard]] GpuNode without_gpus(GpuNode room, const NodeDevices& kind,
                                   const std::set<std::string>& names);

/// What is free of each of the node's shared GPUs, in thousandths and the node's order. None: a
/// task holds some of which nobody knows the names. O(GPUs * tasks that hold some).
[[nodiscard]] std::optional<GpuNode> shared_room(const NodeDevices& kind, std::size_t resource,
                                                 const DeviceUses& held);

}  // namespace fairwater::inline policy::inline allocator
