// How a coordinator that leads stands with those that follow it. Of one alone there is none.
#pragma once

#include <string>
#include <vector>

#include "model/requests.hpp"

namespace fairwater::inline actors::inline coordinator {

/// Asked from any thread; must not block.
class Leadership {
 public:
  virtual ~Leadership() = default;
  /// This coordinator's name among the replicas.
  [[nodiscard]] virtual std::string name() const = 0;
  /// Whether a majority said less than kConfirmedMs ago that this coordinator leads. If not,
  /// another may lead by now, whose word on leases counts.
  [[nodiscard]] virtual bool is_confirmed() const = 0;
  /// Why nothing becomes durable for now; empty: it does.
  [[nodiscard]] virtual std::string why_waiting() const = 0;
  [[nodiscard]] virtual std::vector<ReplicaInfo> replicas() const = 0;
  /// Lets another lead, soon; `wrong_state` when none is there and near enough to the newest
  /// record.
  [[nodiscard]] virtual caf::error hand_over() const = 0;
};

/// A deposed coordinator's agents hear of no lease beyond this.
inline constexpr std::int64_t kConfirmedMs = 1000;

}  // namespace fairwater::inline actors::inline coordinator
