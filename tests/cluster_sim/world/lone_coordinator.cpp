#include "tests/cluster_sim/world/lone_coordinator.hpp"

#include <utility>

#include "policy/core/check.hpp"
#include "storage/backup.hpp"
#include "storage/files.hpp"

namespace fairwater::cluster_sim {

LoneCoordinator::LoneCoordinator(Stage& stage, Checker& checker, const CoordinatorTerms& terms)
    : Coordinator(stage, checker, terms, "coordinator", 0, 0) {}

LoneCoordinator::~LoneCoordinator() { kill(true); }

Expected<std::shared_ptr<Ledger>> LoneCoordinator::open_ledger() {
  auto opened = Ledger::open(ledger_options());
  if (!opened) return opened.error();
  std::shared_ptr<Ledger> ledger = std::move(*opened);
  if (ledger->last_number() == 0)
    if (caf::error failed = found_cluster(*ledger)) return failed;
  return ledger;
}

void LoneCoordinator::try_without_end() {
  const std::vector<std::string> directories{kLedgerDirectory,
                                             std::string(kLedgerDirectory) + "/db"};
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

void LoneCoordinator::back_up() {
  if (!is_running() || disk().full || disk().has_failed()) return;
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

void LoneCoordinator::lose_ledger() {
  if (!backup_) return;
  kill(true);
  stage_.log.line("the ledger is lost");
  is_lost_ = true;
  lost_at_us_ = stage_.time.now_us();
}

bool LoneCoordinator::restore() {
  // Lives of a ledger are told apart by seconds (actors/coordinator/ledger_trust.hpp).
  if (disk().full || stage_.time.now_us() < lost_at_us_ + kSecond) return false;
  FAIRWATER_CHECK(remove_tree(&disk(), kLedgerDirectory).ok(), "files can be removed");
  RestoreOptions options;
  options.backup = backup_->directory;
  options.directory = kLedgerDirectory;
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

bool LoneCoordinator::failed_to_start(const caf::error& error) {
  stage_.log.line("the coordinator does not start: {}", details(error).message);
  if (details(error).code != ErrorCode::disk_full && !disk().has_failed())
    stage_.broken("the coordinator does not start: {}", details(error).message);
  process_.reset();
  ledger_.reset();
  if (disk().has_failed()) disk().recover(stage_.chance.percent(30));
  return false;
}

bool LoneCoordinator::start() {
  if (is_running()) return true;
  if (is_lost_ && !restore()) return false;
  if (std::exchange(loses_end, false)) try_without_end();
  stage_.log.line("start the coordinator");
  auto opened = open_ledger();
  if (!opened) return failed_to_start(opened.error());
  ledger_ = std::move(*opened);
  checker_.reopened(*ledger_);
  checker_.audit(*ledger_);
  if (caf::error failed = change_accounting()) return failed_to_start(failed);
  process_ = std::make_unique<ActorProcess>(stage_.time, clock_);
  is_restored_ = is_restored_ && !checker_.has_granted_since_taken_back();
  ClusterSettings set = settings();
  set.copied = set.restored = is_restored_;
  const caf::error failed = begin_cluster(std::move(set), [this](const caf::error& error) {
    stage_.log.line("the coordinator cannot go on: {}", details(error).message);
    ended_by_disk_ = disk().has_failed();
    if (!ended_by_disk_) stage_.broken("the coordinator cannot go on: {}", details(error).message);
    kill_soon();
  });
  if (failed) return failed_to_start(failed);
  started_at_us_ = stage_.time.now_us();
  newest_term_ = {ledger_->end().incarnation, ledger_->epoch()};
  return true;
}

void LoneCoordinator::kill(bool keeps_unsynced) {
  if (!is_running()) return;
  stage_.log.line("kill the coordinator");
  checker_.follow(*ledger_);
  dies_after_messages = 0;
  paused_until_us = 0;
  ended_by_disk_ = ended_by_disk_ || disk().has_failed();
  disk().cut_off();
  end_cluster();
  FAIRWATER_CHECK(ledger_.use_count() == 1, "nobody uses the ledger of a dead process");
  ledger_.reset();
  disk().recover(keeps_unsynced);
}

void LoneCoordinator::run_one() {
  take_message();
  count_message();
}

}  // namespace fairwater::cluster_sim
