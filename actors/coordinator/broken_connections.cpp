#include "actors/coordinator/broken_connections.hpp"

#include <utility>

namespace fairwater::inline actors::inline coordinator {

void BrokenConnections::broke(std::uint64_t session, TimePoint now) {
  if (std::exchange(last_session_, session) == session) return;
  ++in_row_;
  last_at_ = now;
}

void BrokenConnections::forgive(TimePoint now, std::chrono::milliseconds pause) {
  if (are_too_many() && now - last_at_ >= pause) in_row_ = 0;
}

}  // namespace fairwater::inline actors::inline coordinator
