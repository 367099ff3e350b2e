#include "storage/archive.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <rocksdb/iterator.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>

#include "storage/directory.hpp"
#include "storage/files.hpp"

namespace fairwater::inline storage {
namespace {

constexpr const char* kUnfinishedSegment = "/unfinished";

rocksdb::Options segment_options(rocksdb::Env* env) {
  rocksdb::Options options;
  options.env = env;
  // Read seldom and written once: small counts. Records of one kind resemble each other, so a
  // dictionary that is trained on them saves more than a higher level does.
  options.compression = rocksdb::kZSTD;
  options.compression_opts.level = 9;
  options.compression_opts.max_dict_bytes = 64 << 10;
  options.compression_opts.zstd_max_train_bytes = 4 << 20;
  options.compression_opts.max_dict_buffer_bytes = 16 << 20;
  rocksdb::BlockBasedTableOptions table;
  table.block_size = 64 << 10;
  table.no_block_cache = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

[[noreturn]] void fail_at(const rocksdb::Status& status, const std::string& sentence) {
  const caf::error error = storage_error(status, sentence);
  throw StorageFault(details(error).code, details(error).message);
}

std::string part_key(SegmentPart part, std::string_view key) {
  std::string whole(1, static_cast<char>(part));
  return whole += key;
}

/// Takes `word` and the number behind it off the front.
template <class Number>
bool take_number(std::string_view& text, std::string_view word, Number& number) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace

std::string SegmentName::text() const {
  return fmt::format("{:020}-{:020}.jobs-{}-{}.until-{}.sst", first, last, lowest.value,
                     highest.value, until_s);
}

std::optional<SegmentName> SegmentName::parse(std::string_view text) {
  SegmentName name;
  const bool is_whole = take_number(text, "", name.first) && take_number(text, "-", name.last) &&
                        take_number(text, ".jobs-", name.lowest.value) &&
                        take_number(text, "-", name.highest.value) &&
                        take_number(text, ".until-", name.until_s) && text == ".sst";
  if (!is_whole || name.first == 0 || name.last < name.first) return std::nullopt;
  return name;
}

// -- a segment ------------------------------------------------------------------------------------

SegmentReader::SegmentReader(const std::string& path, rocksdb::Env* env)
    : path_(path), reader_(std::make_unique<rocksdb::SstFileReader>(segment_options(env))) {
  const rocksdb::Status opened = reader_->Open(path_);
  if (!opened.ok()) fail_at(opened, "the archive's file " + path_ + " cannot be opened");
}

SegmentReader::~SegmentReader() = default;

void SegmentReader::walk(
    SegmentPart part, const std::string& first,
    const std::function<bool(std::string_view key, std::string_view value)>& visit) const {
  for (SegmentCursor cursor(*this, part, first); cursor.is_valid() && cursor.part() == part;
       cursor.next())
    if (!visit(cursor.key(), cursor.value())) return;
}

std::optional<std::string> SegmentReader::find(SegmentPart part, const std::string& key) const {
  std::optional<std::string> found;
  walk(part, key, [&](std::string_view next, std::string_view value) {
    if (next == key) found = value;
    return false;
  });
  return found;
}

SegmentCursor::SegmentCursor(const SegmentReader& reader, SegmentPart part,
                             const std::string& first)
    : reader_(reader), it_(reader.reader_->NewIterator({})) {
  it_->Seek(part_key(part, first));
  check();
}

SegmentCursor::~SegmentCursor() = default;

bool SegmentCursor::is_valid() const { return it_->Valid(); }

void SegmentCursor::next() {
  it_->Next();
  check();
}

SegmentPart SegmentCursor::part() const { return static_cast<SegmentPart>(it_->key()[0]); }

std::string_view SegmentCursor::key() const {
  return std::string_view{it_->key().data(), it_->key().size()}.substr(1);
}

std::string_view SegmentCursor::value() const { return {it_->value().data(), it_->value().size()}; }

void SegmentCursor::check() const {
  if (!it_->status().ok())
    fail_at(it_->status(), "the archive's file " + reader_.path_ + " cannot be read");
}

SegmentWriter::SegmentWriter(const std::string& directory, rocksdb::Env* env)
    : directory_(directory),
      env_(env),
      path_(directory + kUnfinishedSegment),
      writer_(
          std::make_unique<rocksdb::SstFileWriter>(rocksdb::EnvOptions(), segment_options(env))) {
  rocksdb::Status status = env_->CreateDirIfMissing(directory_);
  if (status.ok()) status = sync_directory(env_, directory_.substr(0, directory_.rfind('/') + 1));
  if (status.ok() && env_->FileExists(path_).ok()) status = env_->DeleteFile(path_);
  if (status.ok()) status = writer_->Open(path_);
  if (!status.ok()) fail_at(status, "cannot begin a file of the archive in " + directory_);
}

SegmentWriter::~SegmentWriter() {
  writer_.reset();
  // The next writer replaces what is left.
  if (env_->FileExists(path_).ok()) env_->DeleteFile(path_).PermitUncheckedError();
}

void SegmentWriter::add(SegmentPart part, std::string_view key, std::string_view value) {
  const rocksdb::Status added =
      writer_->Put(part_key(part, key), rocksdb::Slice(value.data(), value.size()));
  if (!added.ok()) fail_at(added, "cannot write a file of the archive in " + directory_);
}

std::uint64_t SegmentWriter::publish(const SegmentName& name) {
  rocksdb::ExternalSstFileInfo info;
  rocksdb::Status status = writer_->Finish(&info);  // it syncs
  if (status.ok()) status = env_->RenameFile(path_, directory_ + "/" + name.text());
  if (status.ok()) status = sync_directory(env_, directory_);
  if (!status.ok()) fail_at(status, "cannot write a file of the archive in " + directory_);
  return info.file_size;
}

// -- all of them ----------------------------------------------------------------------------------

Archive::Archive(const std::string& ledger, rocksdb::Env* env)
    : path_(path_in(ledger)), env_(env) {}

std::vector<SegmentName> Archive::segments() const {
  std::vector<SegmentName> segments;
  for (const std::string& child : children_of(env_, path_))
    if (const auto segment = SegmentName::parse(child)) segments.push_back(*segment);
  std::sort(segments.begin(), segments.end(),
            [](const SegmentName& a, const SegmentName& b) { return a.first < b.first; });
  return segments;
}

std::vector<SegmentName> Archive::segments_up_to(std::uint64_t newest) const {
  auto older = segments();
  std::erase_if(older, [&](const SegmentName& segment) { return segment.last > newest; });
  return older;
}

std::uint64_t Archive::end() const {
  const auto all = segments();
  return all.empty() ? 0 : all.back().last;
}

std::unique_ptr<SegmentReader> Archive::open(const SegmentName& segment) const {
  const std::string path = path_ + "/" + segment.text();
  try {
    return std::make_unique<SegmentReader>(path, env_);
  } catch (const StorageFault&) {
    if (env_->FileExists(path).IsNotFound()) return nullptr;
    throw;
  }
}

std::uint64_t Archive::bytes() const { return bytes_below(env_, path_); }

WallTime Archive::made_at(const SegmentName& segment) const {
  std::uint64_t seconds = 0;
  const rocksdb::Status found =
      env_->GetFileModificationTime(path_ + "/" + segment.text(), &seconds);
  return {found.ok() ? static_cast<std::int64_t>(seconds) * 1'000'000 : 0};
}

std::uint64_t Archive::remove(const SegmentName& segment) const {
  const std::string path = path_ + "/" + segment.text();
  std::uint64_t bytes = 0;
  rocksdb::Status status = env_->GetFileSize(path, &bytes);
  if (status.ok()) status = env_->DeleteFile(path);
  if (!status.ok()) fail_at(status, "cannot remove the archive's file " + path);
  return bytes;
}

std::optional<std::string> Archive::record(std::uint64_t number) const {
  std::optional<std::string> found;
  walk_journal(number, number, [&](std::string_view, std::string_view value) {
    found = value;
    return false;
  });
  return found;
}

caf::error records_missing(const std::string& archive, std::uint64_t first, std::uint64_t last) {
  return make_error(ErrorCode::storage_damaged,
                    "records " + std::to_string(first) + " to " + std::to_string(last) +
                        " are missing: files of the archive in " + archive +
                        " are gone. Put them back, from a backup or another coordinator's "
                        "archive; or remove the older files, too, and do without.");
}

caf::error Archive::hole(std::uint64_t journal_begins) const {
  const caf::error missing = hole_as_listed(journal_begins);
  // While it was listed, files may have gone as the oldest.
  return missing ? hole_as_listed(journal_begins) : missing;
}

caf::error Archive::hole_as_listed(std::uint64_t journal_begins) const {
  std::uint64_t next = 0;
  for (const SegmentName& segment : segments()) {
    if (next > 0 && segment.first > next) return records_missing(path_, next, segment.first - 1);
    next = std::max(next, segment.last + 1);
  }
  if (next > 0 && journal_begins > next) return records_missing(path_, next, journal_begins - 1);
  return {};
}

void Archive::walk_journal(
    std::uint64_t first, std::uint64_t last,
    const std::function<bool(std::string_view key, std::string_view value)>& visit) const {
  bool goes_on = true;
  std::uint64_t next = 0;
  const auto check_joined = [&](std::uint64_t found) {
    if (next == 0 || found <= next) return;
    const ErrorDetails missing = details(records_missing(path_, next, found - 1));
    throw StorageFault(missing.code, missing.message);
  };
  for (const SegmentName& segment : segments()) {
    if (!goes_on || segment.first > last) return;
    if (segment.last < first) {
      next = std::max(next, segment.last + 1);
      continue;
    }
    const auto reader = open(segment);
    if (!reader) {  // removed meanwhile, with all that is older
      next = 0;
      continue;
    }
    check_joined(segment.first);
    next = std::max(next, segment.last + 1);
    reader->walk(SegmentPart::journal, journal_key(std::max(first, segment.first)),
                 [&](std::string_view key, std::string_view value) {
                   goes_on = from_big_endian<std::uint64_t>(key) <= last && visit(key, value);
                   return goes_on;
                 });
  }
}

std::unique_ptr<SegmentReader> Archive::segment_of(JobId id) const {
  for (const SegmentName& segment : segments()) {
    if (!segment.lowest || id < segment.lowest || segment.highest < id) continue;
    auto reader = open(segment);
    if (reader && reader->find(SegmentPart::jobs, key_of(id))) return reader;
  }
  return nullptr;
}

std::optional<JobRecord> Archive::job(JobId id) const {
  const auto segment = segment_of(id);
  if (!segment) return std::nullopt;
  return decode_stored<JobRecord>(Family::jobs, key_of(id),
                                  *segment->find(SegmentPart::jobs, key_of(id)));
}

void Archive::walk_tasks(
    JobId id, std::uint32_t first,
    const std::function<bool(std::uint32_t index, const TaskRecord&)>& visit) const {
  const auto segment = segment_of(id);
  if (!segment) return;
  const std::string prefix = key_of(id);
  segment->walk(SegmentPart::tasks, task_key(id, first),
                [&](std::string_view key, std::string_view value) {
                  return key.starts_with(prefix) &&
                         visit(from_big_endian<std::uint32_t>(key.substr(prefix.size())),
                               decode_stored<TaskRecord>(Family::tasks, key, value));
                });
}

}  // namespace fairwater::inline storage
