// What all of state/ does about an event that cannot follow on the state.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "policy/core/check.hpp"

namespace fairwater::inline state {

/// An event contradicts the state or itself. The ledger refuses the record; where the event is
/// durable already, what lives has gone astray and the process must end.
class Contradiction : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

[[noreturn]] inline void refuse(const std::string& sentence) { throw Contradiction(sentence); }

/// Applies an event that is durable to what lives, which must agree.
template <class Event>
decltype(auto) apply_durable(Event&& event) {
  try {
    return std::forward<Event>(event)();
  } catch (const Contradiction& contradiction) {
    check_failed("what is durable follows on what lives", __FILE__, __LINE__, contradiction.what());
  }
}

}  // namespace fairwater::inline state
