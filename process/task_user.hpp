// Who a task's processes are on this machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "model/errors.hpp"
#include "model/run_as.hpp"
#include "policy/core/types.hpp"

namespace fairwater::inline process {

struct TaskUser {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  ///< supplementary
  std::string name;           ///< empty: the user database has none
  friend bool operator==(const TaskUser&, const TaskUser&) = default;
};

/// The first user id of a default range that no common allocation touches: systemd leaves
/// 1879048192 to 2147483647 alone, and subordinate ids of login users end below it.
inline constexpr std::uint32_t kFirstTenantUserId = 1'900'000'000;
inline constexpr std::uint32_t kLastTenantUserId = 1'900'999'999;

/// Whom tasks run as where their tenant names nobody.
enum class DefaultUser : std::uint8_t {
  own,         ///< as the host itself does
  per_tenant,  ///< an id of its own for every tenant: `first_id` + the tenant's number, which is 0
               ///< for all from a coordinator that does not say whose a task is
  named,       ///< everybody as `named`
};
struct TaskUserRules {
  DefaultUser fallback = DefaultUser::own;
  std::uint32_t first_id = kFirstTenantUserId;
  std::uint32_t last_id = kLastTenantUserId;
  RunAs named = {};
  bool allow_root = false;  ///< else no task runs with user or group 0
};

/// None: as the host itself. `invalid_input` (field `run_as`) where the node does not know the
/// user, may not become it, or must not because it is root.
[[nodiscard]] Expected<std::optional<TaskUser>> choose_task_user(const RunAs& run_as,
                                                                 TenantId tenant,
                                                                 const TaskUserRules& rules);

/// Whether this node knows the user and the groups; `invalid_input` of `run_as_default` otherwise.
[[nodiscard]] caf::error check_default_user(const RunAs& run_as);

/// Whether this process may become the users that the rules give, tried out in a child; for a host
/// to say so before the first task. `invalid_input` names the rule.
[[nodiscard]] caf::error probe_task_users(const TaskUserRules& rules);

/// In a child, before exec: gives up every privilege. 0, or errno of what failed.
[[nodiscard]] int become_task_user(const TaskUser& user);

/// Mounts a /proc for the calling process and its children in which users see their own processes
/// only. 0, or errno: without CAP_SYS_ADMIN, or under a container's own /proc.
[[nodiscard]] int hide_other_users_processes();
/// Whether that works here, tried out in a child.
[[nodiscard]] bool can_hide_processes();

}  // namespace fairwater::inline process
