// A directory that is gone when its owner is.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace fairwater::inline process {

/// A new directory under the machine's temporary one, readable by its owner alone. Throws
/// std::filesystem::filesystem_error when it cannot be made.
class TemporaryDirectory {
 public:
  TemporaryDirectory() : path_(std::filesystem::temp_directory_path() / "fairwater-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr)
      throw std::filesystem::filesystem_error("cannot make a temporary directory", path_,
                                              {errno, std::generic_category()});
  }
  ~TemporaryDirectory() {
    std::error_code ignored;  // what stays behind lies in the temporary directory either way
    if (!kept_) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// Leaves it where it is.
  void keep() { kept_ = true; }

 private:
  std::string path_;
  bool kept_ = false;
};

}  // namespace fairwater::inline process
