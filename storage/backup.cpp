#include "storage/backup.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <memory>
#include <sys/stat.h>
#include <utility>

#include "model/text.hpp"
#include "storage/archive.hpp"
#include "storage/files.hpp"
#include "storage/fold.hpp"
#include "storage/high_water.hpp"
#include "storage/history.hpp"
#include "storage/ledger.hpp"

namespace fairwater::inline storage {
namespace {

constexpr std::string_view kBackupHeader = "fairwater backup 1\n";
constexpr std::string_view kUnfinished = ".unfinished";
/// Of a file system that takes a copy, beside the copy itself.
constexpr std::uint64_t kBackupSpareBytes = std::uint64_t{4} << 20;

std::string manifest_file(const std::string& directory) { return directory + "/BACKUP"; }

// -- the manifest ---------------------------------------------------------------------------------

std::string text_of(const BackupManifest& manifest) {
  return std::string(kBackupHeader) + "cluster " + manifest.cluster_id + "\nincarnation " +
         std::to_string(manifest.end.incarnation) + "\nnumber " +
         std::to_string(manifest.end.number) + "\nhash " +
         to_hex(manifest.end.hash.value_or(Hash{})) + "\nrecorded " +
         std::to_string(manifest.recorded.microseconds) + "\nmade " +
         std::to_string(manifest.made.microseconds) + "\n";
}

/// Takes lines `name value` off a text.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  std::string_view value(std::string_view name) {
    const auto end = rest_.find('\n');
    ok_ = ok_ && end != std::string_view::npos && rest_.starts_with(name) &&
          rest_.size() > name.size() && rest_[name.size()] == ' ';
    if (!ok_) return {};
    const auto value = rest_.substr(name.size() + 1, end - name.size() - 1);
    rest_.remove_prefix(end + 1);
    return value;
  }
  template <class Number>
  Number number(std::string_view name) {
    const std::string_view digits = value(name);
    Number parsed{};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), parsed);
    ok_ = ok_ && error == std::errc{} && end == digits.data() + digits.size();
    return parsed;
  }
  [[nodiscard]] bool were_all() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

std::optional<BackupManifest> parse_manifest(std::string_view text) {
  if (!text.starts_with(kBackupHeader)) return std::nullopt;
  Lines lines(text.substr(kBackupHeader.size()));
  BackupManifest manifest;
  manifest.cluster_id = lines.value("cluster");
  manifest.end.incarnation = lines.number<std::uint32_t>("incarnation");
  manifest.end.number = lines.number<std::uint64_t>("number");
  manifest.end.hash = hash_from_hex(lines.value("hash"));
  manifest.recorded.microseconds = lines.number<std::int64_t>("recorded");
  manifest.made.microseconds = lines.number<std::int64_t>("made");
  if (!lines.were_all() || !manifest.end.hash) return std::nullopt;
  return manifest;
}

// -- making one -----------------------------------------------------------------------------------

/// A file's lock for as long as it lives; the file goes with it.
class HeldFile {
 public:
  static Expected<std::unique_ptr<HeldFile>> hold(rocksdb::Env* env, const std::string& path,
                                                  const std::string& sentence) {
    rocksdb::FileLock* lock = nullptr;
    const rocksdb::Status status = env->LockFile(path, &lock);
    if (!status.ok())
      return make_error(ErrorCode::wrong_state, sentence + ": " + status.ToString());
    return std::unique_ptr<HeldFile>(new HeldFile(env, path, lock));
  }
  ~HeldFile() {
    env_->DeleteFile(path_).PermitUncheckedError();  // a lock without a holder says nothing
    env_->UnlockFile(lock_).PermitUncheckedError();
  }
  HeldFile(const HeldFile&) = delete;
  HeldFile& operator=(const HeldFile&) = delete;

 private:
  HeldFile(rocksdb::Env* env, std::string path, rocksdb::FileLock* lock)
      : env_(env), path_(std::move(path)), lock_(lock) {}
  rocksdb::Env* env_;
  std::string path_;
  rocksdb::FileLock* lock_;
};

/// Whatever links lead there, and wherever the process was started.
bool lies_within(const std::string& path, const std::string& directory) {
  std::error_code wrong;
  const auto whole = [&](const std::string& name) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(name, wrong), wrong);
  };
  const auto inner = whole(path);
  const auto outer = whole(directory);
  return !wrong &&
         std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

