// What the readers of the coordinator's file and of the agent's share.
#pragma once

#include "daemon/config.hpp"
#include "input/field.hpp"

namespace fairwater::inline daemon {

[[nodiscard]] LogFormat read_log_format(const Field& field);

/// All keys of an agent's file. Types alone; ranges are validate()'s. Throws InputError.
void read(const FieldMap& fields, AgentConfig& config);

}  // namespace fairwater::inline daemon
