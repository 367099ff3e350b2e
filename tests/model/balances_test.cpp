#include "model/balances.hpp"

#include <catch2/catch.hpp>

namespace fairwater {
namespace {

/// The balance, or what is said against the text.
std::string read(std::string_view text, const LedgerMeasure& measure) {
  const auto balance = parse_balance(text, measure, "amount");
  if (balance) return std::to_string(*balance);
  CHECK(details(balance.error()).field == "amount");
  return details(balance.error()).message;
}

TEST_CASE("where slots are counted a unit is no part of a processor", "[unit][balances]") {
  ClusterCreated cluster{"c", ResourceCatalog{}.kinds(), DealMode::sized};
  CHECK(measure_of(cluster).millicores_per_unit == 100);
  cluster.mode = DealMode::slots;
  CHECK(measure_of(cluster) == LedgerMeasure{});
}

TEST_CASE("balances are read as listings show them, exactly", "[unit][balances]") {
  const LedgerMeasure time{Accounting::time, 100};
  CHECK(read("8core-s", time) == "80000");
  CHECK(read("8.0 core-s", time) == "80000");
  CHECK(read("1.5core-h", time) == "54000000");
  CHECK(read("0.0001core-s", time) == "1");
  CHECK(read("0.00025core-s", time) == "3");
  CHECK(read("123unit_ms", time) == "123");
  CHECK(read("60.0 core-h", {Accounting::time, 300}) == "720000000");
  CHECK(read("2unit-h", {Accounting::time, 0}) == "7200000");
  CHECK(read("12", {Accounting::units, 100}) == "12");
}

TEST_CASE("a unit becomes a whole number of unit-milliseconds, or nothing", "[unit][balances]") {
  const LedgerMeasure units{Accounting::units, 100};
  CHECK(*unit_ms_of({}, units) == 0);
  CHECK(*unit_ms_of({"60"}, units) == 600'000);
  CHECK(*unit_ms_of({"0.0001"}, units) == 1);
  CHECK(*unit_ms_of({"0.9"}, {Accounting::units, 300}) == 3000);
  const auto refusal = [](const char* rate, const LedgerMeasure& measure) {
    const auto unit_ms = unit_ms_of({rate}, measure);
    REQUIRE_FALSE(unit_ms.engaged());
    CHECK(details(unit_ms.error()).field == "convert_balances.core_seconds_per_unit");
    return details(unit_ms.error()).message;
  };
  for (const char* rate : {"0", "-1", "60s", "0.00015", "1e3", "999999999999999999"})
    CHECK(refusal(rate, units) ==
          "'" + std::string(rate) +
              "' is no rate that can be kept exactly: write a number of core-seconds that is a "
              "multiple of 0.0001, e.g. 60");
  CHECK_THAT(refusal("1", {Accounting::units, 0}), Catch::Contains("convert_balances: forgive"));
}

TEST_CASE("what is no balance is told what would be one", "[unit][balances]") {
  const LedgerMeasure time{Accounting::time, 100};
  const char* const of_time =
      " is no balance: this ledger counts time; write core-seconds or core-hours, e.g. 8core-s or "
      "1.5core-h";
  for (const char* text : {"", "8", "core-s", "-1core-s", "0core-s", "0.00001core-s", "8 unit-s",
                           "8h", "999999999999999999core-h"})
    CHECK(read(text, time) == "'" + std::string(text) + "'" + of_time);
  for (const char* text : {"", "0", "1.5", "-3", "8core-s", "7 units"})
    CHECK(read(text, {Accounting::units, 100}) ==
          "'" + std::string(text) +
              "' is no balance: this ledger counts units; write a whole number above 0, e.g. 12");
  CHECK_THAT(read("8core-s", {Accounting::time, 0}), Catch::Contains("e.g. 8unit-s or 1.5unit-h"));
  CHECK(read(std::string(1000, '7'), time).size() < 200);
}

}  // namespace
}  // namespace fairwater
