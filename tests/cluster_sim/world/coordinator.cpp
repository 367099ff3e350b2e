#include "tests/cluster_sim/world/coordinator.hpp"

#include <utility>

#include "policy/core/check.hpp"
#include "storage/backup.hpp"
#include "storage/files.hpp"
#include "tests/cluster_sim/world/connection.hpp"

namespace fairwater::cluster_sim {
namespace {

constexpr const char* kDirectory = "/ledger";

}  // namespace

Hash join_hash() {
  Hash hash{};
  hash.fill(7);
  return hash;
}

Coordinator::Coordinator(Stage& stage, Checker& checker) : stage_(stage), checker_(checker) {
  const std::size_t coordinators = stage_.chance.percent(40) ? 3 : 1;
  for (std::size_t i = 0; i < coordinators; ++i)
    disks_.push_back(std::make_unique<Disk>(stage_.chance));
  has_ledger_.resize(coordinators);
  if (coordinators > 1) journal_ = std::make_unique<AgreedJournal>(stage_);
  if (stage_.chance.percent(75)) {
    history_.checkpoint_every = static_cast<std::uint64_t>(stage_.chance.between(1, 150));
    history_.keep_jobs_ms = stage_.chance.between(0, 300'000);
  }
  if (stage_.chance.percent(30)) debts_.cap_part_ms = stage_.chance.between(1'000, 120'000);
  if (stage_.chance.percent(30)) debts_.half_life_ms = stage_.chance.between(1'000, 600'000);
}

Coordinator::~Coordinator() {
  if (is_up()) kill(true);
}

Expected<std::shared_ptr<Ledger>> Coordinator::open_ledger() {
  LedgerOptions options;
  options.directory = kDirectory;
  options.create = true;
  options.env = &disk();
  options.min_free_bytes = 1 << 16;
  options.clock = [this] { return stage_.time.wall_time(); };
  options.store = journal_.get();
  auto opened = Ledger::open(options);
  if (!opened) return opened.error();
  std::shared_ptr<Ledger> ledger = std::move(*opened);
  if (journal_)
    if (caf::error error = take_over(*ledger)) return error;
  if (ledger->last_number() > 0) return ledger;
  const auto accounting = stage_.chance.percent(50) ? Accounting::time : Accounting::units;
  auto created = ledger->append(
      {ClusterCreated{"simulated", ResourceCatalog{}.kinds(), DealMode::sized, accounting},
       TokenIssued{Role::join, {}, join_hash()}});
  if (!created) return created.error();
  return ledger;
}

void Coordinator::fill_disks(bool full) {
  for (const auto& each : disks_) each->full = full;
}

void Coordinator::mend_disks() {
  fill_disks(false);
  for (const auto& each : disks_) each->fail_after(0);
}

caf::error Coordinator::take_over(Ledger& ledger) const {
  while (const auto* records = journal_->from(ledger.last_number() + 1))
    if (caf::error error = ledger.follow(*records)) return error;
  if (ledger.head() != journal_->head())
    stage_.broken(
        "a coordinator's ledger ends at record {} with another hash than record {} of all",
        ledger.last_number(), journal_->head().number);
  return {};
}

void Coordinator::try_without_end() {
  const std::vector<std::string> directories{kDirectory, std::string(kDirectory) + "/db"};
  const auto files = disk().contents(directories);
  if (disk().cut_newest_log(directories.back())) {
    const auto opened = open_ledger();
    stage_.log.line("a log without its end is {}", opened ? "taken" : "refused");
    // What a failing disk keeps out of the mark is durable all the same; nothing goes on top of it.
    if (opened && !ended_by_disk_ && (*opened)->last_number() < checker_.records())
      stage_.broken("a ledger that ends at record {} is taken for whole, and {} was durable",
                    (*opened)->last_number(), checker_.records());
  }
  disk().restore(directories, files);
}

void Coordinator::back_up() {
  if (!is_up() || disk().full || disk().has_failed()) return;
  checker_.follow(*ledger_);
  const std::string directory = "/backup" + std::to_string(++backups_);
  const auto made = ledger_->backup(directory);
  stage_.log.line("backup: {}", made ? "made" : details(made.error()).message);
  if (!made && disk().has_failed()) return;
  if (!made) return stage_.broken("no backup is made: {}", details(made.error()).message);
  if (made->manifest.end.number != checker_.records())
    stage_.broken("a backup ends at record {}, and {} was durable", made->manifest.end.number,
                  checker_.records());
  if (backup_)
    FAIRWATER_CHECK(remove_tree(&disk(), backup_->directory).ok(), "files can be removed");
  backup_.emplace(Backup{directory, checker_});
}

void Coordinator::lose_ledger() {
  if (!backup_) return;
  kill(true);
  stage_.log.line("the ledger is lost");
  if (journal_)
    replace_disk();
  else
    is_lost_ = true;
  lost_at_us_ = stage_.time.now_us();
}

bool Coordinator::restore() {
  // Lives of a ledger are told apart by seconds (actors/coordinator/ledger_trust.hpp).
  if (disk().full || stage_.time.now_us() < lost_at_us_ + kSecond) return false;
  FAIRWATER_CHECK(remove_tree(&disk(), kDirectory).ok(), "files can be removed");
  RestoreOptions options;
  options.backup = backup_->directory;
  options.directory = kDirectory;
  options.env = &disk();
  options.clock = [this] { return stage_.time.wall_time(); };
  options.beginning = [this](const BackupManifest& manifest) {
    return restoring(manifest.end, manifest.recorded, stage_.time.wall_time(), "the disk burnt");
  };
  const auto restored = restore_backup(options);
  if (!restored) {
    if (!disk().has_failed())
      stage_.broken("a backup is not restored: {}", details(restored.error()).message);
    disk().recover(true);
    return false;
  }
  stage_.log.line("restored, as it was at record {}", restored->end.number);
  checker_.take_back(backup_->known);
  is_lost_ = false;
  is_restored_ = true;
  return true;
}

bool Coordinator::failed_to_start(const caf::error& error) {
  stage_.log.line("the coordinator does not start: {}", details(error).message);
  const bool gave_up = journal_ && journal_->gave_up();
  if (details(error).code != ErrorCode::disk_full && !disk().has_failed() && !gave_up)
    stage_.broken("the coordinator does not start: {}", details(error).message);
  process_.reset();
  ledger_.reset();
  if (disk().has_failed()) disk().recover(stage_.chance.percent(30));
  // One whose making was broken off, an operator makes anew.
  if (journal_ && !has_ledger_[leads_]) replace_disk();
  return false;
}

void Coordinator::replace_disk() {
  disks_[leads_] = std::make_unique<Disk>(stage_.chance);
  has_ledger_[leads_] = false;
}

bool Coordinator::start() {
  if (is_up()) return true;
  if (is_lost_ && !restore()) return false;
  if (journal_) {
    journal_->another_life();
    leads_ = stage_.chance.below(disks_.size());
    loses_end = false;  // one that follows may be behind
  }
  if (std::exchange(loses_end, false)) try_without_end();
  stage_.log.line("start the coordinator {}", leads_);
  auto opened = open_ledger();
  if (!opened) return failed_to_start(opened.error());
  ledger_ = std::move(*opened);
  has_ledger_[leads_] = true;
  checker_.reopened(*ledger_);
  checker_.audit(*ledger_);
  const bool counts_units = ledger_->cluster().accounting == Accounting::units;
  if (may_change_accounting && counts_units && stage_.chance.percent(5)) {
    const Units unit_ms = stage_.chance.percent(50) ? stage_.chance.between(1, 600'000) : 0;
    const auto changed = ledger_->append({AccountingChanged{unit_ms}});
    if (!changed) return failed_to_start(changed.error());
  }
  process_ = std::make_unique<ActorProcess>(stage_.time, DriftingClock{});
  ClusterSettings settings;
  settings.lease_ms = kLease_ms;
  settings.grace_ms = kGrace_ms;
  settings.heartbeat_interval_ms = kHeartbeat_ms;
  settings.window_tasks = 16;  // small ones, so that windows are refilled
  settings.window_ranges = 4;
  settings.ledger_threads = false;
  settings.debts = debts_;
  settings.history = history_;
  is_restored_ = is_restored_ && !checker_.has_granted_since_taken_back();
  settings.copied = settings.restored = is_restored_;
  settings.wall_clock = [this] { return stage_.time.wall_time(); };
  auto started = start_cluster(
      process_->system(), ledger_, std::move(settings), [this](const caf::error& error) {
        stage_.log.line("the coordinator cannot go on: {}", details(error).message);
        ended_by_disk_ = disk().has_failed();
        if (!ended_by_disk_ && !(journal_ && journal_->gave_up()))
          stage_.broken("the coordinator cannot go on: {}", details(error).message);
        kill_soon();
      });
  if (!started) return failed_to_start(started.error());
  cluster_ = std::move(*started);
  started_at_us_ = stage_.time.now_us();
  newest_term_ = {ledger_->end().incarnation, ledger_->epoch()};
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
  return true;
}

void Coordinator::kill(bool keeps_unsynced) {
  if (!is_up()) return;
  stage_.log.line("kill the coordinator");
  checker_.follow(*ledger_);
  dies_after_messages = 0;
  ended_by_disk_ = ended_by_disk_ || disk().has_failed();
  if (const std::string alarm = cluster_->context->alarm->text(); !alarm.empty() && !ended_by_disk_)
    stage_.broken("alarm: {}", alarm);
  disk().cut_off();
  cluster_.reset();
  process_.reset();
  FAIRWATER_CHECK(ledger_.use_count() == 1, "nobody uses the ledger of a dead process");
  ledger_.reset();
  disk().recover(keeps_unsynced);
  for (const auto& weak : std::exchange(connections_, {}))
    if (const auto connection = weak.lock()) connection->coordinator_died();
}

void Coordinator::kill_soon() {
  stage_.time.in(0, [this] { kill(stage_.chance.percent(30)); });
}

void Coordinator::describe_tenants(std::function<void(Expected<TenantViews>)> answer) {
  process_->ask<TenantViews>(cluster_->coordinator, DescribeTenants{}, std::move(answer));
}

void Coordinator::check_reply(const std::string& node, const ReportReply& reply) {
  checker_.follow(*ledger_);
  for (const auto& task : reply.acknowledged) checker_.acknowledged(node, task);
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
  return is_up() && stage_.time.now_us() >= process_->paused_until_us &&
         process_->has_work(held_back());
}

std::int64_t Coordinator::next_work_us() const {
  return std::max(process_->paused_until_us, synced_at_us_);
}

void Coordinator::run_one() {
  const auto before = ledger_->last_number();
  const auto* ran = process_->run_one(stage_.chance, held_back());
  if (ran == nullptr) return;
  if (ledger_->last_number() != before) {
    synced_at_us_ = stage_.time.now_us() + stage_.chance.spread(200, max_sync_us);
    checker_.follow(*ledger_);
  }
  if (dies_after_messages > 0 && --dies_after_messages == 0) kill(stage_.chance.percent(50));
}

}  // namespace fairwater::cluster_sim
