// Until when tasks may run without word from the coordinator. One number in a file that the host
// and all its supervisors map: extending it wakes nobody.
#pragma once

#include <cstdint>
#include <filesystem>

#include "model/errors.hpp"

namespace fairwater {

class Lease {
 public:
  /// Opens or makes the lease in a host's directory. It is bound to this boot: after another one,
  /// CLOCK_BOOTTIME starts anew and no task is left.
  [[nodiscard]] static Expected<Lease> open(const std::filesystem::path& host_directory);
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&& other) noexcept;
  ~Lease();

  /// CLOCK_BOOTTIME in milliseconds; 0: none was ever given, nothing expires.
  [[nodiscard]] std::int64_t deadline_ms() const;
  void extend(std::int64_t deadline_boottime_ms);

 private:
  explicit Lease(std::int64_t* mapped) : mapped_(mapped) {}
  std::int64_t* mapped_ = nullptr;
};

}  // namespace fairwater
