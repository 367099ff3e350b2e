#include "cli/core/usage_error.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace fairwater::inline cli::inline core {
namespace {

using CommandPath = std::vector<const CLI::App*>;  ///< from the program to its verb

caf::error wrong(const std::string& field, const std::string& message) {
  return make_error(ErrorCode::invalid_input, message, field);
}

std::string listed(const std::vector<std::string>& words) { return CLI::detail::join(words, ", "); }

// -- what there is
// ----------------------------------------------------------------------------------

CommandPath chosen(const CLI::App& app) {
  CommandPath path{&app};
  for (auto next = app.get_subcommands(); !next.empty(); next = path.back()->get_subcommands())
    path.push_back(next.front());
  return path;
}

std::vector<std::string> verbs_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const auto* verb : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(verb->get_name());
  return names;
}

/// The one of the command, or of what stands before it, that the problem's words begin with.
const CLI::Option* option_of(const CommandPath& path, const std::string& words) {
  const CLI::Option* found = nullptr;
  for (const auto* app : path)
    for (const auto* option : app->get_options()) {
      const std::string name = option->get_name();
      const bool named = words.starts_with(name + ":") || words.starts_with(name + " ");
      if (named && (found == nullptr || found->get_name().size() <= name.size())) found = option;
    }
  return found;
}

bool is_flag(const CLI::Option& option) { return option.get_items_expected_max() == 0; }

/// `NAME` of a positional, `--reason TEXT` of an option.
std::string usage_of(const CLI::Option& option) {
  std::string name = option.get_name();
  if (!option.nonpositional()) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
    return name + (option.get_items_expected_max() > 1 ? ".." : "");
  }
  if (is_flag(option)) return name;
  const std::string type = option.get_type_name();
  return name + (type.starts_with("TEXT") ? " TEXT" : " NUMBER");
}

/// `fairwater node drain NAME --reason TEXT`: the command with what it cannot be without.
std::string usage_of(const CommandPath& path) {
  std::string usage;
  for (const auto* app : path) usage += (usage.empty() ? "" : " ") + app->get_name();
  for (const auto* option : path.back()->get_options())
    if (option->get_required()) usage += " " + usage_of(*option);
  for (const auto* option : path.back()->get_options())
    if (option->get_positional() && !option->get_required())
      usage += " [" + usage_of(*option) + "]";
  return usage;
}

// -- what was meant
// ---------------------------------------------------------------------------------

/// How many letters are to be changed, put in or left out. O(length of both, multiplied).
std::size_t distance(const std::string& one, const std::string& other) {
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t k = 0; k < other.size(); ++k) {
      const std::size_t replaced = diagonal + (one[i] == other[k] ? 0 : 1);
      diagonal = row[k + 1];
      row[k + 1] = std::min({replaced, diagonal + 1, row[k] + 1});
    }
  }
  return row.back();
}

/// Empty when none is near.
std::string nearest(const std::string& word, const std::vector<std::string>& known) {
  constexpr std::size_t kNear = 2;
  std::string best;
  std::size_t least = kNear + 1;
  for (const auto& candidate : known)
    if (const auto letters = distance(word, candidate);
        letters < least && letters <= word.size() / 2) {
      least = letters;
      best = candidate;
    }
  return best;
}

std::vector<std::string> options_of(const CommandPath& path) {
  std::vector<std::string> names;
  for (const auto* app : path)
    for (const auto* option : app->get_options())
      if (option->nonpositional()) names.push_back(option->get_name());
  return names;
}

std::string command_of(const CommandPath& path) {
  std::string words;
  for (const auto* app : path) words += (words.empty() ? "" : " ") + app->get_name();
  return words;
}

caf::error unknown_word(const CommandPath& path, const std::string& word) {
  const std::string unknown = "'" + word + "' is not known here";
  const bool is_option = word.starts_with("-");
  const auto verbs = verbs_of(*path.back());
  const auto meant = nearest(word.substr(0, word.find('=')), is_option ? options_of(path) : verbs);
  if (!meant.empty()) return wrong("", unknown + "; did you mean " + meant + "?");
  if (is_option)
    return wrong("", unknown + "; " + command_of(path) + " --help says which options are");
  if (!verbs.empty()) return wrong("", unknown + "; write one of " + listed(verbs));
  return wrong("", unknown + "; write " + usage_of(path));
}

caf::error missing(const CommandPath& path, const std::string& said) {
  if (const CLI::Option* option = option_of(path, said))
    return wrong(option->get_name(), "is required; write " + usage_of(path));
  return wrong("", "a command is missing; write one of " + listed(verbs_of(*path.back())) +
                       " after " + command_of(path));
}

