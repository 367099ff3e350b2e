#include "cli/gang/proof.hpp"

#include <sodium.h>

#include "policy/core/check.hpp"

namespace fairwater::inline cli::inline gang {
namespace {

constexpr std::size_t kNonceBytes = 32;
constexpr std::size_t kProofBytes = 32;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::string make_gang_nonce() {
  FAIRWATER_CHECK(sodium_init() >= 0, "libsodium has random numbers");
  std::string nonce(kNonceBytes, '\0');
  randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

std::string gang_proof(std::string_view key, GangRole role, std::uint32_t index,
                       std::string_view nonce) {
  std::string text{static_cast<char>(role), '\0'};
  text.append(std::to_string(index)).push_back('\0');
  text.append(nonce);
  key = key.substr(0, crypto_generichash_KEYBYTES_MAX);
  std::string proof(kProofBytes, '\0');
  const int failed =
      crypto_generichash(reinterpret_cast<unsigned char*>(proof.data()), proof.size(),
                         bytes_of(text), text.size(), bytes_of(key), key.size());
  FAIRWATER_CHECK(failed == 0, "BLAKE2b takes a key of up to 64 bytes");
  return proof;
}

bool is_gang_proof(std::string_view shown, std::string_view key, GangRole role, std::uint32_t index,
                   std::string_view nonce) {
  const std::string expected = gang_proof(key, role, index, nonce);
  return shown.size() == expected.size() && nonce.size() == kNonceBytes &&
         sodium_memcmp(shown.data(), expected.data(), expected.size()) == 0;
}

}  // namespace fairwater::inline cli::inline gang
