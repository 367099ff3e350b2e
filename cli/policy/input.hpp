// What the inputs of the policy commands have in common.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/core/json.hpp"
#include "input/field.hpp"
#include "policy/core/types.hpp"

namespace fairwater::inline cli::inline policy_cli {

inline constexpr Weight kMaxTenantWeight = 1'000'000'000;
/// Of one window, heartbeat or task, in slots or units.
inline constexpr std::int64_t kMaxSlots = 1'000'000'000'000;

/// The items of a list that must not be empty.
[[nodiscard]] inline std::vector<Field> filled_list(const Field& field) {
  std::vector<Field> list = field.list();
  if (list.empty()) field.fail("must not be empty");
  return list;
}

/// Adds a member that the object does not have yet, in O(1): `object[name]` looks through them all.
inline void append(Json& object, const std::string& name, Json value) {
  object.get_ref<Json::object_t&>().push_back({name, std::move(value)});
}

/// Tenants by name; a tenant's number is its place in the input.
class TenantNames {
 public:
  std::uint32_t add(const Field& name) {
    const auto number = static_cast<std::uint32_t>(names_.size());
    names_.push_back(unique_.add(name));
    numbers_.emplace(names_.back(), number);
    return number;
  }
  [[nodiscard]] std::uint32_t number(const Field& field) const {
    const auto found = numbers_.find(field.name());
    if (found == numbers_.end()) field.fail("names no tenant that was given");
    return found->second;
  }
  [[nodiscard]] const std::string& name(std::uint32_t number) const { return names_[number]; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(names_.size()); }

 private:
  UniqueNames unique_;
  std::vector<std::string> names_;
  std::map<std::string, std::uint32_t> numbers_;
};

}  // namespace fairwater::inline cli::inline policy_cli
