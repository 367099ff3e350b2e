// A place in a ledger's journal, by which two ledgers can be told apart.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fairwater::inline model {

using Hash = std::array<std::uint8_t, 32>;

/// Two lower-case digits per byte.
[[nodiscard]] std::string to_hex(std::span<const std::uint8_t> bytes);
/// The inverse for a hash; none for anything else than its 64 digits.
[[nodiscard]] std::optional<Hash> hash_from_hex(std::string_view text);

/// The newest journal record that somebody was told of.
struct LedgerMark {
  /// Of the ledger: counted up by every LedgerTrusted. A higher one is newer, whatever its number.
  std::uint32_t incarnation = 0;
  std::uint64_t number = 0;
  std::optional<Hash> hash;  ///< of that record's bytes; none where only the number was kept
  friend bool operator==(const LedgerMark&, const LedgerMark&) = default;
};

/// Whether `a` lies behind `b` in the order of incarnations, then numbers.
[[nodiscard]] inline bool is_older(const LedgerMark& a, const LedgerMark& b) {
  return a.incarnation != b.incarnation ? a.incarnation < b.incarnation : a.number < b.number;
}

/// What an agent was last told of its cluster. It keeps it over restarts and shows it when it
/// registers.
struct ClusterMemory {
  std::string cluster_id;  ///< empty until it has joined one
  LedgerMark seen;
  std::uint64_t epoch = 0;  ///< the highest of a coordinator of that incarnation; 0: none was told
  friend bool operator==(const ClusterMemory&, const ClusterMemory&) = default;
};

/// Whether a coordinator of this epoch, on a ledger of this incarnation, was deposed by one that
/// `memory` knows. One that says no epoch is an older version: it is taken at its word.
[[nodiscard]] inline bool is_deposed(const ClusterMemory& memory, std::uint32_t incarnation,
                                     std::uint64_t epoch) {
  if (epoch == 0) return false;
  return incarnation != memory.seen.incarnation ? incarnation < memory.seen.incarnation
                                                : epoch < memory.epoch;
}

}  // namespace fairwater::inline model
