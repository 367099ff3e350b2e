#include "policy/core/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace fairwater::inline policy::inline core {

void check_failed(const char* expression, const char* file, int line, const char* message) {
  std::fprintf(stderr, "fairwater: broken invariant: %s (%s) at %s:%d\n", message, expression, file,
               line);
  std::abort();
}

}  // namespace fairwater::inline policy::inline core
