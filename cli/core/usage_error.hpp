// What is wrong with a command line, in words that name the option, the value and what would be
// right there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "model/errors.hpp"

namespace fairwater::inline cli::inline core {

// For CLI::Option::check(). CLI11's own take -1 for the largest number there is.

/// Decimal digits, and a minus where `lowest` is below 0.
[[nodiscard]] CLI::Validator whole_number(std::int64_t lowest, std::uint64_t highest);
/// Of 32 bits, 0 or more.
[[nodiscard]] CLI::Validator any_count();
[[nodiscard]] CLI::Validator number_between(double lowest, double highest);
[[nodiscard]] CLI::Validator one_of(std::vector<std::string> words);
/// For what would be left out if it was empty, as where a variable is that was not set.
[[nodiscard]] CLI::Validator not_empty();

/// Why `app` refused its arguments by `problem`, which is not of a call for help: `invalid_input`,
/// with the option as field; none for a word that is not known.
[[nodiscard]] caf::error usage_error(const CLI::App& app, const CLI::ParseError& problem);

}  // namespace fairwater::inline cli::inline core
