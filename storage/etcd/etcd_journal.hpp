// The journal of several coordinators in etcd.
//
//   PREFIX/head          := {"epoch", "number", "hash"}: the newest record; the fence
//   PREFIX/leader        := {"epoch", "name", "address"}: who leads since that epoch
//   PREFIX/beat          := a number that the leader changes while it has the majority's ear;
//                           `left` when it goes
//   PREFIX/format        := {"format", "version"}: what one has to know who follows, and which
//                           version needed it first; left out where any does
//   PREFIX/replicas/NAME := {"address", "number", "version", "at", "full", "format"}: what a
//                           coordinator holds itself; `full` while its disk is, else it is left
//                           out; `format` is the newest of the journal that it knows, left out by
//                           versions that know but the first
//   PREFIX/j/FIRST       := (length:u32le bytes)*, a group's records, the first being number FIRST
//                           (16 hex digits)
//
// A group goes in by one transaction: if head is what it builds on, put it and the new head. What
// is repeated after an answer was lost either finds the head that it meant to set, or one of
// somebody else. Taking over is such a group, which begins with a CoordinatorStarted; it names the
// leader, too.
//
// The ledgers of all replicas hold the whole journal, etcd only its tail: groups that a majority
// has on disk are deleted after ten minutes, or once the store is a quarter full. What was
// overwritten is compacted away, whoever holds what; and the store is never filled by more than
// half of its quota, beyond which it takes nothing at all until an operator has helped it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "model/journal.hpp"
#include "storage/etcd/etcd.hpp"
#include "storage/journal_store.hpp"

namespace fairwater::inline storage::inline etcd {

struct ReplicaLeader {
  std::uint64_t epoch = 0;
  std::string name;
  std::string address;
  friend bool operator==(const ReplicaLeader&, const ReplicaLeader&) = default;
};

/// What a coordinator says of itself.
struct ReplicaHolds {
  std::string name;
  std::string address;
  std::uint64_t number = 0;  ///< the newest record on its disk
  std::string version;
  WallTime at;  ///< when it said so, by its own clock
  bool disk_full = false;
  JournalFormat format = kFirstFormat;  ///< the newest that it knows
};

struct StoredGroup {
  std::uint64_t first = 0;  ///< number of its first record
  std::vector<std::string> records;
};

/// All of it at one moment.
struct JournalView {
  std::optional<JournalHead> head;  ///< none: no journal was begun there
  ReplicaLeader leader;
  std::uint64_t beat = 0;
  bool leader_left = false;            ///< it said that it goes; nobody needs to wait
  std::vector<ReplicaHolds> replicas;  ///< by name
  JournalNeeds needs;                  ///< of whoever follows
  std::vector<StoredGroup> groups;     ///< from the record asked for on, as many as fit
};

struct EtcdJournalOptions {
  std::string prefix = "fairwater";
  std::string name;     ///< of this coordinator
  std::string address;  ///< by which clients and agents reach it
  std::string version;
  JournalFormat format = kNewestFormat;  ///< that this coordinator knows
  std::size_t replicas = 3;  ///< how many there are; a majority of them holds what is deleted
  std::int64_t beat_ms = 200;
  std::int64_t try_ms = 250;  ///< for a small request; every member is asked in it (connect_etcd)
  std::int64_t keep_ms = 600'000;
  std::uint64_t quota_bytes = std::uint64_t{2} << 30;  ///< of the members' store

  // For one that runs on virtual time.
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
  std::function<WallTime()> wall_clock = wall_time_now;
  /// Empty: the thread waits, or somebody tells it to give up.
  std::function<void(std::int64_t ms)> pause = {};
};

class EtcdJournal final : public JournalStore {
 public:
  EtcdJournal(Etcd& etcd, EtcdJournalOptions options);
  ~EtcdJournal() override;

  /// Begins a journal whose records up to `head` every replica has to bring along.
  /// `already_exists` when one was begun.
  [[nodiscard]] caf::error found(const JournalHead& head);
  /// What is there, with groups from record `next` on; says meanwhile what this coordinator holds.
  /// `unavailable`: no answer by a majority. One attempt, which waits long only where much may
  /// come, or where short ones have failed: a member that is cut off must not hold up a follower.
  [[nodiscard]] Expected<JournalView> look(std::uint64_t next);
  /// When whoever has this coordinator's name last said what it holds, by its clock; none: nobody
  /// ever did. One attempt.
  [[nodiscard]] Expected<std::optional<WallTime>> own_word();
  [[nodiscard]] caf::error commit(const RecordGroup& group) override;
  /// Half of the quota is left for who takes over and what beats write, and for the holes of the
  /// members' files.
  [[nodiscard]] caf::error admit() const override;
  /// It is said of this coordinator from the next look() or beat on.
  void note_durable(std::uint64_t number) override { on_disk_ = number; }
  /// Of those that were ever heard of, as last seen, and of this one: one that is away counts by
  /// what it said, because it follows again.
  [[nodiscard]] KnownFormat known_format() const override;

