// How the verbs of fairwaterd fail: in words and with an exit status, or at once.
#pragma once

#include <functional>
#include <string>

#include "daemon/daemon.hpp"
#include "model/errors.hpp"

namespace fairwater::inline daemon {

/// Says what is wrong on standard error; returns the exit status.
int refuse(const caf::error& error);

/// Ends the process when its outcome is no longer certain: what is on disk decides after a restart.
[[nodiscard]] std::function<void(const std::string&)> stop_at_once(const DaemonLog& log);

}  // namespace fairwater::inline daemon
