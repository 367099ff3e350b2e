// Files and directories by way of RocksDB's Env, so that tests can keep them in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rocksdb/env.h>

namespace fairwater::inline storage {

[[nodiscard]] rocksdb::Status sync_directory(rocksdb::Env* env, const std::string& path);
/// What lies in a directory, by name, without `.` and `..`; empty when there is no directory.
[[nodiscard]] std::vector<std::string> children_of(rocksdb::Env* env, const std::string& path);
/// The new file's content is durable when it returns, its name is not. O(bytes).
[[nodiscard]] rocksdb::Status copy_file(rocksdb::Env* env, const std::string& from,
                                        const std::string& to);
/// A directory and all in it. What is not there is as good as removed.
[[nodiscard]] rocksdb::Status remove_tree(rocksdb::Env* env, const std::string& path);
/// Of all files below a directory.
[[nodiscard]] std::uint64_t bytes_below(rocksdb::Env* env, const std::string& path);

}  // namespace fairwater::inline storage
