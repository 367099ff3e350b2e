#include "daemon/replica.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iostream>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <spdlog/spdlog.h>

#include "actors/coordinator/follower.hpp"
#include "cli/core/version.hpp"
#include "daemon/restore.hpp"
#include "policy/core/check.hpp"
#include "storage/backup.hpp"
#include "storage/etcd/etcd_journal.hpp"

namespace fairwater {
namespace {

using Clock = std::chrono::steady_clock;

/// Says in a data directory that its ledger is one of several.
constexpr const char* kReplicaFile = "replica";
constexpr int kLookMs = 100;
/// The others let the next in line try for so long before they do.
constexpr std::int64_t kTurnMs = 150;

std::string replica_file(const CoordinatorConfig& config) {
  return config.data + "/" + kReplicaFile;
}

caf::error mark_replica(const CoordinatorConfig& config) {
  rocksdb::Env* env = rocksdb::Env::Default();
  const auto written = write_durably(env, config.data, replica_file(config), config.member + "\n");
  return written.ok() ? caf::error{}
                      : storage_error(written, "cannot write " + replica_file(config));
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
  void give() const {
    const std::uint64_t one = 1;
    FAIRWATER_CHECK(::write(event_, &one, sizeof one) == sizeof one, "an event can be posted");
  }
  [[nodiscard]] int descriptor() const { return event_; }

 private:
  int event_;
};

/// What a follower may be behind, and silent for, that is asked to take over.
constexpr std::uint64_t kMostBehind = 10'000;
constexpr std::int64_t kMostSilentUs = 10'000'000;

class Leading final : public Leadership {
 public:
  Leading(const EtcdJournal& journal, std::string name, std::function<void()> on_hand_over)
      : journal_(journal), name_(std::move(name)), on_hand_over_(std::move(on_hand_over)) {}
  std::string name() const override { return name_; }
  bool is_confirmed() const override { return journal_.is_confirmed(kConfirmedMs); }
  std::string why_waiting() const override {
    const auto silent_ms = journal_.unanswered_ms();
    if (!silent_ms || *silent_ms < kConfirmedMs) return {};
    return "no majority of etcd has answered for " + std::to_string(*silent_ms / 1000) +
           " s: nothing becomes durable and no lease is extended until it does";
  }
  std::vector<ReplicaInfo> replicas() const override {
    std::vector<ReplicaInfo> infos;
    for (const auto& holds : journal_.replicas())
      infos.push_back({holds.name, holds.address, holds.number, holds.version, holds.at});
    return infos;
  }

  caf::error hand_over() const override {
    const auto all = replicas();
    const auto own = std::find_if(all.begin(), all.end(),
                                  [&](const ReplicaInfo& info) { return info.name == name_; });
    const auto can_lead = [&](const ReplicaInfo& info) {
      return info.name != name_ && own != all.end() && info.cycle + kMostBehind >= own->cycle &&
             info.heard.microseconds + kMostSilentUs >= own->heard.microseconds;
    };
    if (std::none_of(all.begin(), all.end(), can_lead))
      return make_error(
          ErrorCode::wrong_state,
          "no other coordinator was heard of within 10 s that has all but the newest " +
              std::to_string(kMostBehind) + " records");
    on_hand_over_();
    return {};
  }

 private:
  const EtcdJournal& journal_;
  std::string name_;
  std::function<void()> on_hand_over_;
};

/// When to take over: pure but for the moments that it is told.
class Silence {
 public:
  Silence(const ReplicaConfig& config, std::string own) : config_(config), own_(std::move(own)) {}

  /// Nothing can be said while etcd does not answer.
  void lost_sight() { since_.reset(); }
  /// Whether it is this coordinator's turn, at `now`.
  [[nodiscard]] bool is_over(const JournalView& view, Clock::time_point now) {
    const std::pair heard{view.leader.epoch, view.beat};
    if (!since_ || heard != heard_) {
      since_ = now;
      heard_ = heard;
    }
    const std::int64_t patience_ms = view.leader_left ? 0 : config_.takeover_after_ms;
    return now - *since_ >=
           std::chrono::milliseconds(patience_ms + turn(view.leader.name) * kTurnMs);
  }

 private:
  /// How many others come before, by name from the leader's on.
  [[nodiscard]] std::int64_t turn(const std::string& leader) const {
    const auto place = [&](const std::string& name) {
      return std::distance(config_.members.begin(), config_.members.lower_bound(name));
    };
    const auto count = static_cast<std::int64_t>(config_.members.size());
    return (place(own_) - place(leader) - (leader.empty() ? 0 : 1) + 2 * count) % count;
  }

