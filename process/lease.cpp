#include "process/lease.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <utility>

#include "process/file_descriptor.hpp"
#include "process/process_identity.hpp"

namespace fairwater::inline process {
namespace {

std::filesystem::path path_in(const std::filesystem::path& host_directory) {
  return host_directory / ("lease." + current_boot_id());
}

}  // namespace

std::int64_t LeaseTimes::deadline_of(std::int64_t own_lease_ms) const {
  if (deadline_ms == 0 || own_lease_ms == 0) return deadline_ms;
  return std::max(deadline_ms, std::min(heard_ms + own_lease_ms, longest_ms));
}

bool LeaseTimes::extend(const LeaseTimes& given) {
  const LeaseTimes before = *this;
  deadline_ms = std::max(deadline_ms, given.deadline_ms);
  heard_ms = std::max(heard_ms, given.heard_ms);
  longest_ms = std::max(longest_ms, given.longest_ms);
  return *this != before;
}

Expected<Lease> Lease::open(const std::filesystem::path& host_directory) {
  const auto path = path_in(host_directory);
  const FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return system_error("cannot make " + path.string(), errno);
  // Not a hole: writing to one through the mapping would end the process on a full disk (SIGBUS).
  if (const int error = ::posix_fallocate(file.get(), 0, sizeof(Numbers)); error != 0)
    return system_error("cannot make room for " + path.string(), error);
  void* mapped =
      ::mmap(nullptr, sizeof(Numbers), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) return system_error("cannot map " + path.string(), errno);
  return Lease(static_cast<Numbers*>(mapped));
}

bool Lease::exists(const std::filesystem::path& host_directory) {
  std::error_code ignored;  // what cannot be looked at cannot be opened either
  return std::filesystem::exists(path_in(host_directory), ignored);
}

Lease::Lease(Lease&& other) noexcept : mapped_(std::exchange(other.mapped_, nullptr)) {}

Lease& Lease::operator=(Lease&& other) noexcept {
  std::swap(mapped_, other.mapped_);
  return *this;
}

Lease::~Lease() {
  if (mapped_ != nullptr) ::munmap(mapped_, sizeof(Numbers));
}

LeaseTimes Lease::times() const {
  const auto number = [this](std::size_t place) {
    return std::atomic_ref((*mapped_)[place]).load(std::memory_order_relaxed);
  };
  return {number(0), number(1), number(2)};
}

void Lease::extend(const LeaseTimes& times) {
  const Numbers numbers{times.deadline_ms, times.heard_ms, times.longest_ms};
  for (std::size_t place = 0; place < numbers.size(); ++place)
    std::atomic_ref((*mapped_)[place]).store(numbers[place], std::memory_order_relaxed);
}

}  // namespace fairwater::inline process
