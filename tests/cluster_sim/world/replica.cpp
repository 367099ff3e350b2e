#include "tests/cluster_sim/world/replica.hpp"

#include <utility>

#include "daemon/replication/leader_silence.hpp"
#include "policy/core/check.hpp"
#include "storage/backup.hpp"
#include "storage/files.hpp"

namespace fairwater::cluster_sim {
namespace {

// A virtual minute has as many looks as real seconds would have: they cost most of a run.
constexpr std::int64_t kBeat_ms = 400;
constexpr std::int64_t kTry_ms = 400;
constexpr std::int64_t kLook_us = 400 * kMs;
constexpr std::int64_t kHistoryPause_us = 10 * kSecond;
constexpr std::int64_t kFullTooLong_us = kSecond;
/// A leader's clock may be slow by so much.
constexpr std::int64_t kSlowClock_us = 20 * kMs;

}  // namespace

Replica::Replica(Stage& stage, Checker& checker, const CoordinatorTerms& terms, EtcdCluster& etcd,
                 const ReplicaConfig& config, std::string name, std::int64_t clock_gain_ppm,
                 std::int64_t date_ahead_us)
    : Coordinator(stage, checker, terms, std::move(name), clock_gain_ppm, date_ahead_us),
      etcd_(etcd),
      config_(config),
      line_(stage, etcd) {}

Replica::~Replica() { kill(true); }

Replica::Clock::time_point Replica::now() const {
  constexpr std::chrono::hours kUpBefore{1};
  return Clock::time_point(kUpBefore +
                           std::chrono::microseconds(clock_.local_us(stage_.time.now_us())));
}

// -- the process ----------------------------------------------------------------------------------

void Replica::found() {
  auto opened = Ledger::open(ledger_options());
  FAIRWATER_CHECK(opened && !found_cluster(**opened), "a new disk takes a ledger");
  EtcdJournalOptions options;
  options.prefix = kEtcdPrefix;
  EtcdJournal journal(line_, options);
  FAIRWATER_CHECK(!journal.found((*opened)->head()), "an empty etcd takes a journal");
  checker_.follow(**opened);
  has_ledger_ = true;
}

void Replica::upgrade_at(std::int64_t us) {
  upgraded_at_us_ = us;
  checker_.known_format = kFirstFormat;
  // The others have heard of it, as in any cluster that is upgraded.
  EtcdJournalOptions options;
  options.prefix = kEtcdPrefix;
  options.name = name_;
  options.address = name_;
  options.format = kFirstFormat;
  options.wall_clock = [this] { return wall_time(); };
  FAIRWATER_CHECK(EtcdJournal(line_, options).look(1).engaged(), "etcd takes a member's word");
  stage_.time.at(us, [this] {
    stage_.log.line("{} is upgraded", name_);
    kill(true);
  });
}

bool Replica::copy_to(Disk& other, const std::string& directory) {
  if (!is_running() || disk().full || disk().has_failed() || !ledger_->backup(directory))
    return false;
  std::vector<std::string> directories{directory, directory + "/db"};
  bool has_history = false;
  (void)disk().IsDirectory(directory + "/history", &has_history);
  if (has_history) directories.push_back(directory + "/history");
  for (const auto& [path, content] : disk().contents(directories))
    FAIRWATER_CHECK(rocksdb::WriteStringToFile(&other, content, path).ok(), "a file is copied");
  FAIRWATER_CHECK(remove_tree(&disk(), directory).ok(), "files can be removed");
  return true;
}

bool Replica::make_copy() {
  if (disk().full) return false;
  const std::string directory = "/copy-of-" + name_ + std::to_string(++copies_);
  disk_ = std::make_unique<Disk>(stage_.chance);
  if (!join(disk(), directory)) return false;
  RestoreOptions options;
  options.backup = directory;
  options.directory = kLedgerDirectory;
  options.env = &disk();
  options.clock = [this] { return wall_time(); };
  const auto copied = restore_backup(options);
  if (!copied) stage_.broken("{} does not take a copy: {}", name_, details(copied.error()).message);
  has_ledger_ = copied.engaged();
  return has_ledger_;
}

bool Replica::open() {
  LedgerOptions options = ledger_options();
  options.create = false;
  options.store = journal_.get();
  auto opened = Ledger::open(options);
  if (opened) {
    ledger_ = std::move(*opened);
    return true;
  }
  stage_.log.line("{} does not start: {}", name_, details(opened.error()).message);
  if (details(opened.error()).code != ErrorCode::disk_full && !disk().has_failed())
    stage_.broken("{} does not start: {}", name_, details(opened.error()).message);
  if (disk().has_failed()) disk().recover(stage_.chance.percent(30));
  return false;
}

bool Replica::start() {
  if (is_running()) return true;
  if (!has_ledger_ && !make_copy()) return false;
  stage_.log.line("start {}", name_);
  EtcdJournalOptions options;
  options.prefix = kEtcdPrefix;
  options.name = name_;
  options.address = name_;
  options.replicas = config_.members.size();
  if (stage_.time.now_us() < upgraded_at_us_)
    options.format = kFirstFormat;
  else if (upgraded_at_us_ > 0)
    checker_.known_format = kNewestFormat;
  options.beat_ms = kBeat_ms;
  options.try_ms = kTry_ms;
  options.keep_ms = terms_.history.jobs.keep_jobs_ms;
  options.now = [this] { return now(); };
  options.wall_clock = [this] { return wall_time(); };
  options.pause = [this](std::int64_t ms) { threads_->wait(ms * kMs); };
  journal_ = std::make_unique<EtcdJournal>(line_, options);
  if (!open()) return false;
  if (stage_.chance.percent(30)) checker_.verify(*ledger_);
  check_ledger();
  threads_ = std::make_unique<Threads>(stage_, paused_until_us);
  line_.threads = threads_.get();
  cut_history_at_us_ = stage_.time.now_us() + kHistoryPause_us;
  threads_->run([this] { run(); });
  return true;
}

void Replica::kill(bool keeps_unsynced) {
  if (!is_running()) return;
  stage_.log.line("kill {}", name_);
  check_ledger();
  dies_after_messages = 0;
  paused_until_us = 0;
  ended_by_disk_ = ended_by_disk_ || disk().has_failed();
  disk().cut_off();
  journal_->give_up();
  threads_->end();
  end_cluster();
  line_.threads = nullptr;
  FAIRWATER_CHECK(ledger_.use_count() == 1, "nobody uses the ledger of a dead process");
  ledger_.reset();
  threads_.reset();
  journal_.reset();
  disk().recover(keeps_unsynced);
}

void Replica::lose_disk() {
  kill(true);
  stage_.log.line("the disk of {} burns", name_);
  has_lost_disk_ = true;
  has_ledger_ = false;
}

void Replica::run_one() {
  threads_->run([this] { take_message(); });
  if (leads()) check_ledger();
  count_message();
}

// -- its threads ----------------------------------------------------------------------------------

void Replica::run() {
  while (follow() && lead()) {
  }
  if (!threads_->are_ending()) kill_soon();
}

bool Replica::ended(const caf::error& error) {
  if (threads_->are_ending()) return false;
  const ErrorDetails why = details(error);
  stage_.log.line("{} ends: {}", name_, why.message);
  if (why.code == ErrorCode::storage_behind)
    has_ledger_ = false;
  else if (!may_fail())
    stage_.broken("{} ends: {}", name_, why.message);
  return false;
}

bool Replica::follow() {
  LeaderSilence silence(config_, name_, kTry_ms + kBeat_ms);
  while (!threads_->are_ending()) {
    const std::uint64_t held = ledger_->last_number();
    const auto view = journal_->look(held + 1);
    bool behind = false;
    if (threads_->are_ending()) return false;
    if (!view) {
      if (details(view.error()).code != ErrorCode::unavailable) return ended(view.error());
      silence.lost_sight();
    } else {
      const auto taken = take_in(*ledger_, *view, {name_, kEtcdPrefix});
      if (!taken) return ended(taken.error());
      behind = taken->behind;
      saw_leader_ = view->leader.name;
      journal_->set_disk_full(disk().full);
      check_ledger();
      const bool can_lead = may_lead(*journal_, name_, taken->disk_full || disk().full,
                                     ledger_->last_number() == view->head->number);
      if (!behind && silence.is_over(*view, now()) && can_lead) return true;
    }
    if (stage_.time.now_us() >= cut_history_at_us_) {
      cut_history_at_us_ = stage_.time.now_us() + kHistoryPause_us;
      const auto cut = ledger_->cut_history(terms_.history);
      if (!cut && details(cut.error()).code == ErrorCode::storage_damaged && !may_fail())
        stage_.broken("{} does not cut history: {}", name_, details(cut.error()).message);
    }
    const bool has_written = ledger_->last_number() > held;
    threads_->wait((behind ? 0 : kLook_us) +
                   (has_written ? stage_.chance.spread(200, max_sync_us) : 0));
  }
  return false;
}

bool Replica::lead() {
  journal_->resume();
  is_overtaken_ = hands_over_ = stops_beating_ = is_ending_ = false;
  stage_.log.line("{} takes over", name_);
  process_ = std::make_unique<ActorProcess>(stage_.time, clock_);
  const auto leadership =
      std::make_shared<Leading>(*journal_, name_, [this] { hands_over_ = true; });
  ClusterSettings set = settings();
  set.leadership = leadership;
  caf::error failed = change_accounting();
  if (!failed)
    failed = begin_cluster(std::move(set), [this](const caf::error& error) {
      if (is_ending_ || threads_->are_ending()) return;
      stage_.log.line("{} cannot go on: {}", name_, details(error).message);
      is_overtaken_ = details(error).code == ErrorCode::not_leader;
      if (is_overtaken_) return;
      ended_by_disk_ = disk().has_failed();
      if (!ended_by_disk_) stage_.broken("{} cannot go on: {}", name_, details(error).message);
      kill_soon();
    });
  if (threads_->are_ending()) return false;
  if (failed) {
    process_.reset();
    const ErrorCode code = details(failed).code;
    stage_.log.line("{} does not lead: {}", name_, details(failed).message);
    return code == ErrorCode::not_leader || code == ErrorCode::disk_full || ended(failed);
  }
  journal_->lead(epoch());
  threads_->run([this] { beat(); });
  wait_while_leading(*leadership);
  stage_.log.line("{} leads no more", name_);
  stops_beating_ = true;
  if (hands_over_) journal_->leave();
  is_ending_ = true;
  journal_->give_up();
  wait_for_others();
  if (threads_->are_ending()) return false;
  end_cluster();
  return true;
}

void Replica::wait_while_leading(const Leadership& leadership) {
  std::int64_t had_room_us = stage_.time.now_us();
  while (!is_overtaken_ && !hands_over_ && !threads_->are_ending()) {
    threads_->wait(kLook_us);
    journal_->set_disk_full(disk().full);
    if (!disk().full) had_room_us = stage_.time.now_us();
    if (stage_.time.now_us() - had_room_us > kFullTooLong_us) (void)leadership.hand_over();
  }
}

void Replica::beat() {
  while (!stops_beating_ && !threads_->are_ending()) {
    if (journal_->beat()) is_overtaken_ = true;
    if (is_overtaken_) return;
    threads_->wait(kBeat_ms * kMs);
  }
}

/// The one that beats, and the ledger's.
void Replica::wait_for_others() {
  while (threads_->count() > 1 && !threads_->are_ending()) threads_->wait(20 * kMs);
}

// -- checks ---------------------------------------------------------------------------------------

void Replica::check_ledger() {
  const JournalHead agreed = etcd_.head();
  if (ledger_->last_number() > agreed.number)
    stage_.broken("{} has record {}, and the newest that is agreed is {}", name_,
                  ledger_->last_number(), agreed.number);
  // Words of a disk that has burnt may be late.
  for (const ReplicaHolds& holds : journal_->replicas())
    if (holds.name == name_ && holds.number > ledger_->last_number() && !has_lost_disk_)
      stage_.broken("{} says that it holds record {}, and has {}", name_, holds.number,
                    ledger_->last_number());
  checker_.follow(*ledger_);
  checker_.compare(*ledger_);
}

void Replica::check_lease(std::int64_t sent_at_us) {
  const auto deposed_us = etcd_.deposed_at_us(epoch());
  if (deposed_us && sent_at_us > *deposed_us + kConfirmedMs * kMs + kSlowClock_us)
    stage_.broken("{} of epoch {} extends a lease from {} ms after another began to lead", name_,
                  epoch(), (sent_at_us - *deposed_us) / kMs);
}

}  // namespace fairwater::cluster_sim
