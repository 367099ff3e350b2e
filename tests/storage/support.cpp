#include "tests/storage/support.hpp"

#include <cstdlib>

#include "policy/allocator/deal_steps.hpp"
#include "state/job.hpp"
#include "storage/database.hpp"

namespace fairwater::test {

ErrorCode code_of(const caf::error& error) { return details(error).code; }

ClusterCreated small_cluster() {
  return {"test-cluster", {{"cpu", 100}, {"memory", 256}}, DealMode::sized};
}

TenantRecord tenant(std::uint32_t id, const std::string& name, Weight weight) {
  TenantRecord record;
  record.id = TenantId{id};
  record.spec.name = name;
  record.spec.weight = weight;
  return record;
}

NodeRecord node(std::uint32_t id, const std::string& name) {
  NodeRecord record;
  record.id = NodeId{id};
  record.spec.traits.name = name;
  record.spec.capacity = {{"cpu", 4000}, {"memory", 8192}};
  return record;
}

NodeAdmitted registered(std::uint32_t id, const std::string& name) {
  const NodeRecord record = node(id, name);
  return {record.id, record.spec, record.credential_hash, record.run};
}

JobSpec job_spec(const std::string& tenant, std::uint32_t tasks) {
  JobSpec spec;
  spec.tenant = tenant;
  spec.name = "job";
  spec.job_class = "sleeper";
  spec.command = {"sleep", "1"};
  spec.tasks_min = tasks;
  spec.tasks_max = tasks;
  spec.resources = {{"cpu", 100}};
  return spec;
}

std::vector<JournalBody> founding() {
  return {small_cluster(), CoordinatorStarted{1, "test", {}, {}, /*counts_usage=*/true},
          TenantsChanged{{tenant(1, "a", 5), tenant(2, "b", 3), tenant(3, "c", 2)}, 0},
          registered(1, "n1"), registered(2, "n2")};
}

Deal plain_deal(std::uint64_t position, TenantId tenant, const std::vector<TaskKey>& tasks) {
  Deal deal;
  deal.node = NodeId{1};
  deal.position_before = position;
  deal.position_after = position;
  TenantLine line;
  line.tenant = tenant;
  for (const TaskKey& task : tasks) {
    Grant grant;
    grant.task = task;
    grant.tenant = tenant;
    grant.cost = 1;
    deal.grants.push_back(grant);
    ++deal.free_units;
    ++line.granted;
    ++line.placed;
  }
  deal.lines.push_back(line);
  return deal;
}

TaskResult success(const TaskKey& task) {
  TaskResult result;
  result.task = task;
  result.started_at = {1'000'000};
  result.finished_at = {3'000'000};
  return result;
}

LedgerOptions options_for(const std::string& directory, rocksdb::Env* env) {
  LedgerOptions options;
  options.directory = directory;
  options.create = true;
  options.env = env;
  return options;
}

Traffic::Traffic(const Ledger& ledger, std::uint64_t seed)
    : random_(seed), position_(ledger.position()), next_job_(ledger.next_job_id()) {
  for (const TenantRecord& tenant : ledger.tenants()) {
    tenants_.emplace(tenant.id, tenant);
    period_ += static_cast<std::uint64_t>(tenant.spec.weight);
  }
  for (const IouBook::Iou& iou : ledger.ious()) book_.restore(iou);
  for (const JobId id : ledger.live_jobs()) {
    Job& job = jobs_[id];
    job.record = *ledger.job(id);
    for (std::uint32_t i = 0; i < job.record.tasks.total; ++i) job.tasks[i];
    for (const StoredTask& task : ledger.tasks(id)) job.tasks[task.index] = task.record;
    for (const auto& [index, task] : job.tasks) {
      if (task.state == TaskState::running) running_.emplace(id, index);
      if (task.state == TaskState::pending && !job.record.cancelled) waiting_.emplace(id, index);
    }
  }
}

std::vector<JournalBody> Traffic::next_batch(std::size_t most) {
  std::vector<JournalBody> bodies;
  for (std::size_t left = 1 + below(most); left > 0; --left) bodies.push_back(next());
  return bodies;
}

JournalBody Traffic::next() {
  const std::uint64_t choice = below(100);
  if (waiting_.empty() || (choice < 15 && waiting_.size() < 200)) return submit();
  if (choice < 20) return cancel();
  if (choice < 50 && !running_.empty()) return finish();
  if (choice < 55 && !running_.empty()) return requeue();
  return cycle();
}

TaskKey Traffic::key_of(Place place) const {
  return {place.first, place.second, jobs_.at(place.first).tasks.at(place.second).attempt};
}

JournalBody Traffic::submit() {
  const JobId id = next_job_;
  ++next_job_.value;
  auto owner = std::next(tenants_.begin(), static_cast<std::ptrdiff_t>(below(tenants_.size())));
  JobSpec spec = job_spec(owner->second.spec.name, static_cast<std::uint32_t>(1 + below(8)));
  spec.retries = static_cast<std::uint32_t>(below(3));
  // Only tenant c has no users.
  if (owner->first.value < 3 && id.value % 4 != 0) spec.user = id.value % 3 == 0 ? "ada" : "bob";
  if (id.value % 5 == 0) {
    spec.kind = JobKind::service;
    spec.retries = 0;
  }
  Job& job = jobs_[id];
  job.record.id = id;
  job.record.tenant = owner->first;
  job.record.spec = spec;
  for (std::uint32_t i = 0; i < spec.tasks_max; ++i) {
    job.tasks[i];
    waiting_.emplace(id, i);
  }
  return JobSubmitted{id, owner->first, spec};
}

JournalBody Traffic::cancel() {
  const Place place =
      *std::next(waiting_.begin(), static_cast<std::ptrdiff_t>(below(waiting_.size())));
  jobs_.at(place.first).record.cancelled = true;
  std::erase_if(waiting_, [&](const Place& other) { return other.first == place.first; });
  return JobCancelled{place.first, "no longer needed"};
}

JournalBody Traffic::finish() {
  const Place first = *running_.begin();
  const NodeId node = jobs_.at(first.first).tasks.at(first.second).node;
  TasksFinished body{node, {}};
  for (auto it = running_.begin(); it != running_.end() && body.results.size() < 4;) {
    const Place place = *it;
    Job& job = jobs_.at(place.first);
    TaskRecord& task = job.tasks.at(place.second);
    if (task.node != node) {
      ++it;
      continue;
    }
    TaskResult result = success(key_of(place));
    if (below(4) == 0) result.exit_code = 1;
    if (below(8) == 0) result.reason = EndReason::lease_expired;
    if (below(8) == 0) result.reason = EndReason::supervisor_lost;
    job.record.tasks = {.total = 1, .running = 1};  // the generator keeps no counts
    end_task(job.record, task, result, {});
    if (task.state == TaskState::pending) waiting_.insert(place);
    body.results.push_back(result);
    if (below(10) == 0) body.results.push_back(result);  // said twice
    it = running_.erase(it);
  }
  return body;
}

JournalBody Traffic::requeue() {
  const Place place = *running_.begin();
  Job& job = jobs_.at(place.first);
  TaskRecord& task = job.tasks.at(place.second);
  const TasksRequeued body{task.node, {key_of(place)}, "node lost", below(2) == 0};
  job.record.tasks = {.total = 1, .running = 1};
  requeue_task(job.record, task, key_of(place), body.node_lost, {});
  if (task.state == TaskState::pending) waiting_.insert(place);
  running_.erase(place);
  return body;
}

void Traffic::place_tasks(Deal& deal, std::map<TenantId, TenantLine>& lines) {
  for (std::uint64_t left = 1 + below(6); left > 0 && !waiting_.empty(); --left) {
    const Place place =
        *std::next(waiting_.begin(), static_cast<std::ptrdiff_t>(below(waiting_.size())));
    Job& job = jobs_.at(place.first);
    Grant grant;
    grant.task = key_of(place);
    grant.tenant = job.record.tenant;
    grant.cost = static_cast<Units>(1 + below(9));
    grant.demand[kCpu] = 100 * grant.cost;
    deal.grants.push_back(grant);
    deal.free_units += grant.cost;
    lines.at(grant.tenant).placed += grant.cost;
    TaskRecord& task = job.tasks.at(place.second);
    task.state = TaskState::running;
    task.node = deal.node;
    waiting_.erase(place);
    running_.insert(place);
  }
}

void Traffic::settle_debts(Deal& deal, std::map<TenantId, TenantLine>& lines) {
  const std::vector<IouBook::Iou> ious = book_.ious();
  if (ious.empty() || below(2) == 0) return;
  const IouBook::Iou& iou = ious[below(ious.size())];
  const auto units = static_cast<Units>(1 + below(static_cast<std::uint64_t>(iou.units)));
  deal.repayments.push_back({TenantId{iou.debtor}, TenantId{iou.creditor}, units});
  lines.at(TenantId{iou.debtor}).paid += units;
  lines.at(TenantId{iou.creditor}).received += units;
}

void Traffic::close(Deal& deal, std::map<TenantId, TenantLine>& lines) {
  std::vector<Position> positions;
  const auto kept = static_cast<Units>(below(3));
  lines.begin()->second.deficit_after += kept;
  lines.rbegin()->second.deficit_after -= kept;
  for (const auto& [id, line] : lines) {
    positions.push_back({id, closing_balance(line) - line.deficit_after});
    tenants_.at(id).deficit = line.deficit_after;
    deal.lines.push_back(line);
  }
  deal.loans = match_loans(positions);
  for (const Repayment& repayment : deal.repayments)
    if (!book_.repay(repayment.debtor.value, repayment.creditor.value, repayment.units))
      throw std::logic_error("the generator repays more than is owed");
  for (const Loan& loan : deal.loans)
    book_.lend(loan.lender.value, loan.borrower.value, loan.units);
}

JournalBody Traffic::cycle() {
  Deal deal;
  deal.node = NodeId{static_cast<std::uint32_t>(1 + below(2))};
  std::map<TenantId, TenantLine> lines;
  for (const auto& [id, tenant] : tenants_) {
    lines[id].tenant = id;
    lines[id].deficit_before = tenant.deficit;
  }
  place_tasks(deal, lines);
  settle_debts(deal, lines);
  for (Units left = deal.free_units; left > 0; --left)
    ++std::next(lines.begin(), static_cast<std::ptrdiff_t>(below(lines.size())))->second.granted;
  close(deal, lines);
  deal.position_before = position_;
  position_ = (position_ + static_cast<std::uint64_t>(deal.free_units)) % period_;
  deal.position_after = position_;
  if (below(3) > 0)
    deal.reservation = Reservation{tenants_.begin()->first, ResourceVector::filled(100)};
  return Cycle{{deal}};
}

void make_ledger(const std::string& directory, int batches) {
  auto ledger = must(Ledger::open(options_for(directory)));
  must(ledger->append(founding()));
  Hash hash{};
  hash[5] = 1;
  must(ledger->append({TokenIssued{Role::operator_role, {}, hash}}));
  Traffic traffic(*ledger, 7);
  for (int i = 0; i < batches; ++i) must(ledger->append(traffic.next_batch(4)));
}

LedgerOptions existing(const std::string& directory) {
  LedgerOptions options = options_for(directory);
  options.create = false;
  return options;
}

ErrorDetails open_error(const LedgerOptions& options) {
  const auto ledger = Ledger::open(options);
  if (ledger) throw std::runtime_error("the ledger opens");
  return details(ledger.error());
}

void tamper(const std::string& directory, Family family, const std::string& key,
            const std::optional<std::string>& bytes) {
  auto database =
      must(Database::open(directory, rocksdb::Env::Default(), Database::Mode::read_write));
  rocksdb::WriteBatch batch;
  bytes ? batch.Put(database->handle(family), key, *bytes)
        : batch.Delete(database->handle(family), key);
  REQUIRE(database->write(batch, true).ok());
}

}  // namespace fairwater::test
