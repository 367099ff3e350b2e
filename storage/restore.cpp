#include <memory>

#include "storage/archive.hpp"
#include "storage/backup.hpp"
#include "storage/files.hpp"
#include "storage/ledger.hpp"

namespace fairwater::inline storage {
namespace {

constexpr std::string_view kRestoreWork = "restoring";
constexpr std::string_view kRestoredFile = "restored";
/// Beside the copy itself: what opening a ledger writes, with a margin.
constexpr std::uint64_t kRestoreSpareBytes = std::uint64_t{4} << 20;

class Restore {
 public:
  Restore(const RestoreOptions& options, rocksdb::Env* env)
      : options_(options),
        env_(env),
        target_(options.directory),
        work_(target_ + "/" + std::string(kRestoreWork)) {}

  Expected<BackupManifest> run() {
    auto manifest = read_manifest(options_.backup, env_);
    if (!manifest) return manifest;
    if (caf::error refused = check_target()) return refused;
    const rocksdb::Status made = env_->CreateDirIfMissing(target_);
    if (!made.ok()) return failed(made);
    rocksdb::FileLock* lock = nullptr;
    const rocksdb::Status locked = env_->LockFile(target_ + "/LOCK", &lock);
    if (!locked.ok())
      return make_error(ErrorCode::storage_locked,
                        "another coordinator uses " + target_ + ": " + locked.ToString());
    caf::error error = fill(*manifest);
    // What cannot be removed now, the next restore removes.
    if (error) clear().PermitUncheckedError();
    env_->UnlockFile(lock).PermitUncheckedError();
    if (error) return error;
    return manifest;
  }

 private:
  [[nodiscard]] caf::error failed(const rocksdb::Status& status) const {
    return storage_error(status, "cannot restore " + options_.backup + " into " + target_);
  }

  /// What a restore puts into the target, whether it came to its end or not.
  [[nodiscard]] bool is_ours(const std::string& name) const {
    return name == kRestoreWork || name == kRestoredFile ||
           env_->FileExists(options_.backup + "/" + name).ok();
  }

  caf::error check_target() const {
    caf::error identity = LedgerDirectory::check_identity(target_, env_);
    if (!identity)
      return make_error(ErrorCode::already_exists,
                        target_ +
                            " holds a ledger already. A backup is restored into an empty or "
                            "missing directory only, so that it never takes a ledger's place by "
                            "mistake; move that one away first",
                        "data");
    if (details(identity).code == ErrorCode::invalid_input) return {};  // empty
    if (!env_->FileExists(work_).ok()) return identity;
    for (const std::string& name : children_of(env_, target_))
      if (!is_ours(name) && name != "LOCK") return identity;
    return {};  // a restore that was broken off
  }

  rocksdb::Status clear() const {
    rocksdb::Status status;
    for (const std::string& name : children_of(env_, target_)) {
      const std::string child = target_ + "/" + name;
      if (name == kRestoreWork || !is_ours(name) || !status.ok()) continue;
      bool is_directory = false;
      status = env_->IsDirectory(child, &is_directory);
      if (status.ok()) status = is_directory ? remove_tree(env_, child) : env_->DeleteFile(child);
    }
    return status.ok() ? remove_tree(env_, work_) : status;  // last: it says whose the rest is
  }

  caf::error fill(const BackupManifest& manifest) const {
    if (const auto cleared = clear(); !cleared.ok()) return failed(cleared);
    if (caf::error full = check_space()) return full;
    if (const auto copied = copy(manifest); !copied.ok()) return failed(copied);
    if (caf::error wrong = verify(manifest)) return wrong;
    if (caf::error error = open_copy(manifest)) return error;
    if (options_.add_files)
      if (caf::error error = options_.add_files(work_)) return error;
    if (!options_.beginning) return moved_or_failed();
    const auto marked = write_durably(env_, work_, work_ + "/" + std::string(kRestoredFile),
                                      options_.backup + "\n");
    if (!marked.ok()) return failed(marked);
    return moved_or_failed();
  }

  caf::error moved_or_failed() const {
    const auto moved = move_to_target();
    return moved.ok() ? caf::error{} : failed(moved);
  }

  caf::error check_space() const {
    const std::uint64_t bytes = bytes_below(env_, options_.backup) + kRestoreSpareBytes;
    std::uint64_t free = 0;
    if (!env_->GetFreeSpace(target_, &free).ok() || free >= bytes) return {};
    return make_error(ErrorCode::disk_full,
                      "the disk of " + target_ + " is full: " + std::to_string(free >> 20) +
                          " MiB are free and the backup takes " + std::to_string(bytes >> 20) +
                          " MiB. Nothing was written.");
  }

