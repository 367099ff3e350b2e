// What rebuilding the ledger from its journal found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/core/types.hpp"

namespace fairwater {

struct VerifyReport {
  bool ok = false;
  std::uint64_t records = 0;
  Units net_sum = 0;
  std::vector<std::string> differences;  ///< at most 100, each naming family, key and what differs
  friend bool operator==(const VerifyReport&, const VerifyReport&) = default;
};

}  // namespace fairwater
