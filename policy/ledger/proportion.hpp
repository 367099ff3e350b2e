// A whole cut into parts in proportion. Internal to policy/ledger.
#pragma once

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline ledger {

/// Cuts `whole` into parts in proportion to what it is asked for, cumulatively: they add up to it
/// when it was asked for everything. No part is more than it was asked for.
class Proportion {
 public:
  /// 0 <= whole <= all, 0 < all
  Proportion(Units whole, Units all) : whole_(whole), all_(all) {}
  Units next(Units amount) {
    const Wide before = whole_ * sum_ / all_;
    sum_ += amount;
    return static_cast<Units>(whole_ * sum_ / all_ - before);
  }

 private:
  Wide whole_;
  Wide all_;
  Wide sum_ = 0;
};

}  // namespace fairwater::inline policy::inline ledger
