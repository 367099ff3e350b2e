#include "input/id_list.hpp"

#include <charconv>
#include <set>
#include <string>

namespace fairwater::inline input {
namespace {

caf::error refuse(std::string_view part, const char* why) {
  return make_error(ErrorCode::invalid_input, "'" + std::string{part} + "' " + why, "id");
}

/// 0 for what is no positive integer.
std::uint64_t read_id(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc{} && end == text.data() + text.size() ? value : 0;
}

}  // namespace

Expected<IdList> parse_id_list(std::string_view text) {
  IdList list;
  if (text == "all" || text == "last") {
    list.kind = text == "all" ? IdList::Kind::all : IdList::Kind::last;
    return list;
  }
  std::set<JobId> seen;
  for (std::size_t at = 0; at <= text.size();) {
    const auto comma = std::min(text.find(',', at), text.size());
    const std::string_view part = text.substr(at, comma - at);
    at = comma + 1;
    const auto dash = part.find('-');
    const std::uint64_t first = read_id(part.substr(0, dash));
    const std::uint64_t last =
        dash == std::string_view::npos ? first : read_id(part.substr(dash + 1));
    if (first == 0 || last == 0)
      return refuse(part, "is not a job's id; write 7, 1,3,5-8, all or last");
    if (last < first) return refuse(part, "ends before it begins");
    if (last - first >= kMaxIdsInList - list.ids.size())
      return refuse(part, "makes the list longer than 1000000 ids");
    for (std::uint64_t id = first;; ++id) {
      if (seen.insert(JobId{id}).second) list.ids.push_back(JobId{id});
      if (id == last) break;
    }
  }
  return list;
}

}  // namespace fairwater::inline input
