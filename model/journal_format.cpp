#include "model/journal_format.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "policy/gpu/node.hpp"

namespace fairwater::inline model {
namespace {

constexpr JournalFormat kCheckpoints = 2;
constexpr JournalFormat kOwnLeases = 2;
constexpr JournalFormat kDrainDeadlines = 3;
constexpr JournalFormat kMeasuredTasks = 3;
/// Who knows no shares would count thousandths of a GPU as GPUs.
constexpr JournalFormat kSharesOfGpus = 3;
/// Who knows none would take its jobs, and leave it there.
constexpr JournalFormat kLeavingTenants = 4;
/// Who refuses such jobs looked at room alone where it plans for them.
constexpr JournalFormat kPlannedShares = 4;

/// Who knows none would drain the node at once.
constexpr JournalFormat kPlannedDrains = 5;
/// What a tenant may not lend or borrow, and its caps. Earlier versions know them of those that run
/// jobs, and would lend beyond those of others; a record does not tell one from the other.
constexpr JournalFormat kRightsOfTenants = 6;
/// Who knows none would share all resources by `weight`.
constexpr JournalFormat kWeightsOfResources = 7;

/// Since when each kind is known, in the order of JournalBody; fields are format_of()'s.
// clang-format off
constexpr std::array<JournalFormat, std::variant_size_v<JournalBody>> kKnownSince{
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    kCheckpoints, kMeasuredTasks, kLeavingTenants};
// clang-format on
static_assert(std::ranges::all_of(kKnownSince, [](auto format) { return format > 0; }),
              "every kind of record says since when it is known");

JournalFormat format_of_terms(const TenantSpec& spec) {
  if (!spec.weights.empty()) return kWeightsOfResources;
  return spec.bounds_loans() ? kRightsOfTenants : kFirstFormat;
}

bool shares(const NodeSpec& spec) { return spec.capacity.contains(std::string(kSharedGpus)); }

JournalFormat format_of_shares(const JobSpec& spec) {
  if (!spec.resources.contains(std::string(kSharedGpus))) return kFirstFormat;
  return spec.gang || is_elastic(spec) || spec.preempt ? kPlannedShares : kSharesOfGpus;
}

}  // namespace

JournalFormat format_of(const JournalBody& body) {
  JournalFormat fields = kFirstFormat;
  if (const auto* submitted = std::get_if<JobSubmitted>(&body)) {
    if (submitted->spec.lease_ms != 0) fields = kOwnLeases;
    if (submitted->spec.measures_tasks) fields = kMeasuredTasks;
    fields = std::max(fields, format_of_shares(submitted->spec));
  }
  // Else one who knows none could lead, and take jobs for them.
  if (const auto* admitted = std::get_if<NodeAdmitted>(&body); admitted && shares(admitted->spec))
    fields = kSharesOfGpus;
  if (const auto* changed = std::get_if<NodeChanged>(&body); changed && shares(changed->node.spec))
    fields = kSharesOfGpus;
  if (const auto* tenants = std::get_if<TenantsChanged>(&body))
    for (const TenantRecord& tenant : tenants->tenants)
      fields = std::max(fields, format_of_terms(tenant.spec));
  if (const auto* started = std::get_if<CoordinatorStarted>(&body);
      started && (started->lease.ordinary_ms != 0 || started->lease.ordinary_older_until))
    fields = kOwnLeases;
  if (const auto* drained = std::get_if<NodeDrained>(&body)) {
    if (drained->deadline) fields = kDrainDeadlines;
    if (drained->begins) fields = kPlannedDrains;
  }
  if (const auto* reclaimed = std::get_if<TasksReclaimed>(&body); reclaimed && reclaimed->for_drain)
    fields = kDrainDeadlines;
  return std::max(fields, kKnownSince[body.index()]);
}

void say_in(JournalFormat known, JournalBody& body) {
  auto* started = std::get_if<CoordinatorStarted>(&body);
  if (started == nullptr || known >= kOwnLeases) return;
  // All leases count as long as the longest: whoever takes over waits longer than it would have to.
  started->lease.ordinary_ms = 0;
  started->lease.ordinary_older_until = {};
}

caf::error refuse_unknown(const KnownFormat& known, const JournalBody& body) {
  const JournalFormat needed = format_of(body);
  // A coordinator's start can be said in any format: say_in().
  if (needed <= known.format || std::holds_alternative<CoordinatorStarted>(body)) return {};
  const std::string version = known.version.empty() ? "" : " (version " + known.version + ")";
  return make_error(ErrorCode::unavailable,
                    "the coordinator " + known.member + version +
                        " knows formats of the journal up to " + std::to_string(known.format) +
                        ", and this needs format " + std::to_string(needed) +
                        ": try again when it has been upgraded");
}

caf::error refuse_newer(const std::string& what, const JournalNeeds& needs,
                        const std::string& own) {
  if (needs.format <= kNewestFormat) return {};
  const std::string writer =
      needs.version.empty() ? "the version that wrote it" : "Fairwater " + needs.version;
  return make_error(ErrorCode::not_supported,
                    what + " has format " + std::to_string(needs.format) + ", by " +
                        (needs.version.empty() ? "a newer version" : writer) +
                        ", and this program" + (own.empty() ? "" : ", Fairwater " + own + ",") +
                        " knows formats up to " + std::to_string(kNewestFormat) + ": install " +
                        writer +
                        " or a later one, or begin with a backup from before the upgrade. Nothing "
                        "was changed");
}

}  // namespace fairwater::inline model
