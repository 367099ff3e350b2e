// Owned file descriptors and whole-file reads and writes, as the hosts and supervisors of tasks
// need them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

#include "model/errors.hpp"

namespace fairwater::inline process {

/// Closes its descriptor when it goes. Every one of ours is close-on-exec.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~FileDescriptor() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

/// `what` and the system's words; the code follows errno (`disk_full`, `not_found`,
/// `already_exists`, else `internal`).
[[nodiscard]] caf::error system_error(std::string_view what, int error_number);

/// Up to `max_bytes` of a file: kernel files say nothing of their size beforehand.
[[nodiscard]] Expected<std::string> read_file(const std::filesystem::path& path,
                                              std::size_t max_bytes = 1u << 22);

enum class Durability : bool {
  process_crash,  ///< atomic for readers and for kill -9
  power_loss,     ///< and on the disk, with its name, before the call returns
};
/// Replaces the whole file at once: a reader sees the old content or the new. One or no fsync of
/// the file and of its directory.
[[nodiscard]] caf::error replace_file(const std::filesystem::path& path, std::string_view content,
                                      Durability durability);
/// Makes the names in a directory durable.
[[nodiscard]] caf::error sync_directory(const std::filesystem::path& directory);
/// Writes on until all is written; `path` is for the error's words.
[[nodiscard]] caf::error write_all(int fd, std::string_view content,
                                   const std::filesystem::path& path);
/// Appends to a file that exists already, such as the kernel's control files.
[[nodiscard]] caf::error write_existing(const std::filesystem::path& path,
                                        std::string_view content);

}  // namespace fairwater::inline process
