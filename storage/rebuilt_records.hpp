// What a journal gives, as it is rebuilt for comparison: in memory while it is small, beyond that
// in a database of its own, which is in memory, too, but compressed.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>

#include <rocksdb/env.h>

#include "storage/database.hpp"

namespace fairwater::inline storage {

class RebuiltRecords final : public StateView {
 public:
  /// Bytes of keys and values that are held as they are.
  static constexpr std::size_t kMostPlainBytes = std::size_t{8} << 20;

  explicit RebuiltRecords(std::size_t most_plain_bytes = kMostPlainBytes)
      : most_plain_bytes_(most_plain_bytes) {}

  /// Takes every change of `state` since it was last taken. Throws StorageFault when there is no
  /// memory left for them.
  void take_changes(State& state);
  /// Takes what `changes` hands to its argument. Throws likewise.
  void take(const std::function<void(const ChangeSink&)>& changes);

  [[nodiscard]] std::optional<std::string> get(Family family,
                                               const std::string& key) const override;
  void scan(Family family,
            const std::function<void(std::string_view, std::string_view)>& visit) const override;
  void scan_prefix(
      Family family, const std::string& prefix,
      const std::function<void(std::string_view, std::string_view)>& visit) const override;
  [[nodiscard]] bool is_plain() const { return database_ == nullptr; }

 private:
  using Records = std::map<std::string, std::string>;

  void change(Family family, const std::string& key, const std::optional<std::string>& bytes);
  void move_to_database();
  void write(rocksdb::WriteBatch& batch);

  const std::size_t most_plain_bytes_;
  std::array<Records, kFamilyCount> plain_;
  std::size_t plain_bytes_ = 0;
  std::unique_ptr<rocksdb::Env> memory_;
  std::unique_ptr<Database> database_;  ///< after memory_, in which it is
};

}  // namespace fairwater::inline storage
