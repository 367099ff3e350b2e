#include "cli/core/files.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <unistd.h>

#include "rpc/tokens.hpp"

namespace fairwater::inline cli::inline core {
namespace {

caf::error of_this_machine(const caf::error& error) {
  if (!error) return {};
  const ErrorDetails said = details(error);
  if (said.code != ErrorCode::unavailable) return error;
  return make_error(ErrorCode::storage_failed, said.message, "file");
}

caf::error not_written(const std::string& path, int why) {
  return make_error(ErrorCode::storage_failed,
                    std::string("cannot be written: ") + std::strerror(why), path);
}

}  // namespace

caf::error check_writable(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return not_written(path, EISDIR);
  const bool is_there = std::filesystem::exists(path, ignored);
  const std::string folder = std::filesystem::path(path).parent_path();
  const std::string needed = is_there ? path : folder.empty() ? "." : folder;
  if (!is_there && !std::filesystem::is_directory(needed, ignored))
    return not_written(path, std::filesystem::exists(needed, ignored) ? ENOTDIR : ENOENT);
  return ::access(needed.c_str(), W_OK) == 0 ? caf::error{} : not_written(path, errno);
}

caf::error write_file(const std::string& path, const std::string& text) {
  std::ofstream file{path, std::ios::binary};
  file << text;
  file.close();
  if (file) return {};
  return not_written(path, errno);
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
