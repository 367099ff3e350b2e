#include "daemon/replica.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <spdlog/spdlog.h>

#include "actors/coordinator/follower.hpp"
#include "cli/core/context.hpp"
#include "cli/core/version.hpp"
#include "daemon/history_keeper.hpp"
#include "daemon/replication/leader_silence.hpp"
#include "daemon/replication/replica_steps.hpp"
#include "daemon/restore.hpp"
#include "policy/core/check.hpp"
#include "process/directory_place.hpp"
#include "storage/backup.hpp"
#include "storage/directory.hpp"
#include "storage/etcd/etcd_journal.hpp"

namespace fairwater::inline daemon {
namespace {

using Clock = std::chrono::steady_clock;

/// Says in a data directory that its ledger is one of several.
constexpr const char* kReplicaFile = "replica";
constexpr int kLookMs = 100;
/// While etcd does not answer, or does again and the leader has not been heard yet.
constexpr int kBlindLookMs = 50;
constexpr int kLookAtDiskMs = 250;
/// Whoever lives says something new meanwhile: one that follows at each look, one that leads with
/// each beat.
constexpr int kWordsApartMs = 300;

std::string replica_file(const CoordinatorConfig& config) {
  return config.data + "/" + kReplicaFile;
}

caf::error mark_replica(const CoordinatorConfig& config) {
  rocksdb::Env* env = rocksdb::Env::Default();
  const auto written = write_durably(env, config.data, replica_file(config), config.member + "\n");
  return written.ok() ? caf::error{}
                      : storage_error(written, "cannot write " + replica_file(config));
}

/// Only a coordinator alone finds out whether a copy is the newest ledger, and ends what nodes
/// still run of the life that a restore gave up. Several take theirs for the newest.
caf::error refuse_untrusted_copy(const CoordinatorConfig& config) {
  if (std::filesystem::exists(replica_file(config))) return {};
  const auto place = place_of(config.data);
  if (!place) return place.error();
  if (*place == Place::same) return {};
  return make_error(ErrorCode::wrong_state,
                    config.data +
                        " was copied or restored, and no coordinator has found yet that it is the "
                        "newest ledger: start it alone, without --replicas, until fairwater status "
                        "says that it grants, and then with --found");
}

/// What another thread tells the one that waits for signals.
class Notice {
 public:
  Notice() : event_(::eventfd(0, EFD_CLOEXEC)) {
    FAIRWATER_CHECK(event_ >= 0, "a descriptor for notices");
  }
  ~Notice() { ::close(event_); }
  Notice(const Notice&) = delete;
  Notice& operator=(const Notice&) = delete;
  void give() {
    given_ = true;
    const std::uint64_t one = 1;
    FAIRWATER_CHECK(::write(event_, &one, sizeof one) == sizeof one, "an event can be posted");
  }
  [[nodiscard]] bool was_given() const { return given_; }
  [[nodiscard]] int descriptor() const { return event_; }

 private:
  int event_;
  std::atomic<bool> given_ = false;
};

/// Whether the ledger's disk has room to lead.
class DiskRoom {
 public:
  explicit DiskRoom(const std::string& directory)
      : space_(directory, rocksdb::Env::Default(), least_) {}
  /// One that was full has to have room for twice the least before it counts as empty: else it
  /// would lead, be full, let another lead, and so on.
  [[nodiscard]] bool is_full() {
    full_ = static_cast<bool>(space_.admit(full_ ? least_ : 0));
    return full_;
  }
  /// Whether a full one has room for what one who takes over begins with.
  [[nodiscard]] bool may_begin() const { return !space_.admit_beginning(0); }
  /// The ledger was refused something that needs more than the least.
  void set_full() { full_ = true; }

