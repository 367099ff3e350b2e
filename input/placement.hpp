// `placement`, of a job or a tenant.
#pragma once

#include "input/field.hpp"
#include "model/job.hpp"

namespace fairwater::inline input {

[[nodiscard]] inline Placement read_placement(const Field& field) {
  return field.parsed(parse_placement);
}

}  // namespace fairwater::inline input
