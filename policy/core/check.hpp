// Always-on checks. A broken invariant ends the process loudly: going on could write it to the
// ledger.
#pragma once

namespace fairwater::inline policy::inline core {

/// Writes the expression, place and message to standard error and aborts.
[[noreturn]] void check_failed(const char* expression, const char* file, int line,
                               const char* message);

}  // namespace fairwater::inline policy::inline core

/// Not compiled out in any build.
#define FAIRWATER_CHECK(condition, message) \
  ((condition) ? void() : ::fairwater::check_failed(#condition, __FILE__, __LINE__, message))
