// A class's profile as people and programs read it.
#pragma once

#include <string>

#include "cli/core/json.hpp"
#include "model/profile.hpp"

namespace fairwater::inline cli::inline profile {

/// The runs by amounts, the charts and the points.
[[nodiscard]] std::string profile_text(const ClassProfile& profile);
[[nodiscard]] Json profile_json(const ClassProfile& profile);
[[nodiscard]] std::string profile_svg(const ClassProfile& profile);

}  // namespace fairwater::inline cli::inline profile
