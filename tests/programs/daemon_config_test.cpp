#include <catch2/catch.hpp>

#include "daemon/config.hpp"

namespace fairwater {

TEST_CASE("an address that is none is refused by its key and line", "[unit][daemon_config]") {
  CoordinatorConfig coordinator;
  for (const char* address : {"localhost", ":7400", "localhost:70000", "'::1:7400'"}) {
    INFO(address);
    const std::string text = "log_format: json\nlisten: " + std::string{address} + "\n";
    const auto error = read_config(text, "coordinator.yaml", coordinator);
    REQUIRE(error);
    CHECK(details(error).code == ErrorCode::invalid_input);
    CHECK(details(error).field == "listen");
    CHECK_THAT(details(error).message, Catch::Contains("write HOST:PORT") &&
                                           Catch::EndsWith("(line 2 of coordinator.yaml)"));
  }
  AgentConfig agent;
  CHECK(details(read_config("coordinator: here\n", "agent.yaml", agent)).field == "coordinator");
  CHECK_FALSE(read_config("coordinator: '[::1]:7400'\n", "agent.yaml", agent));
}

TEST_CASE("what a key's text cannot mean is refused with its reason", "[unit][daemon_config]") {
  CoordinatorConfig config;
  const auto message = [&](const std::string& text) {
    return details(read_config(text, "c.yaml", config)).message;
  };
  CHECK(message("mode: bags\n") == "'bags' is not one of sized, slots (line 1 of c.yaml)");
  CHECK(message("mode: [slots]\n") == "a list is not one of sized, slots (line 1 of c.yaml)");
  CHECK(message("lease: [15s]\n") == "a list is not a duration (line 1 of c.yaml)");
  CHECK(message("grace: 1s\n") ==
        "1000 ms is less than the 4000 ms within which a node ends its tasks once its lease is "
        "over (line 1 of c.yaml)");
  CHECK_FALSE(read_config("grace: 4s\n", "c.yaml", config));
  CHECK_FALSE(read_config("mode: slots\nlease: 20s\n", "c.yaml", config));
  CHECK(config.mode == DealMode::slots);
  CHECK(config.lease_ms == 20'000);
}

TEST_CASE("an agent's configuration says who tasks run as, and how long logs stay",
          "[unit][daemon_config]") {
  AgentConfig config;
  REQUIRE_FALSE(
      read_config("run_as_default: per_tenant\nrun_as_range: 100000-165535\n"
                  "work_directory: /scratch\nallow_root_tasks: true\n"
                  "log_retention: {age: 2d, bytes: 1GiB, keep_free: 512MiB}\n",
                  "agent.yaml", config));
  CHECK(config.run_as_default == "per_tenant");
  CHECK(config.first_run_as_id == 100'000);
  CHECK(config.last_run_as_id == 165'535);
  CHECK(config.work_directory == "/scratch");
  CHECK(config.allow_root_tasks);
  CHECK(config.log_retention.age_ms == 2 * 24 * 3'600'000);
  CHECK(config.log_retention.bytes == 1u << 30);
  CHECK(config.log_retention.keep_free_bytes == 512u << 20);
  const auto message = [&](const std::string& text) {
    return details(read_config(text, "a.yaml", config)).message;
  };
  for (const char* range : {"0-5", "5", "7-6", "1-4294967295", "a-b", "1-2x"})
    CHECK(message("run_as_range: " + std::string(range) + "\n") ==
          "'" + std::string(range) +
              "' is not a range of user ids such as 1900000000-1900999999 (line 1 of a.yaml)");
  CHECK(message("run_as_default: a b\n") ==
        "'a b' is not a user's name or number; write per_tenant, agent, USER or USER:GROUP (line 1 "
        "of a.yaml)");
  CHECK(message("log_retention: 7d\n") ==
        "'7d' is not a mapping of keys to values (line 1 of a.yaml)");
}

TEST_CASE("a configuration without any key leaves everything at its default",
          "[unit][daemon_config]") {
  for (const char* text : {"", "\n", "# lease: 20s\n"}) {
    CoordinatorConfig coordinator;
    CHECK_FALSE(read_config(text, "c.yaml", coordinator));
    CHECK(coordinator.lease_ms == CoordinatorConfig{}.lease_ms);
    AgentConfig agent;
    CHECK_FALSE(read_config(text, "a.yaml", agent));
  }
  CoordinatorConfig config;
  CHECK(read_config("- lease\n", "c.yaml", config));
}

TEST_CASE("a new ledger counts time unless it deals slots or is asked for units",
          "[unit][daemon_config]") {
  const auto created_by = [](const char* text) {
    CoordinatorConfig config;
    REQUIRE_FALSE(read_config(text, "c.yaml", config));
    return new_cluster("c", config);
  };
  CHECK(created_by("") ==
        ClusterCreated{"c", ResourceCatalog{}.kinds(), DealMode::sized, Accounting::time});
  CHECK(created_by("accounting: units\n").accounting == Accounting::units);
  CHECK(created_by("mode: slots\n").accounting == Accounting::units);
  CHECK(created_by("mode: slots\n").mode == DealMode::slots);
  CHECK(created_by("resources:\n  - {name: cpu, granule: 200m}\n"
                   "  - {name: memory, granule: 1GiB}\n")
            .resources.size() == 2);
}

TEST_CASE("debts have a cap and a half-life where time is counted", "[unit][daemon_config]") {
  const auto refused = [](const std::string& text) {
    CoordinatorConfig config;
    return details(read_config("accounting: time\n" + text, "c.yaml", config));
  };
  CoordinatorConfig config;
  REQUIRE_FALSE(read_config("debts: {cap: 36h, half_life: 7d}\n", "c.yaml", config));
  const LedgerMeasure time{Accounting::time, 100};
  constexpr std::int64_t kHour_ms = 3'600'000;
  CHECK(*terms_of(config.debts, time) ==
        DebtTerms{.cap_part_ms = 36 * kHour_ms, .half_life_ms = 7 * 24 * kHour_ms});
  REQUIRE_FALSE(read_config("debts: {cap: 500core-h}\n", "c.yaml", config));
  CHECK(*terms_of(config.debts, time) == DebtTerms{.cap_unit_ms = 5000 * kHour_ms});
  CHECK(*terms_of({}, time) == DebtTerms{});

  const auto cap = refused("debts:\n  cap: much\n");
  CHECK(cap.field == "debts.cap");
  CHECK(cap.message ==
        "'much' is neither how long of its own part a tenant may owe, e.g. 24h, nor how much, e.g. "
        "500core-h (line 3 of c.yaml)");
  CHECK(refused("debts: {cap: 0s}\n").field == "debts.cap");
  CHECK_THAT(refused("debts: {half_life: 0s}\n").message,
             Catch::StartsWith("debts become half in some time, e.g. 7d"));
  CHECK(refused("debts: {half: 1h}\n").field == "debts.half");
  CHECK(details(read_config("accounting: units\ndebts: {cap: 1h}\n", "c.yaml", config)).field ==
        "debts");
  CHECK(details(read_config("mode: slots\ndebts: {cap: 1h}\n", "c.yaml", config)).field == "debts");
  const ClusterCreated units{"c", ResourceCatalog{}.kinds(), DealMode::sized};
  CoordinatorConfig silent;
  REQUIRE_FALSE(read_config("debts: {cap: 1h}\n", "c.yaml", silent));
  CHECK_THAT(details(check_against(units, silent)).message,
             Catch::StartsWith("caps and half-lives are of ledgers that count time"));
}

TEST_CASE("a mode and resources other than the ledger's are refused, and both are named",
          "[unit][daemon_config]") {
  const ClusterCreated cluster{"c", ResourceCatalog{}.kinds(), DealMode::sized};
  const auto check = [&](const char* text) {
    CoordinatorConfig config;
    REQUIRE_FALSE(read_config(text, "c.yaml", config));
    return check_against(cluster, config);
  };
  CHECK_FALSE(check("lease: 20s\n"));  // it counts units, as it did
  CHECK_FALSE(
      check("mode: sized\nresources:\n  - {name: cpu, granule: 100m}\n"
            "  - {name: memory, granule: 256MiB}\n  - {name: gpu, units: 10}\n"));
  const auto mode = details(check("mode: slots\n"));
  CHECK(mode.field == "mode");
  CHECK_THAT(mode.message, Catch::Contains("says slots") && Catch::Contains("created with sized"));
  CHECK_FALSE(check("accounting: units\n"));
  const auto accounting = details(check("accounting: time\n"));
  CHECK(accounting.field == "accounting");
  CHECK_THAT(accounting.message,
             Catch::Contains("says time") && Catch::Contains("created with units"));
  CoordinatorConfig slots;
  CHECK(details(read_config("mode: slots\naccounting: time\n", "c.yaml", slots)).field ==
        "accounting");
  const auto resources = details(
      check("resources:\n  - {name: cpu, granule: 200m}\n  - {name: memory, granule: 256MiB}\n"));
  CHECK(resources.field == "resources");
  CHECK_THAT(resources.message, Catch::Contains("says [{name: cpu, granule: 0.2, units: 1}") &&
                                    Catch::Contains("created with [{name: cpu, granule: 0.1") &&
                                    Catch::Contains("{name: gpu, granule: 1, units: 10}]"));
}

}  // namespace fairwater
