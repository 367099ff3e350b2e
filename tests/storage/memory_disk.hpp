// RocksDB's file system in memory, for tests.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <rocksdb/env.h>

namespace fairwater::test {

/// Its files lock inside of RocksDB, which ThreadSanitizer does not see: two threads that append to
/// one, as a writer and a flush do to the log of what RocksDB did, look like a race. This mutex is
/// one that it sees.
class MemoryDisk final : public rocksdb::EnvWrapper {
 public:
  MemoryDisk()
      : EnvWrapper(std::unique_ptr<rocksdb::Env>(rocksdb::NewMemEnv(rocksdb::Env::Default()))) {}

  rocksdb::Status NewWritableFile(const std::string& name,
                                  std::unique_ptr<rocksdb::WritableFile>* file,
                                  const rocksdb::EnvOptions& options) override {
    const rocksdb::Status made = EnvWrapper::NewWritableFile(name, file, options);
    if (made.ok()) *file = std::make_unique<File>(*this, std::move(*file));
    return made;
  }

 private:
  class File final : public rocksdb::WritableFileWrapper {
   public:
    File(MemoryDisk& disk, std::unique_ptr<rocksdb::WritableFile> file)
        : WritableFileWrapper(file.get()), disk_(disk), file_(std::move(file)) {}
    rocksdb::Status Append(const rocksdb::Slice& data) override {
      const std::lock_guard lock(disk_.mutex_);
      return file_->Append(data);
    }
    rocksdb::Status Append(const rocksdb::Slice& data,
                           const rocksdb::DataVerificationInfo& /*checksum*/) override {
      return Append(data);
    }

   private:
    MemoryDisk& disk_;
    std::unique_ptr<rocksdb::WritableFile> file_;
  };

  std::mutex mutex_;
};

inline std::unique_ptr<rocksdb::Env> memory_disk() { return std::make_unique<MemoryDisk>(); }

}  // namespace fairwater::test
