#include "cli/gang/place.hpp"

#include <charconv>
#include <cstdlib>

namespace fairwater::inline cli::inline gang {
namespace {

caf::error no_gang(const char* variable) {
  return make_error(ErrorCode::invalid_input,
                    "is not what a gang's task finds there; run this in a job with gang: true",
                    variable);
}

std::string value_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

template <class Number>
bool read_whole(const std::string& text, Number& number) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  return fault == std::errc{} && end == text.data() + text.size() && !text.empty();
}

}  // namespace

Expected<GangPlace> gang_place_from_environment() {
  GangPlace place;
  if (!read_whole(value_of("FAIRWATER_TASK_INDEX"), place.index))
    return no_gang("FAIRWATER_TASK_INDEX");
  if (!read_whole(value_of("FAIRWATER_TASK_COUNT"), place.tasks) || place.index >= place.tasks)
    return no_gang("FAIRWATER_TASK_COUNT");
  const std::string meeting = value_of("FAIRWATER_RENDEZVOUS");
  const auto colon = meeting.rfind(':');
  if (colon == std::string::npos || !read_whole(meeting.substr(colon + 1), place.port))
    return no_gang("FAIRWATER_RENDEZVOUS");
  place.address = meeting.substr(0, colon);
  place.key = value_of("FAIRWATER_GANG_KEY");
  if (place.key.empty()) return no_gang("FAIRWATER_GANG_KEY");
  return place;
}

}  // namespace fairwater::inline cli::inline gang
