// What the compiler cannot see of a field list: whether it has every field of the schema.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <capnp/schema.h>

#include "schema/fields/convert.hpp"

namespace fairwater::test {

/// The schema's fields that the list does not have, but for those that are obsolete.
template <class Value, class Wire>
[[nodiscard]] std::vector<std::string> unlisted_fields() {
  std::vector<std::string> listed;
  Fields<Value>::each([&](const auto& field) { listed.push_back(field.name()); });
  std::vector<std::string> missing;
  for (const auto field : capnp::Schema::from<Wire>().getFields()) {
    const std::string name = field.getProto().getName().cStr();
    if (!name.starts_with("obsolete") &&
        std::find(listed.begin(), listed.end(), name) == listed.end())
      missing.push_back(name);
  }
  return missing;
}

/// How many enumerants the schema has beyond the last that Fairwater knows; 0 where both agree.
template <class Enum, class Wire>
[[nodiscard]] int unknown_enumerants() {
  return static_cast<int>(capnp::Schema::from<Wire>().getEnumerants().size()) - 1 -
         static_cast<int>(EnumLast<Enum>::value);
}

}  // namespace fairwater::test
