#include "model/resources.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace fairwater::inline model {
namespace {

caf::error unknown_resource(const ResourceCatalog& catalog, std::string_view field,
                            const std::string& name) {
  std::string known;
  for (const auto& kind : catalog.kinds()) known += (known.empty() ? "" : ", ") + kind.name;
  return make_error(ErrorCode::invalid_input,
                    "the cluster has no resource '" + name + "'; it has " + known,
                    std::string{field} + "." + name);
}

/// Fills `result`, which comes with the amounts of resources that are not named.
Expected<ResourceVector> fill(const ResourceCatalog& catalog, const NamedAmounts& amounts,
                              std::string_view field, ResourceVector result) {
  for (const auto& [name, amount] : amounts) {
    const auto index = catalog.index_of(name);
    if (!index) return unknown_resource(catalog, field, name);
    if (amount < 0 || amount > kMaxAmount)
      return make_error(ErrorCode::invalid_input,
                        std::to_string(amount) + " is not between 0 and 2^50",
                        std::string{field} + "." + name);
    result[*index] = amount;
  }
  return result;
}

}  // namespace

ResourceCatalog::ResourceCatalog()
    : kinds_{{.name = "cpu", .granule = 100, .units = 1},
             {.name = "memory", .granule = 256, .units = 1},
             {.name = "gpu", .granule = 1, .units = 10}} {}

Expected<ResourceCatalog> ResourceCatalog::make(std::vector<ResourceKind> kinds) {
  if (kinds.size() > kMaxResources)
    return make_error(
        ErrorCode::invalid_input,
        std::to_string(kinds.size()) + " resources are more than " + std::to_string(kMaxResources),
        "resources");
  if (kinds.size() <= kMemory || kinds[kCpu].name != "cpu" || kinds[kMemory].name != "memory")
    return make_error(ErrorCode::invalid_input, "the first two resources must be cpu and memory",
                      "resources");
  std::set<std::string_view> names;
  for (const auto& kind : kinds) {
    const std::string field = "resources." + kind.name;
    if (kind.name.empty())
      return make_error(ErrorCode::invalid_input, "a resource needs a name", "resources");
    if (!names.insert(kind.name).second)
      return make_error(ErrorCode::invalid_input, "named twice", field);
    if (kind.granule < 1 || kind.granule > kMaxAmount)
      return make_error(ErrorCode::invalid_input,
                        std::to_string(kind.granule) + " is not between 1 and 2^50",
                        field + ".granule");
    if (kind.units < 1 || kind.units > kMaxUnitsPerGranule)
      return make_error(ErrorCode::invalid_input,
                        std::to_string(kind.units) + " is not between 1 and " +
                            std::to_string(kMaxUnitsPerGranule),
                        field + ".units");
  }
  return ResourceCatalog{std::move(kinds)};
}

std::optional<std::size_t> ResourceCatalog::index_of(std::string_view name) const {
  const auto found = std::find_if(kinds_.begin(), kinds_.end(),
                                  [&](const ResourceKind& kind) { return kind.name == name; });
  if (found == kinds_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - kinds_.begin());
}

ResourceVector ResourceCatalog::granules() const {
  ResourceVector result;
  for (std::size_t i = 0; i < kinds_.size(); ++i) result[i] = kinds_[i].granule;
  return result;
}

ResourceVector ResourceCatalog::units() const {
  ResourceVector result = ResourceVector::filled(1);
  for (std::size_t i = 0; i < kinds_.size(); ++i) result[i] = kinds_[i].units;
  return result;
}

Expected<ResourceVector> ResourceCatalog::to_vector(const NamedAmounts& amounts,
                                                    std::string_view field) const {
  return fill(*this, amounts, field, {});
}

Expected<ResourceVector> ResourceCatalog::to_limit(const NamedAmounts& amounts,
                                                   std::string_view field) const {
  return fill(*this, amounts, field, ResourceVector::filled(kUnlimited));
}

NamedAmounts ResourceCatalog::to_named(const ResourceVector& vector) const {
  NamedAmounts result;
  for (std::size_t i = 0; i < kinds_.size(); ++i)
    if (vector[i] != 0 && vector[i] < kUnlimited) result.emplace(kinds_[i].name, vector[i]);
  return result;
}

}  // namespace fairwater::inline model
