// Preloaded into a supervisor: the fsync whose number is in FAIRWATER_FAILING_FSYNC fails, as on a
// disk that has trouble for a moment. Every supervisor counts its own.
#include <cerrno>
#include <cstdlib>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" int fsync(int descriptor) {
  static int count = 0;
  const char* failing = std::getenv("FAIRWATER_FAILING_FSYNC");
  if (failing != nullptr && ++count == std::atoi(failing)) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(syscall(SYS_fsync, descriptor));
}
