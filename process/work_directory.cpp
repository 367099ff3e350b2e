#include "process/work_directory.hpp"

#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/file.h>
#include <sys/stat.h>

#include "process/file_descriptor.hpp"

namespace fairwater::inline process {
namespace {

constexpr const char* kTemporary = "tmp";

// -- removing -------------------------------------------------------------------------------------

/// A directory named in another, never one that a link leads to; readable and writable by us.
FileDescriptor open_directory(int parent, const char* name) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  FileDescriptor opened(::openat(parent, name, kFlags));
  if (!opened && errno == EACCES) {
    // Not root, then, and the task had our own user id: whatever fchmodat reaches is ours already.
    struct stat status {};
    if (::fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(status.st_mode))
      return {};
    ::fchmodat(parent, name, S_IRWXU, 0);
    opened.reset(::openat(parent, name, kFlags));
  }
  if (opened) ::fchmod(opened.get(), S_IRWXU);
  return opened;
}

/// Takes a tree apart from its top.
class TreeRemoval {
 public:
  explicit TreeRemoval(FileDescriptor top) : top_(std::move(top)) {}

  /// Every directory that is found deeper is moved to the top first, so one pass after the other
  /// over the top alone ends when nothing is left, or nothing that goes.
  void run() {
    // A pass takes off a level at least. The bound is for somebody who goes on adding.
    constexpr int kMaxPasses = 100'000;
    progress_ = true;
    for (int pass = 0; progress_ && pass < kMaxPasses; ++pass) {
      progress_ = false;
      empty(top_.get());
    }
  }

 private:
  void empty(int directory) {
    // fdopendir owns its descriptor and its position; ours stays.
    const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (copy < 0) return;
    const std::unique_ptr<DIR, int (*)(DIR*)> list(::fdopendir(copy), ::closedir);
    if (!list) {
      ::close(copy);
      return;
    }
    while (const dirent* entry = ::readdir(list.get())) {
      const char* const name = entry->d_name;
      if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) continue;
      take(directory, name);
    }
  }

  void take(int directory, const char* name) {
    if (::unlinkat(directory, name, 0) == 0 || ::unlinkat(directory, name, AT_REMOVEDIR) == 0) {
      progress_ = true;
      return;
    }
    // A mount point is EBUSY, a file that stays ENOTDIR.
    if (errno != ENOTEMPTY && errno != EEXIST && errno != EACCES) return;
    if (directory == top_.get()) return take_apart(name);
    // A directory can be moved only when it may be written.
    if (!open_directory(directory, name)) return;
    const std::string unique = ".fairwater-" + std::to_string(moved_++);
    if (::renameat(directory, name, top_.get(), unique.c_str()) == 0) progress_ = true;
  }

  void take_apart(const char* name) {
    const FileDescriptor opened = open_directory(top_.get(), name);
    if (!opened) return;
    empty(opened.get());
    if (::unlinkat(top_.get(), name, AT_REMOVEDIR) == 0) progress_ = true;
  }

  FileDescriptor top_;
  std::uint64_t moved_ = 0;
  bool progress_ = false;
};

// -- making ---------------------------------------------------------------------------------------

caf::error make_private(const std::filesystem::path& directory,
                        const std::optional<TaskUser>& user) {
  if (::mkdir(directory.c_str(), S_IRWXU) != 0)
    return system_error("cannot make " + directory.string(), errno);
  if (user && ::lchown(directory.c_str(), user->uid, user->gid) != 0)
    return system_error("cannot give away " + directory.string(), errno);
  return caf::none;
}

// -- keeping --------------------------------------------------------------------------------------

struct Owner {
  uid_t uid = ::geteuid();
  gid_t gid = ::getegid();
};
Owner owner_of(const std::optional<TaskUser>& user) {
  return user ? Owner{user->uid, user->gid} : Owner{};
}

std::filesystem::path spares_of(const std::filesystem::path& directory, const Owner& owner) {
  return directory.parent_path() / ".spare" /
         (std::to_string(owner.uid) + "." + std::to_string(owner.gid));
}

/// Calls `move` with one slot after the other until it returns true. Tasks that start and end side
/// by side begin at different ones.
template <class Move>
bool any_slot(const std::filesystem::path& spares, const Move& move) {
  const int first = ::getpid() % kSpareWorkDirectories;
  for (int i = 0; i < kSpareWorkDirectories; ++i)
    if (move(spares / std::to_string((first + i) % kSpareWorkDirectories))) return true;
  return false;
}