  rocksdb::Status copy(const BackupManifest& manifest) const {
    rocksdb::Status status = env_->CreateDir(work_);
    if (status.ok())
      status =
          copy_folder("/db", children_of(env_, LedgerDirectory::database_path(options_.backup)));
    if (status.ok()) status = copy_archive(manifest.end.number);
    for (const char* name : {"/high-water", "/FAIRWATER"})
      if (status.ok()) status = copy_file(env_, options_.backup + name, work_ + name);
    return status;
  }

  /// Backups of earlier versions may hold what was archived after their database was copied.
  rocksdb::Status copy_archive(std::uint64_t newest) const {
    std::vector<std::string> files;
    for (const SegmentName& segment : Archive(options_.backup, env_).segments_up_to(newest))
      files.push_back(segment.text());
    return files.empty() ? rocksdb::Status() : copy_folder("/history", files);
  }

  rocksdb::Status copy_folder(const std::string& name,
                              const std::vector<std::string>& files) const {
    const std::string from = options_.backup + name;
    const std::string to = work_ + name;
    rocksdb::Status status = env_->CreateDir(to);
    for (const std::string& file : files)
      if (status.ok()) status = copy_file(env_, from + "/" + file, to + "/" + file);
    return status.ok() ? sync_directory(env_, to) : status;
  }

  caf::error verify(const BackupManifest& manifest) const {
    const auto report = Ledger::verify_directory(work_, env_);
    if (!report || !report->ok)
      return make_error(
          ErrorCode::storage_damaged,
          "the backup " + options_.backup + " does not verify, nothing was restored: " +
              (report ? report->differences.front() : details(report.error()).message));
    const std::uint64_t end = report->begins_after + report->records;
    if (end == manifest.end.number) return {};
    return make_error(ErrorCode::storage_damaged,
                      "the backup " + options_.backup + " ends at record " + std::to_string(end) +
                          ", and its file BACKUP says " + std::to_string(manifest.end.number) +
                          ": nothing was restored");
  }

  /// Checks that it is the ledger that the backup says, and begins its new life.
  caf::error open_copy(const BackupManifest& manifest) const {
    LedgerOptions options;
    options.directory = work_;
    options.env = env_;
    options.clock = options_.clock;
    options.min_free_bytes = 0;  // the coordinator that opens it keeps its own reserve
    auto ledger = Ledger::open(options);
    if (!ledger) return ledger.error();
    if ((*ledger)->end() != manifest.end || (*ledger)->cluster().cluster_id != manifest.cluster_id)
      return make_error(ErrorCode::storage_damaged,
                        "the database of the backup " + options_.backup +
                            " is another than its file BACKUP says: nothing was restored");
    if (!options_.beginning) return {};
    auto begun = (*ledger)->append({options_.beginning(manifest)});
    return begun ? caf::error{} : begun.error();
  }

  rocksdb::Status move_to_target() const {
    rocksdb::Status status = sync_directory(env_, work_);
    std::vector<std::string> names = children_of(env_, work_);
    // The coordinator makes a reserve of its own size; the file FAIRWATER makes it a ledger.
    std::erase_if(names, [](const std::string& name) {
      return name == "LOCK" || name == "reserve" || name == "FAIRWATER";
    });
    names.emplace_back("FAIRWATER");
    for (const std::string& name : names) {
      if (status.ok() && name == "FAIRWATER") status = sync_directory(env_, target_);
      if (status.ok()) status = env_->RenameFile(work_ + "/" + name, target_ + "/" + name);
    }
    if (status.ok()) status = sync_directory(env_, target_);
    if (status.ok()) remove_tree(env_, work_).PermitUncheckedError();  // nothing of worth
    return status;
  }

  const RestoreOptions& options_;
  rocksdb::Env* env_;
  std::string target_;
  std::string work_;
};

}  // namespace

Expected<BackupManifest> restore_backup(const RestoreOptions& options) {
  rocksdb::Env* env = options.env ? options.env : rocksdb::Env::Default();
  return Restore(options, env).run();
}

bool is_restored(const std::string& directory, rocksdb::Env* env) {
  if (!env) env = rocksdb::Env::Default();
  return env->FileExists(directory + "/" + std::string(kRestoredFile)).ok();
}

caf::error forget_restore(const std::string& directory, rocksdb::Env* env) {
  if (!env) env = rocksdb::Env::Default();
  if (!is_restored(directory, env)) return {};
  const std::string file = directory + "/" + std::string(kRestoredFile);
  const rocksdb::Status removed = env->DeleteFile(file);
  return removed.ok() ? caf::error{} : storage_error(removed, "cannot remove " + file);
}

}  // namespace fairwater::inline storage
