// Writing results to files and folders.
#pragma once

#include <string>

#include "model/errors.hpp"

namespace fairwater::inline cli::inline core {

/// Replaces the file. `storage_failed` naming the path and why.
[[nodiscard]] caf::error write_file(const std::string& path, const std::string& text);
/// Makes the folder and those above it where they are not there. As above.
[[nodiscard]] caf::error make_folder(const std::string& path);

}  // namespace fairwater::inline cli::inline core
