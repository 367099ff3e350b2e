// Child processes on KJ's event loop.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <kj/async-unix.h>

namespace fairwater::inline cli::inline gang {

/// Runs the program, found by PATH, with the environment of this process and what is added to it.
/// Its exit status when it has ended, 128 + signal when it was killed, 127 when it could not be
/// started; then standard error says why. The port must live until then;
/// kj::UnixEventPort::captureChildExit() was called before it was made.
[[nodiscard]] kj::Promise<int> run_program(kj::UnixEventPort& port,
                                           const std::vector<std::string>& command,
                                           const std::map<std::string, std::string>& added = {});

}  // namespace fairwater::inline cli::inline gang
