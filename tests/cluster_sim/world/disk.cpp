#include "tests/cluster_sim/world/disk.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "policy/core/check.hpp"

namespace fairwater::cluster_sim {
namespace {

using rocksdb::Slice;
using rocksdb::Status;

class AppendedFile final : public rocksdb::WritableFileWrapper {
 public:
  AppendedFile(Disk& disk, std::string name, std::unique_ptr<rocksdb::WritableFile> file)
      : WritableFileWrapper(file.get()),
        disk_(disk),
        name_(std::move(name)),
        file_(std::move(file)) {}

  Status Append(const Slice& data) override {
    Status status = disk_.admit_operation();
    if (status.ok()) status = file_->Append(data);
    if (status.ok()) disk_.appended(name_, data.size());
    return status;
  }
  Status Append(const Slice& data, const rocksdb::DataVerificationInfo&) override {
    return Append(data);
  }
  Status Sync() override { return sync(); }
  Status Fsync() override { return sync(); }

 private:
  Status sync() {
    Status status = disk_.admit_operation();
    if (status.ok()) status = file_->Sync();
    if (status.ok()) disk_.synced(name_);
    return status;
  }

  Disk& disk_;
  std::string name_;
  std::unique_ptr<rocksdb::WritableFile> file_;
};

class RewrittenFile final : public rocksdb::RandomRWFile {
 public:
  RewrittenFile(Disk& disk, std::string name, std::unique_ptr<rocksdb::RandomRWFile> file)
      : disk_(disk), name_(std::move(name)), file_(std::move(file)) {}

  Status Write(std::uint64_t offset, const Slice& data) override {
    Status status = disk_.admit_operation();
    if (!status.ok()) return status;
    std::string before;
    status = rocksdb::ReadFileToString(&disk_, name_, &before);
    if (status.ok()) status = file_->Write(offset, data);
    if (status.ok()) disk_.overwritten(name_, std::move(before));
    return status;
  }
  Status Read(std::uint64_t offset, std::size_t bytes, Slice* result,
              char* scratch) const override {
    return file_->Read(offset, bytes, result, scratch);
  }
  Status Flush() override { return file_->Flush(); }
  Status Sync() override {
    Status status = disk_.admit_operation();
    if (status.ok()) status = file_->Sync();
    if (status.ok()) disk_.synced(name_);
    return status;
  }
  Status Close() override { return file_->Close(); }

