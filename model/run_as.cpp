#include "model/run_as.hpp"

#include <algorithm>

namespace fairwater::inline model {
namespace {

bool is_user_name(std::string_view name) {
  constexpr std::size_t kMaxBytes = 255;
  return !name.empty() && name.size() <= kMaxBytes && std::ranges::all_of(name, [](char c) {
    return c > ' ' && c < '\x7f' && std::string_view(":,/").find(c) == std::string_view::npos;
  });
}

caf::error check_name(const std::string& name, const char* what, const char* field) {
  if (is_user_name(name)) return {};
  return make_error(ErrorCode::invalid_input,
                    "'" + name + "' is not a " + what + "'s name or number", field);
}

}  // namespace

caf::error validate(const RunAs& run_as) {
  if (run_as.empty()) return {};
  if (run_as.user.empty())
    return make_error(ErrorCode::invalid_input, "a group needs a user", "run_as.user");
  if (auto error = check_name(run_as.user, "user", "run_as.user")) return error;
  if (!run_as.group.empty())
    if (auto error = check_name(run_as.group, "group", "run_as.group")) return error;
  if (run_as.groups.size() > kMaxSupplementaryGroups)
    return make_error(ErrorCode::invalid_input,
                      std::to_string(run_as.groups.size()) + " groups are more than " +
                          std::to_string(kMaxSupplementaryGroups),
                      "run_as.groups");
  for (const auto& group : run_as.groups)
    if (auto error = check_name(group, "group", "run_as.groups")) return error;
  return {};
}

RunAs run_as_from(std::string_view text) {
  const auto colon = text.find(':');
  RunAs run_as;
  run_as.user = text.substr(0, colon);
  if (colon != std::string_view::npos) run_as.group = text.substr(colon + 1);
  return run_as;
}

std::string to_text(const RunAs& run_as) {
  std::string text = run_as.user;
  if (!run_as.group.empty()) text += ":" + run_as.group;
  for (const auto& group : run_as.groups) text += ",+" + group;
  return text;
}

}  // namespace fairwater::inline model
