#include "cli/core/files.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace fairwater::inline cli::inline core {

caf::error write_file(const std::string& path, const std::string& text) {
  std::ofstream file{path, std::ios::binary};
  file << text;
  file.close();
  if (file) return {};
  const std::string why = std::strerror(errno);
  return make_error(ErrorCode::storage_failed, "cannot be written: " + why, path);
}

caf::error make_folder(const std::string& path) {
  std::error_code problem;
  std::filesystem::create_directories(path, problem);
  if (!problem) return {};
  return make_error(ErrorCode::storage_failed, "cannot be made: " + problem.message(), path);
}

}  // namespace fairwater::inline cli::inline core
