// The version that the build gives all programs.
#pragma once

#include <string_view>

namespace fairwater::inline cli::inline core {

inline constexpr std::string_view kVersion = FAIRWATER_VERSION;

}  // namespace fairwater::inline cli::inline core
