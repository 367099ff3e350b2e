#include "tests/cluster_sim/world/clients.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace fairwater::cluster_sim {
namespace {

constexpr std::uint64_t kLostPercent = 3;   // of questions, and of answers
constexpr std::size_t kEnoughServices = 2;  // they leave half of the smallest machine to others
constexpr std::int64_t kOperatorLooks_us = 60 * kSecond;
const Caller kOperator{Role::operator_role, {}, ""};

}  // namespace

Clients::Clients(Stage& stage, Coordinators& coordinators, const Agents& agents)
    : stage_(stage),
      coordinators_(coordinators),
      agents_(agents),
      tenants_(1 + stage.chance.below(agents.size() > 4 ? 12 : 4)),
      groups_(stage.chance.below(4)),
      max_tasks_(1 + stage.chance.below(20)),
      enough_jobs_(agents.size() > 4 ? 60 : 25),
      mean_pause_us_(stage.chance.spread(kSecond, 8 * kSecond)),
      has_users_(stage.chance.percent(50)) {}

void Clients::begin() {
  std::vector<TenantSpec> specs;
  for (std::uint64_t i = 0; i < tenants_; ++i) {
    specs.push_back(some_tenant());
    specs.back().name = "tenant" + std::to_string(i);
  }
  for (std::uint64_t i = 0; i < groups_; ++i) specs.push_back(some_group(i));
  call<TenantsApplied>(ApplyTenants{kOperator, specs, false});
  act_later();
}

void Clients::stop() {
  stopped_ = true;
  for (const auto& agent : agents_) undrain(agent->name());
  look_after_nodes();
}

void Clients::undrain(const std::string& node) {
  call<Done>(DrainNode{kOperator, node, "", false}, {}, [this, node](const Expected<Done>& done) {
    if (!done) stage_.time.in(kSecond, [this, node] { undrain(node); });
  });
}

void Clients::look_after_nodes() {
  stage_.time.in(kOperatorLooks_us, [this] {
    if (const Coordinator* leader = coordinators_.leader())
      for (const NodeRecord& node : leader->ledger().nodes())
        if (node.draining || node.planned_drain.begins) undrain(node.spec.traits.name);
    look_after_nodes();
  });
}

void Clients::act_later() {
  stage_.time.in(stage_.chance.between(0, 2 * mean_pause_us_), [this] {
    if (stopped_) return;
    act();
    act_later();
  });
}

void Clients::act() {
  const auto choice = stage_.chance.below(100);
  const Coordinator* leader = coordinators_.leader();
  if (choice < 55 && leader != nullptr && leader->ledger().live_jobs().size() > enough_jobs_)
    return;
  if (choice < 55) return submit();
  if (choice < 68) return cancel();
  if (choice < 74) return apply_tenants();
  if (choice < 77) return remove_tenant();
  if (choice < 80) return drain(true);
  if (choice < 84) return drain(false);
  if (choice < 88) return remove_node();
  if (choice < 90) return forgive();
  if (choice < 91) return call<Done>(HandOver{kOperator});
  look();
}

// -- asking ---------------------------------------------------------------------------------------

template <class Result, class Request>
void Clients::call(Request request, std::function<void(Coordinator&, const Result&)> told,
                   std::function<void(const Expected<Result>&)> answered) {
  const auto lost = [this] { return !stopped_ && stage_.chance.percent(kLostPercent); };
  const auto answer = [this, answered, lost](const Expected<Result>& result) {
    if (!answered || lost()) return;
    stage_.time.in(stage_.chance.spread(200, 5 * kMs), [answered, result] { answered(result); });
  };
  if (lost()) return;
  stage_.time.in(stage_.chance.spread(200, 5 * kMs), [this, request, told, answer] {
    Coordinator* asked = coordinators_.asked();
    if (asked == nullptr) return answer(make_error(ErrorCode::unavailable, "no coordinator leads"));
    asked->ask<Result>(request, [asked, told, answer](const Expected<Result>& result) {
      if (result && told && asked->leads()) told(*asked, *result);
      answer(result);
    });
  });
}

