#include "model/resources.hpp"

#include <catch2/catch.hpp>

namespace fairwater {
namespace {

/// -1 for a refusal.
Amount amount(std::string_view resource, std::string_view text) {
  const auto parsed = parse_amount(resource, text);
  return parsed ? *parsed : -1;
}

std::int64_t duration_ms(std::string_view text) {
  const auto parsed = parse_duration_ms(text);
  return parsed ? *parsed : -1;
}

ErrorDetails refusal(std::vector<ResourceKind> kinds) {
  const auto made = ResourceCatalog::make(std::move(kinds));
  REQUIRE_FALSE(made);
  return details(made.error());
}

}  // namespace

TEST_CASE("amounts are read exactly in base units", "[unit][resources]") {
  CHECK(amount("cpu", "1") == 1000);
  CHECK(amount("cpu", "0.5") == 500);
  CHECK(amount("cpu", "1500m") == 1500);
  CHECK(amount("cpu", "0.001") == 1);
  CHECK(amount("memory", "512MiB") == 512);
  CHECK(amount("memory", "2GiB") == 2048);
  CHECK(amount("memory", "1.5GiB") == 1536);
  CHECK(amount("memory", "1TiB") == 1048576);
  CHECK(amount("memory", "300") == 300);
  CHECK(amount("gpu", "2") == 2);
  CHECK(amount("gpu", "0") == 0);
}

TEST_CASE("what is no amount is refused", "[unit][resources]") {
  const char* cpus[] = {"",
                        "-1",
                        "one",
                        "1.",
                        ".5",
                        "1e3",
                        "+1",
                        " 1",
                        "0.5m",
                        "1MiB",
                        "nan",
                        "0.0001",
                        "1.5.5",
                        "99999999999999999999",
                        "1.1234567890"};
  for (const auto* text : cpus) {
    INFO(text);
    CHECK(amount("cpu", text) == -1);
  }
  for (const auto* text : {"1GB", "1.0001MiB", "2g", "1152921504606846976"}) {
    INFO(text);
    CHECK(amount("memory", text) == -1);
  }
  CHECK(amount("gpu", "0.5") == -1);
  const auto error = details(parse_amount("memory", "2 GB").error());
  CHECK(error.code == ErrorCode::invalid_input);
  CHECK(error.field == "memory");
  CHECK(error.message == "'2 GB' is not an amount of memory; write 2GiB");
}

TEST_CASE("a part of a gpu is an amount in thousandths, and whoever writes it otherwise hears so",
          "[unit][resources]") {
  CHECK(amount("gpu_milli", "500") == 500);
  const auto said = [](std::string_view resource, std::string_view text) {
    const auto error = details(parse_amount(resource, text).error());
    CHECK(error.field == resource);
    return error.message;
  };
  CHECK(said("gpu", "0.5") ==
        "'0.5' is not an amount of gpu; write a whole number, or gpu_milli: 500 for a part of one "
        "that tasks share");
  CHECK(said("gpu", "0.0001").find("gpu_milli: 1 to 999 for") != std::string::npos);
  CHECK(said("gpu_milli", "0.25") ==
        "'0.25' is not an amount of gpu_milli; write thousandths: 250 for a part of one gpu, or "
        "1000, 2000, .. for whole ones");
  for (const auto* text : {"0.0001", "1.5", "-0.1", "half"})
    CHECK(said("gpu_milli", text).find("write thousandths: 1 to 999 for") != std::string::npos);
  CHECK(said("fpga", "0.5") == "'0.5' is not an amount of fpga; write a whole number");
}

TEST_CASE("whoever writes too much hears what the most is", "[unit][resources]") {
  const auto said = [](std::string_view resource, std::string_view text) {
    const auto error = details(parse_amount(resource, text).error());
    CHECK(error.code == ErrorCode::invalid_input);
    CHECK(error.field == resource);
    const std::string start = "'" + std::string{text} + "' is too much; write at most ";
    REQUIRE(error.message.starts_with(start));
    const std::string most = error.message.substr(start.size());
    CHECK(amount(resource, most) == kMaxAmount);
    return most;
  };
  CHECK(said("memory", "99999999999999TiB") == std::to_string(kMaxAmount) + "MiB");
  (void)said("memory", "1125899906842625");
  (void)said("cpu", "99999999999999999");
  (void)said("gpu", "999999999999999999");
}

TEST_CASE("units of other tools are refused with the one that would do", "[unit][resources]") {
  const auto memory = [](std::string_view text) {
    return details(parse_amount("memory", text).error()).message;
  };
  CHECK(memory("500M") == "'500M' is not an amount of memory; write 500MiB");
  CHECK(memory("4g") == "'4g' is not an amount of memory; write 4GiB");
  CHECK(memory("1.5 gib") == "'1.5 gib' is not an amount of memory; write 1.5GiB");
  const std::string any = "; write 512MiB, 2GiB, 1TiB or a number of MiB";
  CHECK(memory("64K") == "'64K' is not an amount of memory" + any);
  CHECK(memory("1.0001MiB") == "'1.0001MiB' is not an amount of memory" + any);
  CHECK(memory("lots") == "'lots' is not an amount of memory" + any);

  const auto duration = [](std::string_view text) {
    const auto parsed = parse_duration_ms(text);
    REQUIRE_FALSE(parsed);
    const std::string message = details(parsed.error()).message;
    const std::string start = "'" + std::string{text} + "' is not a duration; write ";
    REQUIRE(message.starts_with(start));
    return message.substr(start.size());
  };
  CHECK(duration("60") == "60s for seconds or 60m for minutes");
  CHECK(duration("00:01:00") == "1m");
  CHECK(duration("12:30") == "12m30s");
  CHECK(duration("1-02:00:00") == "1d2h");
  CHECK(duration("00:00:00") == "0s");
  CHECK(duration("10min") == "10m");
  CHECK(duration("2 hours") == "2h");
  CHECK(duration("1h 30m") == "1h30m, 90s, 500ms or 2d");
  CHECK(duration("1:x:2") == "1h30m, 90s, 500ms or 2d");
  CHECK(duration("-1s") == "1h30m, 90s, 500ms or 2d");
  CHECK(duration("1.5ms") == "1h30m, 90s, 500ms or 2d");

  const auto too_long = [](std::string_view text) {
    const auto parsed = parse_duration_ms(text);
    return parsed ? "taken" : details(parsed.error()).message;
  };
  CHECK(too_long("13031248d") == "taken");
  CHECK(too_long("13031249d") == "'13031249d' is too long; write at most 13031248d");
  CHECK(too_long("99999999999h") == "'99999999999h' is too long; write at most 13031248d");
  CHECK(too_long("13031248d23h") == "'13031248d23h' is too long; write at most 13031248d");
}

TEST_CASE("something is good for a while, for ever, but not for ages", "[unit][resources]") {
  const auto lifetime_ms = [](std::string_view text) {
    const auto parsed = parse_lifetime_ms(text);
    return parsed ? *parsed : -1;
  };
  CHECK(lifetime_ms("never") == 0);
  CHECK(lifetime_ms("12h") == 12 * 3'600'000);
  CHECK(lifetime_ms("36525d") == 36'525 * std::int64_t{24} * 3'600'000);
  for (const auto* refused : {"0s", "36526d", "100000000d", "always"}) {
    INFO(refused);
    CHECK(lifetime_ms(refused) == -1);
  }
}

TEST_CASE("a list of amounts is read by name", "[unit][resources]") {
  const auto parsed = parse_amounts("cpu=8,memory=16GiB,gpu=2");
  REQUIRE(parsed);
  CHECK(*parsed == NamedAmounts{{"cpu", 8000}, {"memory", 16384}, {"gpu", 2}});
  CHECK(parse_amounts("")->empty());
  for (const auto* text : {"cpu", "=1", "cpu=1,", "cpu=1,cpu=2", "cpu=1;gpu=2", ",cpu=1"}) {
    INFO(text);
    CHECK_FALSE(parse_amounts(text));
  }
}

TEST_CASE("amounts are printed for people and read back", "[unit][resources]") {
  CHECK(format_amount("cpu", 1500) == "1.5");
  CHECK(format_amount("cpu", 1005) == "1.005");
  CHECK(format_amount("cpu", 8000) == "8");
  CHECK(format_amount("memory", 512) == "512 MiB");
  CHECK(format_amount("memory", 2048) == "2 GiB");
  CHECK(format_amount("memory", 1536) == "1536 MiB");
  CHECK(format_amount("memory", 3 * 1048576) == "3 TiB");
  CHECK(format_amount("memory", 0) == "0 MiB");
  CHECK(format_amount("gpu", 3) == "3");
  CHECK(format_amount("cpu", -1500) == "-1.5");
  CHECK(format_amount("cpu", kUnlimited) == "unlimited");
}

TEST_CASE("durations are read in milliseconds", "[unit][resources]") {
  CHECK(duration_ms("1h30m") == 5'400'000);
  CHECK(duration_ms("90s") == 90'000);
  CHECK(duration_ms("500ms") == 500);
  CHECK(duration_ms("1.5s") == 1500);
  CHECK(duration_ms("2d") == 172'800'000);
  CHECK(duration_ms("1m500ms") == 60'500);
  CHECK(duration_ms("0s") == 0);
  for (const auto* text : {"", "10", "-1s", "1x", "s", "1m1h", "1s1s", "0.5ms", "1 s", "1h 30m",
                           "99999999999999999d"}) {
    INFO(text);
    CHECK(duration_ms(text) == -1);
  }
}

TEST_CASE("the default catalogue prices one gpu like ten tenths of a cpu", "[unit][resources]") {
  const ResourceCatalog catalog;
  const auto demand = catalog.to_vector({{"cpu", 101}, {"memory", 256}, {"gpu", 3}}, "resources");
  REQUIRE(demand);
  CHECK(cost_in_units(*demand, catalog.granules(), catalog.units()) == 30);
  const auto small = catalog.to_vector({{"cpu", 101}, {"memory", 256}}, "resources");
  CHECK(cost_in_units(*small, catalog.granules(), catalog.units()) == 2);
  CHECK(cost_in_units({}, catalog.granules(), catalog.units()) == 1);
}

TEST_CASE("a cost beyond the largest number of units saturates", "[unit][resources]") {
  ResourceVector demand;
  demand[0] = kUnlimited;
  CHECK(cost_in_units(demand, ResourceVector::filled(1), ResourceVector::filled(1'000'000)) ==
        std::numeric_limits<Units>::max());
}

TEST_CASE("vectors and names translate both ways", "[unit][resources]") {
  const ResourceCatalog catalog;
  const NamedAmounts amounts{{"cpu", 1000}, {"gpu", 1}};
  const auto vector = catalog.to_vector(amounts, "resources");
  REQUIRE(vector);
  CHECK((*vector)[kCpu] == 1000);
  CHECK((*vector)[kMemory] == 0);
  CHECK(catalog.to_named(*vector) == amounts);
  const auto limit = catalog.to_limit(amounts, "max");
  REQUIRE(limit);
  CHECK((*limit)[kMemory] == kUnlimited);
  CHECK(catalog.to_named(*limit) == amounts);
}

TEST_CASE("an amount of a resource that the cluster does not have is refused",
          "[unit][resources]") {
  const ResourceCatalog catalog;
  const auto unknown = catalog.to_vector({{"tpu", 1}}, "resources");
  REQUIRE_FALSE(unknown);
  const auto error = details(unknown.error());
  CHECK(error.field == "resources.tpu");
  CHECK(error.message == "the cluster has no resource 'tpu'; it has cpu, memory, gpu");
  CHECK(details(catalog.to_limit({{"cpu", -5}}, "max").error()).field == "max.cpu");
}

TEST_CASE("a catalogue needs cpu and memory first, distinct names, and prices",
          "[unit][resources]") {
  const ResourceKind cpu{"cpu", 100, 1};
  const ResourceKind memory{"memory", 256, 1};
  CHECK(ResourceCatalog::make({cpu, memory, {"fpga", 1, 3}})->units()[2] == 3);
  CHECK(refusal({memory, cpu}).message == "the first two resources must be cpu and memory");
  CHECK(refusal({cpu}).field == "resources");
  CHECK(refusal({cpu, memory, {"gpu", 1, 1}, {"gpu", 1, 1}}).field == "resources.gpu");
  CHECK(refusal({cpu, memory, {"gpu", 0, 1}}).field == "resources.gpu.granule");
  CHECK(refusal({cpu, memory, {"gpu", 1, 0}}).field == "resources.gpu.units");
  CHECK(refusal({cpu, memory, {"", 1, 1}}).message == "a resource needs a name");
  CHECK(refusal(std::vector<ResourceKind>(9, cpu)).message == "9 resources are more than 8");
}

}  // namespace fairwater
