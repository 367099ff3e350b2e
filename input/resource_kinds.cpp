#include "input/resource_kinds.hpp"

namespace fairwater {

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

}  // namespace fairwater
