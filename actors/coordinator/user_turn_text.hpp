// Which user of a tenant comes next and why, in words. Pure.
#pragma once

#include <string>

#include "state/tenant_jobs.hpp"

namespace fairwater::inline actors::inline coordinator {

/// For a waiting task of `user`, who has this share.
[[nodiscard]] std::string user_turn_text(const TenantJobs::NextUsers& users,
                                         const std::string& user, const UserShare& share);

}  // namespace fairwater::inline actors::inline coordinator
