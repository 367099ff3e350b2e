#include "storage/high_water.hpp"

#include <charconv>
#include <string_view>

#include "policy/core/check.hpp"
#include "storage/directory.hpp"
#include "storage/fold.hpp"

namespace fairwater::inline storage {
namespace {

constexpr std::string_view kHeader = "fairwater high-water 2\n";
constexpr std::string_view kHeaderBefore = "fairwater high-water 1\n";  // number "\n"
/// A device writes whole sectors; none in use is larger.
constexpr std::size_t kSlotBytes = 4096;
constexpr std::size_t kHexBytes = 2 * sizeof(Hash);

std::string file_of(const std::string& directory) { return directory + "/high-water"; }

/// The number that `text` begins with, which is taken off it together with the character after.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc{} || parsed.ptr == end) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()) + 1);
  return number;
}

std::string slot_of(const HighWater& mark) {
  std::string slot =
      std::string(kHeader) + std::to_string(mark.number) + " " + to_hex(mark.hash) + "\n";
  slot += to_hex(hash_of(slot)) + "\n";
  FAIRWATER_CHECK(slot.size() <= kSlotBytes, "a mark fits into its slot");
  slot.resize(kSlotBytes, '\n');
  return slot;
}

std::optional<HighWater> parse_slot(std::string_view slot) {
  if (!slot.starts_with(kHeader)) return std::nullopt;
  std::string_view rest = slot.substr(kHeader.size());
  const auto number = take_number(rest);
  if (!number || rest.size() < 2 * (kHexBytes + 1)) return std::nullopt;
  const auto hash = hash_from_hex(rest.substr(0, kHexBytes));
  const HighWater mark{*number, hash.value_or(Hash{})};
  if (!hash || slot_of(mark) != slot) return std::nullopt;  // with the checksum
  return mark;
}

std::optional<HighWater> parse_older(std::string_view content) {
  if (!content.starts_with(kHeaderBefore)) return std::nullopt;
  content.remove_prefix(kHeaderBefore.size());
  const auto number = take_number(content);
  if (!number || !content.empty()) return std::nullopt;
  return HighWater{*number, {}};
}

std::optional<HighWater> parse(std::string_view content) {
  if (content.size() != 2 * kSlotBytes) return parse_older(content);
  const auto first = parse_slot(content.substr(0, kSlotBytes));
  const auto second = parse_slot(content.substr(kSlotBytes));
  if (!first || !second) return first ? first : second;
  return first->number > second->number ? first : second;
}

}  // namespace

Expected<std::optional<HighWater>> HighWaterFile::read(const std::string& directory,
                                                       rocksdb::Env* env) {
  const std::string file = file_of(directory);
  if (env->FileExists(file).IsNotFound()) return std::optional<HighWater>{};
  std::string content;
  const rocksdb::Status status = rocksdb::ReadFileToString(env, file, &content);
  if (!status.ok()) return storage_error(status, "cannot read " + file);
  auto mark = parse(content);
  if (mark) return mark;
  return make_error(ErrorCode::storage_damaged,
                    file +
                        " is damaged. It guards against a database that lost its end; remove it "
                        "only when you know that " +
                        directory + "/db is complete.");
}

Expected<std::unique_ptr<HighWaterFile>> HighWaterFile::create(const std::string& directory,
                                                               rocksdb::Env* env,
                                                               const HighWater& mark) {
  const std::string path = file_of(directory);
  const std::string sentence = "cannot renew the high-water mark in " + directory;
  rocksdb::Status status = write_durably(env, directory, path, slot_of(mark) + slot_of(mark));
  if (!status.ok()) return storage_error(status, sentence);
  std::unique_ptr<rocksdb::RandomRWFile> file;
  status = env->NewRandomRWFile(path, &file, rocksdb::EnvOptions());
  if (!status.ok()) return storage_error(status, sentence);
  return std::unique_ptr<HighWaterFile>(new HighWaterFile(path, std::move(file)));
}

caf::error HighWaterFile::write(const HighWater& mark) {
  rocksdb::Status status = file_->Write(writes_second_ ? kSlotBytes : 0, slot_of(mark));
  if (status.ok()) status = file_->Sync();
  if (!status.ok()) return storage_error(status, "cannot renew the high-water mark " + path_);
  writes_second_ = !writes_second_;
  return {};
}

}  // namespace fairwater::inline storage
