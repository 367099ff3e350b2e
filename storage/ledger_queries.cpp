// What a ledger answers to those who read.
#include <algorithm>
#include <limits>

#include "storage/ledger_impl.hpp"

namespace fairwater::inline storage {
namespace {

/// A cancelled job's waiting tasks are cancelled by its counts; their records were left alone.
TaskRecord as_seen(TaskRecord task, const std::optional<JobRecord>& job) {
  if (task.state == TaskState::pending && job && job->cancelled) task.state = TaskState::cancelled;
  return task;
}

}  // namespace

std::uint64_t Ledger::last_number() const { return impl_->meta().last_number; }
LedgerMark Ledger::end() const { return impl_->end(); }
JournalHead Ledger::head() const { return head_of(impl_->meta()); }
std::uint64_t Ledger::given_up() const { return impl_->meta().given_up; }
ClusterCreated Ledger::cluster() const { return impl_->meta().cluster; }
WallTime Ledger::counts_time_since() const { return impl_->meta().counts_time_since; }
Units Ledger::unit_ms_per_unit() const { return impl_->meta().unit_ms_per_unit; }
std::uint64_t Ledger::epoch() const { return impl_->meta().epoch; }
LeaseTerms Ledger::lease_terms() const { return impl_->meta().lease; }
std::uint64_t Ledger::position() const { return impl_->meta().position; }
JobId Ledger::next_job_id() const { return impl_->meta().next_job; }
TenantId Ledger::next_tenant_id() const { return impl_->meta().next_tenant; }
NodeId Ledger::next_node_id() const { return impl_->meta().next_node; }

std::vector<TenantRecord> Ledger::tenants() const {
  std::vector<TenantRecord> tenants;
  Snapshot(impl_->database()).scan(Family::tenants, [&](std::string_view key, std::string_view v) {
    tenants.push_back(decode_stored<TenantRecord>(Family::tenants, key, v));
  });
  return tenants;
}

std::optional<TenantRecord> Ledger::tenant(TenantId id) const {
  return Snapshot(impl_->database()).find<TenantRecord>(Family::tenants, key_of(id));
}

std::vector<NodeRecord> Ledger::nodes() const {
  std::vector<NodeRecord> nodes;
  Snapshot(impl_->database()).scan(Family::nodes, [&](std::string_view key, std::string_view v) {
    nodes.push_back(decode_stored<NodeRecord>(Family::nodes, key, v));
  });
  return nodes;
}

AccountsSnapshot Ledger::accounts() const { return read_accounts(Snapshot(impl_->database())); }
std::vector<IouBook::Iou> Ledger::ious() const { return accounts().ious; }

std::map<Hash, TokenGrant> Ledger::tokens() const {
  std::map<Hash, TokenGrant> tokens;
  Snapshot(impl_->database()).scan(Family::tokens, [&](std::string_view key, std::string_view v) {
    Hash hash{};
    std::copy_n(key.begin(), std::min(key.size(), hash.size()), hash.begin());
    tokens.emplace(hash, decode_stored<TokenGrant>(Family::tokens, key, v));
  });
  return tokens;
}

std::optional<TokenGrant> Ledger::token(const Hash& hash) const {
  return Snapshot(impl_->database()).find<TokenGrant>(Family::tokens, token_key(hash));
}

std::map<std::string, std::uint64_t> Ledger::served_users(TenantId tenant) const {
  std::map<std::string, std::uint64_t> served;
  const std::string prefix = key_of(tenant);
  Snapshot(impl_->database())
      .walk(Family::users, prefix, false, [&](std::string_view key, std::string_view v) {
        if (!key.starts_with(prefix)) return false;
        served.emplace(key.substr(prefix.size()),
                       decode_stored<TenantUser>(Family::users, key, v).served);
        return true;
      });
  return served;
}

std::optional<JobRecord> Ledger::job(JobId id) const {
  if (auto found = Snapshot(impl_->database()).find<JobRecord>(Family::jobs, key_of(id)))
    return found;
  return archived_job(id);
}

std::optional<RequestRecord> Ledger::request(TenantId tenant, const std::string& id) const {
  return Snapshot(impl_->database()).find<RequestRecord>(Family::requests, request_key(tenant, id));
}

void Ledger::visit_jobs(JobId from, bool newest_first,
                        const std::function<bool(const JobRecord&)>& visit) const {
  Snapshot(impl_->database())
      .walk(Family::jobs, key_of(from), newest_first,
            [&](std::string_view key, std::string_view v) {
              return visit(decode_stored<JobRecord>(Family::jobs, key, v));
            });
}

void Ledger::visit_tenant_jobs(TenantId tenant, JobId from,
                               const std::function<bool(JobId, JobState)>& visit) const {
  visit_jobs_by_tenant(tenant, from, [&](TenantId owner, JobId id, JobState state) {
    return owner == tenant && visit(id, state);
  });
}

void Ledger::visit_jobs_by_tenant(
    TenantId tenant, JobId from,
    const std::function<bool(TenantId, JobId, JobState)>& visit) const {
  const std::size_t tenant_bytes = key_of(tenant).size();
  Snapshot(impl_->database())
      .walk(Family::tenant_jobs, tenant_job_key(tenant, from), true,
            [&](std::string_view key, std::string_view v) {
              return visit(TenantId{from_big_endian<std::uint32_t>(key.substr(0, tenant_bytes))},
                           JobId{from_big_endian<std::uint64_t>(key.substr(tenant_bytes))},
                           decode_stored<TenantJob>(Family::tenant_jobs, key, v).state);
            });
}

std::optional<NamedAmounts> Ledger::class_amounts_before(
    TenantId tenant, const std::string& job_class,
    const std::optional<NamedAmounts>& before) const {
  const std::string prefix = class_jobs_prefix(tenant, job_class, {});
  const std::string class_prefix = prefix.substr(0, prefix.size() - 1);
  // No job has the id 0, and no amounts are named by what follows digits and letters.
  const std::string from = before ? class_jobs_prefix(tenant, job_class, *before)
                                  : class_prefix + std::string(1, '\xff');
  std::optional<NamedAmounts> found;
  Snapshot(impl_->database())
      .walk(Family::class_jobs, from, true, [&](std::string_view key, std::string_view) {
        if (key.starts_with(class_prefix))
          found = amounts_in_class_key(key.substr(class_prefix.size()));
        return false;
      });
  return found;
}

void Ledger::visit_class_jobs(TenantId tenant, const std::string& job_class,
                              const NamedAmounts& amounts,
                              const std::function<bool(JobId)>& visit) const {
  constexpr JobId kNewest{std::numeric_limits<JobId::rep>::max()};
  const std::string prefix = class_jobs_prefix(tenant, job_class, amounts);
  Snapshot(impl_->database())
      .walk(Family::class_jobs, prefix + key_of(kNewest), true,
            [&](std::string_view key, std::string_view) {
              return key.starts_with(prefix) &&
                     visit(JobId{from_big_endian<std::uint64_t>(key.substr(prefix.size()))});
            });
}

void Ledger::visit_live_jobs(JobId from, const std::function<bool(JobId)>& visit) const {
  Snapshot(impl_->database())
      .walk(Family::live, key_of(from), true, [&](std::string_view key, std::string_view) {
        return visit(JobId{from_big_endian<std::uint64_t>(key)});
      });
}

std::vector<StoredTask> Ledger::tasks(JobId job, std::uint32_t first, std::uint32_t count) const {
  std::vector<StoredTask> tasks;
  visit_tasks(job, first, [&](std::uint32_t index, TaskRecord task) {
    if (index - first >= count) return false;
    tasks.push_back({job, index, std::move(task)});
    return true;
  });
  return tasks;
}

std::optional<TaskRecord> Ledger::task(JobId job, std::uint32_t index) const {
  std::optional<TaskRecord> found;
  visit_tasks(job, index, [&](std::uint32_t next, TaskRecord task) {
    if (next == index) found = std::move(task);
    return false;
  });
  return found;
}

void Ledger::visit_tasks(JobId job, std::uint32_t first,
                         const std::function<bool(std::uint32_t, TaskRecord)>& visit) const {
  const Snapshot snapshot(impl_->database());
  auto owner = snapshot.find<JobRecord>(Family::jobs, key_of(job));
  if (!owner) {
    owner = archived_job(job);
    if (owner)
      impl_->archive().walk_tasks(job, first, [&](std::uint32_t index, const TaskRecord& task) {
        return visit(index, as_seen(task, owner));
      });
    return;
  }
  const std::string prefix = key_of(job);
  snapshot.walk(Family::tasks, task_key(job, first), false,
                [&](std::string_view key, std::string_view v) {
                  return key.starts_with(prefix) &&
                         visit(from_big_endian<std::uint32_t>(key.substr(prefix.size())),
                               as_seen(decode_stored<TaskRecord>(Family::tasks, key, v), owner));
                });
}

std::optional<JobRecord> Ledger::archived_job(JobId id) const {
  if (!id || id >= next_job_id()) return std::nullopt;
  return impl_->archive().job(id);
}

void Ledger::visit_usage(
    const UsageGroup& from,
    const std::function<bool(const UsageGroup&, const UsageRecord&)>& visit) const {
  Snapshot(impl_->database())
      .walk(Family::usage, usage_key(from), false, [&](std::string_view key, std::string_view v) {
        const auto group = usage_group_of(key);
        if (!group)
          throw StorageFault(ErrorCode::storage_damaged,
                             "the key " + printable_key(key) + " of family usage names no day");
        return visit(*group, decode_stored<UsageRecord>(Family::usage, key, v));
      });
}

std::vector<JobId> Ledger::live_jobs() const {
  std::vector<JobId> jobs;
  Snapshot(impl_->database()).scan(Family::live, [&](std::string_view key, std::string_view) {
    jobs.push_back(JobId{from_big_endian<std::uint64_t>(key)});
  });
  return jobs;
}

std::optional<JournalRecord> Ledger::record(std::uint64_t number) const {
  const std::string key = journal_key(number);
  // Archived while the database is asked, it is there afterwards.
  if (auto found = Snapshot(impl_->database()).find<JournalRecord>(Family::journal, key))
    return found;
  const auto bytes = impl_->archive().record(number);
  if (!bytes) return std::nullopt;
  return decode_stored<JournalRecord>(Family::journal, key, *bytes);
}

void Ledger::visit_journal(std::uint64_t from,
                           const std::function<bool(const JournalRecord&)>& visit) const {
  const Snapshot snapshot(impl_->database());
  bool goes_on = true;
  const auto take = [&](std::string_view key, std::string_view value) {
    goes_on = visit(decode_stored<JournalRecord>(Family::journal, key, value));
    return goes_on;
  };
  const std::uint64_t begin = journal_begin(snapshot);
  if (from < begin) {
    const Archive& archive = impl_->archive();
    archive.walk_journal(from, begin - 1, take);
    const std::uint64_t end = archive.end();
    if (goes_on && end > 0 && end + 1 < begin) {
      const ErrorDetails missing = details(records_missing(archive.path(), end + 1, begin - 1));
      throw StorageFault(missing.code, missing.message);
    }
  }
  if (goes_on) snapshot.walk(Family::journal, journal_key(from), false, take);
}

}  // namespace fairwater::inline storage
