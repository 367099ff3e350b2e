// A disk that can be full.
#pragma once

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <sys/mount.h>

#include "process/temporary_directory.hpp"

namespace fairwater::harness {

/// A tmpfs of its owner's, gone with the object. Needs root.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& size) {
    if (mount("tmpfs", where_.path().c_str(), "tmpfs", 0, ("size=" + size).c_str()) != 0)
      throw std::runtime_error("cannot mount a tmpfs of " + size);
  }
  ~SmallDisk() { umount2(where_.path().c_str(), MNT_DETACH); }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const {
    return where_ / name;
  }
  /// Takes all the room that is left.
  void fill() const {
    std::ofstream file(where_ / "filler", std::ios::binary);
    const std::string block(4096, 'x');
    while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }
  void make_room() const { std::filesystem::remove(where_ / "filler"); }

 private:
  TemporaryDirectory where_;
};

}  // namespace fairwater::harness
