// Whom a token lets in. Pure.
#pragma once

#include "model/errors.hpp"
#include "model/requests.hpp"
#include "storage/records.hpp"

namespace fairwater::inline actors::inline coordinator {

/// `unauthenticated` for one that nobody knows (null) or that has expired.
[[nodiscard]] caf::error check_token(const TokenGrant* token, WallTime now);

/// The caller that a good token speaks for; `tenant_name` of its tenant, null when that was
/// removed. A join token speaks for nobody.
[[nodiscard]] Expected<Caller> caller_of(const TokenGrant& token, const std::string* tenant_name);

}  // namespace fairwater::inline actors::inline coordinator
