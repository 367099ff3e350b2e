#include "process/file_descriptor.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>

namespace fairwater::inline process {

caf::error system_error(std::string_view what, int error_number) {
  ErrorCode code = ErrorCode::internal;
  if (error_number == ENOSPC || error_number == EDQUOT) code = ErrorCode::disk_full;
  if (error_number == ENOENT) code = ErrorCode::not_found;
  if (error_number == EEXIST) code = ErrorCode::already_exists;
  return make_error(code, std::string(what) + ": " + std::strerror(error_number));
}

caf::error write_all(int fd, std::string_view content, const std::filesystem::path& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return system_error("cannot write " + path.string(), errno);
    }
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return caf::none;
}

Expected<std::string> read_file(const std::filesystem::path& path, std::size_t max_bytes) {
  // Nobody is waited for at a pipe that stands in a file's place.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file) return system_error("cannot open " + path.string(), errno);
  struct stat status {};
  if (::fstat(file.get(), &status) == 0 && S_ISFIFO(status.st_mode))
    return make_error(ErrorCode::storage_damaged, path.string() + " is a pipe, and no file");
  std::string content;
  std::array<char, 4096> piece;
  while (content.size() < max_bytes) {
    const ssize_t got = ::read(file.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("cannot read " + path.string(), errno);
    if (got == 0) break;
    content.append(piece.data(), static_cast<std::size_t>(got));
  }
  return content;
}

namespace {

caf::error write_file(const std::filesystem::path& path, std::string_view content,
                      Durability durability) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) return system_error("cannot create " + path.string(), errno);
  if (auto error = write_all(file.get(), content, path)) return error;
  if (durability == Durability::power_loss && ::fsync(file.get()) != 0)
    return system_error("cannot sync " + path.string(), errno);
  return caf::none;
}

}  // namespace

caf::error replace_file(const std::filesystem::path& path, std::string_view content,
                        Durability durability) {
  std::filesystem::path temporary = path;
  temporary += ".new";
  caf::error error = write_file(temporary, content, durability);
  if (!error && ::rename(temporary.c_str(), path.c_str()) != 0)
    error = system_error("cannot rename to " + path.string(), errno);
  if (error) {
    ::unlink(temporary.c_str());
    return error;
  }
  if (durability == Durability::power_loss) return sync_directory(path.parent_path());
  return caf::none;
}

caf::error sync_directory(const std::filesystem::path& directory) {
  const FileDescriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened || ::fsync(opened.get()) != 0)
    return system_error("cannot sync " + directory.string(), errno);
  return caf::none;
}

caf::error write_existing(const std::filesystem::path& path, std::string_view content) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC));
  if (!file) return system_error("cannot open " + path.string(), errno);
  return write_all(file.get(), content, path);
}

}  // namespace fairwater::inline process
