#include "storage/directory.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/files.hpp"

namespace fairwater::inline storage {
namespace {

constexpr std::string_view kIdentity = "fairwater ledger ";
constexpr std::string_view kWriter = "by ";
constexpr std::uint64_t kMaxReserveBytes = std::uint64_t{16} << 20;
/// For the manifest, options and log that opening makes, with a margin. RocksDB 7.8 ends the
/// process where there is not a free block; what fails later is an error.
constexpr std::uint64_t kOpeningBytes = std::uint64_t{512} << 10;

std::string reserve_file(const std::string& directory) { return directory + "/reserve"; }

/// What lies in a directory, without what may lie in an empty one; none when there is no directory.
std::optional<std::vector<std::string>> contents(const std::string& path, rocksdb::Env* env) {
  std::vector<std::string> names;
  if (!env->GetChildren(path, &names).ok()) return std::nullopt;
  std::erase_if(names, [](const std::string& name) {
    return name == "." || name == ".." || name == "LOCK" || name == "lost+found" ||
           name == "FAIRWATER.new";
  });
  std::sort(names.begin(), names.end());
  return names;
}

std::string identity_text(const JournalNeeds& needs) {
  std::string text = std::string(kIdentity) + std::to_string(needs.format) + "\n";
  if (!needs.version.empty()) text += std::string(kWriter) + needs.version + "\n";
  return text;
}

/// None for what no version writes. Newer ones may add lines.
std::optional<JournalNeeds> needs_in(std::string_view identity) {
  if (!identity.starts_with(kIdentity)) return std::nullopt;
  identity.remove_prefix(kIdentity.size());
  JournalNeeds needs;
  const auto [end, error] =
      std::from_chars(identity.data(), identity.data() + identity.size(), needs.format);
  if (error != std::errc{} || needs.format < kFirstFormat) return std::nullopt;
  identity.remove_prefix(static_cast<std::size_t>(end - identity.data()));
  if (!identity.starts_with('\n')) return std::nullopt;
  identity.remove_prefix(1);
  const std::size_t line_end = identity.find('\n');
  if (identity.starts_with(kWriter) && line_end != std::string_view::npos)
    needs.version = identity.substr(kWriter.size(), line_end - kWriter.size());
  else if (!identity.empty() && needs.format <= kNewestFormat)
    return std::nullopt;
  return needs;
}

caf::error foreign(const std::string& path, const std::string& found) {
  return make_error(ErrorCode::storage_damaged,
                    path + " is not a Fairwater ledger: it holds '" + found +
                        "' but no file FAIRWATER. Nothing was touched; name the right directory or "
                        "an empty one.");
}

caf::error half_restored(const std::string& path) {
  return make_error(ErrorCode::storage_damaged,
                    path +
                        " holds no ledger: a restore into it was broken off. Run it again "
                        "(fairwaterd coordinator --restore BACKUP --accept-loss).");
}

caf::error empty(const std::string& path) {
  return make_error(ErrorCode::invalid_input,
                    path +
                        " holds no ledger. A coordinator creates one only when it is told to "
                        "(--init), so that it never disowns what runs because of a wrong path.");
}

bool is_held(const rocksdb::Status& status) {
  const std::string words = status.ToString();
  return words.find("While lock file") != std::string::npos ||
         words.find("lock hold by current process") != std::string::npos ||
         words.find("already held") != std::string::npos;
}

}  // namespace

rocksdb::Status write_durably(rocksdb::Env* env, const std::string& directory,
                              const std::string& file, const std::string& content) {
  const std::string fresh = file + ".new";
  rocksdb::Status status = rocksdb::WriteStringToFile(env, content, fresh, /*should_sync=*/true);
  if (status.ok()) status = env->RenameFile(fresh, file);
  if (status.ok()) status = sync_directory(env, directory);
  return status;
}

caf::error storage_error(const rocksdb::Status& status, const std::string& sentence) {
  ErrorCode code = ErrorCode::storage_failed;
  if (status.IsCorruption() || status.IsNotFound() || status.IsInvalidArgument())
    code = ErrorCode::storage_damaged;
  if (status.IsNoSpace()) code = ErrorCode::disk_full;
  return make_error(code, sentence + ": " + status.ToString());
}

namespace {

Expected<JournalNeeds> read_needs(const std::string& path, rocksdb::Env* env) {
  std::string identity;
  const rocksdb::Status status =
      rocksdb::ReadFileToString(env, LedgerDirectory::identity_path(path), &identity);
  if (status.ok()) {
    if (auto needs = needs_in(identity)) return std::move(*needs);
    return make_error(ErrorCode::storage_damaged,
                      "the file FAIRWATER in " + path +
                          " is not what this version writes: the ledger is damaged, or belongs to "
                          "another version of Fairwater.");
  }
  // Whether it is there is not known: it is another user's, or the disk fails.
  if (!status.IsPathNotFound() && !status.IsNotFound())
    return storage_error(status, "cannot read the ledger in " + path);
  const auto names = contents(path, env);
  if (names && std::find(names->begin(), names->end(), "restoring") != names->end())
    return half_restored(path);
  if (names && !names->empty()) return foreign(path, names->front());
  return empty(path);
}

}  // namespace

caf::error LedgerDirectory::check_identity(const std::string& path, rocksdb::Env* env,
                                           const std::string& own) {
  const auto needs = read_needs(path, env);
  return needs ? refuse_newer("the ledger in " + path, *needs, own) : needs.error();
}

caf::error LedgerDirectory::raise_needs(JournalNeeds needs) {
  const rocksdb::Status written =
      write_durably(env_, path_, identity_path(path_), identity_text(needs));
  if (!written.ok()) return storage_error(written, "cannot write " + identity_path(path_));
  needs_ = std::move(needs);
  return {};
}

Expected<std::unique_ptr<LedgerDirectory>> LedgerDirectory::open(std::string path,
                                                                 rocksdb::Env* env, bool create,
                                                                 const std::string& own) {
  caf::error identity = check_identity(path, env, own);
  const bool is_empty = identity && details(identity).code == ErrorCode::invalid_input;
  if (identity && !(is_empty && create)) return identity;
  if (is_empty) {
    const rocksdb::Status made = env->CreateDirIfMissing(path);
    if (!made.ok()) return storage_error(made, "cannot create the directory " + path);
  }
  rocksdb::FileLock* lock = nullptr;
  const rocksdb::Status locked = env->LockFile(path + "/LOCK", &lock);
  if (!locked.ok() && is_held(locked))
    return make_error(ErrorCode::storage_locked,
                      "another coordinator uses " + path + "; a ledger has one at a time.");
  if (!locked.ok()) return storage_error(locked, "cannot lock the ledger in " + path);
  auto needs = is_empty ? JournalNeeds{} : read_needs(path, env);
  if (!needs) {
    env->UnlockFile(lock).PermitUncheckedError();
    return needs.error();
  }
  std::unique_ptr<LedgerDirectory> directory(
      new LedgerDirectory(std::move(path), env, lock, std::move(*needs)));
  if (is_empty) {
    const rocksdb::Status written = write_durably(
        env, directory->path_, LedgerDirectory::identity_path(directory->path_), identity_text({}));
    if (!written.ok())
      return storage_error(written, "cannot create a ledger in " + directory->path_);
  }
  return directory;
}

LedgerDirectory::~LedgerDirectory() { env_->UnlockFile(lock_).PermitUncheckedError(); }

bool LedgerDirectory::is_new() const {
  const auto names = contents(database_path(path_), env_);
  return !names || names->empty();
}

SpaceGuard::SpaceGuard(std::string directory, rocksdb::Env* env, std::uint64_t min_free_bytes)
    : directory_(std::move(directory)),
      env_(env),
      min_free_bytes_(min_free_bytes),
      reserve_bytes_(std::min(min_free_bytes / 4, kMaxReserveBytes)) {}

std::optional<std::uint64_t> SpaceGuard::free_bytes() const {
  std::uint64_t bytes = 0;
  if (!env_->GetFreeSpace(directory_, &bytes).ok()) return std::nullopt;
  return bytes;
}

caf::error SpaceGuard::admit(std::uint64_t bytes) const {
  const std::optional<std::uint64_t> free = free_bytes();
  if (!free || *free >= min_free_bytes_ + bytes) return {};
  if (*free < min_free_bytes_ / 2) release();
  return make_error(ErrorCode::disk_full,
                    "the disk of " + directory_ + " is full: " + std::to_string(*free >> 20) +
                        " MiB are free and " + std::to_string((min_free_bytes_ + bytes) >> 20) +
                        " MiB must be. Nothing was written; make room and go on.");
}

caf::error SpaceGuard::admit_beginning(std::uint64_t bytes) const {
  const caf::error full = admit(bytes);  // lets go of the reserve
  const std::optional<std::uint64_t> free = free_bytes();
  return !free || *free >= kOpeningBytes + bytes ? caf::error{} : full;
}

caf::error SpaceGuard::admit_opening() const {
  const std::optional<std::uint64_t> free = free_bytes();
  if (!free || *free >= kOpeningBytes) return {};
  return make_error(ErrorCode::disk_full,
                    "the disk of " + directory_ + " is full: " + std::to_string(*free >> 10) +
                        " KiB are free, and " + std::to_string(kOpeningBytes >> 10) +
                        " KiB must be to open the ledger. Nothing was "
                        "touched; make room and start again.");
}

void SpaceGuard::renew_reserve() const {
  const std::string file = reserve_file(directory_);
  const std::optional<std::uint64_t> free = free_bytes();
  if (!free || *free < min_free_bytes_ + reserve_bytes_ || env_->FileExists(file).ok()) return;
  // Without a reserve the ledger is as safe, only harder to open on a full disk: the next turn
  // tries again.
  const rocksdb::Status status = rocksdb::WriteStringToFile(env_, std::string(reserve_bytes_, '\0'),
                                                            file, /*should_sync=*/true);
  if (!status.ok()) release();
}

void SpaceGuard::release_when_full() const {
  const std::optional<std::uint64_t> free = free_bytes();
  if (free && *free < min_free_bytes_) release();
}

void SpaceGuard::release() const {
  // Not there is as good as gone.
  env_->DeleteFile(reserve_file(directory_)).PermitUncheckedError();
}

}  // namespace fairwater::inline storage
