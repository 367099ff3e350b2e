// Vectors and traces that lie beside the source tree and are no part of it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include <catch2/catch.hpp>

namespace fairwater {

/// The file's path, or none with a printed line where it is absent.
inline std::optional<std::string> shared_file(const std::string& name) {
  const char* shared = std::getenv("FAIRWATER_SHARED");
  const auto path = (shared != nullptr ? std::filesystem::path(shared)
                                       : std::filesystem::path(FAIRWATER_SOURCE_DIR) /
                                             "tests/programs" / ".." / ".." / ".." / "shared") /
                    name;
  if (std::filesystem::exists(path)) return path.string();
  WARN("skipped: no " << path.string());
  return std::nullopt;
}

}  // namespace fairwater
