// Fair filling of a cluster of unlike machines, task by task, by one of three policies.
//
// GDRF: Xue, Hu, Xu 2016. Every user has
//   gdrs = max over r of demand_r / total_r, its generalised dominant resource share, per task;
//   gdrw = sum over r of demand_r / sum of total_r, its weight among all resources, per task;
// and a machine, with n_i tasks of user i on it,
//   f = k * (sum over i of gdrs_i * n_i) ^ w,  k = number of users,
//   w = what is used of it / its capacity, both summed over resources; f of an idle machine is 0.
// 1. A round fills a queue with as many places as there are users: each place goes to the user with
//    the least resource amount so far (its tasks times its demand summed over resources, counting
//    the places given in this round), then the largest gdrs, the largest gdrw, input order.
// 2. The queue is served by largest gdrs, then gdrw, then input order.
// 3. A task goes to a machine of its user's type with room, else to any machine with room; among
//    these to the one whose f is largest with the task on it, the first machine on a tie. A type is
//    the resource with the largest part of its total; the larger amount, then the first resource on
//    a tie.
// 4. A user none of whose tasks fits anywhere is done; so is one that has all the tasks it wants.
// k, w and gdrw are read so that the worked figures come out, f to the last digit printed.
//
// DRFH, what it is compared with: Wang, Li, Liang, "Dominant Resource Fairness in Cloud Computing
// Systems with Heterogeneous Servers" (2014). The next task goes to the user with the lowest
// dominant share, input order on ties; best fit takes the machine with room that has the smallest
//   sum over r of |demand_r / demand_1 - free_r / free_1|
// (1 is the first resource that the user asks for), the first on a tie; first fit the first machine
// with room.
//
// Machines of one shape in one state are one entry, so a cluster costs what its different states
// cost. GDRF and best fit: O(log + states made * users log) per task, see
// policy/dominant/machine_states.hpp; first fit: O(1) per task and O(machines touched) per user.
//
// Exact: shares, amounts, gdrs, gdrw and types are compared as integers or fractions. f is compared
// as w * ln(sum), best fit's distance as one division of integers, both in double precision and
// from the exact state alone, so that how a machine came to its load does not matter. Machines
// within 1e-14 of the best, relative to it, tie: different loads can have the same f, as
// (1/16)^(1/4) = (1/32)^(1/5).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline dominant {

struct MachineClass {
  ResourceVector capacity;  ///< of each machine
  std::uint64_t count = 1;
};

struct ClusterUser {
  ResourceVector demand;               ///< of one task; at least one amount above 0
  std::optional<std::uint64_t> tasks;  ///< how many it wants; none: as many as fit
};

enum class ClusterPolicy : std::uint8_t { gdrf = 0, drfh_best_fit = 1, drfh_first_fit = 2 };

struct ClusterFilling {
  std::vector<std::uint64_t> placed;  ///< tasks per user in input order
  ResourceVector used;
  double f = 0;  ///< sum over machines
};

/// Bound of a demand and of a resource's total over all machines.
inline constexpr Amount kMaxClusterAmount = Amount{1} << 57;
/// Bound of the machines of a cluster.
inline constexpr std::uint64_t kMaxMachines = std::uint64_t{1} << 31;

/// What all machines have together. Within the bounds above.
[[nodiscard]] ResourceVector total_capacity(std::span<const MachineClass> machines);

[[nodiscard]] ClusterFilling fill_cluster(ClusterPolicy policy,
                                          std::span<const MachineClass> machines,
                                          std::span<const ClusterUser> users);

}  // namespace fairwater::inline policy::inline dominant
