#include "model/tenant.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "model/balances.hpp"
#include "model/numbers.hpp"

namespace fairwater::inline model {
namespace {

constexpr std::array<std::pair<QueuePolicy, std::string_view>, 4> kQueuePolicies{
    {{QueuePolicy::fifo, "fifo"},
     {QueuePolicy::fair, "fair"},
     {QueuePolicy::priority, "priority"},
     {QueuePolicy::shortest_first, "shortest-first"}}};

constexpr std::size_t kMaxNameBytes = 63;

caf::error check_amounts(const NamedAmounts& amounts, const std::string& field) {
  for (const auto& [name, amount] : amounts) {
    if (!is_valid_name(name))
      return make_error(ErrorCode::invalid_input, "'" + name + "' is not a resource name", field);
    if (amount < 0 || amount > kMaxAmount)
      return make_error(ErrorCode::invalid_input,
                        std::to_string(amount) + " is not between 0 and 2^50", field + "." + name);
  }
  return {};
}

caf::error check_weights(const NamedWeights& weights) {
  for (const auto& [name, weight] : weights) {
    if (!is_valid_name(name))
      return make_error(ErrorCode::invalid_input, "'" + name + "' is not a resource name",
                        "weights");
    if (weight < 1 || weight > kMaxWeight)
      return make_error(ErrorCode::invalid_input,
                        std::to_string(weight) + " is not between 1 and 1000000000",
                        "weights." + name);
  }
  return {};
}

}  // namespace

std::string_view to_string(QueuePolicy policy) {
  for (const auto& [value, name] : kQueuePolicies)
    if (value == policy) return name;
  return "fifo";
}

std::optional<QueuePolicy> queue_policy_from(std::string_view name) {
  for (const auto& [value, text] : kQueuePolicies)
    if (text == name) return value;
  return std::nullopt;
}

bool is_valid_name(std::string_view name) {
  const auto is_alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && name.size() <= kMaxNameBytes && is_alphanumeric(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return is_alphanumeric(c) || c == '.' || c == '_' || c == '-';
         });
}

bool is_valid_user_name(std::string_view name) {
  const auto is_in_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= kMaxUserNameBytes &&
         std::all_of(name.begin(), name.end(), is_in_word);
}

caf::error validate_user_name(const std::string& name) {
  if (is_valid_user_name(name)) return {};
  return make_error(ErrorCode::invalid_input,
                    "'" + name.substr(0, kMaxUserNameBytes) +
                        "' is not a user's name: 1 to 64 letters, digits, '.', '_', '-'",
                    "user");
}

caf::error validate(const TenantSpec& spec) {
  if (!is_valid_name(spec.name))
    return make_error(ErrorCode::invalid_input,
                      "'" + spec.name +
                          "' is not a name: 1 to 63 letters, digits, '.', '_' and '-', starting "
                          "with a letter or digit",
                      "name");
  if (!spec.parent.empty() && !is_valid_name(spec.parent))
    return make_error(ErrorCode::invalid_input, "'" + spec.parent + "' is not a tenant's name",
                      "parent");
  if (spec.weight < 1 || spec.weight > kMaxWeight)
    return make_error(ErrorCode::invalid_input,
                      std::to_string(spec.weight) + " is not between 1 and 1000000000", "weight");
  if (auto error = check_weights(spec.weights)) return error;
  if (auto error = check_amounts(spec.min, "min")) return error;
  if (auto error = check_amounts(spec.max, "max")) return error;
  for (const auto& [name, max] : spec.max) {
    const auto min = spec.min.find(name);
    if (min != spec.min.end() && max < min->second)
      return make_error(
          ErrorCode::invalid_input,
          format_amount(name, max) + " is below min, which is " + format_amount(name, min->second),
          "max." + name);
  }
  if (spec.repay_millionths < 1 || spec.repay_millionths > 1'000'000)
    return make_error(ErrorCode::invalid_input,
                      millionths_text(spec.repay_millionths) + " is not above 0 and at most 1",
                      "repay");
  return validate(spec.run_as);
}

std::string weights_text(const NamedWeights& weights) {
  std::string text;
  for (const auto& [name, weight] : weights)
    text += (text.empty() ? "" : ", ") + name + " " + std::to_string(weight);
  return text;
}

namespace {

Expected<ResourceWeights> own_weights_of(const TenantSpec& spec, const ResourceCatalog& catalog) {
  ResourceWeights weights{};
  for (const auto& [name, weight] : spec.weights) {
    const auto index = catalog.index_of(name);
    if (!index)
      return make_error(ErrorCode::invalid_input, "the cluster has no resource of that name",
                        "weights." + name);
    weights[*index] = weight;
  }
  return weights;
}

Expected<LoanCaps> caps_of(const TenantSpec& spec, const ResourceCatalog& catalog) {
  LoanCaps caps;
  if (spec.lend_cap.empty() && spec.borrow_cap.empty()) return caps;
  const LedgerMeasure time = measure_of({.cluster_id = {},
                                         .resources = catalog.kinds(),
                                         .mode = DealMode::sized,
                                         .accounting = Accounting::time});
  const auto lend = parse_cap(spec.lend_cap, time, "lend_cap");
  if (!lend) return lend.error();
  const auto borrow = parse_cap(spec.borrow_cap, time, "borrow_cap");
  if (!borrow) return borrow.error();
  return LoanCaps{.lend = *lend, .borrow = *borrow};
}

}  // namespace

Expected<TenantTerms> terms_of(const TenantSpec& spec, const ResourceCatalog& catalog) {
  const auto min = catalog.to_vector(spec.min, "min");
  if (!min) return min.error();
  const auto max = catalog.to_limit(spec.max, "max");
  if (!max) return max.error();
  const auto caps = caps_of(spec, catalog);
  if (!caps) return caps.error();
  const auto weights = own_weights_of(spec, catalog);
  if (!weights) return weights.error();
  TenantTerms terms{.weight = spec.weight,
                    .min = *min,
                    .max = *max,
                    .repay_millionths = spec.repay_millionths,
                    .may_lend = spec.may_lend,
                    .may_borrow = spec.may_borrow,
                    .leaving = spec.leaving,
                    .caps = *caps};
  if (!spec.weights.empty())
    terms.place = QuotaPlace{.group = {}, .weight = spec.weight, .own_weights = *weights};
  return terms;
}

std::vector<std::string> guarantees_beyond(const NamedAmounts& capacity,
                                           const NamedAmounts& guaranteed) {
  std::vector<std::string> sentences;
  for (const auto& [resource, amount] : guaranteed) {
    const auto there = capacity.find(resource);
    if (there == capacity.end() || amount <= there->second) continue;
    sentences.push_back("min of all tenants together is " + resource + " " +
                        format_amount(resource, amount) + ", the nodes that are up have " +
                        format_amount(resource, there->second) +
                        ": while they ask for it, nobody else gets any");
  }
  return sentences;
}

}  // namespace fairwater::inline model
