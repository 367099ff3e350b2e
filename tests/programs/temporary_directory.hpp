// A directory that is gone when the test is over.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace fairwater {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string path = std::filesystem::temp_directory_path() / "fairwater-test-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) throw std::runtime_error{"mkdtemp failed"};
    path_ = path;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;  // nothing to be done about it in a destructor
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace fairwater
