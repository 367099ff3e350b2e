// The column families of a ledger's database and the grammar of their keys.
//
//   directory := FAIRWATER high-water reserve LOCK db/  (docs/ledger.md says what each holds)
//
//   family       keys                              values (schema/records.capnp, canonical bytes)
//   journal      number:u64be                      JournalRecord
//   meta         "meta"                            MetaRecord
//   balances     debtor:u32be creditor:u32be       IouRecord
//   tenants      tenant:u32be                      TenantRecord
//   nodes        node:u32be                        NodeRecord
//   jobs         job:u64be                         JobRecord
//   tasks        job:u64be index:u32be             TaskRecord; only tasks that were granted once
//   live         job:u64be                         LiveRecord; only jobs that are not terminal
//   tokens       hash:byte[32]                     TokenRecord
//   classes      class 0x00 (name "=" amount ",")* ClassRecord; names ascending
//   tenant_jobs  tenant:u32be job:u64be            TenantJobRecord; every job once
//   reservations node:u32be                        Reservation
//   users        tenant:u32be name                UserRecord; of tenants that have had a user, all
//                                                  of theirs, and "" for jobs without one
//   class_jobs   tenant:u32be class 0x00 (name "=" amount ",")* 0x00 job:u64be
//                                                  ClassJobRecord; every batch job with a class
//   requests     tenant:u32be id                   RequestRecord; submissions of the last 7 days
//   usage        day:u32be tenant:u32be user       UsageRecord; of days since 1970-01-01 UTC, ""
//   for
//                                                  jobs without a user
//
// Integers are big-endian, so that the order of keys is the order of numbers. `journal` is the
// truth; every other family is a pure function of it (storage/fold.hpp) and changes in the same
// write as it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/journal.hpp"
#include "model/usage.hpp"
#include "policy/core/types.hpp"

namespace fairwater::inline storage {

enum class Family : std::uint8_t {
  journal,
  meta,
  balances,
  tenants,
  nodes,
  jobs,
  tasks,
  live,
  tokens,
  classes,
  tenant_jobs,
  reservations,
  class_jobs,
  requests,
  users,
  usage,
};
inline constexpr std::size_t kFamilyCount = 16;
inline constexpr std::array<const char*, kFamilyCount> kFamilyNames{
    "journal",    "meta",     "balances", "tenants", "nodes",       "jobs",
    "tasks",      "live",     "tokens",   "classes", "tenant_jobs", "reservations",
    "class_jobs", "requests", "users",    "usage"};

[[nodiscard]] inline const char* name_of(Family family) {
  return kFamilyNames[static_cast<std::size_t>(family)];
}

/// The one key of the meta family.
inline const std::string kMetaKey = "meta";

/// Big-endian bytes of an unsigned integer.
template <class Integer>
[[nodiscard]] std::string big_endian(Integer value) {
  std::string bytes(sizeof(Integer), '\0');
  for (std::size_t i = bytes.size(); i-- > 0; value = static_cast<Integer>(value >> 8))
    bytes[i] = static_cast<char>(value & 0xff);
  return bytes;
}
/// The inverse; reads the first sizeof(Integer) bytes, which must be there.
template <class Integer>
[[nodiscard]] Integer from_big_endian(std::string_view bytes) {
  Integer value = 0;
  for (std::size_t i = 0; i < sizeof(Integer); ++i)
    value = static_cast<Integer>((value << 8) | static_cast<std::uint8_t>(bytes[i]));
  return value;
}

[[nodiscard]] inline std::string key_of(TenantId tenant) { return big_endian(tenant.value); }
[[nodiscard]] inline std::string key_of(NodeId node) { return big_endian(node.value); }
[[nodiscard]] inline std::string key_of(JobId job) { return big_endian(job.value); }
[[nodiscard]] inline std::string journal_key(std::uint64_t number) { return big_endian(number); }
[[nodiscard]] inline std::string task_key(JobId job, std::uint32_t index) {
  return big_endian(job.value) + big_endian(index);
}
[[nodiscard]] inline std::string tenant_job_key(TenantId tenant, JobId job) {
  return big_endian(tenant.value) + big_endian(job.value);
}
[[nodiscard]] inline std::string user_key(TenantId tenant, const std::string& user) {
  return big_endian(tenant.value) + user;
}
[[nodiscard]] inline std::string usage_key(const UsageGroup& group) {
  return big_endian(group.day) + big_endian(group.tenant.value) + group.user;
}
/// The inverse; none for what is no such key.
[[nodiscard]] std::optional<UsageGroup> usage_group_of(std::string_view key);
[[nodiscard]] inline std::string balance_key(std::uint32_t debtor, std::uint32_t creditor) {
  return big_endian(debtor) + big_endian(creditor);
}
[[nodiscard]] inline std::string token_key(const Hash& hash) { return {hash.begin(), hash.end()}; }
[[nodiscard]] inline std::string class_key(const std::string& job_class,
                                           const NamedAmounts& resources) {
  std::string key = job_class + '\0';
  for (const auto& [name, amount] : resources) key += name + "=" + std::to_string(amount) + ",";
  return key;
}
/// Of the tenant's jobs of a class with these amounts, all the keys begin so.
[[nodiscard]] inline std::string class_jobs_prefix(TenantId tenant, const std::string& job_class,
                                                   const NamedAmounts& resources) {
  return key_of(tenant) + class_key(job_class, resources) + '\0';
}
[[nodiscard]] inline std::string class_job_key(const JobRecord& job) {
  return class_jobs_prefix(job.tenant, job.spec.job_class, profiled_amounts(job.spec, 0)) +
         key_of(job.id);
}
[[nodiscard]] inline std::string request_key(TenantId tenant, const std::string& id) {
  return key_of(tenant) + id;
}
/// The amounts that stand behind class and zero byte in a key of a class's jobs.
[[nodiscard]] NamedAmounts amounts_in_class_key(std::string_view key);
/// Whether the job is in its class's list.
[[nodiscard]] inline bool has_class(const JobSpec& spec) {
  return !spec.job_class.empty() && spec.kind == JobKind::batch;
}

}  // namespace fairwater::inline storage
