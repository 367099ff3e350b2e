// The coordinator's disk: files in memory, which it loses as a disk does. It may be full, refuse
// writes or syncs from some operation on, and forget at a crash what was not synced.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <rocksdb/env.h>

#include "tests/cluster_sim/world/stage.hpp"

namespace fairwater::cluster_sim {

class Disk : public rocksdb::EnvWrapper {
 public:
  explicit Disk(Chance& chance);
  ~Disk() override;

  std::atomic<bool> full = false;
  /// From the n-th write or sync of the simulator's thread on everything fails; 0: never.
  void fail_after(std::int64_t operations) { operations_left_ = operations; }
  [[nodiscard]] bool has_failed() const { return failed_; }
  /// The process is dead: what its threads still write does not arrive.
  void cut_off() { failed_ = true; }
  /// After the process is gone, before it is started again. What was not synced is kept, lost, or
  /// torn.
  void recover(bool keeps_unsynced);

  // -- while nobody uses the disk -----------------------------------------------------------------
  using Files = std::map<std::string, std::string>;  ///< contents by path
  [[nodiscard]] Files contents(const std::vector<std::string>& directories) const;
  void restore(const std::vector<std::string>& directories, const Files& files);
  /// Cuts the end off the newest write-ahead log in `directory`, as if it had never been synced;
  /// false where there is none.
  bool cut_newest_log(const std::string& directory);

  rocksdb::Status GetFreeSpace(const std::string&, std::uint64_t* free) override;
  rocksdb::Status NewWritableFile(const std::string& name,
                                  std::unique_ptr<rocksdb::WritableFile>* file,
                                  const rocksdb::EnvOptions& options) override;
  rocksdb::Status NewRandomRWFile(const std::string& name,
                                  std::unique_ptr<rocksdb::RandomRWFile>* file,
                                  const rocksdb::EnvOptions& options) override;
  rocksdb::Status RenameFile(const std::string& from, const std::string& to) override;
  rocksdb::Status DeleteFile(const std::string& name) override;
  /// Of a directory that holds something; an empty one can be removed as a file.
  rocksdb::Status IsDirectory(const std::string& path, bool* is_directory) override;

  // -- for the files ------------------------------------------------------------------------------
  rocksdb::Status admit_operation();
  void appended(const std::string& name, std::uint64_t bytes);
  void synced(const std::string& name);
  void overwritten(const std::string& name, std::string before);

 private:
  Disk(Chance& chance, std::unique_ptr<rocksdb::Env> memory);
  struct FileState {
    std::uint64_t bytes = 0;
    std::uint64_t synced_bytes = 0;
    std::optional<std::string> before;  ///< whole content at the last sync, of a file that is
                                        ///< written in place
  };

  Chance& chance_;
  std::unique_ptr<rocksdb::Env> memory_;
  std::thread::id simulator_ = std::this_thread::get_id();
  std::atomic<bool> failed_ = false;
  std::int64_t operations_left_ = 0;
  std::mutex mutex_;  ///< RocksDB writes from threads of its own, too
  std::map<std::string, FileState> files_;
};

}  // namespace fairwater::cluster_sim
