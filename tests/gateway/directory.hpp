#pragma once

#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

namespace fairwater::test {

/// A directory of the test's own, gone afterwards.
class Directory {
 public:
  Directory() {
    std::string pattern = std::filesystem::temp_directory_path() / "fairwater-gateway-XXXXXX";
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string file(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace fairwater::test