  /// From a commit that began an epoch on: beats, until stop_leading(). `on_overtaken` is called
  /// once from another thread when somebody else leads.
  void lead(std::uint64_t epoch, std::function<void()> on_overtaken);
  /// The same without a thread: its caller beats every beat_ms, sooner when etcd does not answer.
  void lead(std::uint64_t epoch);
  /// Once; now and then lets go of old groups, and looks how full the store is. True when somebody
  /// else leads.
  [[nodiscard]] bool beat();
  void stop_leading();
  /// After stop_leading(): says that another may lead at once. One attempt; it does no harm when it
  /// is lost.
  void leave();
  /// Every commit that waits gives up, and those to come do; until resume().
  void give_up();
  void resume() { giving_up_ = false; }

  /// Whether a majority said within this time that this coordinator leads. From any thread.
  [[nodiscard]] bool is_confirmed(std::int64_t within_ms) const;
  /// Since when nobody answered; none: somebody does. From any thread.
  [[nodiscard]] std::optional<std::int64_t> unanswered_ms() const;
  /// Whether that is because the members' store has reached its quota. From any thread.
  [[nodiscard]] bool is_store_full() const { return store_full_; }
  /// As last seen by look() or a beat.
  [[nodiscard]] std::vector<ReplicaHolds> replicas() const;
  /// Whether it said something new within this time, by this process's clock: those of two machines
  /// may be far apart. From any thread.
  [[nodiscard]] bool was_heard(const std::string& name, std::int64_t within_ms) const;
  /// Since then; where it never did, by the date of its last word. From any thread.
  [[nodiscard]] std::int64_t silent_ms(const ReplicaHolds& holds) const;
  /// What is said of this coordinator's disk from the next look() or beat on. From any thread.
  void set_disk_full(bool full) { disk_full_ = full; }

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] std::string key(const std::string& name) const { return options_.prefix + name; }
  /// What this coordinator says of itself.
  [[nodiscard]] ReplicaHolds own() const;
  void note(std::vector<ReplicaHolds> replicas);
  [[nodiscard]] Expected<nlohmann::json> call(const char* path, const nlohmann::json& request,
                                              std::int64_t timeout_ms);
  void confirmed(Clock::time_point asked_at);
  /// Whether somebody else leads; none: etcd did not say.
  [[nodiscard]] std::optional<bool> is_overtaken();
  /// The revision at which they are gone; none: there were none to forget.
  [[nodiscard]] std::optional<std::int64_t> forget_old_groups(std::uint64_t held_by_majority);
  void measure_store();
  /// Waits for a moment, or until somebody gives up or stops leading.
  void pause(std::int64_t ms);

  Etcd& etcd_;
  const EtcdJournalOptions options_;
  std::atomic<bool> giving_up_ = false;
  std::atomic<std::int64_t> confirmed_at_ms_ = -1;  // on Clock
  std::atomic<std::int64_t> answered_at_ms_;
  std::atomic<bool> answered_ = true;
  std::atomic<bool> store_full_ = false;
  std::atomic<std::uint64_t> store_bytes_ = 0;  // in use when that was last looked at while leading
  std::atomic<std::uint64_t> on_disk_ = 0;      // number of the newest record that is durable here
  std::atomic<bool> disk_full_ = false;
  bool expects_much_ = true;  // of the next look(): how far it is behind is not known, or it is far
  int looks_in_vain_ = 0;     // in a row
  std::uint64_t epoch_ = 0;   // while leading
  JournalFormat told_format_ = kFirstFormat;  // in etcd, by this coordinator
  std::uint64_t beats_ = 0;
  std::int64_t revision_ = 0;  // of the last beat

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool leading_ = false;                // guarded by mutex_
  std::vector<ReplicaHolds> replicas_;  // guarded by mutex_
  /// When the word of one was last found changed; what it first found may be old. Guarded by
  /// mutex_.
  std::map<std::string, Clock::time_point> heard_;
  // When the group that begins with a record was committed, not of every group. Guarded by mutex_.
  std::deque<std::pair<Clock::time_point, std::uint64_t>> committed_;
  std::jthread beating_;
};

}  // namespace fairwater::inline storage::inline etcd