bool take_spare(const std::filesystem::path& directory, const std::optional<TaskUser>& user) {
  return any_slot(spares_of(directory, owner_of(user)), [&](const std::filesystem::path& slot) {
    return ::rename(slot.c_str(), directory.c_str()) == 0;
  });
}

/// Whether the directory belongs to the owner and has nothing in it but what is named so; null:
/// nothing at all. It is as private as a new one: open_directory sees to that.
bool is_as_new(const FileDescriptor& directory, const Owner& owner, const char* but) {
  struct stat status {};
  if (::fstat(directory.get(), &status) != 0 || status.st_uid != owner.uid ||
      status.st_gid != owner.gid)
    return false;
  const int copy = ::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return false;
  const std::unique_ptr<DIR, int (*)(DIR*)> list(::fdopendir(copy), ::closedir);
  if (!list) {
    ::close(copy);
    return false;
  }
  while (const dirent* entry = ::readdir(list.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && (but == nullptr || name != but)) return false;
  }
  return true;
}

bool keep_as_spare(const std::filesystem::path& directory, const std::optional<TaskUser>& user) {
  const Owner owner = owner_of(user);
  const FileDescriptor top = open_directory(AT_FDCWD, directory.c_str());
  if (!top || !is_as_new(top, owner, kTemporary)) return false;
  const FileDescriptor temporary = open_directory(top.get(), kTemporary);
  if (!temporary || !is_as_new(temporary, owner, nullptr)) return false;
  const auto spares = spares_of(directory, owner);
  // A slot that is taken has a directory that is not empty, which no other one replaces.
  const auto move = [&](const std::filesystem::path& slot) {
    return ::rename(directory.c_str(), slot.c_str()) == 0;
  };
  if (any_slot(spares, move)) return true;
  if (::access(spares.c_str(), F_OK) == 0) return false;
  ::mkdir(spares.parent_path().c_str(), S_IRWXU);
  return ::mkdir(spares.c_str(), S_IRWXU) == 0 && any_slot(spares, move);
}

caf::error check_way_in(const std::filesystem::path& work) {
  for (auto above = work; above != above.root_path(); above = above.parent_path()) {
    struct stat status {};
    if (::stat(above.c_str(), &status) == 0 && (status.st_mode & S_IXOTH) == 0)
      return make_error(ErrorCode::invalid_input,
                        "tasks cannot reach their directories in " + work.string() + ": " +
                            above.string() +
                            " lets only its owner and group through (chmod o+x, or name another "
                            "work_directory)",
                        "work_directory");
  }
  return caf::none;
}

}  // namespace

caf::error make_work_parent(const std::filesystem::path& work, bool others_enter,
                            bool must_be_reached) {
  std::error_code error;
  std::filesystem::create_directories(work, error);
  if (error) return system_error("cannot make " + work.string(), error.value());
  const mode_t mode = others_enter ? S_IRWXU | S_IXGRP | S_IXOTH : S_IRWXU;
  if (::chmod(work.c_str(), mode) != 0)
    return system_error("cannot set the mode of " + work.string(), errno);
  return must_be_reached ? check_way_in(work) : caf::none;
}

Expected<FileDescriptor> lock_work_parent(const std::filesystem::path& work) {
  FileDescriptor lock(::open(work.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock) return system_error("cannot open " + work.string(), errno);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) return system_error("cannot lock " + work.string(), errno);
  return make_error(ErrorCode::storage_locked,
                    "another agent's tasks have their private directories in " + work.string() +
                        "; name one for each agent",
                    "work_directory");
}

caf::error make_work_directory(const std::filesystem::path& directory,
                               const std::optional<TaskUser>& user) {
  struct stat status {};
  if (::lstat(directory.c_str(), &status) == 0) remove_tree(directory);
  if (take_spare(directory, user)) return caf::none;
  if (auto error = make_private(directory, user)) return error;
  return make_private(directory / kTemporary, user);
}

bool give_back_work_directory(const std::filesystem::path& directory,
                              const std::optional<TaskUser>& user) {
  if (keep_as_spare(directory, user)) return true;
  ::rmdir((directory / kTemporary).c_str());
  return ::rmdir(directory.c_str()) == 0 || errno == ENOENT;
}

bool remove_tree(const std::filesystem::path& directory) {
  FileDescriptor top = open_directory(AT_FDCWD, directory.c_str());
  if (top) TreeRemoval(std::move(top)).run();
  return ::rmdir(directory.c_str()) == 0 || errno == ENOENT;
}

}  // namespace fairwater::inline process
