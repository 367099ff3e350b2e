#include "cli/core/files.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "rpc/tokens.hpp"

namespace fairwater::inline cli::inline core {
namespace {

caf::error of_this_machine(const caf::error& error) {
  if (!error) return {};
  const ErrorDetails said = details(error);
  if (said.code != ErrorCode::unavailable) return error;
  return make_error(ErrorCode::storage_failed, said.message, "file");
}

}  // namespace

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

caf::error check_token_file(const std::string& path) {
  return of_this_machine(check_secret_file(path));
}

caf::error write_token_file(const std::string& path, const std::string& token) {
  return of_this_machine(write_secret_file(path, token));
}

}  // namespace fairwater::inline cli::inline core
