// Amounts in the policy commands' JSON that may be decimals (`"cpu": 0.5`): they become whole
// numbers of the finest decimal place that the input uses, so that policies count exactly.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/core/json.hpp"
#include "input/field.hpp"
#include "policy/core/types.hpp"

namespace fairwater::inline cli::inline policy_cli {

/// A power of ten that makes whole numbers of all amounts seen. Add all, then convert.
class DecimalScale {
 public:
  static constexpr int kMaxPlaces = 9;

  /// Reads a number from 0 to 10^18 of at most kMaxPlaces decimal places.
  void add(const Field& field);
  /// `field` in steps of 10^-places. Fails when that is above `max`.
  [[nodiscard]] Amount to_steps(const Field& field, Amount max) const;
  /// What 1 is in those steps, at most 10^kMaxPlaces: for a field that is left out.
  [[nodiscard]] Amount steps_of_one() const;
  /// The number of an input's unit that `steps` make.
  [[nodiscard]] double to_units(Amount steps) const;
  /// As JSON: a whole number where the input had nothing else.
  [[nodiscard]] Json to_json(Amount steps) const;

 private:
  int places_ = 0;
};

/// Objects of amounts by resource name. Resources are numbered as they first come.
class ResourceInput {
 public:
  using Amounts = std::vector<std::pair<std::size_t, Field>>;

  /// Reads an object whose names make new resources, up to kMaxResources in all; it must not be
  /// empty.
  [[nodiscard]] Amounts declare(const Field& object);
  /// Reads an object whose names must have been declared; at least one amount must be above 0.
  [[nodiscard]] Amounts demand(const Field& object);

  [[nodiscard]] ResourceVector to_vector(const Amounts& amounts, Amount max) const;
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] const DecimalScale& scale() const { return scale_; }

 private:
  [[nodiscard]] std::optional<std::size_t> find(const std::string& name) const;

  std::vector<std::string> names_;
  DecimalScale scale_;
};

/// A `tasks` field: a whole number, or null or missing for as many as fit.
[[nodiscard]] std::optional<std::uint64_t> read_task_limit(const FieldMap& user);

}  // namespace fairwater::inline cli::inline policy_cli
