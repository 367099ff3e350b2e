// For programs that have nobody to hand an error to.
#pragma once

#include <stdexcept>
#include <utility>

#include "model/errors.hpp"

namespace fairwater::bench {

/// Throws std::runtime_error with the error's message.
template <class T>
[[nodiscard]] T value_of(Expected<T> expected) {
  if (!expected) throw std::runtime_error(details(expected.error()).message);
  return std::move(*expected);
}

}  // namespace fairwater::bench
