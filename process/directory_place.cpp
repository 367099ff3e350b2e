#include "process/directory_place.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "process/file_descriptor.hpp"

namespace fairwater::inline process {
namespace {

constexpr const char* kName = "place";

/// What the file system says of an open file.
struct FilePlace {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t born_ns = 0;
};

Expected<FilePlace> look_at(const FileDescriptor& file, const std::filesystem::path& path) {
  struct statx status {};
  if (::statx(file.get(), "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &status) != 0)
    return system_error("cannot look at " + path.string(), errno);
  FilePlace place;
  place.device = makedev(status.stx_dev_major, status.stx_dev_minor);
  place.inode = status.stx_ino;
  if ((status.stx_mask & STATX_BTIME) != 0)
    place.born_ns = status.stx_btime.tv_sec * 1'000'000'000LL + status.stx_btime.tv_nsec;
  return place;
}

std::string to_text(const FilePlace& place) {
  return "fairwater-place 1\ndevice " + std::to_string(place.device) + "\ninode " +
         std::to_string(place.inode) + "\nborn " + std::to_string(place.born_ns) + "\n";
}

/// The numbers of devices may change when a machine starts anew; births do not.
std::string without_device(const std::string& text) {
  const auto inode = text.find("inode ");
  return inode == std::string::npos ? text : text.substr(inode);
}

}  // namespace

Expected<Place> place_of(const std::filesystem::path& directory) {
  const auto path = directory / kName;
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return Place::unmarked;
  if (!file) return system_error("cannot open " + path.string(), errno);
  const auto here = look_at(file, path);
  if (!here) return here.error();
  const auto content = read_file(path);
  if (!content) return content.error();
  const std::string expected = to_text(*here);
  const bool same = here->born_ns != 0 ? without_device(*content) == without_device(expected)
                                       : *content == expected;
  return same ? Place::same : Place::moved;
}

caf::error mark_place(const std::filesystem::path& directory) {
  const auto path = directory / kName;
  const auto fresh = directory / (std::string(kName) + ".new");
  // What an interrupted call left behind may be as old as a copy.
  if (::unlink(fresh.c_str()) != 0 && errno != ENOENT)
    return system_error("cannot remove " + fresh.string(), errno);
  const FileDescriptor file(
      ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file) return system_error("cannot make " + fresh.string(), errno);
  const auto place = look_at(file, fresh);
  if (!place) return place.error();
  if (auto error = write_all(file.get(), to_text(*place), fresh)) return error;
  if (::fsync(file.get()) != 0) return system_error("cannot sync " + fresh.string(), errno);
  if (std::rename(fresh.c_str(), path.c_str()) != 0)
    return system_error("cannot rename " + fresh.string(), errno);
  return sync_directory(directory);
}

}  // namespace fairwater::inline process