// -- what they ask --------------------------------------------------------------------------------

std::string Clients::some_node() { return agents_[stage_.chance.below(agents_.size())]->name(); }

std::string Clients::group_name(std::uint64_t number) { return "group" + std::to_string(number); }

std::string Clients::some_tenant_name() {
  return "tenant" + std::to_string(stage_.chance.below(tenants_));
}

JobId Clients::some_job_id() {
  // Mostly the newest: those still run.
  return jobs_.empty() ? JobId{1}
                       : jobs_[jobs_.size() - 1 -
                               stage_.chance.below(std::min<std::size_t>(jobs_.size(), 8))];
}

/// A part of a GPU or whole ones: of those that a machine shares there are two.
void Clients::may_take_shares(JobSpec& spec, Amount most_milli) {
  auto& chance = stage_.chance;
  // While no node has joined, the coordinator takes jobs that none will have room for.
  const bool is_shared = std::any_of(agents_.begin(), agents_.end(), [](const auto& agent) {
    return agent->machine.spec.capacity.contains(std::string(kSharedGpus));
  });
  if (!is_shared || !chance.percent(30)) return;
  const Amount most_gpus = most_milli / kMilliPerGpu;
  spec.resources[std::string(kSharedGpus)] =
      most_gpus > 0 && chance.percent(25) ? kMilliPerGpu * chance.between(1, most_gpus)
                                          : chance.between(1, std::min(most_milli, Amount{999}));
}

/// The first machine is always where these allow (machine.cpp), if it has what else a job may need.
void Clients::draw_placement(JobSpec& spec) {
  auto& chance = stage_.chance;
  if (chance.percent(40)) spec.placement = static_cast<Placement>(chance.below(6));
  if (!agents_.front()->machine.spec.capacity.contains(std::string(kSharedGpus))) return;
  if (chance.percent(20)) {
    constexpr std::array kExpressions{"zone == a", "disk in (ssd, tape)", "!old", "zone != b",
                                      "disk == ssd && (zone == a || old)"};
    spec.labels = kExpressions[chance.below(kExpressions.size())];
  }
  if (chance.percent(15)) spec.sites = {"here"};
  if (chance.percent(5)) spec.sites = {"there", "here"};
}

