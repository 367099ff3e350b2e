// How a debt shrinks with time: by half in each half-life. In integers alone, so that every machine
// comes to the same book, whatever its floating point does.
#pragma once

#include <cstdint>

#include "policy/core/types.hpp"
#include "policy/ledger/time_accounts.hpp"

namespace fairwater::inline policy::inline ledger {

/// 2^-(passed / half_life), to about 2^-58 of itself.
class DecayFactor {
 public:
  /// Both positive.
  DecayFactor(LedgerMs passed_ms, LedgerMs half_life_ms);

  /// Units with a fraction, in parts of 2^32 of a unit. What shrinks in many steps comes to within
  /// a unit of what it comes to in one: a step loses 2^-32 of a unit, and 2^-58 of the amount.
  struct Balance {
    Units units = 0;  ///< not negative
    std::uint32_t rest = 0;
  };
  [[nodiscard]] Balance of(const Balance& balance) const;

 private:
  unsigned halvings_ = 0;  ///< whole half-lives
  Wide fraction_ = 0;      ///< 2^64 times the rest of the factor: above 2^63, at most 2^64
};

}  // namespace fairwater::inline policy::inline ledger
