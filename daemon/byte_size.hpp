#pragma once

#include <cstdint>
#include <string>

#include "model/errors.hpp"

namespace fairwater::inline daemon {

/// Of `2GiB` and the like, as jobs say memory; a bare number is of MiB.
[[nodiscard]] Expected<std::uint64_t> parse_bytes(const std::string& text);

}  // namespace fairwater::inline daemon
