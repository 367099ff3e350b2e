// What `replicas` in a document holds.
#pragma once

#include "daemon/replica_config.hpp"
#include "input/field.hpp"

namespace fairwater::inline daemon {

/// Types alone; ranges are validate()'s. Throws InputError.
[[nodiscard]] ReplicaConfig read_replicas(const Field& field);

}  // namespace fairwater::inline daemon
