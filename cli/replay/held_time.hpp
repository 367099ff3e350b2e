// What tenants held beside what belonged to them, and what that did to their nets: the sums of the
// ledger's settlements, by which a reader checks debts against the hours that were held.
//
// In every stretch, for every tenant, exactly:
//   held - part = -(net + rest) - unused,
// where `rest` is what the ledger keeps for the next settlement, less than a unit-millisecond, and
// `unused` what nobody borrowed of a part that its tenant did not hold: nothing while the cluster
// is full. It is negative for one that may not borrow, or held what may not be lent: that was no
// loan.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "cli/core/output.hpp"
#include "model/requests.hpp"

namespace fairwater::inline cli::inline replay {

/// One tenant's, in micro-unit-milliseconds and unit-milliseconds.
struct HeldTime {
  Wide held = 0;
  Wide part = 0;
  Units lent = 0;
  Units borrowed = 0;
  Wide rest = 0;  ///< by how much these stretches changed what the ledger keeps
  [[nodiscard]] Units net() const { return lent - borrowed; }
  [[nodiscard]] Wide exact_net() const { return Wide{net()} * kMicroUnitsPerUnit + rest; }
  [[nodiscard]] Wide unused() const { return part - held - exact_net(); }
};

/// Over some stretches, which need not follow on each other.
struct HeldTimes {
  std::int64_t stretch_ms = 0;  ///< all of them together
  std::map<std::string, HeldTime> tenants;

  /// `rests_before`: of tenants that had one.
  void add(const TimeSettlement& settlement, const std::map<TenantId, std::int64_t>& rests_before,
           const NameTable& names);
  /// No tenant has anything unused: nets are what was held beside parts, to the unit-millisecond.
  [[nodiscard]] bool agrees() const;
};

/// The stretches in which somebody borrowed. The ledger forgets others: they change no net.
struct SettledTimes {
  HeldTimes all;
  HeldTimes full;  ///< of them those in which all of the capacity was held

  /// The next one.
  void add(const TimeSettlement& settlement, const NameTable& names);

 private:
  std::map<TenantId, std::int64_t> rests_;  ///< after the last settlement
};

[[nodiscard]] std::string held_text(const SettledTimes& times, const LedgerMeasure& measure);
[[nodiscard]] Json held_json(const SettledTimes& times);

}  // namespace fairwater::inline cli::inline replay
