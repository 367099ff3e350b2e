// The JSON that programs read and print.
#pragma once

#include <nlohmann/json.hpp>

namespace fairwater::inline cli::inline core {

/// Keeps the order in which fields were written.
using Json = nlohmann::ordered_json;

}  // namespace fairwater::inline cli::inline core
