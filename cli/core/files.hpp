// Writing results to files and folders.
#pragma once

#include <string>

#include "model/errors.hpp"

namespace fairwater::inline cli::inline core {

/// Replaces the file. `storage_failed` naming the path and why.
[[nodiscard]] caf::error write_file(const std::string& path, const std::string& text);
/// The same error where `write_file` would fail, as far as that can be told: nothing is written.
[[nodiscard]] caf::error check_writable(const std::string& path);
/// Makes the folder and those above it where they are not there. As above.
[[nodiscard]] caf::error make_folder(const std::string& path);

/// As `check_secret_file` and `write_secret_file`; what is wrong with a file of this machine is
/// `storage_failed`: it says nothing of the coordinator.
[[nodiscard]] caf::error check_token_file(const std::string& path);
[[nodiscard]] caf::error write_token_file(const std::string& path, const std::string& token);

}  // namespace fairwater::inline cli::inline core
