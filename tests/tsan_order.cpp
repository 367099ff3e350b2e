// What ThreadSanitizer cannot see: CAF's mailboxes and KJ's mutexes order threads by atomics inside
// libraries that are not instrumented, so every message would look like a race. This puts itself in
// front of the few functions that such an order goes through, tells the sanitizer of it, and calls
// the library's own. Linked into the test programs of the thread sanitizer's build alone.
//
//   scheduled_actor::enqueue, launch   happen before   the actor's next activate and reactivate
//   an actor's message                 happens before  its next, whichever thread runs it
//   blocking_actor::enqueue            happens before  await_data
//   an actor's or its thread's end     happens before  the end of waiting for all of them
//   letting go of an actor             happens before  its destruction by whoever does so last
//   kj::_::Mutex::unlock and wait      happen before   the next lock and the end of a wait
//
// The functions are called by their mangled names, so that no class has to be declared anew; what
// they take is passed on as the calling convention of x86-64 has it: pointers and small values.
#include <cstddef>
#include <cstdint>
#include <dlfcn.h>

// Mangled names, as `nm -D` prints them.
#define ENQUEUE \
  "7enqueueESt10unique_ptrINS_15mailbox_elementENS_6detail8disposerEEPNS_14execution_unitE"
#define CAF_ENQUEUE "_ZN3caf15scheduled_actor" ENQUEUE
#define CAF_BLOCKING_ENQUEUE "_ZN3caf14blocking_actor" ENQUEUE
#define CAF_LAUNCH "_ZN3caf15scheduled_actor6launchEPNS_14execution_unitEbb"
#define CAF_ACTIVATE "_ZN3caf15scheduled_actor8activateEPNS_14execution_unitE"
#define CAF_REACTIVATE "_ZN3caf15scheduled_actor10reactivateERNS_15mailbox_elementE"
#define CAF_FINALIZE "_ZN3caf15scheduled_actor8finalizeEv"
#define CAF_AWAIT "_ZN3caf14blocking_actor10await_dataEv"
#define CAF_AWAIT_UNTIL                                                                    \
  "_ZN3caf14blocking_actor10await_dataENSt6chrono10time_pointINS1_3_V212system_clockENS1_" \
  "8durationIlSt5ratioILl1ELl1000000000EEEEEE"
#define CAF_DETACHED_ENDS "_ZN3caf12actor_system20dec_detached_threadsEv"
#define CAF_DETACHED_AWAIT "_ZN3caf12actor_system22await_detached_threadsEv"
#define CAF_ACTOR_ENDS "_ZN3caf14actor_registry11dec_runningEv"
#define CAF_ACTORS_AWAIT "_ZNK3caf14actor_registry25await_running_count_equalEm"
#define CAF_RELEASE "_ZN3caf21intrusive_ptr_releaseEPNS_19actor_control_blockE"
#define CAF_RELEASE_WEAK "_ZN3caf26intrusive_ptr_release_weakEPNS_19actor_control_blockE"
#define KJ_LOCK                                                                            \
  "_ZN2kj1_5Mutex4lockENS1_11ExclusivityENS_5MaybeINS_8QuantityIlNS0_15NanosecondLabelEEE" \
  "EENS_18NoopSourceLocationE"
#define KJ_WAIT                                                                               \
  "_ZN2kj1_5Mutex4waitERNS1_9PredicateENS_5MaybeINS_8QuantityIlNS0_15NanosecondLabelEEEEENS_" \
  "18NoopSourceLocationE"
#define KJ_UNLOCK "_ZN2kj1_5Mutex6unlockENS1_11ExclusivityEPNS1_6WaiterE"

extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}

namespace {

/// The library's own function behind ours.
template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

/// For functions of CAF that end with a jump into the C library: what they touch there would count
/// as touched by their caller, which is this file.
class Unseen {
 public:
  Unseen() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~Unseen() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;
};

}  // namespace

