#include "process/memory_board.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <utility>

#include "process/supervisor.hpp"

namespace fairwater::inline process {
/// All zero when the file is new.
struct MemoryBoard::Table {
  /// Free while `pid` is 0, and filled once `start_ticks` is not.
  struct Place {
    std::atomic<std::int64_t> pid;
    std::atomic<std::uint64_t> start_ticks;
    std::atomic<std::int64_t> limit_kib;
    std::atomic<std::int64_t> peak_kib;
    std::atomic<bool> told;
  };
  /// More tasks than a node has, so far as is known; whoever finds no place measures by itself.
  static constexpr std::size_t kPlaces = 4096;

  std::atomic<std::int64_t> measured_at_ms;
  std::array<Place, kPlaces> places;

  void free(Place& place) {
    place.start_ticks = 0;
    place.pid = 0;
  }
};

Expected<MemoryBoard> MemoryBoard::open(const std::filesystem::path& host_directory) {
  static_assert(std::atomic<std::int64_t>::is_always_lock_free);
  const auto path = host_directory / ("memory." + current_boot_id());
  const FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return system_error("cannot make " + path.string(), errno);
  // Not a hole: writing to one through the mapping would end the process on a full disk (SIGBUS).
  if (const int error = ::posix_fallocate(file.get(), 0, sizeof(Table)); error != 0)
    return system_error("cannot make room for " + path.string(), error);
  void* mapped = ::mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) return system_error("cannot map " + path.string(), errno);
  return MemoryBoard(static_cast<Table*>(mapped));
}

MemoryBoard::MemoryBoard(MemoryBoard&& other) noexcept
    : table_(std::exchange(other.table_, nullptr)) {}

MemoryBoard::~MemoryBoard() {
  if (table_ != nullptr) ::munmap(table_, sizeof(Table));
}

std::optional<std::size_t> MemoryBoard::enter(const ProcessIdentity& supervisor,
                                              std::int64_t limit_kib) {
  for (std::size_t i = 0; i < Table::kPlaces; ++i) {
    Table::Place& place = table_->places[i];
    std::int64_t free = 0;
    if (!place.pid.compare_exchange_strong(free, supervisor.pid)) continue;
    place.limit_kib = limit_kib;
    place.peak_kib = 0;
    place.told = false;
    place.start_ticks = supervisor.start_ticks;
    return i;
  }
  return std::nullopt;
}

void MemoryBoard::leave(std::size_t place) { table_->free(table_->places[place]); }

std::int64_t MemoryBoard::peak_kib(std::size_t place) const {
  return table_->places[place].peak_kib;
}

std::int64_t MemoryBoard::measured_at_ms() const { return table_->measured_at_ms; }

bool MemoryBoard::in_use() const {
  return std::ranges::any_of(table_->places,
                             [](const Table::Place& place) { return place.start_ticks > 0; });
}

std::vector<ProcessIdentity> MemoryBoard::supervisors() const {
  std::vector<ProcessIdentity> found;
  for (const Table::Place& place : table_->places)
    if (const std::uint64_t start = place.start_ticks; start != 0)
      found.push_back({static_cast<pid_t>(place.pid.load()), start, current_boot_id()});
  return found;
}

void MemoryBoard::measure(std::int64_t now_ms) {
  const ProcessTree tree;
  for (Table::Place& place : table_->places) {
    const std::uint64_t start = place.start_ticks;
    if (start == 0) continue;
    const ProcessIdentity supervisor{static_cast<pid_t>(place.pid.load()), start,
                                     current_boot_id()};
    if (tree.start_ticks_of(supervisor.pid) != start) {
      // Killed. It may have been found dead because it had just left, and then this is another's.
      if (!open_process(supervisor) && place.start_ticks == start) table_->free(place);
      continue;
    }
    const std::int64_t used_kib = tree.resident_kib_below(supervisor.pid);
    place.peak_kib = std::max<std::int64_t>(place.peak_kib, used_kib);
    const bool over = place.limit_kib > 0 && used_kib > place.limit_kib;
    if (!over || place.told.exchange(true)) continue;
    const FileDescriptor process = open_process(supervisor);
    // A supervisor that cannot be told finds out by itself, once nobody measures any more.
    if (process) place.told = !order_stop(process, EndReason::memory_limit);
  }
  table_->measured_at_ms = now_ms;
}

}  // namespace fairwater::inline process
