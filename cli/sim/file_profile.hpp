// `profile` of a generator: what runs of its jobs' class took, by which they ask for amounts and
// grow.
#pragma once

#include "cli/sim/file_parts.hpp"
#include "model/job.hpp"

namespace fairwater::inline cli::inline sim_cli {

/// By the same functions as in a coordinator: amounts that are `left` to the profile become those
/// of its point, and the run time that of the runs with them; elastic jobs grow as far as it was
/// measured to pay. Once the generator's resources, tasks, kind and run time are read. Throws
/// InputError.
void take_profile(const SimFileDraft& draft, const FieldMap& generator_fields,
                  const ProfiledAmounts& left, sim::Generator& generator);

}  // namespace fairwater::inline cli::inline sim_cli
