#include "storage/files.hpp"

#include <algorithm>
#include <memory>

namespace fairwater::inline storage {
namespace {

constexpr std::size_t kCopyBytes = std::size_t{1} << 20;

bool is_directory(rocksdb::Env* env, const std::string& path) {
  bool is = false;
  return env->IsDirectory(path, &is).ok() && is;
}

}  // namespace

rocksdb::Status sync_directory(rocksdb::Env* env, const std::string& path) {
  std::unique_ptr<rocksdb::Directory> directory;
  const rocksdb::Status status = env->NewDirectory(path, &directory);
  return status.ok() ? directory->Fsync() : status;
}

std::vector<std::string> children_of(rocksdb::Env* env, const std::string& path) {
  std::vector<std::string> names;
  if (!env->GetChildren(path, &names).ok()) return {};
  std::erase_if(names, [](const std::string& name) { return name == "." || name == ".."; });
  std::sort(names.begin(), names.end());
  return names;
}

rocksdb::Status copy_file(rocksdb::Env* env, const std::string& from, const std::string& to) {
  std::unique_ptr<rocksdb::SequentialFile> source;
  std::unique_ptr<rocksdb::WritableFile> target;
  const rocksdb::EnvOptions options;
  rocksdb::Status status = env->NewSequentialFile(from, &source, options);
  if (status.ok()) status = env->NewWritableFile(to, &target, options);
  std::string buffer(kCopyBytes, '\0');
  for (rocksdb::Slice piece("x"); status.ok() && !piece.empty();) {
    status = source->Read(buffer.size(), &piece, buffer.data());
    if (status.ok() && !piece.empty()) status = target->Append(piece);
  }
  if (status.ok()) status = target->Sync();
  return status.ok() ? target->Close() : status;
}

rocksdb::Status remove_tree(rocksdb::Env* env, const std::string& path) {
  for (const std::string& name : children_of(env, path)) {
    const std::string child = path + "/" + name;
    rocksdb::Status removed =
        is_directory(env, child) ? remove_tree(env, child) : env->DeleteFile(child);
    if (!removed.ok()) return removed;
  }
  if (!env->FileExists(path).ok()) return {};
  return env->DeleteDir(path);
}

std::uint64_t bytes_below(rocksdb::Env* env, const std::string& path) {
  std::uint64_t sum = 0;
  for (const std::string& name : children_of(env, path)) {
    const std::string child = path + "/" + name;
    std::uint64_t bytes = 0;
    if (is_directory(env, child))
      sum += bytes_below(env, child);
    else if (env->GetFileSize(child, &bytes).ok())
      sum += bytes;
  }
  return sum;
}

}  // namespace fairwater::inline storage