 private:
  const std::uint64_t least_ = LedgerOptions().min_free_bytes;
  SpaceGuard space_;
  bool full_ = false;
};

/// For so long nothing was acknowledged. A hand-over takes a fifth of that, so to wait for the disk
/// to empty by itself costs the others more.
constexpr std::chrono::seconds kFullTooLong{1};

/// When its newest record was the newest there was, as far as it tells.
Clock::time_point held_at(const Ledger& ledger) {
  const auto newest = ledger.record(ledger.last_number());
  if (!newest) return Clock::now();
  const auto age_us = wall_time_now().microseconds - newest->time.microseconds;
  return Clock::now() - std::chrono::microseconds(std::max<std::int64_t>(age_us, 0));
}

class Replica {
 public:
  Replica(const CoordinatorConfig& config, const StopSignal& stop, const DaemonLog& log)
      : config_(config),
        stop_(stop),
        log_(log),
        address_(config.replicas->members.at(config.member)),
        room_(config.data) {}

  caf::error open(const ReplicaStart& start) {
    auto etcd = connect_etcd({config_.replicas->etcd, config_.replicas->tls});
    if (!etcd) return etcd.error();
    etcd_ = std::move(*etcd);
    EtcdJournalOptions options;
    options.prefix = config_.replicas->prefix;
    options.name = config_.member;
    options.address = address_;
    options.version = std::string(kVersion);
    options.replicas = config_.replicas->members.size();
    options.quota_bytes = config_.replicas->etcd_quota_bytes;
    // A beat that was under way reaches a member that lives, or is repeated; and this one looks.
    heard_again_ms_ = options.try_ms + kBlindLookMs;
    journal_ = std::make_unique<EtcdJournal>(*etcd_, options);
    if (caf::error twin = refuse_twin()) return twin;
    if (!start.join.empty())
      if (caf::error failed = join(start.join)) return failed;
    if (start.found)
      if (caf::error failed = found(start.init)) return failed;
    auto opened = open_ledger(config_, false, journal_.get());
    if (!opened) return opened.error();
    opened_ = std::move(*opened);
    history_ = std::make_unique<HistoryKeeper>(opened_.ledger, config_.history, log_);
    return {};
  }

  /// Until it is told to stop.
  caf::error run() {
    for (;;) {
      bool stopped = false;
      if (caf::error failed = follow(stopped)) return failed;
      if (stopped) return {};
      if (caf::error failed = lead(stopped)) return failed;
      if (stopped) return {};
    }
  }

 private:
  /// Whether another process says what this one is about to. The last word of one that was killed
  /// may be on its way still, so one change is none. Without etcd it does not show, and does no
  /// harm: nobody leads then.
  caf::error refuse_twin() {
    auto word = journal_->own_word();
    for (int changes = 0; changes < 2; ++changes) {
      if (!word || !*word) return {};
      if (stop_.wait(-1, kWordsApartMs)) return told_to_stop();
      const auto next = journal_->own_word();
      if (next && *next == *word) return {};
      word = next;
    }
    if (!word) return {};
    return make_error(ErrorCode::wrong_state,
                      "another coordinator runs as '" + config_.member +
                          "' already: each has a name and a data directory of its own; stop the "
                          "other one first",
                      "member");
  }

  /// Copies the backup here. What could not follow is refused before.
  caf::error join(const std::string& backup) {
    const auto manifest = read_manifest(backup);
    if (!manifest) return of_join(manifest.error());
    auto view = look_until_answered(manifest->end.number + 1);
    if (!view) return view.error();
    if (caf::error refused = check_backup(manifest->end, *view, {backup, config_.replicas->prefix}))
      return of_join(refused);
    if (caf::error failed = copy_replica(config_, backup)) return failed;
    return mark_replica(config_);
  }

  static caf::error of_join(const caf::error& error) {
    const ErrorDetails said = details(error);
    return make_error(said.code, said.message, "join");
  }

  Expected<JournalView> look_until_answered(std::uint64_t next) {
    for (;;) {
      auto view = journal_->look(next);
      if (view || details(view.error()).code != ErrorCode::unavailable) return view;
      say_once(details(view.error()).message);
      if (stop_.wait(-1, kLookMs)) return told_to_stop();
    }
  }

