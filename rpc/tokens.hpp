// Tokens: random secrets that open a role. Stored only as hashes, in files of mode 0600.
#pragma once

#include <string>
#include <string_view>

#include "model/errors.hpp"
#include "model/journal.hpp"

namespace fairwater {

/// Before the first use of libsodium; may be called again.
void ensure_sodium();

/// 256 random bits behind a readable prefix (`fw_op_..`, `fw_tn_..`, `fw_jn_..`, `fw_ag_..`).
[[nodiscard]] std::string make_token(std::string_view prefix);
/// BLAKE2b-256: the tokens are random, so a slow hash would add nothing.
[[nodiscard]] Hash hash_token(std::string_view token);
/// Compares in constant time.
[[nodiscard]] bool same_hash(const Hash& a, const Hash& b);
/// Creates the file with mode 0600, fsynced; `already_exists` when it is there.
[[nodiscard]] caf::error write_secret_file(const std::string& path, std::string_view secret);
/// The file's content without trailing white space; `not_permitted` when others can read it.
[[nodiscard]] Expected<std::string> read_secret_file(const std::string& path);

}  // namespace fairwater
