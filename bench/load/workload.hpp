// What the clients of a load submit.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "model/job.hpp"
#include "model/tenant.hpp"

namespace fairwater::load {

/// `t0`, `t1`, ..; with weights 1 to 4 in turn.
[[nodiscard]] std::vector<TenantSpec> tenants(std::uint32_t count);
/// The same as a tree of two levels: four tenants in each department `d0`, `d1`, .., and four
/// departments in each division `v0`, `v1`, ... With weights 1 to 4 in turn, too.
[[nodiscard]] std::vector<TenantSpec> tenants_in_departments(std::uint32_t count);

/// An array of tasks of one cpu, each of which takes so long.
[[nodiscard]] JobSpec array_of(std::uint32_t tasks, std::int64_t claimed_ms);

/// The jobs of one client, of all that a scheduler meets: tasks of different size and length, half
/// of them with a time limit, large ones for which a node keeps its room, gangs, some that run in
/// one zone only, wait for another job, fail, or are cancelled.
class MixedJobs {
 public:
  MixedJobs(std::string tenant, std::uint32_t slots, std::uint32_t zones, std::uint64_t seed)
      : tenant_(std::move(tenant)), slots_(slots), zones_(zones), random_(seed) {}
  /// Times are from half to one and a half of `claimed_ms`. `before` was submitted before it.
  [[nodiscard]] JobSpec next(std::int64_t claimed_ms, std::optional<JobId> before);
  /// Of the newest.
  [[nodiscard]] bool is_to_be_cancelled();

 private:
  [[nodiscard]] bool chance(double part) {
    return std::uniform_real_distribution<double>(0, 1)(random_) < part;
  }
  [[nodiscard]] std::int64_t from_to(std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random_);
  }

  std::string tenant_;
  std::uint32_t slots_;
  std::uint32_t zones_;
  std::mt19937_64 random_;
  bool newest_succeeds_ = false;  ///< others are not to wait for one that does not
};

}  // namespace fairwater::load
