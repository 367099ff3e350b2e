#include "tests/cluster_sim/world/coordinator.hpp"

#include <utility>

#include "policy/core/check.hpp"
#include "tests/cluster_sim/world/connection.hpp"

namespace fairwater::cluster_sim {

Hash join_hash() {
  Hash hash{};
  hash.fill(7);
  return hash;
}

DealingRules::DealingRules(Chance& chance)
    : allocation(chance.percent(20) ? AllocationRule::drf : AllocationRule::sequence),
      growth(static_cast<GrowthRule>(chance.percent(50) ? 0 : chance.below(4))),
      predict(chance.percent(30) ? Predict::history : Predict::limits),
      preempt_after_ms(chance.percent(50) ? 30'000 : chance.between(0, 20'000)),
      preempts_for_min(chance.percent(80)) {}

CoordinatorTerms::CoordinatorTerms(Chance& chance)
    : rules(chance), may_change_rules(chance.percent(30)) {
  if (chance.percent(75)) {
    history.checkpoint_every = static_cast<std::uint64_t>(chance.between(1, 150));
    const auto draw = [&](JobRetention& kept) {
      kept.keep_jobs_ms = chance.between(0, 300'000);
      if (chance.percent(30)) kept.most_jobs = static_cast<std::uint64_t>(chance.between(0, 20));
    };
    draw(history.jobs);
    for (const char* tenant : {"tenant0", "tenant1", "tenant2", "group0"})
      if (chance.percent(30)) draw(history.tenants[tenant]);
  }
  if (chance.percent(30)) debts.cap_part_ms = chance.between(1'000, 120'000);
  if (chance.percent(30)) debts.half_life_ms = chance.between(1'000, 600'000);
  if (chance.percent(50)) {
    accounting = Accounting::time;
  } else if (chance.percent(20)) {
    mode = DealMode::slots;  // of which time is not counted
    may_change_accounting = false;
  }
}

Coordinator::Coordinator(Stage& stage, Checker& checker, const CoordinatorTerms& terms,
                         std::string name, std::int64_t clock_gain_ppm, std::int64_t date_ahead_us)
    : stage_(stage),
      checker_(checker),
      terms_(terms),
      name_(std::move(name)),
      clock_(clock_gain_ppm),
      date_ahead_us_(date_ahead_us),
      disk_(std::make_unique<Disk>(stage.chance)) {}

Coordinator::~Coordinator() = default;

LedgerOptions Coordinator::ledger_options() {
  LedgerOptions options;
  options.directory = kLedgerDirectory;
  options.create = true;
  options.env = disk_.get();
  options.min_free_bytes = 4 << 20;
  options.clock = [this] { return wall_time(); };
  return options;
}

WallTime Coordinator::wall_time() const {
  return WallTime{stage_.time.wall_time().microseconds + date_ahead_us_};
}

caf::error Coordinator::found_cluster(Ledger& ledger) const {
  const auto created = ledger.append(
      {ClusterCreated{"simulated", simulated_resources().kinds(), terms_.mode, terms_.accounting},
       TokenIssued{Role::join, {}, join_hash()}});
  return created ? caf::error{} : created.error();
}

ClusterSettings Coordinator::settings() const {
  ClusterSettings settings;
  settings.lease_ms = kLease_ms;
  settings.longest_lease_ms = stage_.chance.percent(70)
                                  ? kLongestLease_ms
                                  : stage_.chance.between(kLease_ms, kLongestLease_ms);
  settings.grace_ms = kGrace_ms;
  settings.heartbeat_interval_ms = kHeartbeat_ms;
  settings.window_tasks = 16;  // small ones, so that windows are refilled
  settings.window_ranges = 4;
  settings.ledger_threads = false;
  const DealingRules rules = terms_.may_change_rules ? DealingRules(stage_.chance) : terms_.rules;
  settings.allocation = rules.allocation;
  settings.growth = rules.growth;
  settings.preempt_after_ms = rules.preempt_after_ms;
  settings.preempts_for_min = rules.preempts_for_min;
  // By dominant shares nobody lends, and no places in time are given.
  if (rules.allocation == AllocationRule::sequence) {
    settings.debts = terms_.debts;
    settings.predict = rules.predict;
  }
  if (stage_.chance.percent(50))
    settings.class_leases_ms["class"] = stage_.chance.between(kLease_ms, settings.longest_lease_ms);
  settings.history = terms_.history;
  if (stage_.chance.percent(30)) settings.history.tenants.clear();  // until the next start
  settings.wall_clock = [this] { return wall_time(); };
  return settings;
}

caf::error Coordinator::change_accounting() {
  const bool counts_units = ledger_->cluster().accounting == Accounting::units;
  if (!terms_.may_change_accounting || !counts_units || !stage_.chance.percent(5)) return {};
  const Units unit_ms = stage_.chance.percent(50) ? stage_.chance.between(1, 600'000) : 0;
  const auto changed = ledger_->append({AccountingChanged{unit_ms}});
  return changed ? caf::error{} : changed.error();
}

caf::error Coordinator::begin_cluster(ClusterSettings settings,
                                      std::function<void(const caf::error&)> on_fatal) {
  open_calls_ = 0;
  auto started =
      start_cluster(process_->system(), ledger_, std::move(settings), std::move(on_fatal));
  if (!started) return started.error();
  cluster_ = std::move(*started);
  ended_by_disk_ = false;
  writer_ = resumable_of(cluster_->context->ledger);
  synced_at_us_ = 0;
  const auto part = [this](const char* name) {
    return [this, name](const caf::error& reason) {
      stage_.broken("the {} ended: {}", name, details(reason).message);
    };
  };
  process_->own(cluster_->coordinator, part("coordinator"));
  process_->own(cluster_->frontend, part("frontend"));
  process_->own(cluster_->context->ledger, part("ledger"));
  process_->own(cluster_->context->reader, part("reader"));
  process_->own(cluster_->context->scanner, part("scanner"));
  process_->own(cluster_->context->historian, part("historian"));
  checker_.follow(*ledger_);
  return {};
}

void Coordinator::end_cluster() {
  if (cluster_) {
    const std::string alarm = cluster_->context->alarm->text();
    if (!alarm.empty() && !ended_by_disk_) stage_.broken("alarm: {}", alarm);
  }
  cluster_.reset();
  process_.reset();
  writer_ = nullptr;
  for (const auto& weak : std::exchange(connections_, {}))
    if (const auto connection = weak.lock()) connection->coordinator_died();
}

void Coordinator::kill_soon() {
  stage_.time.in(0, [this] { kill(stage_.chance.percent(30)); });
}

void Coordinator::describe_tenants(std::function<void(Expected<TenantViews>)> answer) {
  process_->ask<TenantViews>(cluster_->coordinator, DescribeTenants{}, std::move(answer));
}

void Coordinator::check_reply(const std::string& node, const ReportReply& reply,
                              std::int64_t sent_at_us) {
  checker_.follow(*ledger_);
  for (const auto& task : reply.acknowledged) checker_.acknowledged(node, task);
  if (reply.epoch != epoch())
    stage_.broken("{} answers as of epoch {}, and leads in epoch {}", name_, reply.epoch, epoch());
  if (reply.lease_ms > 0) check_lease(sent_at_us);
}

void Coordinator::remember(const std::shared_ptr<Connection>& connection) {
  std::erase_if(connections_, [](const auto& weak) { return weak.expired(); });
  connections_.push_back(connection);
}

// -- its work -------------------------------------------------------------------------------------

const caf::resumable* Coordinator::held_back() const {
  return stage_.time.now_us() < synced_at_us_ ? writer_ : nullptr;
}

bool Coordinator::has_work() const {
  return process_ && stage_.time.now_us() >= paused_until_us && process_->has_work(held_back());
}

std::int64_t Coordinator::next_work_us() const { return std::max(paused_until_us, synced_at_us_); }

std::optional<std::int64_t> Coordinator::next_timeout_us() const {
  const auto due = process_->next_timeout_us();
  return due ? std::optional(std::max(*due, paused_until_us)) : due;
}

void Coordinator::catch_up() {
  if (process_ && paused_until_us <= stage_.time.now_us()) process_->catch_up();
}

void Coordinator::take_message() {
  const auto before = ledger_->last_number();
  const auto* ran = process_->run_one(stage_.chance, held_back());
  if (ran != writer_ || ledger_->last_number() == before) return;
  synced_at_us_ = stage_.time.now_us() + stage_.chance.spread(200, max_sync_us);
  checker_.follow(*ledger_);
}

void Coordinator::count_message() {
  if (dies_after_messages > 0 && --dies_after_messages == 0) kill(stage_.chance.percent(50));
}

}  // namespace fairwater::cluster_sim
