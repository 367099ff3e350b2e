// Who the coordinator is: an Ed25519 key pair of its own. An agent pins the public half when it
// joins and has the coordinator sign a nonce before it shows a secret, so that nobody gets one by
// taking the coordinator's address.
//
//   signed := "fairwater coordinator 1" 0x00 nonce:byte[32] cluster id
//
// It does not encrypt: who sits between the two and passes everything on still reads and changes
// what they say.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/errors.hpp"

namespace fairwater::inline rpc {

using PublicKey = std::array<std::uint8_t, 32>;
using Signature = std::array<std::uint8_t, 64>;
using Nonce = std::array<std::uint8_t, 32>;

/// `fw_ck_..`, as files, join tokens and FAIRWATER_COORDINATOR_KEY hold it.
[[nodiscard]] std::string key_text(const PublicKey& key);
/// `invalid_input` for anything else; white space at the end is taken off.
[[nodiscard]] Expected<PublicKey> parse_key(std::string_view text);

[[nodiscard]] Nonce make_nonce();

class CoordinatorKey {
 public:
  /// Reads the secret half from the file (0600), which is made where it is missing.
  [[nodiscard]] static Expected<CoordinatorKey> load_or_make(const std::string& file);
  [[nodiscard]] const PublicKey& public_key() const { return public_; }
  /// Hexadecimal; another for each purpose, and always the same. Tells nothing of the key.
  [[nodiscard]] std::string secret_for(std::string_view purpose) const;
  [[nodiscard]] Signature sign(const Nonce& nonce, std::string_view cluster_id) const;

 private:
  CoordinatorKey() = default;
  std::array<std::uint8_t, 64> secret_{};
  PublicKey public_{};
};

/// What a coordinator answers to a nonce.
struct IdentityProof {
  std::string cluster_id;
  PublicKey key{};
  Signature signature{};
};
[[nodiscard]] bool is_genuine(const IdentityProof& proof, const Nonce& nonce);

/// A join token as it is handed out: the token itself, and whom it may be shown to.
///
///   TOKEN            of coordinators before they had a key
///   TOKEN "@" KEY
struct JoinToken {
  std::string token;
  std::optional<PublicKey> coordinator;
};
[[nodiscard]] std::string join_token_text(const std::string& token, const PublicKey& coordinator);
/// `invalid_input` for a key that is none.
[[nodiscard]] Expected<JoinToken> parse_join_token(std::string_view text);

/// The key that an agent has pinned, in a file of its own (0600).
class PinnedKey {
 public:
  explicit PinnedKey(std::string file) : file_(std::move(file)) {}
  /// None before anything was pinned.
  [[nodiscard]] Expected<std::optional<PublicKey>> read() const;
  /// Durable when it returns. Replaces what is there.
  [[nodiscard]] caf::error keep(const PublicKey& key) const;

 private:
  std::string file_;
};

}  // namespace fairwater::inline rpc
