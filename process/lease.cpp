#include "process/lease.hpp"

#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <utility>

#include "process/file_descriptor.hpp"
#include "process/process_identity.hpp"

namespace fairwater::inline process {

Expected<Lease> Lease::open(const std::filesystem::path& host_directory) {
  const auto path = host_directory / ("lease." + current_boot_id());
  const FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return system_error("cannot make " + path.string(), errno);
  // Not a hole: writing to one through the mapping would end the process on a full disk (SIGBUS).
  if (const int error = ::posix_fallocate(file.get(), 0, sizeof(std::int64_t)); error != 0)
    return system_error("cannot make room for " + path.string(), error);
  void* mapped =
      ::mmap(nullptr, sizeof(std::int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) return system_error("cannot map " + path.string(), errno);
  return Lease(static_cast<std::int64_t*>(mapped));
}

Lease::Lease(Lease&& other) noexcept : mapped_(std::exchange(other.mapped_, nullptr)) {}

Lease& Lease::operator=(Lease&& other) noexcept {
  std::swap(mapped_, other.mapped_);
  return *this;
}

Lease::~Lease() {
  if (mapped_ != nullptr) ::munmap(mapped_, sizeof(std::int64_t));
}

std::int64_t Lease::deadline_ms() const {
  return std::atomic_ref(*mapped_).load(std::memory_order_relaxed);
}

void Lease::extend(std::int64_t deadline_boottime_ms) {
  std::atomic_ref(*mapped_).store(deadline_boottime_ms, std::memory_order_relaxed);
}

}  // namespace fairwater::inline process
