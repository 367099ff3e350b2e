// How long an agent waits for a coordinator that it tries to reach. Pure.
//
// Who gives up and comes anew stands at the end of the queue, and what was done for it is done
// again. When all agents of a cluster return at once, a coordinator that lets in some thousand a
// second would, with short waits, have more to do the less it gets done.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace fairwater::inline rpc::inline agent {

struct Patience {
  std::int64_t meet_ms = 0;      ///< to connect, and again to learn who it is
  std::int64_t register_ms = 0;  ///< to be let in
  friend bool operator==(const Patience&, const Patience&) = default;
};

struct PatienceTerms {
  std::int64_t try_ms = 0;   ///< for one of several addresses, while each may be the right one
  std::int64_t call_ms = 0;  ///< for a call to one of several
  /// Where there is nobody else to ask. A machine that is gone is noticed sooner (rpc/sockets.hpp).
  std::int64_t lone_ms = 0;
};

/// After so many failures in a row at one of so many addresses: of several, each round of all that
/// fails doubles it, up to that of a lone one.
[[nodiscard]] constexpr Patience patience(const PatienceTerms& terms, std::size_t addresses,
                                          std::size_t failures) {
  if (addresses <= 1) return {terms.lone_ms, terms.lone_ms};
  constexpr std::size_t kMostDoublings = 20;
  const auto doublings = std::min(failures / addresses, kMostDoublings);
  const auto doubled = [&](std::int64_t first_ms) {
    return std::min(first_ms << doublings, terms.lone_ms);
  };
  return {doubled(std::min(terms.try_ms, terms.call_ms)), doubled(terms.call_ms)};
}

}  // namespace fairwater::inline rpc::inline agent
