#include "input/resource_kinds.hpp"

namespace fairwater::inline input {

std::vector<ResourceKind> read_resource_kinds(const Field& list) {
  std::vector<ResourceKind> kinds;
  for (const Field& field : list.list()) {
    const FieldMap fields = field.object();
    ResourceKind& kind = kinds.emplace_back();
    fields.read("name", kind.name);
    fields.read("granule", kind.granule,
                [&](const Field& granule) { return granule.amount(kind.name); });
    fields.read("units", kind.units);
    fields.done();
  }
  return kinds;
}

DealMode read_mode(const Field& field) {
  return field.choice<DealMode>({{"sized", DealMode::sized}, {"slots", DealMode::slots}});
}

Accounting read_accounting(const Field& field) {
  return field.choice<Accounting>({{"units", Accounting::units}, {"time", Accounting::time}});
}

Predict read_predict(const Field& field) {
  return field.choice<Predict>({{"limits", Predict::limits}, {"history", Predict::history}});
}

GrowthRule read_growth_rule(const Field& field) {
  std::vector<std::pair<std::string_view, GrowthRule>> rules;
  for (int i = 0; i <= static_cast<int>(kLastGrowthRule); ++i) {
    const auto rule = static_cast<GrowthRule>(i);
    rules.emplace_back(to_string(rule), rule);
  }
  return field.choice<GrowthRule>(rules);
}

AllocationRule read_allocation(const Field& field) {
  return field.choice<AllocationRule>(
      {{"sequence", AllocationRule::sequence}, {"drf", AllocationRule::drf}});
}

DebtSettings read_debts(const Field& field) {
  DebtSettings settings;
  const FieldMap fields = field.object();
  fields.read("cap", settings.cap);
  fields.read("half_life", settings.half_life_ms, [](const Field& half_life) {
    const std::int64_t ms = half_life.duration_ms();
    if (ms <= 0)
      half_life.fail("'" + half_life.text() +
                     "' is no time in which debts become half; write more, e.g. 7d");
    return ms;
  });
  fields.done();
  return settings;
}

}  // namespace fairwater::inline input
