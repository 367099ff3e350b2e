// What tests of cut history share: checkpoints, proofs, ledgers with traffic, and a disk that
// breaks.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include <catch2/catch.hpp>
#include <rocksdb/env.h>

#include "tests/storage/support.hpp"

namespace fairwater::test {

inline constexpr std::int64_t kHour_us = std::int64_t{3600} * 1'000'000;

inline void checkpoint(Ledger& ledger) {
  must(ledger.append({must(ledger.measure_checkpoint()).record}));
}

inline void must_verify(const Ledger& ledger) {
  for (const VerifyScope scope : {VerifyScope::database, VerifyScope::archive}) {
    const VerifyReport report = ledger.verify(scope);
    for (const std::string& difference : report.differences) FAIL_CHECK(difference);
    CHECK(report.ok);
    CHECK(report.begins_after + report.records == ledger.last_number());
    CHECK(report.end == ledger.end());
  }
}

/// Each record is an hour later than the one before.
inline std::function<WallTime()> hourly() {
  auto time = std::make_shared<std::int64_t>(0);
  return [time] { return WallTime{*time += kHour_us}; };
}

inline HistoryLimits keeping_jobs(std::int64_t hours) {
  HistoryLimits limits;
  limits.jobs.keep_jobs_ms = hours * 3'600'000;
  return limits;
}

/// A ledger with traffic, in a directory on the disk.
struct Written {
  explicit Written(const std::string& path, std::uint64_t seed = 5, int batches = 60,
                   rocksdb::Env* env = nullptr)
      : options(options_for(path, env)) {
    options.clock = hourly();
    options.sync = false;  // what is broken off here is writes, not syncs
    ledger = must(Ledger::open(options));
    must(ledger->append(founding()));
    Traffic traffic(*ledger, seed);
    for (int i = 0; i < batches; ++i) {
      must(ledger->append(traffic.next_batch(4)));
      if (i % 20 == 19) cut();
    }
  }
  void cut() {
    checkpoint(*ledger);
    must(ledger->cut_history(keeping_jobs(0)));
  }
  LedgerOptions options;
  std::unique_ptr<Ledger> ledger;
};

/// Refuses every write from some operation on.
class FailingDisk final : public rocksdb::EnvWrapper {
 public:
  FailingDisk() : EnvWrapper(rocksdb::Env::Default()) {}
  std::atomic<std::int64_t> left = std::int64_t{1} << 60;

  rocksdb::Status admit() {
    return --left >= 0 ? rocksdb::Status::OK() : rocksdb::Status::IOError("the disk is broken");
  }
  rocksdb::Status NewWritableFile(const std::string& name,
                                  std::unique_ptr<rocksdb::WritableFile>* file,
                                  const rocksdb::EnvOptions& options) override {
    rocksdb::Status status = admit();
    if (status.ok()) status = EnvWrapper::NewWritableFile(name, file, options);
    if (status.ok()) *file = std::make_unique<File>(*this, std::move(*file));
    return status;
  }
  rocksdb::Status RenameFile(const std::string& from, const std::string& to) override {
    const rocksdb::Status status = admit();
    return status.ok() ? EnvWrapper::RenameFile(from, to) : status;
  }
  rocksdb::Status DeleteFile(const std::string& name) override {
    const rocksdb::Status status = admit();
    return status.ok() ? EnvWrapper::DeleteFile(name) : status;
  }

 private:
  class File final : public rocksdb::WritableFileWrapper {
   public:
    File(FailingDisk& disk, std::unique_ptr<rocksdb::WritableFile> file)
        : WritableFileWrapper(file.get()), disk_(disk), file_(std::move(file)) {}
    rocksdb::Status Append(const rocksdb::Slice& data) override {
      const rocksdb::Status status = disk_.admit();
      return status.ok() ? file_->Append(data) : status;
    }
    rocksdb::Status Append(const rocksdb::Slice& data,
                           const rocksdb::DataVerificationInfo&) override {
      return Append(data);
    }
    rocksdb::Status Sync() override {
      const rocksdb::Status status = disk_.admit();
      return status.ok() ? file_->Sync() : status;
    }

   private:
    FailingDisk& disk_;
    std::unique_ptr<rocksdb::WritableFile> file_;
  };
};

}  // namespace fairwater::test
