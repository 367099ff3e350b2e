// The verb `dev` of fairwaterd: a coordinator and agents in one process, to try things out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace fairwater::inline daemon {

struct DevFlags {
  std::uint32_t nodes = 1;
  std::string data;
  bool exec = false;
  std::vector<std::string> command;  ///< after --exec
};

/// Once the verb was parsed, `status` is its exit status. Flags and status must outlive the
/// parsing.
void add_dev(CLI::App& app, DevFlags& flags, int& status);

}  // namespace fairwater::inline daemon
