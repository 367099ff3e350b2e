// What a soak is judged by: its exit status is 1 where anything here is wrong.
#include "bench/soak_judgement.hpp"

#include <catch2/catch.hpp>

namespace fairwater::bench {
namespace {

SoakFindings good() {
  SoakFindings found;
  for (const double more : {0, 9, 3, 4, 5, 6, 7, 8, 10}) found.samples.push_back({100 + more, 50});
  for (const char* name : {"one", "three", "two"}) found.ledgers.push_back({name, true, 77, "ab"});
  return found;
}

std::string fault(const SoakFindings& found, const SoakBounds& bounds = {1, 0}) {
  const auto faults = soak_faults(found, bounds);
  CHECK(faults.size() <= 1);
  return faults.empty() ? "" : faults.front();
}

TEST_CASE("a soak compares the most of the first third with the most of the last", "[unit][soak]") {
  const auto thirds = thirds_of(good().samples);
  CHECK(thirds[0].memory_mib == 109);
  CHECK(thirds[1].memory_mib == 106);
  CHECK(thirds[2].memory_mib == 110);
  CHECK(thirds_of({})[2].disk_mib == 0);
  CHECK(fault(good()).empty());
  CHECK(fault(good(), {0.5, 0}) ==
        "memory: 109 MiB in the first third, 110 in the last, and 0.5 more are good");
  SoakFindings filled = good();
  filled.samples.back().disk_mib = 70;
  CHECK(fault(filled) == "disk: 50 MiB in the first third, 70 in the last, and 0 more are good");
  CHECK(fault(filled, {1, 20}).empty());
}

TEST_CASE("a soak in which a task ran twice or never is not good", "[unit][soak]") {
  SoakFindings found = good();
  found.tasks_twice = 2;
  CHECK(fault(found) == "2 tasks ran twice");
  found.tasks_twice = 0;
  found.tasks_lost = 1;
  CHECK(fault(found) == "1 tasks never ran");
}

TEST_CASE("a soak's ledgers verify and end with one record", "[unit][soak]") {
  SoakFindings found = good();
  found.ledgers[1].is_ok = false;
  CHECK(fault(found) == "the ledger of three does not verify");
  found = good();
  found.ledgers[2].hash = "cd";
  CHECK(fault(found) ==
        "the ledgers do not end alike: one with record 77 (ab), three with record 77 (ab), two "
        "with record 77 (cd)");
  found = good();
  found.ledgers[0].cycle = 78;
  CHECK_FALSE(end_alike(found.ledgers));
  CHECK_FALSE(fault(found).empty());
}

}  // namespace
}  // namespace fairwater::bench