caf::error check_target(const std::string& ledger, const std::string& directory,
                        rocksdb::Env* env) {
  if (std::string fault = fault_of_text(directory); !fault.empty())
    return make_error(ErrorCode::invalid_input, std::move(fault), "directory");
  if (!directory.starts_with('/') || directory.ends_with('/') ||
      directory.find("/../") != std::string::npos)
    return make_error(ErrorCode::invalid_input,
                      "'" + directory +
                          "' is not an absolute path without '..' and without '/' at its end; the "
                          "backup is made on the coordinator's machine",
                      "directory");
  if (lies_within(directory, ledger))
    return make_error(ErrorCode::invalid_input,
                      directory + " lies within the ledger's own directory " + ledger +
                          ", and would be lost with it",
                      "directory");
  if (env->FileExists(directory).ok())
    return make_error(ErrorCode::already_exists,
                      directory + " exists already; a backup is made in a directory of its own",
                      "directory");
  return {};
}

/// What the ledger has is in the copy, byte for byte as it was at some moment.
class BackupInWork {
 public:
  BackupInWork(const Database& database, const SpaceGuard& space, std::string directory)
      : database_(database),
        env_(database.rocks().GetEnv()),
        space_(space),
        directory_(std::move(directory)),
        work_(directory_ + std::string(kUnfinished)) {}

  Expected<LedgerBackup> make(const AddFiles& add_files, const std::function<WallTime()>& clock) {
    if (caf::error wrong = check_target(database_.directory(), directory_, env_)) return wrong;
    if (caf::error failed = begin()) return failed;
    auto made = fill(add_files, clock);
    lock_.reset();
    if (made) {
      if (caf::error failed = publish()) made = failed;
    }
    // What cannot be removed now, the next backup of this name removes.
    if (!made) remove_tree(env_, work_).PermitUncheckedError();
    return made;
  }

 private:
  [[nodiscard]] caf::error failed(const rocksdb::Status& status) const {
    return storage_error(status, "cannot make the backup " + directory_);
  }

  caf::error begin() {
    if (env_->FileExists(work_).ok()) {
      // Ours, of a call that was broken off, unless somebody holds it.
      auto held = HeldFile::hold(env_, work_ + "/LOCK",
                                 work_ + " is in use: somebody makes that backup just now");
      if (!held) return held.error();
      if (const auto removed = remove_tree(env_, work_); !removed.ok()) return failed(removed);
    }
    const rocksdb::Status made = env_->CreateDir(work_);
    if (!made.ok())
      return make_error(made.IsNoSpace() ? ErrorCode::disk_full : ErrorCode::invalid_input,
                        "cannot make " + work_ + ": " + made.ToString(), "directory");
    // What it holds opens the cluster; a directory in memory has no mode.
    if (env_ == rocksdb::Env::Default()) (void)::chmod(work_.c_str(), S_IRWXU);
    auto held = HeldFile::hold(env_, work_ + "/LOCK", "cannot lock " + work_);
    if (!held) return held.error();
    lock_ = std::move(*held);
    return {};
  }

  /// Tables are linked where that works; all else is copied.
  caf::error check_space() {
    const std::string link = work_ + "/link";
    const bool is_near =
        env_->LinkFile(LedgerDirectory::identity_path(database_.directory()), link).ok();
    std::uint64_t bytes = 0;
    const std::string database = LedgerDirectory::database_path(database_.directory());
    for (const std::string& name : children_of(env_, database)) {
      std::uint64_t size = 0;
      if (is_near && name.ends_with(".sst")) continue;
      if (env_->GetFileSize(database + "/" + name, &size).ok()) bytes += size;
    }
    if (!is_near) bytes += Archive(database_.directory(), env_).bytes();
    if (is_near) {
      if (const auto removed = env_->DeleteFile(link); !removed.ok()) return failed(removed);
      return space_.admit(bytes);
    }
    std::uint64_t free = 0;
    if (!env_->GetFreeSpace(work_, &free).ok() || free >= bytes + kBackupSpareBytes) return {};
    return make_error(ErrorCode::disk_full, "the disk of " + directory_ +
                                                " is full: " + std::to_string(free >> 20) +
                                                " MiB are free and the backup takes " +
                                                std::to_string((bytes + kBackupSpareBytes) >> 20) +
                                                " MiB. Nothing was written.");
  }

  /// Up to the copy's newest record: while a large database was copied, history may have been cut
  /// behind it. The files do not change: links will do. Those that are removed meanwhile are not
  /// needed.
  rocksdb::Status add_archive(std::uint64_t newest) {
    const Archive archive(database_.directory(), env_);
    const auto segments = archive.segments_up_to(newest);
    if (segments.empty()) return {};
    const std::string target = Archive::path_in(work_);
    rocksdb::Status status = env_->CreateDir(target);
    for (const SegmentName& segment : segments) {
      const std::string from = archive.path() + "/" + segment.text();
      const std::string to = target + "/" + segment.text();
      if (!status.ok()) break;
      if (env_->LinkFile(from, to).ok()) continue;
      status = copy_file(env_, from, to);
      if (!status.ok() && env_->FileExists(from).IsNotFound()) status = env_->DeleteFile(to);
    }
    return status.ok() ? sync_directory(env_, target) : status;
  }