  /// Begins the journal in etcd with this ledger.
  caf::error found(bool init) {
    // Before anything is made that would be of no use.
    const auto seen = look_until_answered(1);
    if (!seen) return seen.error();
    if (seen->head && init) return journal_->found({});
    JournalHead head;
    {
      const auto alone = open_ledger(config_, init, nullptr);
      if (!alone) return alone.error();
      head = alone->ledger->head();
    }
    if (caf::error refused = refuse_untrusted_copy(config_)) return refused;
    // First: from the journal's beginning on others may join, and go on.
    const bool was_marked = std::filesystem::exists(replica_file(config_));
    if (caf::error failed = mark_replica(config_)) return failed;
    for (;;) {
      const caf::error failed = journal_->found(head);
      if (!failed) return {};
      if (details(failed).code == ErrorCode::unavailable) {
        say_once(details(failed).message);
        if (stop_.wait(-1, kLookMs)) return told_to_stop();
        continue;
      }
      // An answer that was lost looks like this, too.
      const auto view = journal_->look(head.number + 1);
      if (view && view->head == head) return {};
      // Another's: this ledger is alone as before.
      std::error_code not_removed;
      if (!was_marked) std::filesystem::remove(replica_file(config_), not_removed);
      return failed;
    }
  }

  static caf::error told_to_stop() {
    return make_error(ErrorCode::unavailable, "told to stop before etcd answered");
  }

  caf::error follow(bool& stopped) {
    DaemonActorConfig actor_config;
    caf::actor_system system{actor_config};
    const auto limits = connection_limits(config_, descriptor_limit());
    if (!limits) return limits.error();
    const auto following = std::make_shared<Following>(held_at(*opened_.ledger));
    const Follower follower(system, opened_.ledger, following,
                            {config_.member, std::string(kVersion),
                             [this] { return replicas_of(*journal_, config_.member); }});
    auto server =
        Server::start(system, follower.frontend(), server_options(config_, *limits, opened_));
    if (!server) return server.error();
    if (!std::exchange(announced_, true)) announce((*server)->address(), *limits);
    log_.info("following");
    history_->follows(true);
    LeaderSilence silence(*config_.replicas, config_.member, heard_again_ms_);
    bool missed_leader = false;
    for (;;) {
      const auto asked_at = Clock::now();
      const std::uint64_t held = opened_.ledger->last_number();
      const auto view = journal_->look(held + 1);
      bool behind = false;
      if (!view) {
        if (details(view.error()).code != ErrorCode::unavailable) return view.error();
        silence.lost_sight();
        say_once(details(view.error()).message);
      } else {
        said_ = false;
        following->note_seen();
        const auto taken = take_in(*opened_.ledger, *view,
                                   {config_.data, config_.replicas->prefix, std::string(kVersion)});
        if (!taken) return taken.error();
        behind = taken->behind;
        if (taken->disk_full) room_.set_full();
        const bool may_be_gone = silence.may_wait_for_next(*view, Clock::now());
        // Whoever follows does not lead, though nobody has taken over from it.
        const bool is_own = view->leader.name == config_.member;
        following->set_leader(is_own ? "" : view->leader.name, is_own ? "" : view->leader.address,
                              may_be_gone);
        if (std::exchange(missed_leader, may_be_gone) && !may_be_gone) follower.heard_leader();
        const std::uint64_t holds = opened_.ledger->last_number();
        if (holds == view->head->number) following->set_held(asked_at, holds);
        if (holds > held) follower.grew(holds);
        const bool is_full = has_full_disk();
        const bool can_lead =
            may_lead(*journal_, config_.member, is_full, holds == view->head->number) &&
            (!is_full || room_.may_begin());
        if (!behind && silence.is_over(*view, Clock::now()) && can_lead) return {};
      }
      if (stop_.wait(-1, behind ? 0 : silence.is_blind() ? kBlindLookMs : kLookMs)) {
        stopped = true;
        return {};
      }
    }
  }

