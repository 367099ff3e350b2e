// By what the tasks of a gang know each other.
//
//   proof := BLAKE2b-256, keyed with the gang's key, over role 0x00 index(text) 0x00 nonce
//
// The role keeps a proof from being sent back to who gave it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fairwater::inline cli::inline gang {

enum class GangRole : char { first = 'f', other = 'o' };

/// 32 random bytes.
[[nodiscard]] std::string make_gang_nonce();
/// That `role` knows the key, to whoever made the nonce. `index`: of the task that joins.
[[nodiscard]] std::string gang_proof(std::string_view key, GangRole role, std::uint32_t index,
                                     std::string_view nonce);
/// Takes as long for any wrong proof.
[[nodiscard]] bool is_gang_proof(std::string_view shown, std::string_view key, GangRole role,
                                 std::uint32_t index, std::string_view nonce);

}  // namespace fairwater::inline cli::inline gang
