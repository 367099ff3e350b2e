#include "cli/profile/vary.hpp"

#include <charconv>
#include <optional>
#include <set>

#include "model/profile.hpp"

namespace fairwater::inline cli::inline profile {
namespace {

caf::error invalid(std::string message) {
  return make_error(ErrorCode::invalid_input, std::move(message), "vary");
}

Expected<Amount> amount_of(const std::string& resource, std::string_view text) {
  const auto amount = parse_amount(resource, text);
  if (!amount) return invalid(details(amount.error()).message);
  if (*amount > 0) return amount;
  return invalid("'" + std::string(text) + "' of " + resource + " is not above 0");
}

/// How one amount of a range leads to the next.
struct Step {
  Amount add = 0;
  Amount times = 1;
  [[nodiscard]] Amount after(Amount amount) const { return amount * times + add; }
};

Step usual_step(const std::string& resource) {
  if (resource == "memory") return {0, 2};
  return {resource == "cpu" ? kMillicoresPerCpu : 1, 1};
}

Expected<Step> step_of(const std::string& resource, std::string_view text) {
  constexpr Amount kMostTimes = 1000;
  if (!text.starts_with('x')) {
    const auto add = amount_of(resource, text);
    if (!add) return add.error();
    return Step{*add, 1};
  }
  Amount times = 0;
  const std::string_view digits = text.substr(1);
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), times);
  if (read.ec == std::errc{} && read.ptr == digits.data() + digits.size() && times >= 2 &&
      times <= kMostTimes)
    return Step{0, times};
  return invalid("'" + std::string(text) +
                 "' is not a step; write x2 to double, or an amount to add each time");
}

/// `amount`, or `amount..amount[:step]`.
caf::error add_part(const std::string& resource, std::string_view part, std::set<Amount>& amounts) {
  const auto dots = part.find("..");
  const auto first = amount_of(resource, part.substr(0, dots));
  if (!first) return first.error();
  if (dots == std::string_view::npos) {
    amounts.insert(*first);
    return {};
  }
  const std::string_view rest = part.substr(dots + 2);
  const auto colon = rest.find(':');
  const auto last = amount_of(resource, rest.substr(0, colon));
  if (!last) return last.error();
  if (*last < *first)
    return invalid("'" + std::string(part) + "' ends before it begins; write the smaller first");
  Step step = usual_step(resource);
  if (colon != std::string_view::npos) {
    const auto given = step_of(resource, rest.substr(colon + 1));
    if (!given) return given.error();
    step = *given;
  }
  for (Amount amount = *first; amount <= *last; amount = step.after(amount)) {
    amounts.insert(amount);
    if (amounts.size() > kMaxProfiledAmounts)
      return invalid("'" + std::string(part) + "' has more than " +
                     std::to_string(kMaxProfiledAmounts) +
                     " amounts; give it a larger step, as in 1..64:x2");
  }
  return {};
}

}  // namespace

Expected<Variation> parse_variation(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size())
    return invalid("'" + std::string(text) +
                   "' is not RESOURCE=RANGE; write cpu=1..8, memory=512MiB..4GiB:x2 or cpu=1,2,4");
  Variation variation{std::string(text.substr(0, equals)), {}};
  std::set<Amount> amounts;
  std::string_view rest = text.substr(equals + 1);
  for (;;) {
    const auto comma = rest.find(',');
    if (auto error = add_part(variation.resource, rest.substr(0, comma), amounts)) return error;
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  variation.amounts.assign(amounts.begin(), amounts.end());
  return variation;
}

Expected<std::vector<NamedAmounts>> combinations(const NamedAmounts& base,
                                                 const std::vector<Variation>& variations) {
  std::vector<NamedAmounts> all{base};
  std::set<std::string> seen;
  for (const Variation& variation : variations) {
    if (!seen.insert(variation.resource).second)
      return invalid("varies " + variation.resource +
                     " twice; write its amounts in one list, as in cpu=1,2,4..8");
    std::vector<NamedAmounts> more;
    for (const NamedAmounts& amounts : all)
      for (const Amount amount : variation.amounts) {
        more.push_back(amounts);
        more.back()[variation.resource] = amount;
      }
    all = std::move(more);
    if (all.size() > kMaxProfiledAmounts)
      return invalid(std::to_string(all.size()) + " combinations are more than " +
                     std::to_string(kMaxProfiledAmounts) + "; give the ranges larger steps");
  }
  return std::vector<NamedAmounts>(all.begin(), all.end());
}

}  // namespace fairwater::inline cli::inline profile
