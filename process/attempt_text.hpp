// The content of an attempt's file (process/attempt_file.hpp).
//
//   file    = *section                  ; a torn or unreadable tail counts as not written
//   section = "fairwater-" kind " 1" NL *field "end" NL
//   field   = name SP length ":" *byte NL    ; length: decimal count of bytes, a value may hold
//                                            ; anything
//   name    = 1*(a-z / "_")             ; repeated for lists, in order; unknown names are skipped
//   number  = decimal digits with an optional "-"
//   pair    = key "=" value, split at the first "="
//
//   order:     epoch, task_count, time_limit_ms, grace_ms, log_limit_bytes, method, tenant: number;
//              directory, work_directory: text; argument: text, repeated; environment, limit,
//              cgroup: pair, repeated; device: pair, repeated, a resource and the id of one that
//              the task has, or nothing where it has none; processor: number, repeated, those of
//              its own; denied_device: text, repeated; shared_cpuset: text, where it is in one;
//              follows_members: number, where it does; lease_ms: number, where it has one of its
//              own; and where the task runs as another user than the host: uid, gid: number; group:
//              number, repeated; user: text
//   started:   pid, start_ticks, started_at_us: number; boot_id: text
//   result:    reason, exit_code, signal, started_at_us, finished_at_us, cpu_ms, peak_memory_kib:
//              number; message: text
//   forgotten: no field
//
// A section is unreadable, too, that holds a number out of its range or a method or reason that
// this version does not know.
#pragma once

#include <string>
#include <string_view>

#include "process/attempt_file.hpp"

namespace fairwater::inline process {

/// One section each. A result's message is cut to kMaxResultMessageBytes.
[[nodiscard]] std::string to_text(const TaskOrder& order);
[[nodiscard]] std::string to_text(const TaskStarted& started);
[[nodiscard]] std::string to_text(const TaskResult& result);
[[nodiscard]] std::string forgotten_text();

/// What is whole of it.
[[nodiscard]] AttemptRecord read_attempt(const TaskKey& task, std::string_view content);

}  // namespace fairwater::inline process
