// What is said of an error, with which exit status, and the end at once.
#include "daemon/verb_failures.hpp"

#include <cstdlib>
#include <iostream>

#include "cli/core/context.hpp"

namespace fairwater::inline daemon {

int refuse(const caf::error& error) {
  const auto said = details(error);
  std::cerr << "fairwaterd: " << (said.field.empty() ? "" : said.field + ": ") << said.message
            << "\n";
  return said.code == ErrorCode::invalid_input && !said.field.empty() ? kExitUsage : kExitFailed;
}

std::function<void(const std::string&)> stop_at_once(const DaemonLog& log) {
  return [log](const std::string& why) {
    log.error(why + "; stopping");
    std::_Exit(kExitFailed);
  };
}

}  // namespace fairwater::inline daemon
