#include "rpc/identity.hpp"

#include <sodium.h>

#include "model/ledger_mark.hpp"
#include "policy/core/check.hpp"
#include "rpc/tokens.hpp"

namespace fairwater::inline rpc {
namespace {

constexpr std::string_view kPublicPrefix = "fw_ck_";
constexpr std::string_view kSecretPrefix = "fw_cs_";
constexpr std::string_view kContext{"fairwater coordinator 1\0", 24};
constexpr char kKeyFollows = '@';

using Seed = std::array<std::uint8_t, crypto_sign_SEEDBYTES>;

template <std::size_t Size>
std::string base64(const std::array<std::uint8_t, Size>& bytes) {
  std::array<char, sodium_base64_ENCODED_LEN(Size, sodium_base64_VARIANT_URLSAFE_NO_PADDING)>
      text{};
  sodium_bin2base64(text.data(), text.size(), bytes.data(), bytes.size(),
                    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
  return text.data();
}

/// The bytes behind the prefix; none unless it is exactly that many.
template <std::size_t Size>
std::optional<std::array<std::uint8_t, Size>> decode(std::string_view text,
                                                     std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  std::array<std::uint8_t, Size> bytes{};
  std::size_t length = 0;
  const char* end = nullptr;
  const int failed =
      sodium_base642bin(bytes.data(), bytes.size(), text.data(), text.size(), nullptr, &length,
                        &end, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
  if (failed != 0 || length != Size || end != text.data() + text.size()) return std::nullopt;
  return bytes;
}

std::string signed_bytes(const Nonce& nonce, std::string_view cluster_id) {
  std::string bytes(kContext);
  bytes.append(nonce.begin(), nonce.end());
  bytes.append(cluster_id);
  return bytes;
}

const unsigned char* unsigned_data(const std::string& bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace

std::string key_text(const PublicKey& key) { return std::string(kPublicPrefix) + base64(key); }

Expected<PublicKey> parse_key(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  if (const auto key = decode<std::tuple_size_v<PublicKey>>(text, kPublicPrefix)) return *key;
  return make_error(ErrorCode::invalid_input,
                    "this is not a coordinator's key: fw_ck_ and 43 letters, digits, '-', '_'",
                    "coordinator_key");
}

Nonce make_nonce() {
  ensure_sodium();
  Nonce nonce{};
  randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

Expected<CoordinatorKey> CoordinatorKey::load_or_make(const std::string& file) {
  ensure_sodium();
  const auto text = ensure_secret(file, [] {
    Seed fresh{};
    randombytes_buf(fresh.data(), fresh.size());
    return std::string(kSecretPrefix) + base64(fresh);
  });
  if (!text) return text.error();
  const auto seed = decode<crypto_sign_SEEDBYTES>(*text, kSecretPrefix);
  if (!seed)
    return make_error(ErrorCode::storage_damaged,
                      "'" + file +
                          "' does not hold the coordinator's key. Restore it: agents that have "
                          "pinned the key talk to no other.");
  CoordinatorKey key;
  const int failed = crypto_sign_seed_keypair(key.public_.data(), key.secret_.data(), seed->data());
  FAIRWATER_CHECK(failed == 0, "a key pair follows from its seed");
  return key;
}

std::string CoordinatorKey::secret_for(std::string_view purpose) const {
  const std::string bytes(purpose);
  std::array<std::uint8_t, 32> secret{};
  const int failed =
      crypto_generichash(secret.data(), secret.size(), unsigned_data(bytes), bytes.size(),
                         secret_.data(), crypto_generichash_KEYBYTES_MAX);
  FAIRWATER_CHECK(failed == 0, "BLAKE2b takes a key of 64 bytes");
  return to_hex(secret);
}

Signature CoordinatorKey::sign(const Nonce& nonce, std::string_view cluster_id) const {
  const std::string bytes = signed_bytes(nonce, cluster_id);
  Signature signature{};
  const int failed = crypto_sign_detached(signature.data(), nullptr, unsigned_data(bytes),
                                          bytes.size(), secret_.data());
  FAIRWATER_CHECK(failed == 0, "signing has no way to fail");
  return signature;
}

bool is_genuine(const IdentityProof& proof, const Nonce& nonce) {
  const std::string bytes = signed_bytes(nonce, proof.cluster_id);
  return crypto_sign_verify_detached(proof.signature.data(), unsigned_data(bytes), bytes.size(),
                                     proof.key.data()) == 0;
}

std::string join_token_text(const std::string& token, const PublicKey& coordinator) {
  return token + kKeyFollows + key_text(coordinator);
}

Expected<JoinToken> parse_join_token(std::string_view text) {
  const auto at = text.find(kKeyFollows);
  if (at == std::string_view::npos) return JoinToken{std::string(text), {}};
  auto key = parse_key(text.substr(at + 1));
  if (!key) return key.error();
  return JoinToken{std::string(text.substr(0, at)), *key};
}

Expected<std::optional<PublicKey>> PinnedKey::read() const {
  const auto text = read_secret_file(file_);
  if (!text) {
    if (details(text.error()).code == ErrorCode::not_found) return std::optional<PublicKey>{};
    return text.error();
  }
  auto key = parse_key(*text);
  if (key) return std::optional(*key);
  return make_error(ErrorCode::storage_damaged,
                    "'" + file_ +
                        "' does not hold a coordinator's key; it is what this node "
                        "knows the coordinator by. Write the right one there, fw_ck_..");
}

caf::error PinnedKey::keep(const PublicKey& key) const {
  return replace_secret_file(file_, key_text(key));
}

}  // namespace fairwater::inline rpc
