// Keys that leave the database where history is cut, and the space that they took.
#pragma once

#include <cstdint>
#include <string>

#include <rocksdb/write_batch.h>

#include "storage/database.hpp"

namespace fairwater::inline storage {

void erase_key(const Database& database, rocksdb::WriteBatch& batch, Family family,
               const std::string& key);
/// From `first` up to, not including, `end`.
void erase_range(const Database& database, rocksdb::WriteBatch& batch, Family family,
                 const std::string& first, const std::string& end);
/// Durable with `sync` when it returns. Throws StorageFault: disk_full, storage_failed.
void write_erasure(Database& database, rocksdb::WriteBatch& batch, bool sync);

/// An estimate.
[[nodiscard]] std::uint64_t bytes_between(const Database& database, Family family,
                                          const std::string& first, const std::string& end);
/// Gives the space of erased keys back. What is not given back now, later compactions give.
void compact(const Database& database, Family family, const std::string& first,
             const std::string& end);

}  // namespace fairwater::inline storage