  Expected<LedgerBackup> fill(const AddFiles& add_files, const std::function<WallTime()>& clock) {
    const auto began = std::chrono::steady_clock::now();
    if (caf::error full = check_space()) return full;
    const std::uint64_t begins = journal_begin(Snapshot(database_));
    if (caf::error missing = Archive(database_.directory(), env_).hole(begins)) return missing;
    rocksdb::Status status = database_.checkpoint(LedgerDirectory::database_path(work_));
    if (status.ok())
      status = copy_file(env_, LedgerDirectory::identity_path(database_.directory()),
                         LedgerDirectory::identity_path(work_));
    if (!status.ok()) return failed(status);
    auto manifest = look_at_copy();
    if (!manifest) return manifest.error();
    status = add_archive(manifest->end.number);
    if (!status.ok()) return failed(status);
    manifest->made = clock();
    if (caf::error wrong = verify()) return wrong;
    if (add_files)
      if (caf::error error = add_files(work_)) return error;
    status = write_durably(env_, work_, manifest_file(work_), text_of(*manifest));
    if (!status.ok()) return failed(status);
    const auto took = std::chrono::steady_clock::now() - began;
    return LedgerBackup{*manifest, bytes_below(env_, work_),
                        std::chrono::duration_cast<Milliseconds>(took).count()};
  }

  /// Of what moment it is; its mark is written.
  Expected<BackupManifest> look_at_copy() {
    auto copy = Database::open(work_, env_, Database::Mode::read_only);
    if (!copy) return copy.error();
    try {
      const Snapshot snapshot(**copy);
      const LedgerMeta meta = State(snapshot).meta;
      const auto newest =
          snapshot.find<JournalRecord>(Family::journal, journal_key(meta.last_number));
      if (!newest)
        return make_error(ErrorCode::storage_damaged, "cannot make the backup " + directory_ +
                                                          ": the ledger has lost record " +
                                                          std::to_string(meta.last_number));
      auto mark = HighWaterFile::create(work_, env_, {meta.last_number, meta.last_hash});
      if (!mark) return mark.error();
      return BackupManifest{meta.cluster.cluster_id,
                            {meta.incarnation, meta.last_number, meta.last_hash},
                            newest->time,
                            {}};
    } catch (const StorageFault& fault) {
      return make_error(fault.code(), "cannot make the backup " + directory_ + ": " + fault.what());
    }
  }

  caf::error verify() {
    const auto report = Ledger::verify_directory(work_, env_);
    if (!report) return report.error();
    if (report->ok) return {};
    return make_error(ErrorCode::storage_damaged,
                      "no backup was made, because the ledger does not verify: " +
                          report->differences.front() + ". See fairwater ledger verify");
  }

  caf::error publish() {
    rocksdb::Status status = sync_directory(env_, work_);
    if (status.ok() && env_->FileExists(directory_).ok())
      return make_error(ErrorCode::already_exists, directory_ + " was made meanwhile", "directory");
    if (status.ok()) status = env_->RenameFile(work_, directory_);
    if (status.ok()) status = sync_directory(env_, directory_.substr(0, directory_.rfind('/') + 1));
    return status.ok() ? caf::error{} : failed(status);
  }

  const Database& database_;
  rocksdb::Env* env_;
  const SpaceGuard& space_;
  std::string directory_;
  std::string work_;
  std::unique_ptr<HeldFile> lock_;
};

}  // namespace

Expected<LedgerBackup> make_backup(const Database& database, const SpaceGuard& space,
                                   const std::string& directory, const AddFiles& add_files,
                                   const std::function<WallTime()>& clock) {
  return BackupInWork(database, space, directory).make(add_files, clock);
}

Expected<BackupManifest> read_manifest(const std::string& directory, rocksdb::Env* env) {
  if (!env) env = rocksdb::Env::Default();
  std::string text;
  const rocksdb::Status status = rocksdb::ReadFileToString(env, manifest_file(directory), &text);
  if (!status.ok())
    return make_error(
        ErrorCode::invalid_input,
        directory + " holds no backup: its file BACKUP cannot be read (" + status.ToString() + ")",
        "restore");
  if (const auto manifest = parse_manifest(text)) return *manifest;
  return make_error(ErrorCode::storage_damaged,
                    "the file BACKUP in " + directory +
                        " is not what this version writes: the backup is damaged, or belongs to "
                        "another version of Fairwater.");
}

}  // namespace fairwater::inline storage