caf::error wrong_number_of_values(const CLI::Option& option) {
  const std::string name = option.get_name();
  if (option.results().size() > 1)
    return wrong(name, fmt::format("is given {} times; once is right", option.results().size()));
  return wrong(name, "is without a value; write " + usage_of(option));
}

caf::error not_converted(const CLI::Option& option) {
  const std::string name = option.get_name();
  const std::string value = CLI::detail::join(option.results(), " ");
  if (is_flag(option)) return wrong(name, "takes no value, and has '" + value + "'; write " + name);
  return wrong(name, "'" + value + "' is not a number");
}

}  // namespace

CLI::Validator whole_number(std::int64_t lowest, std::uint64_t highest) {
  const std::string range = highest == std::numeric_limits<std::uint64_t>::max()
                                ? fmt::format(", {} or more", lowest)
                                : fmt::format(" from {} to {}", lowest, highest);
  const auto fault = [=](const std::string& text) -> std::string {
    const char* const end = text.data() + text.size();
    std::uint64_t magnitude = 0;
    const char* const digits = text.data() + (text.starts_with('-') ? 1 : 0);
    const auto [stop, error] = std::from_chars(digits, end, magnitude);
    const bool is_below_0 = digits != text.data() && magnitude != 0;
    // The magnitude of the lowest, also where that is the lowest number there is.
    const std::uint64_t below = lowest < 0 ? ~static_cast<std::uint64_t>(lowest) + 1 : 0;
    const bool in_range =
        is_below_0 ? magnitude <= below
                   : magnitude <= highest && (lowest <= 0 || magnitude >= std::uint64_t(lowest));
    if (error != std::errc{} || stop != end || !in_range)
      return "'" + text + "' is not a whole number" + range;
    // CLI11 would take it for one of base 8.
    if (*digits == '0' && stop - digits > 1)
      return "'" + text + "' begins with 0; write it without";
    return {};
  };
  return {fault, fmt::format("{} to {}", lowest, highest)};
}

CLI::Validator any_count() {
  return whole_number(0, std::numeric_limits<std::uint32_t>::max()).description("");
}

CLI::Validator number_between(double lowest, double highest) {
  const auto fault = [=](const std::string& text) -> std::string {
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc{} && stop == end && number >= lowest && number <= highest) return {};
    return fmt::format("'{}' is not a number from {} to {}", text, lowest, highest);
  };
  return {fault, fmt::format("{} to {}", lowest, highest)};
}

CLI::Validator one_of(std::vector<std::string> words) {
  const std::string description = CLI::detail::join(words, "|");
  const auto fault = [words = std::move(words)](const std::string& text) -> std::string {
    if (std::find(words.begin(), words.end(), text) != words.end()) return {};
    std::string right = words.front();
    for (std::size_t i = 1; i < words.size(); ++i)
      right += (i + 1 == words.size() ? " or " : ", ") + words[i];
    return "'" + text + "' is not " + right;
  };
  return {fault, description};
}

CLI::Validator not_empty() {
  return {[](const std::string& text) { return text.empty() ? "is empty: leave it out" : ""; }, ""};
}

caf::error usage_error(const CLI::App& app, const CLI::ParseError& problem) {
  const CommandPath path = chosen(app);
  const std::string said = problem.what();
  // CLI11 says that a command is missing before it says that the one given is unknown.
  if (const auto unknown = app.remaining(true); !unknown.empty())
    return unknown_word(path, unknown.front());
  if (dynamic_cast<const CLI::RequiredError*>(&problem) != nullptr) return missing(path, said);
  constexpr std::string_view kNotConverted = "Could not convert: ";
  const bool is_conversion = said.starts_with(kNotConverted);
  const CLI::Option* option =
      option_of(path, is_conversion ? said.substr(kNotConverted.size()) : said);
  if (option == nullptr) return wrong("", said);
  const std::string name = option->get_name();
  if (is_conversion) return not_converted(*option);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&problem) != nullptr)
    return wrong_number_of_values(*option);
  if (dynamic_cast<const CLI::ExcludesError*>(&problem) != nullptr) {
    constexpr std::string_view kExcludes = " excludes ";
    return wrong(name, "does not go with " + said.substr(name.size() + kExcludes.size()) +
                           "; give one of them");
  }
  return wrong(name, said.starts_with(name + ": ") ? said.substr(name.size() + 2) : said);
}

}  // namespace fairwater::inline cli::inline core
