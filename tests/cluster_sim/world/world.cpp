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
      : stage_(seed, verbose), checker_(stage_), coordinator_(stage_, checker_) {
    const auto machines = 1 + stage_.chance.below(4);
    for (std::uint64_t i = 1; i <= machines; ++i)
      agents_.push_back(std::make_unique<Agent>(stage_, checker_, coordinator_,
                                                "node" + std::to_string(i),
                                                1'000 * stage_.chance.between(2, 8)));
    clients_.emplace(stage_, coordinator_, agents_);
    faults_.emplace(stage_, coordinator_, agents_);
  }

  /// What the coordinator's end tells its agents, they hear.
  ~World() {
    if (coordinator_.is_up()) coordinator_.kill(true);
  }
  RunResult run();

 private:
  void watch_coordinator();
  void look_for_services();
  void look_for_the_end();
  void finish();
  void restart_and_compare();
  void run_until(std::int64_t end_us);
  bool run_some_actor();
  void catch_up();
  void move_to_next_event(std::int64_t end_us);

  Stage stage_;
  Checker checker_;
  Coordinator coordinator_;
  Agents agents_;
  std::optional<Clients> clients_;
  std::optional<Faults> faults_;
  bool is_done_ = false;
};

/// Somebody starts it again, sooner or later.
void World::watch_coordinator() {
  if (!coordinator_.is_up() && !stage_.violation) (void)coordinator_.start();
  const auto pause_us = stage_.chance.percent(10) ? stage_.chance.spread(kSecond, 40 * kSecond)
                                                  : stage_.chance.spread(100 * kMs, 3 * kSecond);
  if (!is_done_) stage_.time.in(pause_us, [this] { watch_coordinator(); });
}

RunResult World::run() {
  watch_coordinator();
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
  result.end_us = stage_.time.now_us();
  return result;
}

// -- the end --------------------------------------------------------------------------------------

/// Every service runs, once nothing goes wrong any more; then they are cancelled.
void World::look_for_services() {
  if (coordinator_.is_up() && checker_.services_not_seen() == 0) {
    clients_->cancel_services();
    look_for_the_end();
  } else {
    stage_.time.in(kLookInterval_us, [this] { look_for_services(); });
  }
}

void World::look_for_the_end() {
  if (coordinator_.is_up() && checker_.running() == 0 && coordinator_.ledger().live_jobs().empty())
    is_done_ = true;
  else
    stage_.time.in(kLookInterval_us, [this] { look_for_the_end(); });
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
    if (coordinator_.is_up()) {  // so that the log says which
      for (const JobId id : coordinator_.ledger().live_jobs()) {
        const JobSpec spec = coordinator_.ledger().job(id)->spec;
        std::string asks;
        for (const auto& [resource, amount] : spec.resources)
          asks += fmt::format(" {} {}", resource, amount);
        for (const std::string& device : spec.devices) asks += " " + device;
        stage_.log.line("job {} of {} asks for{}", id.value, spec.tenant, asks);
      }
      for (const NodeRecord& node : coordinator_.ledger().nodes())
        stage_.log.line("node {} has {} cpu, drains: {}, lost: {}, tells names: {}", node.id.value,
                        node.spec.capacity.at("cpu"), node.draining, node.lost,
                        !node.spec.traits.devices.empty());
    }
    const auto jobs = coordinator_.is_up() ? coordinator_.ledger().live_jobs().size() : 0;
    return stage_.broken(
        "{} jobs and {} tasks do not come to an end, {} tasks of services do not run, the "
        "coordinator is {}",
        jobs, checker_.running(), checker_.services_not_seen(),
        coordinator_.is_up() ? "up" : "down");
  }
  checker_.follow(coordinator_.ledger());
  checker_.audit(coordinator_.ledger());
  is_done_ = false;
  restart_and_compare();
}

/// What the coordinator knows after a restart, from the ledger, is what it knew before by itself.
void World::restart_and_compare() {
  const auto list = [this] {
    std::optional<TenantViews> found;
    coordinator_.describe_tenants([&](Expected<TenantViews> answer) {
      if (answer) found = std::move(*answer);
    });
    run_until(stage_.time.now_us() + kSecond);
    return found;
  };
  run_until(stage_.time.now_us() + 2 * kSecond);  // the last second's time goes into the book
  const auto before = list();
  coordinator_.may_change_accounting = false;
  coordinator_.kill(true);
  if (!coordinator_.start()) return stage_.broken("the coordinator does not start at the end");
  const auto after = list();
  if (!before || !after || before->tenants.size() != after->tenants.size())
    return stage_.broken("tenants are not the same after a restart at the end");
  for (std::size_t i = 0; i < before->tenants.size(); ++i) {
    const auto& one = before->tenants[i];
    const auto& other = after->tenants[i];
    // Debts that fade go on fading.
    const bool has_faded = coordinator_.debts_fade() && std::abs(other.net) <= std::abs(one.net) &&
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
  std::vector<ActorProcess*> awake;
  const bool coordinator_works = coordinator_.has_work();
  for (const auto& agent : agents_)
    if (agent->is_up() && agent->process().paused_until_us <= stage_.time.now_us() &&
        agent->process().has_work())
      awake.push_back(&agent->process());
  const auto count = awake.size() + (coordinator_works ? 1 : 0);
  if (count == 0) return false;
  const auto chosen = stage_.chance.below(count);
  if (chosen < awake.size())
    awake[chosen]->run_one(stage_.chance, nullptr);
  else
    coordinator_.run_one();
  return true;
}

void World::move_to_next_event(std::int64_t end_us) {
  auto next_us = std::min(end_us, stage_.time.next_us().value_or(end_us));
  const auto consider = [&](ActorProcess& process, const caf::resumable* held_back,
                            std::int64_t work_us) {
    if (process.has_work(held_back)) next_us = std::min(next_us, work_us);
    if (const auto due = process.next_timeout_us())
      next_us = std::min(next_us, std::max(*due, process.paused_until_us));
  };
  if (coordinator_.is_up()) consider(coordinator_.process(), nullptr, coordinator_.next_work_us());
  for (const auto& agent : agents_)
    if (agent->is_up()) consider(agent->process(), nullptr, agent->process().paused_until_us);
  stage_.time.move_to(next_us);
  catch_up();
}

/// The clocks of processes that are awake, from when they were stopped to now.
void World::catch_up() {
  const auto catch_up = [&](ActorProcess& process) {
    if (process.paused_until_us <= stage_.time.now_us()) process.catch_up();
  };
  if (coordinator_.is_up()) catch_up(coordinator_.process());
  for (const auto& agent : agents_)
    if (agent->is_up()) catch_up(agent->process());
}

}  // namespace

RunResult run_seed(std::uint64_t seed, bool verbose) { return World(seed, verbose).run(); }

}  // namespace fairwater::cluster_sim
