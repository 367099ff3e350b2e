// Hashes of journal records that agents ask for when they register. After a restart all of them do,
// and have seen the same few records: each is read once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "model/journal.hpp"

namespace fairwater::inline actors::inline coordinator {

class RecordHashes {
 public:
  static constexpr std::size_t kMost = 4096;

  /// A record never changes, so neither does its hash.
  void learn(std::uint64_t record, const Hash& hash) {
    if (hashes_.size() >= kMost) hashes_.clear();
    hashes_[record] = hash;
  }
  [[nodiscard]] std::optional<Hash> find(std::uint64_t record) const {
    const auto known = hashes_.find(record);
    return known == hashes_.end() ? std::nullopt : std::optional(known->second);
  }

 private:
  std::map<std::uint64_t, Hash> hashes_;
};

}  // namespace fairwater::inline actors::inline coordinator
