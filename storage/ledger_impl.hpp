// What a ledger is made of; for the files of storage/ that implement it (ledger.cpp writes,
// ledger_queries.cpp reads).
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/patient_clock.hpp"
#include "storage/archive.hpp"
#include "storage/directory.hpp"
#include "storage/high_water.hpp"
#include "storage/history.hpp"
#include "storage/housekeeper.hpp"
#include "storage/ledger.hpp"

namespace fairwater::inline storage {

[[nodiscard]] inline JournalHead head_of(const LedgerMeta& meta) {
  return {meta.epoch, meta.last_number, meta.last_hash};
}

class Ledger::Impl {
 public:
  Impl(LedgerOptions options, std::unique_ptr<LedgerDirectory> directory)
      : options_(std::move(options)),
        directory_(std::move(directory)),
        space_(options_.directory, options_.env, options_.min_free_bytes),
        archive_(options_.directory, options_.env) {}

  /// Opens the database and loads what appending needs.
  caf::error start();
  Expected<std::vector<Receipt>> append(std::vector<JournalBody> bodies);
  Expected<Proposal> propose(std::vector<JournalBody> bodies);
  void agreed();
  void withdraw();
  caf::error write_agreed();
  caf::error follow(const std::vector<std::string>& records);

  [[nodiscard]] LedgerMeta meta() const {
    const std::lock_guard lock(mutex_);
    return published_;
  }
  [[nodiscard]] LedgerMark end() const {
    const std::lock_guard lock(mutex_);
    return {published_.incarnation, published_.last_number, published_.last_hash};
  }
  /// Nothing of a half-made commit stays in the state.
  void forget_half_made() {
    if (broken_) return;
    if (agreed_)
      loads_when_written_ = true;  // what is stored lacks it
    else
      load();
  }
  [[nodiscard]] const Database& database() const { return *database_; }
  [[nodiscard]] const Archive& archive() const { return archive_; }
  [[nodiscard]] HistoryCutter& history() { return *history_; }
  /// By which history grows old.
  [[nodiscard]] WallTime history_time() {
    return history_clock_ ? history_clock_->now() : options_.clock();
  }
  [[nodiscard]] const SpaceGuard& space() const { return space_; }
  [[nodiscard]] const LedgerOptions& options() const { return options_; }
  [[nodiscard]] const std::string& directory() const { return options_.directory; }

 private:
  /// What becomes durable together: the batch, and what the store is told.
  struct Group {
    rocksdb::WriteBatch batch{0, 0, /*protection_bytes_per_key=*/8, 0};
    JournalHead before;
    LedgerMeta after;
    std::vector<std::string> records;
    std::vector<Receipt> receipts;
    WallTime newest;                      ///< time of the record before the next
    JournalFormat format = kFirstFormat;  ///< that readers of these have to know
    bool begins = false;                  ///< what a coordinator begins with, and nothing else
  };
  [[nodiscard]] caf::error admit(const Group& group, std::uint64_t bytes) const;
  /// `not_supported` when it is of a kind that a newer version brought.
  caf::error read_newest(const Snapshot& snapshot);
  /// The directory says what readers have to know, before there is anything of it.
  caf::error raise_needs(const Group& group);
  [[nodiscard]] caf::error refuse_when_broken();
  /// The state as it is stored.
  void load() { state_ = std::make_unique<State>(*view_); }
  caf::error undone(const caf::error& error) {
    forget_half_made();
    return error;
  }
  /// What was proposed and not written by a writer that is gone; the store has it, or nobody.
  void forget_unwritten();
  /// Marks the newest durable record as durable. Appends are refused until it works again.
  caf::error mark();
  /// Each commit of its own, before anybody is told. What a store has agreed on is missed there
  /// when it is lost here, so that the mark is for when all of the store is lost, too.
  [[nodiscard]] bool is_to_be_marked(const LedgerMeta& newest) const;
  /// Adds one record to state and group.
  caf::error stage(JournalBody body, Group& group);
  caf::error stage_followed(const std::string& bytes, Group& group);
  void take_in(const JournalRecord& record, std::string bytes, Group& group);
  /// All of them: the group is ready to be agreed and written.
  caf::error stage(std::vector<JournalBody> bodies, Group& group);
  /// Adds the changed state, and makes sure that there is room for it.
  caf::error complete(Group& group);
  /// What the store is asked to take; the group is left without its records.
  [[nodiscard]] RecordGroup for_store(Group& group) const;
  /// In one synced write; the state's oldest changes are the group's.
  caf::error write(Group& group);
  void publish(const LedgerMeta& meta) {
    const std::lock_guard lock(mutex_);
    published_ = meta;
  }

  LedgerOptions options_;
  std::unique_ptr<LedgerDirectory> directory_;  // outlives the database: holds the lock
  SpaceGuard space_;
  Archive archive_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<HistoryCutter> history_;
  std::unique_ptr<LatestView> view_;
  std::unique_ptr<State> state_;     // the writer's: what is stored, then agreed_, then proposed_
  std::optional<Group> agreed_;      // the store has it, and it is not written yet
  std::optional<Group> proposed_;    // follows on that; whether the store takes it is not known
  bool loads_when_written_ = false;  // the state is spoilt
  caf::error broken_;                // sticky: the outcome of a write is unknown
  mutable std::mutex mutex_;
  LedgerMeta published_;  // guarded by mutex_: for readers beside the writer
  std::unique_ptr<HighWaterFile> high_water_;
  std::uint64_t marked_ = 0;  // number of the newest record that is marked
  WallTime newest_time_;      // of the newest durable record
  std::optional<PatientClock> history_clock_;
  bool unmarked_ = false;  // the newest commit that was to be marked is durable, its mark is not
  std::unique_ptr<Housekeeper> housekeeper_;
};

}  // namespace fairwater::inline storage