  const ReplicaConfig& config_;
  std::string own_;
  std::optional<Clock::time_point> since_;
  std::pair<std::uint64_t, std::uint64_t> heard_;
};

class Replica {
 public:
  Replica(const CoordinatorConfig& config, const StopSignal& stop, const DaemonLog& log)
      : config_(config),
        stop_(stop),
        log_(log),
        address_(config.replicas->members.at(config.member)) {}

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
    journal_ = std::make_unique<EtcdJournal>(*etcd_, options);
    if (!start.join.empty())
      if (caf::error failed = copy_replica(config_, start.join)) return failed;
    if (start.found)
      if (caf::error failed = found(start.init)) return failed;
    auto opened = open_ledger(config_, false, journal_.get());
    if (!opened) return opened.error();
    opened_ = std::move(*opened);
    return start.found || !start.join.empty() ? mark_replica(config_) : caf::error{};
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
  /// Begins the journal in etcd with this ledger.
  caf::error found(bool init) {
    // Before anything is made that would be of no use.
    for (auto view = journal_->look(1);; view = journal_->look(1)) {
      if (view && view->head && init) return journal_->found({});
      if (view) break;
      if (details(view.error()).code != ErrorCode::unavailable) return view.error();
      say_once(details(view.error()).message);
      if (stop_.wait(-1, kLookMs)) return told_to_stop();
    }
    JournalHead head;
    {
      const auto alone = open_ledger(config_, init, nullptr);
      if (!alone) return alone.error();
      head = alone->ledger->head();
    }
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
    auto leader = std::make_shared<KnownLeader>();
    auto server = Server::start(system, spawn_follower(system, leader),
                                server_options(config_, *limits, opened_));
    if (!server) return server.error();
    if (!std::exchange(announced_, true)) announce((*server)->address(), *limits);
    log_.info("following");
    Silence silence(*config_.replicas, config_.member);
    for (;;) {
      const auto view = journal_->look(opened_.ledger->last_number() + 1);
      bool behind = false;
      if (!view) {
        if (details(view.error()).code != ErrorCode::unavailable) return view.error();
        silence.lost_sight();
        say_once(details(view.error()).message);
      } else {
        said_ = false;
        if (caf::error wrong = take_in(*view, behind)) return wrong;
        leader->set(view->leader.name, view->leader.address);
        if (!behind && silence.is_over(*view, Clock::now())) return {};
      }
      if (stop_.wait(-1, behind ? 0 : kLookMs)) {
        stopped = true;
        return {};
      }
    }
  }

  /// Appends what is new; `behind` when there is more.
  caf::error take_in(const JournalView& view, bool& behind) {
    Ledger& ledger = *opened_.ledger;
    if (!view.head)
      return make_error(ErrorCode::wrong_state,
                        "etcd holds no journal under '" + config_.replicas->prefix +
                            "': the first coordinator begins one with --found");
    for (const auto& group : view.groups) {
      if (group.first != ledger.last_number() + 1) return left_behind(group.first);
      const caf::error failed = ledger.follow(group.records);
      if (details(failed).code == ErrorCode::disk_full) {
        say_once(details(failed).message);
        return {};
      }
      if (failed) return failed;
    }
    const JournalHead head = ledger.head();
    behind = head.number < view.head->number;
    if (behind) return view.groups.empty() ? left_behind(view.head->number) : caf::error{};
    if (head == *view.head) return {};
    return make_error(ErrorCode::storage_damaged,
                      "the ledger in " + config_.data + " ends with record " +
                          std::to_string(head.number) + ", the journal in etcd with record " +
                          std::to_string(view.head->number) +
                          ": they are of two histories. Replace this one by a copy of another "
                          "coordinator's (--join)");
  }

  caf::error left_behind(std::uint64_t next) const {
    return make_error(ErrorCode::storage_behind,
                      "the ledger in " + config_.data + " ends with record " +
                          std::to_string(opened_.ledger->last_number()) +
                          ", and etcd keeps records from " + std::to_string(next) +
                          " on alone: begin with a backup of another coordinator (--join)");
  }

  caf::error lead(bool& stopped) {
    journal_->resume();
    // Used by actors until the system's end.
    const Notice overtaken;
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
    auto process = CoordinatorProcess::start_on(system, config_, opened_, standing, on_fatal);
    if (!process) {
      if (details(process.error()).code != ErrorCode::not_leader) return process.error();
      log_.info("another coordinator was faster");
      return {};
    }
    journal_->lead(opened_.ledger->epoch(), [&overtaken] { overtaken.give(); });
    log_.info("leading since epoch " + std::to_string(opened_.ledger->epoch()));
    stopped = stop_.wait(overtaken.descriptor());
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
  std::unique_ptr<Etcd> etcd_;
  std::unique_ptr<EtcdJournal> journal_;
  OpenedLedger opened_;
  bool announced_ = false;
  bool said_ = false;  ///< what is wrong with etcd or the disk, since it was well
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

}  // namespace fairwater
