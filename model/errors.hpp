// What can go wrong, for callers to act on. Carried by caf::error / caf::expected.
#pragma once

#include <string>
#include <string_view>

#include <caf/error.hpp>
#include <caf/expected.hpp>

namespace fairwater::inline model {

enum class ErrorCode : std::uint8_t {
  invalid_input = 1,  ///< the caller must change what it sent; `field` names where
  not_found,
  already_exists,
  not_permitted,    ///< the token is good, but not for this
  unauthenticated,  ///< no such token
  wrong_state,      ///< e.g. a debtor may not leave
  not_supported,
  unavailable,      ///< retryable: not reached, starting, or stopping
  overloaded,       ///< retryable: a bound was hit
  disk_full,        ///< retryable once there is room
  storage_failed,   ///< fatal: a write's outcome is unknown until reopened
  storage_damaged,  ///< fatal: what is on disk contradicts itself
  storage_behind,   ///< fatal: older than what was already acknowledged
  storage_locked,   ///< another process owns the directory
  internal,
  not_leader,  ///< retryable: another coordinator leads; nothing was done
};

/// The stable name that `--json` prints as `code`.
[[nodiscard]] std::string_view to_string(ErrorCode code);
/// The inverse; `internal` for unknown names.
[[nodiscard]] ErrorCode error_code_from(std::string_view name);
/// True when trying the same call again later may succeed.
[[nodiscard]] bool is_retryable(ErrorCode code);

/// The field of an `unavailable` with which a coordinator refuses work because it does not know yet
/// whether its ledger is the newest: nothing was done, and trying again is safe.
inline constexpr std::string_view kLedgerField = "ledger";

/// `field` is the path of the offending input (`tasks.min`), or empty.
[[nodiscard]] caf::error make_error(ErrorCode code, std::string message, std::string field = {});
/// `not_leader`; `leader` is HOST:PORT of the coordinator to ask instead, or empty.
[[nodiscard]] caf::error make_not_leader(std::string message, std::string leader);

/// Reads back what make_error put in; errors of other origin become `internal` with CAF's words.
struct ErrorDetails {
  ErrorCode code = ErrorCode::internal;
  std::string message;
  std::string field;
  std::string leader = {};  ///< with `not_leader`: whom to ask; empty: not known
};
[[nodiscard]] ErrorDetails details(const caf::error& error);

template <class T>
using Expected = caf::expected<T>;

}  // namespace fairwater::inline model
