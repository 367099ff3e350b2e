// On which processors the machine's processes run.
#pragma once

#include <filesystem>
#include <sys/types.h>
#include <vector>

#include "process/cpus.hpp"
#include "process/process_identity.hpp"

namespace fairwater::inline process {

/// Those of `usable`, with what `/sys` says of their cores and memory nodes; a processor of which
/// it says nothing is a core of its own on memory node 0.
[[nodiscard]] std::vector<Cpu> read_cpus(
    const CpuNumbers& usable, const std::filesystem::path& system = "/sys/devices/system");
/// Those on which the calling thread may run.
[[nodiscard]] CpuNumbers usable_cpus();

/// Binds one thread, or a process that has one thread, and what it forks from then on; 0: the
/// caller. Returns errno, 0 for done.
[[nodiscard]] int bind_to_cpus(pid_t thread, const CpuNumbers& cpus);
/// Lets the calling thread run wherever its control group does. Returns errno, 0 for done.
[[nodiscard]] int unbind_from_cpus();

/// Moves the threads of these processes, whatever they start meanwhile, to `cpus`: `roots` with
/// everything below them, `alone` without. Who bound itself to some of `cpus` stays there; who was
/// wherever its root was gets all of them.
void move_to_cpus(const std::vector<pid_t>& roots, const std::vector<pid_t>& alone,
                  const CpuNumbers& cpus);

}  // namespace fairwater::inline process
