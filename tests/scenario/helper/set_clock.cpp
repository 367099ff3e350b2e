// Preloaded into a program: its wall clock is ahead by so many seconds as the file holds that
// FAIRWATER_CLOCK_AHEAD names.
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

long seconds_ahead() {
  const char* path = std::getenv("FAIRWATER_CLOCK_AHEAD");
  const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[32] = {};
  const bool is_read = read(file, text, sizeof text - 1) > 0;
  close(file);
  return is_read ? std::atol(text) : 0;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) {
  const long result = syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += seconds_ahead();
  return static_cast<int>(result);
}