  caf::error lead(bool& stopped) {
    journal_->resume();
    // Used by actors until the system's end.
    Notice overtaken;
    std::atomic<bool> ending = false;
    std::atomic<bool> hands_over = false;
    DaemonActorConfig actor_config;
    caf::actor_system system{actor_config};
    Standing standing;
    standing.leadership = std::make_shared<Leading>(*journal_, config_.member, [&] {
      hands_over = true;
      overtaken.give();
    });
    const auto on_fatal = [&](const caf::error& error) {
      if (ending) return;  // what waited for the store was told to give up
      if (details(error).code == ErrorCode::not_leader) return overtaken.give();
      log_.error(details(error).message + "; stopping");
      std::_Exit(kExitFailed);
    };
    log_.info("taking over");
    history_->follows(false);
    auto process = CoordinatorProcess::start_on(system, config_, opened_, standing, on_fatal);
    if (!process) {
      const ErrorDetails why = details(process.error());
      if (why.code != ErrorCode::not_leader && why.code != ErrorCode::disk_full)
        return process.error();
      if (why.code == ErrorCode::disk_full) room_.set_full();
      log_.info(why.code == ErrorCode::disk_full ? why.message : "another coordinator was faster");
      return {};
    }
    journal_->lead(opened_.ledger->epoch(), [&overtaken] { overtaken.give(); });
    log_.info("leading since epoch " + std::to_string(opened_.ledger->epoch()));
    stopped = wait_while_leading(overtaken, *standing.leadership);
    log_.info(stopped      ? "stopping; another may lead"
              : hands_over ? "handing over"
                           : "another coordinator leads");
    if (stopped) stop_.arm_second_signal();
    journal_->stop_leading();
    if (stopped || hands_over) journal_->leave();
    ending = true;
    journal_->give_up();
    process->reset();
    return {};
  }

  /// Until it is told to stop (true), or another is to lead. Lets another lead itself when the disk
  /// stays full, if one could.
  bool wait_while_leading(const Notice& overtaken, const Leadership& leadership) {
    Clock::time_point had_room = Clock::now();
    bool refused = false;  // since then
    for (;;) {
      if (stop_.wait(overtaken.descriptor(), kLookAtDiskMs)) return true;
      if (overtaken.was_given()) return false;
      if (!has_full_disk()) {
        had_room = Clock::now();
        refused = false;
        continue;
      }
      if (Clock::now() - had_room < kFullTooLong) continue;
      const caf::error nobody = leadership.hand_over();
      if (nobody && !std::exchange(refused, true)) log_.warn(details(nobody).message);
    }
  }

  /// Says so to the others, and in the log.
  bool has_full_disk() {
    const bool full = room_.is_full();
    journal_->set_disk_full(full);
    if (full != std::exchange(disk_was_full_, full))
      log_.warn("the disk of " + config_.data +
                (full ? " is full: another coordinator is to lead" : " has room again"));
    return full;
  }

  void announce(const std::string& address, const ConnectionLimits& limits) const {
    std::cout << "listening on " << address << std::endl;
    log_.info("coordinator " + std::string(kVersion) + " " + config_.member + " on " + address +
              ", data in " + config_.data + ", " + text_of(limits));
  }
  void say_once(const std::string& what) {
    if (!std::exchange(said_, true)) log_.warn(what);
  }

  const CoordinatorConfig& config_;
  const StopSignal& stop_;
  const DaemonLog& log_;
  const std::string address_;
  DiskRoom room_;
  std::unique_ptr<Etcd> etcd_;
  std::unique_ptr<EtcdJournal> journal_;
  OpenedLedger opened_;
  std::unique_ptr<HistoryKeeper> history_;
  std::int64_t heard_again_ms_ = 0;
  bool announced_ = false;
  bool said_ = false;  ///< what is wrong with etcd, since it was well
  bool disk_was_full_ = false;
};

}  // namespace

caf::error run_replica(const CoordinatorConfig& config, const ReplicaStart& start,
                       const StopSignal& stop, const DaemonLog& log) {
  if (caf::error wrong = check_member(*config.replicas, config.member)) return wrong;
  Replica replica(config, stop, log);
  if (caf::error failed = replica.open(start)) return failed;
  return replica.run();
}

caf::error refuse_replica_alone(const CoordinatorConfig& config) {
  if (!std::filesystem::exists(replica_file(config))) return {};
  return make_error(ErrorCode::wrong_state,
                    config.data +
                        " is one of several coordinators': alone it would go on where the others "
                        "have gone on already. Start it with --replicas; or, when all others are "
                        "gone for good and none has newer records, remove " +
                        replica_file(config));
}

}  // namespace fairwater::inline daemon