JobSpec Clients::some_job() {
  auto& chance = stage_.chance;
  JobSpec spec;
  spec.tenant = some_tenant_name();
  spec.command = {"true"};
  spec.job_class = chance.percent(30) ? "class" : "";
  spec.tasks_min = spec.tasks_max = static_cast<std::uint32_t>(1 + chance.below(max_tasks_));
  spec.resources = {{"cpu", 500 << chance.below(3)}, {"memory", 256 << chance.below(3)}};
  if (chance.percent(25)) spec.resources["gpu"] = chance.between(1, 2);
  if (chance.percent(15)) spec.devices = {"gpu" + std::to_string(chance.below(4))};
  may_take_shares(spec, 2 * kMilliPerGpu);
  if (chance.percent(25)) {
    spec.exclusive_cpus = true;
    spec.resources["cpu"] = kMillicoresPerCpu * chance.between(1, 2);
  }
  if (has_users_ && chance.percent(75)) spec.user = chance.percent(60) ? "ada" : "bob";
  spec.priority = static_cast<std::int32_t>(chance.below(3));
  spec.preempt = spec.devices.empty() && chance.percent(20);
  spec.preemptible = !chance.percent(10);
  spec.retries = static_cast<std::uint32_t>(chance.below(3));
  spec.grace_ms = chance.between(0, 3'000);
  if (chance.percent(30)) spec.lease_ms = chance.between(kLease_ms, kLongestLease_ms);
  if (chance.percent(30)) spec.time_limit_ms = chance.spread(1'000, 60'000);
  if (chance.percent(10) && !jobs_.empty())
    for (auto count = chance.between(1, 3); count > 0; --count)
      if (const JobId id = some_job_id();
          std::find(spec.after.begin(), spec.after.end(), id) == spec.after.end())
        spec.after.push_back(id);
  draw_placement(spec);
  if (!spec.job_class.empty()) follow_profile(spec);
  return spec;
}

/// Any cluster has room for it, beside what services hold.
JobSpec Clients::some_gang() {
  JobSpec spec = some_job();
  spec.gang = true;
  spec.devices.clear();
  spec.measures_tasks = !spec.job_class.empty() && stage_.chance.percent(60);
  spec.tasks_min = spec.tasks_max =
      static_cast<std::uint32_t>(stage_.chance.between(spec.measures_tasks ? 1 : 2, 3));
  spec.resources = {{"cpu", 500}, {"memory", 256}};
  // Three have room on the two that a machine shares, too.
  may_take_shares(spec, spec.tasks_min > 2 ? kMilliPerGpu / 2 : kMilliPerGpu);
  spec.exclusive_cpus = false;  // for which that is too little
  spec.profiled = {};
  spec.environment.erase(kMemoryMark);
  return spec;
}

JobSpec Clients::some_elastic_job() {
  auto& chance = stage_.chance;
  JobSpec spec = some_job();
  spec.devices.clear();
  spec.tasks_min = static_cast<std::uint32_t>(chance.between(1, 2));
  spec.tasks_max = spec.tasks_min + static_cast<std::uint32_t>(chance.between(1, 6));
  spec.resources = {{"cpu", 500}, {"memory", 256}};
  may_take_shares(spec, kMilliPerGpu);  // at least as many gpus are shared
  spec.exclusive_cpus = false;          // for which that is too little
  spec.profiled = {};
  spec.environment.erase(kMemoryMark);
  return spec;
}

/// Runs of a class tell where it has enough memory; some of its jobs need more than those did.
void Clients::follow_profile(JobSpec& spec) {
  auto& chance = stage_.chance;
  spec.environment[kMemoryMark] = std::to_string(256 << chance.below(3));
  if (!chance.percent(50)) return;
  spec.exclusive_cpus = false;
  spec.profiled.all = true;
  spec.devices.clear();
  spec.resources.clear();
}

JobSpec Clients::some_service() {
  JobSpec spec = some_job();
  spec.kind = JobKind::service;
  spec.profiled = {};
  spec.environment.erase(kMemoryMark);
  spec.environment[kServiceMark] = "";
  spec.tasks_min = spec.tasks_max = 1;
  spec.resources = {{"cpu", 500}, {"memory", 256}};
  spec.exclusive_cpus = false;  // for which that is too little
  spec.devices.clear();         // it would hold them for ever
  spec.retries = 0;
  spec.time_limit_ms = 0;
  return spec;
}

std::vector<JobId> Clients::live_services() const {
  std::vector<JobId> services;
  const Coordinator* leader = coordinators_.leader();
  if (leader == nullptr) return services;
  for (const auto id : leader->ledger().live_jobs()) {
    const auto job = leader->ledger().job(id);
    if (job && job->spec.kind == JobKind::service && !job->cancelled) services.push_back(id);
  }
  return services;
}

void Clients::cancel_services() {
  for (const auto id : live_services()) call<Done>(CancelJob{kOperator, id, "the run ends"});
  stage_.time.in(kSecond, [this] {
    if (coordinators_.leader() == nullptr || !live_services().empty()) cancel_services();
  });
}

TenantSpec Clients::some_tenant() {
  auto& chance = stage_.chance;
  TenantSpec spec;
  spec.name = some_tenant_name();
  spec.weight = chance.between(1, 9);
  spec.queue = static_cast<QueuePolicy>(chance.below(3));
  if (chance.percent(20)) spec.min = {{"cpu", 1'000}};
  if (chance.percent(20)) spec.max = {{"cpu", 6'000}};
  spec.repay_millionths = chance.percent(50) ? 1'000'000 : 300'000;
  spec.may_lend = !chance.percent(10);
  spec.may_borrow = !chance.percent(10);
  if (chance.percent(20)) spec.placement = static_cast<Placement>(chance.below(6));
  if (groups_ > 0 && chance.percent(60)) spec.parent = group_name(chance.below(groups_));
  return spec;
}

/// A tenant for others to be in; each may be in one before it.
TenantSpec Clients::some_group(std::uint64_t number) {
  auto& chance = stage_.chance;
  TenantSpec spec;
  spec.name = group_name(number);
  spec.weight = chance.between(1, 9);
  if (chance.percent(30)) spec.max = {{"cpu", 6'000}};
  spec.may_lend = !chance.percent(15);
  spec.may_borrow = !chance.percent(15);
  if (number > 0 && chance.percent(50)) spec.parent = group_name(chance.below(number));
  return spec;
}

void Clients::submit() {
  const bool is_service = stage_.chance.percent(10) && live_services().size() < kEnoughServices;
  const bool is_gang = !is_service && stage_.chance.percent(20);
  const bool is_elastic = !is_service && !is_gang && stage_.chance.percent(25);
  auto submission = std::make_shared<Submission>();
  submission->request.caller = kOperator;
  submission->request.spec = is_service   ? some_service()
                             : is_gang    ? some_gang()
                             : is_elastic ? some_elastic_job()
                                          : some_job();
  if (!stage_.chance.percent(10))
    submission->request.request_id = "submission-" + std::to_string(++submissions_);
  try_submission(submission);
}

void Clients::try_submission(const std::shared_ptr<Submission>& submission) {
  const std::uint64_t number = ++submission->number;
  call<JobAccepted>(
      submission->request,
      [submission](Coordinator& told_by, const JobAccepted& accepted) {
        told_by.checker().follow(told_by.ledger());
        told_by.checker().accepted(accepted.id, submission->request.request_id,
                                   submission->request.spec.user);
      },
      [this, submission, number](const Expected<JobAccepted>& accepted) {
        if (number != submission->number) return;  // it came late
        ++submission->number;
        if (accepted) return jobs_.push_back(accepted->id);
        stage_.log.line("refused: {}", details(accepted.error()).message);
        if (is_retryable(details(accepted.error()).code))
          try_again_later(submission, submission->number);
      });
  // Some do not wait long, and ask a second time while the first is still under way.
  if (!submission->request.request_id.empty())
    stage_.time.in(stage_.chance.spread(kMs, 3 * kSecond), [this, submission, number] {
      if (number == submission->number) try_again_later(submission, number);
    });
}

void Clients::try_again_later(const std::shared_ptr<Submission>& submission, std::uint64_t number) {
  if (submission->tries_left-- <= 0) return;
  stage_.time.in(stage_.chance.spread(kMs, kSecond), [this, submission, number] {
    if (!stopped_ && number == submission->number) try_submission(submission);
  });
}

void Clients::cancel() {
  const auto job = some_job_id();
  call<Done>(CancelJob{kOperator, job, "not needed"}, [job](Coordinator& told_by, const Done&) {
    told_by.checker().follow(told_by.ledger());
    told_by.checker().cancelled(job, told_by.ledger());
  });
}

void Clients::apply_tenants() {
  auto& chance = stage_.chance;
  const bool is_group = groups_ > 0 && chance.percent(30);
  TenantSpec spec = is_group ? some_group(chance.below(groups_)) : some_tenant();
  // These are mostly refused: in itself, in a circle, in one that runs jobs.
  if (chance.percent(10)) spec.parent = some_tenant_name();
  if (chance.percent(40)) draw_terms_by_time(spec);
  call<TenantsApplied>(ApplyTenants{kOperator, {spec}, chance.percent(10)});
}

/// Where units are counted they are refused.
void Clients::draw_terms_by_time(TenantSpec& spec) {
  auto& chance = stage_.chance;
  const Coordinator* leader = coordinators_.leader();
  const bool counts_time =
      leader != nullptr && leader->ledger().cluster().accounting == Accounting::time;
  if (!counts_time && !chance.percent(10)) return;
  for (const char* resource : {"cpu", "memory"})
    if (chance.percent(30)) spec.weights[resource] = static_cast<Weight>(chance.between(1, 9));
  for (std::string* cap : {&spec.lend_cap, &spec.borrow_cap})
    if (chance.percent(50))
      *cap = std::to_string(chance.between(1, 60)) + (chance.percent(50) ? "s" : "core-s");
}

void Clients::remove_tenant() {
  auto& chance = stage_.chance;
  const bool is_group = groups_ > 0 && chance.percent(20);
  call<TenantDeparture>(
      RemoveTenant{kOperator, is_group ? group_name(chance.below(groups_)) : some_tenant_name()});
}

/// Half the time so much; the ledger counts units, or it counts time.
void Clients::forgive() {
  auto& chance = stage_.chance;
  ForgiveDebt wanted{.caller = kOperator, .debtor = some_tenant_name(), .reason = "so be it"};
  if (chance.percent(30)) wanted.creditor = some_tenant_name();
  if (chance.percent(50))
    wanted.amount = std::to_string(chance.between(1, 20)) + (chance.percent(50) ? "core-s" : "");
  wanted.dry_run = chance.percent(10);
  call<DebtsForgiven>(wanted);
}

void Clients::drain(bool drains) {
  auto& chance = stage_.chance;
  const bool has_deadline = drains && chance.percent(60);
  const std::int64_t deadline_ms =
      has_deadline ? static_cast<std::int64_t>(chance.between(1, 20'000)) : 0;
  if (drains && chance.percent(40)) {
    const auto in_ms = static_cast<std::int64_t>(chance.between(1, 60'000));
    const WallTime begins{stage_.time.wall_time().microseconds + in_ms * 1000};
    call<Done>(PlanDrain{kOperator, some_node(), "maintenance", begins, deadline_ms});
    return;
  }
  call<Done>(DrainNode{kOperator, some_node(), drains ? "maintenance" : "", drains, deadline_ms});
}

void Clients::remove_node() { call<Done>(RemoveNode{kOperator, some_node()}); }

void Clients::look() {
  auto& chance = stage_.chance;
  const std::string tenant = chance.percent(50) ? some_tenant_name() : "";
  switch (chance.below(11)) {
    case 0:
      return call<TenantList>(ListTenants{kOperator});
    case 1:
      return call<NodeList>(ListNodes{kOperator});
    case 2:
      return call<JobDetail>(ShowJob{kOperator, some_job_id()});
    case 3:
      return call<Explanation>(ExplainTask{kOperator, some_job_id(),
                                           static_cast<std::uint32_t>(chance.below(max_tasks_))});
    case 4:
      return call<JobRecord>(WaitJob{kOperator, some_job_id(), 30'000});
    case 5:
      return call<ClusterStatus>(GetStatus{kOperator});
    case 6:
      return call<JobList>(ListJobs{kOperator, {.tenant = tenant, .state = {}, .before = {}}});
    case 7:
      return call<UsageList>(QueryUsage{kOperator, {.tenant = tenant, .by_user = true}});
    case 8:
      return call<ClassProfile>(ShowProfile{kOperator, some_tenant_name(), "class"});
    case 9:
      return call<JournalPage>(ReadJournal{kOperator, chance.below(100), 50, 5'000});
    default:
      return call<LedgerView>(ShowLedger{kOperator});
  }
}

}  // namespace fairwater::cluster_sim
