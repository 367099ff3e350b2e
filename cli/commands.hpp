// The whole command line `fairwater`: the program `fairwater-local`, and tests.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace fairwater::inline cli {

/// As run_command_line(), with all commands.
[[nodiscard]] int run_fairwater(const std::vector<std::string>& arguments, std::ostream& out,
                                std::ostream& err);

}  // namespace fairwater::inline cli
