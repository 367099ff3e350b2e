// What rebuilding the ledger from its journal found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/ledger_mark.hpp"
#include "policy/core/types.hpp"

namespace fairwater::inline model {

/// What is proved: that the database follows from the journal that it has and from what stood
/// before that; or also that all of this follows from what the archive has.
enum class VerifyScope : std::uint8_t { database = 0, archive = 1 };

struct VerifyReport {
  bool ok = false;
  std::uint64_t records = 0;  ///< of the journal
  Units net_sum = 0;
  std::vector<std::string> differences;  ///< at most 100, each naming family, key and what differs
  /// What stood after this record was taken as given; 0: nothing was.
  std::uint64_t begins_after = 0;
  LedgerMark end = {};  ///< the newest record; what is not whole has none
  friend bool operator==(const VerifyReport&, const VerifyReport&) = default;
};

}  // namespace fairwater::inline model
