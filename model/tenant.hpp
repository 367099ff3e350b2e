// Tenants as an operator declares them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/errors.hpp"
#include "model/resources.hpp"
#include "model/run_as.hpp"
#include "policy/allocator/allocator.hpp"

namespace fairwater::inline model {

enum class QueuePolicy : std::uint8_t { fifo = 0, fair = 1, priority = 2, shortest_first = 3 };
[[nodiscard]] std::string_view to_string(QueuePolicy policy);
/// none for an unknown name.
[[nodiscard]] std::optional<QueuePolicy> queue_policy_from(std::string_view name);

inline constexpr Weight kMaxWeight = 1'000'000'000;
/// By resource.
using NamedWeights = std::map<std::string, Weight>;

struct TenantSpec {
  std::string name;
  std::string parent;  ///< empty: top level
  Weight weight = 1;
  NamedWeights weights;  ///< of single resources, in place of `weight`
  NamedAmounts min;
  NamedAmounts max;
  QueuePolicy queue = QueuePolicy::fifo;
  std::uint32_t repay_millionths = 1'000'000;  ///< mu
  bool may_lend = true;
  bool may_borrow = true;
  RunAs run_as;                            ///< whom its tasks run as
  Placement placement = Placement::unset;  ///< of jobs that name none
  /// It takes no jobs any more, and is removed when it has none and owes nothing. Of no file.
  bool leaving = false;
  /// The most that others may owe it and that it may owe: as `debts.cap`, a duration of its own
  /// part or a balance, where the ledger counts time. Empty: no cap of its own.
  std::string lend_cap = {};
  std::string borrow_cap = {};
  /// What it lends or borrows, or all that are in it together.
  [[nodiscard]] bool bounds_loans() const {
    return !may_lend || !may_borrow || !lend_cap.empty() || !borrow_cap.empty();
  }
  friend bool operator==(const TenantSpec&, const TenantSpec&) = default;
};

/// Names are 1..63 of [a-z A-Z 0-9 . _ -], starting with a letter or digit; weights 1..10^9; max
/// not below min; mu in (0, 1]. Names the field. Whether the parent is there,
/// model/tenant_nesting.hpp says.
[[nodiscard]] caf::error validate(const TenantSpec& spec);
[[nodiscard]] bool is_valid_name(std::string_view name);

inline constexpr std::size_t kMaxUserNameBytes = 64;
/// Of the people who share a tenant: 1..64 of [a-z A-Z 0-9 . _ -].
[[nodiscard]] bool is_valid_user_name(std::string_view name);
/// `invalid_input` naming `user` for what is no user's name.
[[nodiscard]] caf::error validate_user_name(const std::string& name);

/// `gpu 3, memory 2`
[[nodiscard]] std::string weights_text(const NamedWeights& weights);

/// With a place where it has weights of single resources; in no group. `invalid_input` when an
/// amount or a weight names a resource that the cluster does not have.
[[nodiscard]] Expected<TenantTerms> terms_of(const TenantSpec& spec,
                                             const ResourceCatalog& catalog);

/// Where all that is guaranteed together (TenantNesting::guaranteed) is more than there is, a
/// sentence for each resource. None for one of which `capacity` has nothing: no node that has it is
/// up.
[[nodiscard]] std::vector<std::string> guarantees_beyond(const NamedAmounts& capacity,
                                                         const NamedAmounts& guaranteed);

struct TenantRecord {
  TenantId id;
  TenantSpec spec;
  Units granted_units_total = 0;  ///< sum of the costs of all grants so far
  Units borrowed_total = 0;       ///< loans taken
  Units lent_total = 0;
  Units deficit = 0;                             ///< see Account
  std::uint32_t repay_remainder_millionths = 0;  ///< likewise
  std::int64_t time_rest = 0;                    ///< as in TimeAccount
  UnitTime held_total;                           ///< likewise
  UnitTime part_total;                           ///< likewise
  Units forgiven_total = 0;                      ///< see Account
  Units credit = 0;                              ///< likewise
  friend bool operator==(const TenantRecord&, const TenantRecord&) = default;
};

}  // namespace fairwater::inline model
