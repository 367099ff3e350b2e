// Which task of which gang this process is, by its environment.
#pragma once

#include <cstdint>
#include <string>

#include "model/errors.hpp"

namespace fairwater::inline cli::inline gang {

struct GangPlace {
  std::uint32_t index = 0;
  std::uint32_t tasks = 0;
  std::string address;  ///< where the first task is met
  std::uint16_t port = 0;
  std::string key;
};

/// `invalid_input` naming the variable that is missing or wrong: then this is no task of a gang.
[[nodiscard]] Expected<GangPlace> gang_place_from_environment();

}  // namespace fairwater::inline cli::inline gang
