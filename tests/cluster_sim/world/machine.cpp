#include "tests/cluster_sim/world/machine.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "process/lease.hpp"

namespace fairwater::cluster_sim {
namespace {

constexpr std::uint64_t kLossesOfPercent = 8;  // tasks that fail by themselves
constexpr std::uint32_t kCpus = 8;             // the most that a node's capacity is ever set to

const NamedDevices kDevices{{"gpu", {"0", "1"}}, {std::string(kSharedGpus), {"2", "3"}}};

/// Two memory nodes of two cores with two threads each.
std::vector<Cpu> cpus_of_machine() {
  std::vector<Cpu> cpus;
  for (std::uint32_t number = 0; number < kCpus; ++number)
    cpus.push_back({number, number / 4, number / 2 * 2});
  return cpus;
}

}  // namespace

Machine::Machine(Stage& stage, Checker& checker, std::string name, Amount cpu, bool is_fixed)
    : stage_(stage),
      checker_(checker),
      is_fixed_(is_fixed),
      clock_(stage.chance.between(-kMaxDrift_ppm, kMaxDrift_ppm)) {
  spec.traits = {std::move(name), "here", {{"zone", "a"}, {"disk", "ssd"}}};
  move();
  spec.capacity = {{"cpu", cpu}, {"memory", cpu}, {"gpu", 2}};
  // The others' tasks have devices that the coordinator does not know.
  if (stage.chance.percent(70)) {
    spec.traits.devices = told_devices(kDevices);
    spec.capacity[std::string(kSharedGpus)] = 2 * kMilliPerGpu;
  }
  spec.limits = "none";
  empty_directory();
}

void Machine::move() {
  if (is_fixed_) return;
  auto& chance = stage_.chance;
  spec.traits.site = chance.percent(70) ? "here" : "there";
  spec.traits.labels = {{"zone", chance.percent(50) ? "a" : "b"}};
  if (chance.percent(60)) spec.traits.labels["disk"] = chance.percent(50) ? "ssd" : "tape";
  if (chance.percent(20)) spec.traits.labels["old"] = "true";
}

void Machine::empty_directory() {
  for (const auto& task : alive())
    stage_.broken("task {} runs on {}, which is no node any more", text_of(task), spec.traits.name);
  for (auto& [task, attempt] : attempts_) attempt.is_forgotten = true;
  ++directories_;
  spec.instance = "instance " + std::to_string(directories_) + " of " + spec.traits.name;
  credential.fill(static_cast<std::uint8_t>(spec.traits.name.back()));
  credential.front() = directories_;
  has_joined = false;
  memory = {};
  newest_term_ = {};
}

void Machine::keep(const ClusterMemory& newer) {
  const Term known{memory.seen.incarnation, memory.epoch};
  const Term told{newer.seen.incarnation, newer.epoch};
  if (memory.cluster_id == newer.cluster_id && told < known)
    stage_.broken("{} knows epoch {} of incarnation {}, and keeps {} of {}", spec.traits.name,
                  known.epoch, known.incarnation, told.epoch, told.incarnation);
  memory = newer;
}

std::int64_t Machine::boottime_ms() const {
  constexpr std::int64_t kBootedBefore_ms = 1'000'000;
  return kBootedBefore_ms + clock_.local_us(stage_.time.now_us()) / kMs;
}

std::vector<FoundTask> Machine::scan() {
  std::vector<FoundTask> found;
  for (auto& [task, attempt] : attempts_) {
    if (attempt.is_forgotten) continue;
    if (attempt.phase == Phase::vanished) {
      const auto reason =
          attempt.is_lost_with_machine ? EndReason::node_lost : EndReason::supervisor_lost;
      attempt.phase = Phase::ended;
      attempt.result = result_of(task, reason, 0);
      checker_.result(*attempt.result);
    }
    found.push_back({task, attempt.phase == Phase::alive, attempt.result, attempt.order.lease_ms});
  }
  return found;
}

caf::error Machine::launch(const LaunchOrder& order) {
  if (attempts_.contains(order.task))
    return make_error(ErrorCode::already_exists, "this attempt was started before");
  if (refuses_launches) {
    checker_.stopped(spec.traits.name, order.task);
    return make_error(ErrorCode::disk_full, "the simulated machine starts nothing");
  }
  Attempt attempt;
  attempt.order = order;
  attempt.started_at = stage_.time.wall_time();
  hand_out(order, attempt);
  attempts_[order.task] = std::move(attempt);
  // A supervisor starts nothing when the lease is over: by now somebody else may run the task.
  if (is_lease_over(order)) {
    end(order.task, EndReason::lease_expired, 0);
    return {};
  }
  checker_.started(spec.traits.name, order.task);
  const bool is_service = order.environment->contains(kServiceMark);
  const std::int64_t longest_us = hurries ? kSecond : is_service ? 900 * kSecond : 40 * kSecond;
  run(order.task, stage_.chance.spread(200 * kMs, longest_us));
  if (order.time_limit_ms > 0)
    stage_.time.in(order.time_limit_ms * kMs,
                   [this, task = order.task] { stop(task, EndReason::time_limit); });
  return {};
}

void Machine::hand_out(const LaunchOrder& order, Attempt& attempt) {
  const std::string shared(kSharedGpus);
  std::vector<HeldDevices> held;
  std::map<std::string, Amount> shares;
  std::set<std::uint32_t> busy;
  std::set<std::string> given;
  for (const auto& [task, other] : attempts_) {
    if (other.phase != Phase::alive) continue;
    held.push_back({&other.devices, other.shared_milli});
    for (const auto& [resource, ids] : other.devices)
      for (const std::string& id : ids)
        if (resource == shared)
          shares[id] += std::min(other.shared_milli, kMilliPerGpu);
        else
          given.insert(id);
    busy.insert(other.cpus.begin(), other.cpus.end());
  }
  const auto too_few = [&](const caf::error& error) {
    stage_.broken("{} is sent task {}: {}", spec.traits.name, text_of(order.task),
                  details(error).message);
  };
  auto devices = pick_devices(kDevices, held, order.limits, order.devices);
  if (!devices) return too_few(devices.error());
  for (const std::string& id : devices->at("gpu"))
    if (given.contains(id))
      stage_.broken("{} gives gpu {} to task {}, and somebody has it", spec.traits.name, id,
                    text_of(order.task));
  attempt.shared_milli = shared_milli_of(order.limits);
  for (const std::string& id : devices->at(shared))
    if (shares[id] + std::min(attempt.shared_milli, kMilliPerGpu) > kMilliPerGpu)
      stage_.broken("{} gives {} thousandths of gpu {} to task {}, and others have {}",
                    spec.traits.name, attempt.shared_milli, id, text_of(order.task), shares[id]);
  attempt.devices = std::move(*devices);
  if (!order.exclusive_cpus) return;
  const auto count = static_cast<std::size_t>(order.limits.at("cpu") / kMillicoresPerCpu);
  auto cpus = pick_cpus(cpus_of_machine(), busy, count);
  if (!cpus) return too_few(cpus.error());
  for (const std::uint32_t cpu : *cpus)
    if (busy.contains(cpu))
      stage_.broken("{} gives processor {} to task {}, and somebody has it for its own",
                    spec.traits.name, cpu, text_of(order.task));
  attempt.cpus = std::move(*cpus);
}

bool Machine::has_too_little_memory(const LaunchOrder& order) {
  const auto needs = order.environment->find(kMemoryMark);
  return needs != order.environment.end() && order.limits.at("memory") < std::stoll(needs->second);
}

void Machine::run(const TaskKey& task, std::int64_t for_us) {
  const bool fails = stage_.chance.percent(kLossesOfPercent);
  stage_.time.in(for_us, [this, task, fails] {
    const auto& attempt = attempts_.at(task);
    if (attempt.phase != Phase::alive) return;
    if (attempt.stop_reason || is_lease_over(attempt.order))
      end(task, attempt.stop_reason.value_or(EndReason::lease_expired), 0);
    else if (has_too_little_memory(attempt.order))
      end(task, EndReason::memory_limit, 137);
    else
      end(task, EndReason::exited, fails ? 1 : 0);
  });
}

void Machine::stop(const TaskKey& task, EndReason reason) {
  const auto found = attempts_.find(task);
  if (found == attempts_.end() || found->second.phase != Phase::alive) return;
  if (!found->second.stop_reason) found->second.stop_reason = reason;
  // Some heed SIGTERM, some wait for SIGKILL.
  const auto after_ms = stage_.chance.between(0, found->second.order.grace_ms);
  stage_.time.in(after_ms * kMs, [this, task] {
    const auto& attempt = attempts_.at(task);
    if (attempt.phase == Phase::alive) end(task, *attempt.stop_reason, 0);
  });
}

void Machine::forget(const TaskKey& task) {
  const auto found = attempts_.find(task);
  if (found == attempts_.end()) return;
  if (found->second.phase == Phase::alive)
    stage_.broken("the agent of {} forgets task {}, which runs", spec.traits.name, text_of(task));
  found->second.is_forgotten = true;
}

// -- the lease ------------------------------------------------------------------------------------

void Machine::offer_lease(Term term, std::int64_t sent_ms, const ReportReply& reply) {
  if (reply.lease_ms == 0) return;
  Offer& offer = offered_leases_[sent_ms];
  offer.term = std::max(offer.term, term);
  (void)offer.times.extend({sent_ms + reply.lease_ms, sent_ms, sent_ms + reply.longest_lease_ms});
}

void Machine::extend_lease(const LeaseTimes& times) {
  // The agent takes the time when it reports, which may be some time before that leaves it.
  const auto offered = offered_leases_.lower_bound(times.heard_ms);
  LeaseTimes may = newest_offer_;
  Term term;
  for (auto offer = offered; offer != offered_leases_.end(); ++offer) {
    term = std::max(term, offer->second.term);
    (void)may.extend(offer->second.times);
  }
  LeaseTimes both = may;
  if (both.extend(times))
    return stage_.broken("{} takes a lease that nobody offered", spec.traits.name);
  if (offered != offered_leases_.end()) {
    if (term < newest_term_)
      stage_.broken("{} takes a lease of epoch {}, and had one of epoch {} before",
                    spec.traits.name, term.epoch, newest_term_.epoch);
    if (Term{memory.seen.incarnation, memory.epoch} < term)
      stage_.broken("{} takes a lease of epoch {} before that is durable", spec.traits.name,
                    term.epoch);
    newest_term_ = std::max(newest_term_, term);
  }
  newest_offer_ = may;
  offered_leases_.erase(offered_leases_.begin(), offered);
  if (!lease_.extend(times)) return;
  watch_lease();
}

bool Machine::is_lease_over(const LaunchOrder& order) const {
  const std::int64_t deadline_ms = lease_.deadline_of(order.lease_ms);
  return deadline_ms > 0 && boottime_ms() >= deadline_ms;
}

void Machine::at_boottime(std::int64_t moment_ms, std::function<void()> what) {
  const auto left_ms = moment_ms - boottime_ms();
  stage_.time.at(clock_.when_us(clock_.local_us(stage_.time.now_us()) + left_ms * kMs),
                 std::move(what));
}

void Machine::watch_lease() {
  at_boottime(lease_.deadline_ms, [this, deadline_ms = lease_.deadline_ms] {
    if (deadline_ms != lease_.deadline_ms) return;
    for (const auto& task : alive()) end_or_watch(task);
  });
}

/// When its lease is over. Its supervisor takes up to what it promises, and no longer.
void Machine::end_or_watch(const TaskKey& task) {
  const auto& attempt = attempts_.at(task);
  if (attempt.phase != Phase::alive) return;
  if (!is_lease_over(attempt.order))
    return at_boottime(lease_.deadline_of(attempt.order.lease_ms),
                       [this, task] { end_or_watch(task); });
  const auto after_ms =
      stage_.chance.percent(50) ? kLeaseEndMs : stage_.chance.between(0, kLeaseEndMs);
  stage_.time.in(after_ms * kMs, [this, task] {
    if (attempts_.at(task).phase == Phase::alive) end(task, EndReason::lease_expired, 0);
  });
}

// -- ends -----------------------------------------------------------------------------------------

std::vector<TaskKey> Machine::alive() const {
  std::vector<TaskKey> tasks;
  for (const auto& [task, attempt] : attempts_)
    if (attempt.phase == Phase::alive) tasks.push_back(task);
  return tasks;
}

std::vector<TaskKey> Machine::alive_before_now() const {
  std::vector<TaskKey> tasks = alive();
  std::erase_if(tasks, [&](const TaskKey& task) {
    return attempts_.at(task).started_at == stage_.time.wall_time();
  });
  return tasks;
}

TaskResult Machine::result_of(const TaskKey& task, EndReason reason, std::int32_t exit_code) const {
  TaskResult result;
  result.task = task;
  result.reason = reason;
  result.exit_code = exit_code;
  result.started_at = attempts_.at(task).started_at;
  result.finished_at = stage_.time.wall_time();
  return result;
}

void Machine::end(const TaskKey& task, EndReason reason, std::int32_t exit_code) {
  auto& attempt = attempts_.at(task);
  attempt.phase = Phase::ended;
  attempt.result = result_of(task, reason, exit_code);
  stage_.log.line("end {} on {}: {} {}", text_of(task), spec.traits.name, to_string(reason),
                  exit_code);
  checker_.result(*attempt.result);
  checker_.stopped(spec.traits.name, task);
  if (on_end) on_end(*attempt.result);
}

void Machine::vanish(const TaskKey& task) {
  attempts_.at(task).phase = Phase::vanished;
  checker_.stopped(spec.traits.name, task);
}

void Machine::reboot() {
  stage_.log.line("reboot {}", spec.traits.name);
  for (const auto& task : alive()) {
    attempts_.at(task).is_lost_with_machine = true;
    vanish(task);
  }
}

void Machine::lose_supervisor() {
  const auto tasks = alive();
  if (tasks.empty()) return;
  const auto task = tasks[stage_.chance.below(tasks.size())];
  stage_.log.line("lose the supervisor of {} on {}", text_of(task), spec.traits.name);
  if (on_end)
    end(task, EndReason::supervisor_lost, 0);  // the host sees it go
  else
    vanish(task);
}

}  // namespace fairwater::cluster_sim
