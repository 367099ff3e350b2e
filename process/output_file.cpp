#include "process/output_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>

namespace fairwater::inline process {

void OutputFile::drain() {
  static std::array<char, 64 * 1024> buffer;  // one supervisor, one thread
  for (std::size_t taken = 0; pipe_ && taken < kMaxBytesPerTurn;) {
    const ssize_t got = ::read(pipe_.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      pipe_.reset();
      return;
    }
    taken += static_cast<std::size_t>(got);
    append({buffer.data(), static_cast<std::size_t>(got)});
  }
}

void OutputFile::append(std::string_view bytes) {
  if (full_) return;
  const auto room = limit_bytes_ - written_;
  write(bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(room, bytes.size()))));
  if (bytes.size() <= room) return;
  full_ = true;
  write("\n[fairwater: output limit of " + std::to_string(limit_bytes_) +
        " bytes reached, the rest is dropped]\n");
}

void OutputFile::write(std::string_view bytes) {
  if (!file_ && trouble_.empty())
    file_.reset(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  while (!bytes.empty() && trouble_.empty()) {
    const ssize_t done = file_ ? ::write(file_.get(), bytes.data(), bytes.size()) : -1;
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) {
      trouble_ = std::string("output was lost: ") + std::strerror(errno);
      return;
    }
    written_ += static_cast<std::uint64_t>(done);
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
}

}  // namespace fairwater::inline process
