// Which user of a node a tenant's tasks run as.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/errors.hpp"

namespace fairwater::inline model {

/// Names or numbers, as the user database of each node knows them. Without a user: whom the node
/// takes for tenants that name none.
struct RunAs {
  std::string user;
  std::string group;                ///< empty: the user's own
  std::vector<std::string> groups;  ///< supplementary; empty: those of the user database
  [[nodiscard]] bool empty() const { return user.empty() && group.empty() && groups.empty(); }
  friend bool operator==(const RunAs&, const RunAs&) = default;
};

/// The kernel takes 65,536 groups; every order to start a task carries them.
inline constexpr std::size_t kMaxSupplementaryGroups = 64;

/// Names are 1 to 255 printable characters without blanks, `:`, `,` and `/`; groups need a user.
/// Fields in errors: `run_as.user`, `run_as.group`, `run_as.groups`.
[[nodiscard]] caf::error validate(const RunAs& run_as);
/// `USER` or `USER:GROUP`.
[[nodiscard]] RunAs run_as_from(std::string_view text);
/// `alice:staff,+gpu,+docker`; empty for nobody in particular.
[[nodiscard]] std::string to_text(const RunAs& run_as);

}  // namespace fairwater::inline model
