#include "actors/coordinator/user_turn_text.hpp"

namespace fairwater::inline actors::inline coordinator {
namespace {

std::string named_user(const std::string& user) {
  return user.empty() ? "jobs without a user" : "user " + user;
}

std::string units_text(Units units) {
  return std::to_string(units) + (units == 1 ? " unit" : " units");
}

/// By what the first comes before the second.
std::string reason_text(const UserShare& first, const std::string& second,
                        const UserShare& second_share) {
  const std::string holds = "holding " + units_text(first.held);
  if (first.held != second_share.held)
    return holds + " (" + named_user(second) + ": " + std::to_string(second_share.held) + ")";
  return holds + ", as " + named_user(second) + ", and " +
         (first.served != second_share.served ? "was granted something longer ago"
                                              : "submitted first");
}

}  // namespace

std::string user_turn_text(const TenantJobs::NextUsers& users, const std::string& user,
                           const UserShare& share) {
  const bool is_next = users.next == user;
  return "the tenant's users take turns, " + std::to_string(users.waiting) +
         " wait; next: " + named_user(users.next) + ", " +
         reason_text(users.next_share, is_next ? users.second : user,
                     is_next ? users.second_share : share);
}

}  // namespace fairwater::inline actors::inline coordinator
