#include "storage/rebuilt_records.hpp"

#include "policy/core/check.hpp"

namespace fairwater::inline storage {
namespace {

constexpr const char* kDirectory = "/rebuilt";

void stage(rocksdb::WriteBatch& batch, const Database& database, Family family,
           const std::string& key, const std::optional<std::string>& bytes) {
  auto* const handle = database.handle(family);
  const rocksdb::Status staged = bytes ? batch.Put(handle, key, *bytes) : batch.Delete(handle, key);
  FAIRWATER_CHECK(staged.ok(), "a batch takes every change");
}

}  // namespace

void RebuiltRecords::take_changes(State& state) {
  take([&](const ChangeSink& sink) { state.write_changes(sink); });
  state.stored();
}

void RebuiltRecords::take(const std::function<void(const ChangeSink&)>& changes) {
  if (is_plain()) {
    changes([&](Family family, const std::string& key, const std::optional<std::string>& bytes) {
      change(family, key, bytes);
    });
    if (plain_bytes_ > most_plain_bytes_) move_to_database();
    return;
  }
  rocksdb::WriteBatch batch;
  changes([&](Family family, const std::string& key, const std::optional<std::string>& bytes) {
    stage(batch, *database_, family, key, bytes);
  });
  write(batch);
}

void RebuiltRecords::change(Family family, const std::string& key,
                            const std::optional<std::string>& bytes) {
  auto& records = plain_[static_cast<std::size_t>(family)];
  const auto found = records.find(key);
  if (found != records.end()) {
    plain_bytes_ -= key.size() + found->second.size();
    records.erase(found);
  }
  if (!bytes) return;
  plain_bytes_ += key.size() + bytes->size();
  records.emplace(key, *bytes);
}

void RebuiltRecords::move_to_database() {
  memory_.reset(rocksdb::NewMemEnv(rocksdb::Env::Default()));
  rocksdb::Status made = memory_->CreateDirIfMissing(kDirectory);
  FAIRWATER_CHECK(made.ok(), "a folder in memory can be made");
  auto database = Database::open(kDirectory, memory_.get(), Database::Mode::create);
  if (!database)
    throw StorageFault(details(database.error()).code, details(database.error()).message);
  database_ = std::move(*database);
  rocksdb::WriteBatch batch;
  for (std::size_t i = 0; i < kFamilyCount; ++i) {
    for (const auto& [key, bytes] : plain_[i])
      stage(batch, *database_, static_cast<Family>(i), key, bytes);
    plain_[i].clear();
  }
  plain_bytes_ = 0;
  write(batch);
}

void RebuiltRecords::write(rocksdb::WriteBatch& batch) {
  const rocksdb::Status written = database_->write(batch, false);
  if (!written.ok())
    throw StorageFault(
        ErrorCode::storage_failed,
        "what the journal gives cannot be kept for comparison: " + written.ToString());
}

std::optional<std::string> RebuiltRecords::get(Family family, const std::string& key) const {
  if (!is_plain()) return LatestView(*database_).get(family, key);
  const auto& records = plain_[static_cast<std::size_t>(family)];
  const auto found = records.find(key);
  return found == records.end() ? std::nullopt : std::optional(found->second);
}

void RebuiltRecords::scan(
    Family family, const std::function<void(std::string_view, std::string_view)>& visit) const {
  if (!is_plain()) return LatestView(*database_).scan(family, visit);
  for (const auto& [key, bytes] : plain_[static_cast<std::size_t>(family)]) visit(key, bytes);
}

void RebuiltRecords::scan_prefix(
    Family family, const std::string& prefix,
    const std::function<void(std::string_view, std::string_view)>& visit) const {
  if (!is_plain()) return LatestView(*database_).scan_prefix(family, prefix, visit);
  const auto& records = plain_[static_cast<std::size_t>(family)];
  for (auto next = records.lower_bound(prefix);
       next != records.end() && next->first.starts_with(prefix); ++next)
    visit(next->first, next->second);
}

}  // namespace fairwater::inline storage