extern "C" {

using Enqueue = void (*)(void*, void*, void*);
using Launch = void (*)(void*, void*, bool, bool);
using Activate = bool (*)(void*, void*);
using Reactivate = std::intptr_t (*)(void*, void*);
using Finalize = bool (*)(void*);
using Await = void (*)(void*);
using AwaitUntil = bool (*)(void*, std::int64_t);
using End = void (*)(void*);
using AwaitActors = void (*)(const void*, std::size_t);
using Release = void (*)(void*);
using Lock = bool (*)(void*, int, void*, int);
using Wait = void (*)(void*, void*, void*, int);
using Unlock = void (*)(void*, int, void*);

void fairwater_caf_enqueue(void* actor, void* element, void* unit) asm(CAF_ENQUEUE);
void fairwater_caf_enqueue(void* actor, void* element, void* unit) {
  static const auto real = next<Enqueue>(CAF_ENQUEUE);
  __tsan_release(actor);
  real(actor, element, unit);
}

void fairwater_caf_blocking_enqueue(void* actor, void* element,
                                    void* unit) asm(CAF_BLOCKING_ENQUEUE);
void fairwater_caf_blocking_enqueue(void* actor, void* element, void* unit) {
  static const auto real = next<Enqueue>(CAF_BLOCKING_ENQUEUE);
  __tsan_release(actor);
  real(actor, element, unit);
}

void fairwater_caf_launch(void* actor, void* unit, bool lazy, bool hide) asm(CAF_LAUNCH);
void fairwater_caf_launch(void* actor, void* unit, bool lazy, bool hide) {
  static const auto real = next<Launch>(CAF_LAUNCH);
  __tsan_release(actor);
  real(actor, unit, lazy, hide);
}

bool fairwater_caf_activate(void* actor, void* unit) asm(CAF_ACTIVATE);
bool fairwater_caf_activate(void* actor, void* unit) {
  static const auto real = next<Activate>(CAF_ACTIVATE);
  __tsan_acquire(actor);
  const bool result = real(actor, unit);
  __tsan_release(actor);
  return result;
}

std::intptr_t fairwater_caf_reactivate(void* actor, void* element) asm(CAF_REACTIVATE);
std::intptr_t fairwater_caf_reactivate(void* actor, void* element) {
  static const auto real = next<Reactivate>(CAF_REACTIVATE);
  __tsan_acquire(actor);
  const auto result = real(actor, element);
  __tsan_release(actor);
  return result;
}

bool fairwater_caf_finalize(void* actor) asm(CAF_FINALIZE);
bool fairwater_caf_finalize(void* actor) {
  static const auto real = next<Finalize>(CAF_FINALIZE);
  __tsan_acquire(actor);
  const bool result = real(actor);
  __tsan_release(actor);
  return result;
}

void fairwater_caf_await(void* actor) asm(CAF_AWAIT);
void fairwater_caf_await(void* actor) {
  static const auto real = next<Await>(CAF_AWAIT);
  real(actor);
  __tsan_acquire(actor);
}

bool fairwater_caf_await_until(void* actor, std::int64_t deadline) asm(CAF_AWAIT_UNTIL);
bool fairwater_caf_await_until(void* actor, std::int64_t deadline) {
  static const auto real = next<AwaitUntil>(CAF_AWAIT_UNTIL);
  const bool result = real(actor, deadline);
  __tsan_acquire(actor);
  return result;
}

void fairwater_caf_detached_ends(void* system) asm(CAF_DETACHED_ENDS);
void fairwater_caf_detached_ends(void* system) {
  static const auto real = next<End>(CAF_DETACHED_ENDS);
  const Unseen unseen;
  __tsan_release(system);
  real(system);
}

void fairwater_caf_detached_await(void* system) asm(CAF_DETACHED_AWAIT);
void fairwater_caf_detached_await(void* system) {
  static const auto real = next<End>(CAF_DETACHED_AWAIT);
  real(system);
  __tsan_acquire(system);
}

void fairwater_caf_actor_ends(void* registry) asm(CAF_ACTOR_ENDS);
void fairwater_caf_actor_ends(void* registry) {
  static const auto real = next<End>(CAF_ACTOR_ENDS);
  const Unseen unseen;
  __tsan_release(registry);
  real(registry);
}

void fairwater_caf_actors_await(const void* registry, std::size_t expected) asm(CAF_ACTORS_AWAIT);
void fairwater_caf_actors_await(const void* registry, std::size_t expected) {
  static const auto real = next<AwaitActors>(CAF_ACTORS_AWAIT);
  real(registry, expected);
  __tsan_acquire(const_cast<void*>(registry));
}

void fairwater_caf_release(void* actor) asm(CAF_RELEASE);
void fairwater_caf_release(void* actor) {
  static const auto real = next<Release>(CAF_RELEASE);
  __tsan_release(actor);
  __tsan_acquire(actor);
  real(actor);
}

void fairwater_caf_release_weak(void* actor) asm(CAF_RELEASE_WEAK);
void fairwater_caf_release_weak(void* actor) {
  static const auto real = next<Release>(CAF_RELEASE_WEAK);
  __tsan_release(actor);
  __tsan_acquire(actor);
  real(actor);
}

bool fairwater_kj_lock(void* mutex, int exclusivity, void* timeout, int location) asm(KJ_LOCK);
bool fairwater_kj_lock(void* mutex, int exclusivity, void* timeout, int location) {
  static const auto real = next<Lock>(KJ_LOCK);
  const bool result = real(mutex, exclusivity, timeout, location);
  __tsan_acquire(mutex);
  return result;
}

void fairwater_kj_wait(void* mutex, void* predicate, void* timeout, int location) asm(KJ_WAIT);
void fairwater_kj_wait(void* mutex, void* predicate, void* timeout, int location) {
  static const auto real = next<Wait>(KJ_WAIT);
  __tsan_release(mutex);
  real(mutex, predicate, timeout, location);
  __tsan_acquire(mutex);
}

void fairwater_kj_unlock(void* mutex, int exclusivity, void* waiter) asm(KJ_UNLOCK);
void fairwater_kj_unlock(void* mutex, int exclusivity, void* waiter) {
  static const auto real = next<Unlock>(KJ_UNLOCK);
  __tsan_release(mutex);
  real(mutex, exclusivity, waiter);
}

}  // extern "C"
