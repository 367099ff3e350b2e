// How a cluster counts: `resources`, `mode`, `accounting`, `debts` and `allocation`, in the
// coordinator's configuration and in simulation files.
#pragma once

#include <vector>

#include "input/field.hpp"
#include "model/balances.hpp"
#include "model/resources.hpp"
#include "policy/allocator/allocator.hpp"

namespace fairwater::inline input {

/// A list of {name, granule, units}. What makes a catalogue is ResourceCatalog::make()'s to say.
[[nodiscard]] std::vector<ResourceKind> read_resource_kinds(const Field& list);
[[nodiscard]] DealMode read_mode(const Field& field);
[[nodiscard]] Accounting read_accounting(const Field& field);
[[nodiscard]] Predict read_predict(const Field& field);
[[nodiscard]] AllocationRule read_allocation(const Field& field);
/// `qrea`, `qrea-rebalance`, `crea` or `bra`.
[[nodiscard]] GrowthRule read_growth_rule(const Field& field);
/// What a cap is, terms_of() says.
[[nodiscard]] DebtSettings read_debts(const Field& field);

}  // namespace fairwater::inline input
