// What a ledger is made of; for the files of storage/ that implement it (ledger.cpp writes,
// ledger_queries.cpp reads).
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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
  caf::error follow(const std::vector<std::string>& records);

  [[nodiscard]] LedgerMeta meta() const {
    const std::lock_guard lock(mutex_);
    return published_;
  }
  [[nodiscard]] LedgerMark end() const {
    const std::lock_guard lock(mutex_);
    return {published_.incarnation, published_.last_number, published_.last_hash};
  }
  /// The state as it is stored.
  void load() { state_ = std::make_unique<State>(*view_); }
  [[nodiscard]] const Database& database() const { return *database_; }
  [[nodiscard]] const Archive& archive() const { return archive_; }
  [[nodiscard]] HistoryCutter& history() { return *history_; }
  [[nodiscard]] const SpaceGuard& space() const { return space_; }
  [[nodiscard]] const LedgerOptions& options() const { return options_; }
  [[nodiscard]] const std::string& directory() const { return options_.directory; }

 private:
  /// What becomes durable together: the batch, and what the store is told.
  struct Group {
    rocksdb::WriteBatch batch{0, 0, /*protection_bytes_per_key=*/8, 0};
    std::vector<std::string> records;
    std::vector<Receipt> receipts;
    WallTime newest;                      ///< time of the record before the next
    JournalFormat format = kFirstFormat;  ///< that readers of these have to know
  };
  /// `not_supported` when it is of a kind that a newer version brought.
  caf::error read_newest(const Snapshot& snapshot);
  /// The directory says what readers have to know, before there is anything of it.
  caf::error raise_needs(const Group& group);
  [[nodiscard]] caf::error refuse_when_broken();
  /// Nothing of the half-made commit stays.
  caf::error undone(const caf::error& error) {
    if (!broken_) load();
    return error;
  }
  /// Marks the newest record as durable. Appends are refused until it works again.
  caf::error mark();
  /// Adds one record to state and group.
  caf::error stage(JournalBody body, Group& group);
  caf::error stage_followed(const std::string& bytes, Group& group);
  void take_in(const JournalRecord& record, std::string bytes, Group& group);
  /// Adds the changed state, has the store agree, if there is one and `agree` says so, and writes.
  caf::error write(Group& group, bool agree, const JournalHead& before);
  void publish() {
    const std::lock_guard lock(mutex_);
    published_ = state_->meta;
  }

  LedgerOptions options_;
  std::unique_ptr<LedgerDirectory> directory_;  // outlives the database: holds the lock
  SpaceGuard space_;
  Archive archive_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<HistoryCutter> history_;
  std::unique_ptr<LatestView> view_;
  std::unique_ptr<State> state_;  // the writer's; always what is stored, between appends
  caf::error broken_;             // sticky: the outcome of a write is unknown
  mutable std::mutex mutex_;
  LedgerMeta published_;  // guarded by mutex_: for readers beside the writer
  std::unique_ptr<HighWaterFile> high_water_;
  WallTime newest_time_;   // of the newest durable record
  bool unmarked_ = false;  // the newest commit is durable, its mark is not
  std::unique_ptr<Housekeeper> housekeeper_;
};

}  // namespace fairwater::inline storage