 private:
  Disk& disk_;
  std::string name_;
  std::unique_ptr<rocksdb::RandomRWFile> file_;
};

}  // namespace

Disk::Disk(Chance& chance)
    : Disk(chance, std::unique_ptr<rocksdb::Env>(rocksdb::NewMemEnv(rocksdb::Env::Default()))) {}

Disk::Disk(Chance& chance, std::unique_ptr<rocksdb::Env> memory)
    : EnvWrapper(memory.get()), chance_(chance), memory_(std::move(memory)) {}

Disk::~Disk() = default;

Status Disk::admit_operation() {
  // Only the simulator's own operations are counted: they are the same in every run of a seed.
  if (std::this_thread::get_id() == simulator_ && operations_left_ > 0 && --operations_left_ == 0)
    failed_ = true;
  return failed_ ? Status::IOError("the simulated disk has failed") : Status::OK();
}

void Disk::appended(const std::string& name, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  files_[name].bytes += bytes;
}

void Disk::synced(const std::string& name) {
  const std::lock_guard lock(mutex_);
  auto& file = files_[name];
  file.synced_bytes = file.bytes;
  file.before.reset();
}

void Disk::overwritten(const std::string& name, std::string before) {
  const std::lock_guard lock(mutex_);
  auto& file = files_[name];
  if (!file.before) file.before = std::move(before);
}

void Disk::recover(bool keeps_unsynced) {
  const std::lock_guard lock(mutex_);
  failed_ = false;
  operations_left_ = 0;
  for (auto& [name, file] : files_) {
    const bool is_changed = file.before || file.bytes > file.synced_bytes;
    if (keeps_unsynced || !is_changed || !memory_->FileExists(name).ok()) continue;
    std::string content;
    FAIRWATER_CHECK(rocksdb::ReadFileToString(memory_.get(), name, &content).ok(),
                    "a file's bytes");
    if (file.before)
      content = *file.before;
    else  // torn anywhere behind the last sync
      content.resize(file.synced_bytes + chance_.below(file.bytes - file.synced_bytes + 1));
    FAIRWATER_CHECK(rocksdb::WriteStringToFile(memory_.get(), content, name).ok(),
                    "a file's bytes");
  }
  files_.clear();
}

Disk::Files Disk::contents(const std::vector<std::string>& directories) const {
  Files files;
  for (const auto& directory : directories) {
    std::vector<std::string> names;
    FAIRWATER_CHECK(memory_->GetChildren(directory, &names).ok(), "a directory's files");
    for (const auto& name : names) {
      const auto path = directory + "/" + name;
      std::string content;
      if (rocksdb::ReadFileToString(memory_.get(), path, &content).ok())
        files[path] = std::move(content);
    }
  }
  return files;
}

void Disk::restore(const std::vector<std::string>& directories, const Files& files) {
  for (const auto& [path, content] : contents(directories))
    if (!files.contains(path)) memory_->DeleteFile(path).PermitUncheckedError();
  for (const auto& [path, content] : files)
    FAIRWATER_CHECK(rocksdb::WriteStringToFile(memory_.get(), content, path).ok(),
                    "a file's bytes");
  recover(true);
}

bool Disk::cut_newest_log(const std::string& directory) {
  std::string newest;  // their names are numbers of one width
  std::string content;
  for (const auto& [path, bytes] : contents({directory}))
    if (path.ends_with(".log") && path > newest) {
      newest = path;
      content = bytes;
    }
  if (content.empty()) return false;
  content.resize(chance_.below(content.size()));
  FAIRWATER_CHECK(rocksdb::WriteStringToFile(memory_.get(), content, newest).ok(),
                  "a file's bytes");
  return true;
}

Status Disk::GetFreeSpace(const std::string&, std::uint64_t* free) {
  *free = std::uint64_t{1} << (full ? 20 : 40);  // a full one has room for whoever begins to lead
  return Status::OK();
}

Status Disk::NewWritableFile(const std::string& name, std::unique_ptr<rocksdb::WritableFile>* file,
                             const rocksdb::EnvOptions& options) {
  std::unique_ptr<rocksdb::WritableFile> inner;
  if (failed_) return Status::IOError("the simulated disk has failed");
  // A copy of the options beside the database, for people. RocksDB goes on without it; to write it
  // and read it back, once for each family, takes longer than all else in opening a ledger.
  if (name.find("/OPTIONS-") != std::string::npos)
    return Status::NotSupported("the simulated disk keeps no options");
  const Status status = memory_->NewWritableFile(name, &inner, options);
  if (!status.ok()) return status;
  {
    const std::lock_guard lock(mutex_);
    files_[name] = {};
  }
  *file = std::make_unique<AppendedFile>(*this, name, std::move(inner));
  return status;
}

Status Disk::NewRandomRWFile(const std::string& name, std::unique_ptr<rocksdb::RandomRWFile>* file,
                             const rocksdb::EnvOptions& options) {
  std::unique_ptr<rocksdb::RandomRWFile> inner;
  if (failed_) return Status::IOError("the simulated disk has failed");
  const Status status = memory_->NewRandomRWFile(name, &inner, options);
  if (status.ok()) *file = std::make_unique<RewrittenFile>(*this, name, std::move(inner));
  return status;
}

Status Disk::RenameFile(const std::string& from, const std::string& to) {
  if (failed_) return Status::IOError("the simulated disk has failed");
  const Status status = memory_->RenameFile(from, to);
  const std::lock_guard lock(mutex_);
  if (status.ok()) files_[to] = std::exchange(files_[from], {});
  files_.erase(from);
  return status;
}

Status Disk::IsDirectory(const std::string& path, bool* is_directory) {
  std::vector<std::string> names;
  *is_directory = memory_->GetChildren(path, &names).ok() && !names.empty();
  return Status::OK();
}

Status Disk::DeleteFile(const std::string& name) {
  if (failed_) return Status::IOError("the simulated disk has failed");
  const std::lock_guard lock(mutex_);
  files_.erase(name);
  return memory_->DeleteFile(name);
}

}  // namespace fairwater::cluster_sim
