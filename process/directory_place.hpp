// Tells a data directory from a copy of it. The file `place` holds what the file system says of
// that very file; a copy, or what was restored from one, has another inode, born later.
//
//   place = "fairwater-place 1" NL "device " number NL "inode " number NL "born " number NL
//           ; born: nanoseconds since 1970, 0 where the file system does not say
//
// A snapshot of a whole disk is not told from the disk.
#pragma once

#include <filesystem>

#include "model/errors.hpp"

namespace fairwater::inline process {

enum class Place : std::uint8_t {
  unmarked,  ///< nobody marked it yet
  same,      ///< where mark_place left it
  moved,     ///< a copy, or restored from one
};
[[nodiscard]] Expected<Place> place_of(const std::filesystem::path& directory);
/// Durable when it returns. Two fsyncs.
[[nodiscard]] caf::error mark_place(const std::filesystem::path& directory);

}  // namespace fairwater::inline process
