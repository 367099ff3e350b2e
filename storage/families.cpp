#include "storage/families.hpp"

#include <charconv>

namespace fairwater::inline storage {

NamedAmounts amounts_in_class_key(std::string_view key) {
  NamedAmounts amounts;
  key = key.substr(0, key.find('\0'));
  while (!key.empty()) {
    const auto equals = key.find('=');
    const auto comma = key.find(',');
    if (equals == std::string_view::npos || comma == std::string_view::npos || comma < equals)
      break;
    Amount amount = 0;
    std::from_chars(key.data() + equals + 1, key.data() + comma, amount);
    amounts.emplace(key.substr(0, equals), amount);
    key.remove_prefix(comma + 1);
  }
  return amounts;
}

std::optional<UsageGroup> usage_group_of(std::string_view key) {
  constexpr std::size_t kNumbers = 2 * sizeof(std::uint32_t);
  if (key.size() < kNumbers) return std::nullopt;
  return UsageGroup{from_big_endian<DayNumber>(key),
                    TenantId{from_big_endian<TenantId::rep>(key.substr(sizeof(DayNumber)))},
                    std::string(key.substr(kNumbers))};
}

}  // namespace fairwater::inline storage
