// What balances of the ledger are shown in, and called.
#pragma once

#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "policy/allocator/allocator.hpp"

namespace fairwater::sim::inline report {

/// Units granted, or unit-seconds held.
class LedgerUnit {
 public:
  explicit LedgerUnit(Accounting accounting) : counts_time_(accounting == Accounting::time) {}

  [[nodiscard]] bool counts_time() const { return counts_time_; }
  /// In JSON and CSV.
  [[nodiscard]] std::string key(const std::string& name) const {
    return counts_time_ ? name + "_unit_s" : name;
  }
  /// In tables.
  [[nodiscard]] std::string title(const std::string& name) const {
    return counts_time_ ? name + ", unit-s" : name;
  }
  [[nodiscard]] const char* name() const { return counts_time_ ? "unit-seconds" : "units"; }
  [[nodiscard]] double amount(Units account) const {
    return static_cast<double>(account) / (counts_time_ ? 1000 : 1);
  }
  // Units are whole numbers.
  [[nodiscard]] nlohmann::ordered_json json(Units account) const {
    if (counts_time_) return amount(account);
    return account;
  }
  [[nodiscard]] std::string text(Units account) const {
    return counts_time_ ? fmt::to_string(amount(account)) : fmt::to_string(account);
  }

 private:
  bool counts_time_;
};

}  // namespace fairwater::sim::inline report
