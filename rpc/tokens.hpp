// Tokens: random secrets that open a role. Stored only as hashes, in files of mode 0600.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "model/errors.hpp"
#include "model/journal.hpp"

namespace fairwater::inline rpc {

/// Before the first use of libsodium; may be called again.
void ensure_sodium();

/// 256 random bits behind a readable prefix (`fw_op_..`, `fw_tn_..`, `fw_jn_..`, `fw_ag_..`).
[[nodiscard]] std::string make_token(std::string_view prefix);
/// BLAKE2b-256: the tokens are random, so a slow hash would add nothing.
[[nodiscard]] Hash hash_token(std::string_view token);
/// Compares in constant time.
[[nodiscard]] bool same_hash(const Hash& a, const Hash& b);
/// Creates the file with mode 0600; `already_exists` when it is there. It is durable when this
/// returns, and whole whenever it is there: a crash leaves at most a PATH.new-.. that nobody reads.
[[nodiscard]] caf::error write_secret_file(const std::string& path, std::string_view secret);
/// The error that write_secret_file would end with now: to be asked before a secret is made that
/// nobody could be shown again.
[[nodiscard]] caf::error check_secret_file(const std::string& path);
/// The same in the place of what is there, if anything.
[[nodiscard]] caf::error replace_secret_file(const std::string& path, std::string_view secret);
/// The secret in the file, which is written first where it is missing.
[[nodiscard]] Expected<std::string> ensure_secret(const std::string& path,
                                                  const std::function<std::string()>& make);
/// The file's content without trailing white space; `not_permitted` when others can read it.
[[nodiscard]] Expected<std::string> read_secret_file(const std::string& path);

}  // namespace fairwater::inline rpc
