// When a wall clock that was set is followed.
#include "model/patient_clock.hpp"

#include <catch2/catch.hpp>

namespace fairwater::test {
namespace {

constexpr std::int64_t kHour_ms = 3'600'000;
constexpr std::int64_t kTenYears_ms = 87'600 * kHour_ms;
constexpr std::int64_t kStart_ms = 1'795'820'000'000;

/// A machine whose clocks are told.
struct Machine {
  std::int64_t wall_ms = kStart_ms;
  std::int64_t running_ms = 7;
  std::vector<Milliseconds> leaps;

  void pass(std::int64_t ms) {
    wall_ms += ms;
    running_ms += ms;
  }
  PatientClock::Sources sources() {
    return {[this] { return WallTime{wall_ms * 1000}; }, [this] { return running_ms; },
            [this](Milliseconds ahead) { leaps.push_back(ahead); }};
  }
};

std::int64_t ms_of(PatientClock& clock) { return clock.now().microseconds / 1000; }

}  // namespace

TEST_CASE("a leap ahead that is taken back was none", "[unit][clock]") {
  Machine machine;
  PatientClock clock(machine.sources(), kRecordPatience);
  machine.pass(5000);
  CHECK(ms_of(clock) == kStart_ms + 5000);
  machine.wall_ms += kTenYears_ms;
  for (int i = 1; i <= 59; ++i) {
    machine.pass(60'000);
    CHECK(ms_of(clock) == kStart_ms + 5000 + i * 60'000);
  }
  machine.wall_ms -= kTenYears_ms;
  CHECK(ms_of(clock) == machine.wall_ms);
  CHECK(machine.leaps == std::vector{Milliseconds(kTenYears_ms)});
}

TEST_CASE("a clock that stays ahead is followed after a while", "[unit][clock]") {
  Machine machine;
  PatientClock clock(machine.sources(), kRecordPatience);
  machine.wall_ms += 2 * kHour_ms;
  CHECK(ms_of(clock) == kStart_ms);
  machine.pass(kHour_ms - 1);
  CHECK(ms_of(clock) == kStart_ms + kHour_ms - 1);
  machine.pass(1);
  CHECK(ms_of(clock) == kStart_ms + 3 * kHour_ms);
  machine.wall_ms += 2 * kHour_ms;  // each leap by itself
  CHECK(ms_of(clock) == kStart_ms + 3 * kHour_ms);
}

TEST_CASE("small corrections, steps back and what sets a step back right are followed",
          "[unit][clock]") {
  Machine machine;
  PatientClock clock(machine.sources(), kRecordPatience);
  machine.wall_ms += 60'000;
  CHECK(ms_of(clock) == machine.wall_ms);
  machine.wall_ms -= kHour_ms;
  CHECK(ms_of(clock) == machine.wall_ms);
  machine.wall_ms += kHour_ms;
  CHECK(ms_of(clock) == machine.wall_ms);
  CHECK(machine.leaps.empty());
}

TEST_CASE("a clock that begins in the past is followed when it is set right", "[unit][clock]") {
  Machine machine;
  machine.wall_ms = 1000;
  PatientClock clock(machine.sources(), kRecordPatience);
  clock.is_past({kStart_ms * 1000});
  CHECK(ms_of(clock) == 1000);
  machine.wall_ms = kStart_ms + 10;
  CHECK(ms_of(clock) == kStart_ms + 10);
  machine.wall_ms += kTenYears_ms;
  CHECK(ms_of(clock) == kStart_ms + 10);
}

TEST_CASE("a clock that goes on from a known moment doubts what is far ahead of it",
          "[unit][clock]") {
  Machine machine;
  machine.wall_ms += kTenYears_ms;
  PatientClock clock(machine.sources(), kRemovalPatience, {kStart_ms * 1000});
  CHECK(ms_of(clock) == kStart_ms);
  machine.pass(24 * kHour_ms);
  CHECK(ms_of(clock) == machine.wall_ms);
}

}  // namespace fairwater::test
