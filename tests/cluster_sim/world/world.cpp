#include "tests/cluster_sim/world/world.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "tests/cluster_sim/world/faults.hpp"

namespace fairwater::cluster_sim {
namespace {

/// Of work and trouble; then everything is mended.
constexpr std::int64_t kTimeOfTrouble_us = 10 * 60 * kSecond;
/// The last backing off, lease and grace included.
constexpr std::int64_t kTimeToFinish_us = 60 * 60 * kSecond;
constexpr std::int64_t kLookInterval_us = 5 * kSecond;

class World {
 public:
  World(std::uint64_t seed, bool verbose)
      : stage_(seed, verbose), checker_(stage_), coordinators_(stage_, checker_) {
    const auto machines = 1 + stage_.chance.below(stage_.chance.percent(10) ? 12 : 4);
    for (std::uint64_t i = 1; i <= machines; ++i)
      agents_.push_back(std::make_unique<Agent>(stage_, checker_, coordinators_,
                                                "node" + std::to_string(i),
                                                1'000 * stage_.chance.between(2, 8), i == 1));
    clients_.emplace(stage_, coordinators_, agents_);
    faults_.emplace(stage_, coordinators_, agents_);
  }

  /// What a coordinator's end tells its agents, they hear.
  ~World() {
    for (const auto& coordinator : coordinators_.all()) coordinator->kill(true);
  }
  RunResult run();

 private:
  void watch(Coordinator& coordinator);
  void look_for_services();
  void look_for_the_end();
  void finish();
  void explain_live_jobs();
  [[nodiscard]] std::string why_it_does_not_end();
  [[nodiscard]] std::vector<std::string> leavers_left();
  /// True when that came in time.
  bool wait_for(std::int64_t most_us, const std::function<bool()>& has_come);
  void restart_and_compare();
  void run_until(std::int64_t end_us);
  bool run_some_actor();
  void check_mail(const ActorProcess& process);
  void catch_up();
  void move_to_next_event(std::int64_t end_us);

  Stage stage_;
  Checker checker_;
  Coordinators coordinators_;
  Agents agents_;
  std::optional<Clients> clients_;
  std::optional<Faults> faults_;
  bool is_done_ = false;
  // Of the moment; kept for their memory.
  std::vector<ActorProcess*> awake_agents_;
  std::vector<Coordinator*> awake_coordinators_;
  std::size_t fullest_mailbox_ = 0;
};

/// Somebody starts it again, sooner or later.
void World::watch(Coordinator& coordinator) {
  if (!stage_.violation) (void)coordinator.start();
  const auto pause_us = stage_.chance.percent(10) ? stage_.chance.spread(kSecond, 40 * kSecond)
                                                  : stage_.chance.spread(100 * kMs, 3 * kSecond);
  if (!is_done_) stage_.time.in(pause_us, [this, &coordinator] { watch(coordinator); });
}

RunResult World::run() {
  for (const auto& coordinator : coordinators_.all()) watch(*coordinator);
  for (const auto& agent : agents_)
    stage_.time.in(stage_.chance.spread(kMs, 3 * kSecond), [&agent] { agent->start(); });
  stage_.time.in(kSecond, [this] { clients_->begin(); });
  stage_.time.in(kSecond, [this] { faults_->begin(); });
  run_until(kTimeOfTrouble_us);
  if (!stage_.violation) finish();
  RunResult result;
  result.violation = stage_.violation;
  result.log_hash = stage_.log.hash();
  result.log_lines = stage_.log.lines();
  result.journal_records = checker_.records();
  result.attempts = checker_.ended();
  result.fullest_mailbox = fullest_mailbox_;
  result.rivalries = coordinators_.rivalries();
  result.end_us = stage_.time.now_us();
  return result;
}

// -- the end --------------------------------------------------------------------------------------

/// Every service runs, once nothing goes wrong any more; then they are cancelled.
void World::look_for_services() {
  if (coordinators_.leader() != nullptr && checker_.services_not_seen() == 0) {
    clients_->cancel_services();
    look_for_the_end();
  } else {
    stage_.time.in(kLookInterval_us, [this] { look_for_services(); });
  }
}

void World::look_for_the_end() {
  const Coordinator* leader = coordinators_.leader();
  if (leader != nullptr && checker_.running() == 0 && leader->ledger().live_jobs().empty())
    is_done_ = true;
  else
    stage_.time.in(kLookInterval_us, [this] { look_for_the_end(); });
}

bool World::wait_for(std::int64_t most_us, const std::function<bool()>& has_come) {
  const auto end_us = stage_.time.now_us() + most_us;
  while (!has_come() && !stage_.violation && stage_.time.now_us() < end_us)
    run_until(stage_.time.now_us() + 20 * kMs);
  return has_come();
}

void World::finish() {
  faults_->stop();
  catch_up();
  clients_->stop();
  checker_.expect_services();
  // What was asked for last, and waits in the mailbox of a process that was stopped, begins first.
  stage_.time.in(kLookInterval_us, [this] { look_for_services(); });
  run_until(stage_.time.now_us() + kTimeToFinish_us);
  if (stage_.violation) return;
  if (!is_done_) {
    explain_live_jobs();
    return stage_.broken("{}", why_it_does_not_end());
  }
  is_done_ = false;
  if (!wait_for(60 * kSecond, [this] { return leavers_left().empty(); })) {
    if (!stage_.violation)
      stage_.broken("tenant {} leaves, has no job, owes nothing, and is there",
                    leavers_left().front());
    return;
  }
  const Coordinator& leader = *coordinators_.leader();
  checker_.follow(leader.ledger());
  checker_.audit(leader.ledger());
  if (!wait_for(60 * kSecond, [this] { return coordinators_.are_level(); })) {
    if (!stage_.violation) stage_.broken("the coordinators that follow do not catch up");
    return;
  }
  coordinators_.compare_states();
  restart_and_compare();
}

std::vector<std::string> World::leavers_left() {
  const Coordinator* leader = coordinators_.leader();
  return leader != nullptr ? checker_.leavers_left(leader->ledger())
                           : std::vector<std::string>{"of nobody knows whom"};
}

/// Into the log: what keeps the tasks that wait from starting.
void World::explain_live_jobs() {
  Coordinator* leader = coordinators_.leader();
  if (leader == nullptr) return;
  const auto explain = [&](JobId id, std::uint32_t index) {
    leader->ask<Explanation>(ExplainTask{{Role::operator_role, {}, ""}, id, index},
                             [this, id, index](const Expected<Explanation>& told) {
                               if (!told) return;
                               stage_.log.line("task {} of job {} waits", index, id.value);
                               for (const Obstacle& obstacle : told->obstacles)
                                 stage_.log.line("  {}", obstacle.message);
                             });
  };
  for (const JobId id : leader->ledger().live_jobs()) {
    const auto tasks = leader->ledger().job(id)->spec.tasks_max;
    for (std::uint32_t index = 0; index < tasks; ++index)
      if (const auto task = leader->ledger().task(id, index);
          !task || task->state == TaskState::pending)
        explain(id, index);
  }
  run_until(stage_.time.now_us() + kSecond);
}

std::string World::why_it_does_not_end() {
  const Coordinator* leader = coordinators_.leader();
  std::size_t jobs = 0;
  if (leader != nullptr) {  // so that the log says which
    jobs = leader->ledger().live_jobs().size();
    for (const JobId id : leader->ledger().live_jobs()) {
      const JobSpec spec = leader->ledger().job(id)->spec;
      std::string asks;
      for (const auto& [resource, amount] : spec.resources)
        asks += fmt::format(" {} {}", resource, amount);
      for (const std::string& device : spec.devices) asks += " " + device;
      stage_.log.line("job {} of {} asks for{}", id.value, spec.tenant, asks);
    }
    for (const NodeRecord& node : leader->ledger().nodes())
      stage_.log.line("node {} has {} cpu, drains: {}, lost: {}, tells names: {}", node.id.value,
                      node.spec.capacity.at("cpu"), node.draining, node.lost,
                      !node.spec.traits.devices.empty());
  }
  return fmt::format(
      "{} jobs and {} tasks do not come to an end, {} tasks of services do not run, {} leads", jobs,
      checker_.running(), checker_.services_not_seen(),
      leader != nullptr ? leader->name() : "nobody");
}

/// What the coordinator knows after a restart, from the ledger, is what it knew before by itself.
void World::restart_and_compare() {
  const auto list = [this] {
    std::optional<TenantViews> found;
    Coordinator* leader = coordinators_.leader();
    if (leader == nullptr) return found;
    leader->describe_tenants([&](Expected<TenantViews> answer) {
      if (answer) found = std::move(*answer);
    });
    run_until(stage_.time.now_us() + kSecond);
    return found;
  };
  run_until(stage_.time.now_us() + 2 * kSecond);  // the last second's time goes into the accounts
  auto before = list();
  coordinators_.keep_accounting();
  Coordinator* leader = coordinators_.leader();
  if (leader == nullptr) return stage_.broken("nobody leads, and nothing goes wrong any more");
  leader->kill(true);
  (void)coordinators_.at(0).start();
  if (!wait_for(60 * kSecond, [this] { return coordinators_.leader() != nullptr; })) {
    if (!stage_.violation) stage_.broken("no coordinator leads at the end");
    return;
  }
  const auto after = list();
  // Who leaves is gone when its debts have faded.
  if (before && after && coordinators_.debts_fade())
    std::erase_if(before->tenants, [&](const TenantInfo& one) {
      return one.record.spec.leaving &&
             std::none_of(after->tenants.begin(), after->tenants.end(),
                          [&](const auto& other) { return other.record.id == one.record.id; });
    });
  if (!before || !after || before->tenants.size() != after->tenants.size())
    return stage_.broken("tenants are not the same after a restart at the end");
  for (std::size_t i = 0; i < before->tenants.size(); ++i) {
    const auto& one = before->tenants[i];
    const auto& other = after->tenants[i];
    // Debts that fade go on fading.
    const bool has_faded = coordinators_.debts_fade() && std::abs(other.net) <= std::abs(one.net) &&
                           (other.net == 0 || (other.net < 0) == (one.net < 0));
    const bool is_same_net = has_faded || one.net == other.net;
    if (one.record != other.record || !is_same_net || one.running_tasks != 0 ||
        one.pending_tasks != 0)
      stage_.broken(
          "tenant {} has net {}, deficit {} and {} tasks that run, and after a restart {}, {}",
          one.record.spec.name, one.net, one.record.deficit, one.running_tasks, other.net,
          other.record.deficit);
  }
}

// -- the loop -------------------------------------------------------------------------------------

void World::run_until(std::int64_t end_us) {
  while (!stage_.violation && stage_.time.now_us() < end_us && !is_done_) {
    if (run_some_actor() || stage_.time.run_one()) continue;
    move_to_next_event(end_us);
  }
}

/// One message of one actor, of any process that is awake.
bool World::run_some_actor() {
  awake_agents_.clear();
  awake_coordinators_.clear();
  for (const auto& agent : agents_)
    if (agent->is_up() && agent->process().paused_until_us <= stage_.time.now_us() &&
        agent->process().has_work())
      awake_agents_.push_back(&agent->process());
  for (const auto& coordinator : coordinators_.all())
    if (coordinator->has_work()) awake_coordinators_.push_back(coordinator.get());
  const auto count = awake_agents_.size() + awake_coordinators_.size();
  if (count == 0) return false;
  const auto chosen = stage_.chance.below(count);
  if (chosen < awake_agents_.size()) {
    awake_agents_[chosen]->run_one(stage_.chance, nullptr);
    check_mail(*awake_agents_[chosen]);
  } else {
    Coordinator& coordinator = *awake_coordinators_[chosen - awake_agents_.size()];
    coordinator.run_one();
    if (coordinator.leads()) check_mail(coordinator.process());
  }
  return true;
}

/// What an actor has before it is for calls, nodes, tenants and tasks (docs/architecture.md, "What
/// bounds each mailbox"): of each a few messages.
void World::check_mail(const ActorProcess& process) {
  constexpr std::size_t kOwn = 32;  // timers, turns, and words for what has just ended
  constexpr std::size_t kOfEach = 4;
  const std::size_t mail = process.mail_of_last();
  fullest_mailbox_ = std::max(fullest_mailbox_, mail);
  if (mail <= kOwn) return;
  std::size_t bound = kOwn + kOfEach * (agents_.size() + checker_.running());
  for (const auto& coordinator : coordinators_.all())
    if (coordinator->leads())
      bound += kOfEach * (coordinator->open_calls() + coordinator->ledger().tenants().size());
  if (mail > bound)
    stage_.broken("an actor has {} messages before it, and its bounds add up to {}", mail, bound);
}

void World::move_to_next_event(std::int64_t end_us) {
  auto next_us = std::min(end_us, stage_.time.next_us().value_or(end_us));
  for (const auto& coordinator : coordinators_.all()) {
    if (!coordinator->leads()) continue;
    if (coordinator->process().has_work()) next_us = std::min(next_us, coordinator->next_work_us());
    if (const auto due_us = coordinator->next_timeout_us()) next_us = std::min(next_us, *due_us);
  }
  for (const auto& agent : agents_) {
    if (!agent->is_up()) continue;
    ActorProcess& process = agent->process();
    if (process.has_work()) next_us = std::min(next_us, process.paused_until_us);
    if (const auto due_us = process.next_timeout_us())
      next_us = std::min(next_us, std::max(*due_us, process.paused_until_us));
  }
  stage_.time.move_to(next_us);
  catch_up();
}

/// The clocks of processes that are awake, from when they were stopped to now.
void World::catch_up() {
  for (const auto& coordinator : coordinators_.all()) coordinator->catch_up();
  for (const auto& agent : agents_)
    if (agent->is_up() && agent->process().paused_until_us <= stage_.time.now_us())
      agent->process().catch_up();
}

}  // namespace

RunResult run_seed(std::uint64_t seed, bool verbose) { return World(seed, verbose).run(); }

}  // namespace fairwater::cluster_sim
