// The mark beside the database that tells when its end was lost: a write-ahead log that was cut at
// the border of two records looks whole to the database.
//
//   high-water := slot slot            both of 4096 bytes, written in turn
//   slot       := "fairwater high-water 2\n" number " " hash:hex[64] "\n" checksum:hex[64] "\n"
//   "\n"*
//
// The newest slot that is whole counts. A write that is torn by a crash damages one slot, whose
// mark nobody was told of; the other is the mark before.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <rocksdb/env.h>

#include "model/errors.hpp"
#include "model/journal.hpp"

namespace fairwater::inline storage {

/// A journal record that was durable.
struct HighWater {
  std::uint64_t number = 0;
  Hash hash{};  ///< of the record's bytes; zero in marks of older versions, which did not know it
  friend bool operator==(const HighWater&, const HighWater&) = default;
};

class HighWaterFile {
 public:
  /// The mark in a ledger's directory; none when there is no such file. `storage_damaged` when it
  /// cannot be read.
  [[nodiscard]] static Expected<std::optional<HighWater>> read(const std::string& directory,
                                                               rocksdb::Env* env);
  /// For writing; made anew with `mark` in it.
  [[nodiscard]] static Expected<std::unique_ptr<HighWaterFile>> create(const std::string& directory,
                                                                       rocksdb::Env* env,
                                                                       const HighWater& mark);
  /// Durable when it returns. One write in place and one sync of data alone.
  [[nodiscard]] caf::error write(const HighWater& mark);

 private:
  HighWaterFile(std::string path, std::unique_ptr<rocksdb::RandomRWFile> file)
      : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;
  std::unique_ptr<rocksdb::RandomRWFile> file_;
  bool writes_second_ = false;
};

}  // namespace fairwater::inline storage
