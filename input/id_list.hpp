// Lists of job ids as people write them: `1,3,5-8`, `all`, `last`.
#pragma once

#include <string_view>
#include <vector>

#include "model/errors.hpp"
#include "policy/core/types.hpp"

namespace fairwater::inline input {

/// Bounds what a range like `1-999999999` may ask for.
inline constexpr std::size_t kMaxIdsInList = 1'000'000;

struct IdList {
  enum class Kind : std::uint8_t { ids, all, last };
  Kind kind = Kind::ids;
  std::vector<JobId> ids;  ///< for Kind::ids: in the order given, each once
  friend bool operator==(const IdList&, const IdList&) = default;
};

/// `invalid_input` naming the offending part.
[[nodiscard]] Expected<IdList> parse_id_list(std::string_view text);

}  // namespace fairwater::inline input
