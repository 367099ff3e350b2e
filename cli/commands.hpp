// The command line `fairwater`.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace fairwater::inline cli {

/// Runs one command; `arguments` are those after the program's name. Returns the exit status, which
/// is that of a failure where `out` does not take all of it.
[[nodiscard]] int run_fairwater(const std::vector<std::string>& arguments, std::ostream& out,
                                std::ostream& err);

}  // namespace fairwater::inline cli
