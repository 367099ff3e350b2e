#include <thread>

#include <catch2/catch.hpp>

#include "daemon/config.hpp"
#include "daemon/connection_limits.hpp"
#include "daemon/daemon.hpp"
#include "process/temporary_directory.hpp"

namespace fairwater {

TEST_CASE("actors have half of the processors, and one at least", "[unit][daemon_config]") {
  const auto [processors, threads] = GENERATE(table<std::size_t, std::size_t>(
      {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 2}, {7, 3}, {8, 4}, {64, 4}}));
  CHECK(actor_threads(processors) == threads);
}

TEST_CASE("a daemon's pool is sized by its machine", "[unit][daemon_config]") {
  const DaemonActorConfig config;
  CHECK(caf::get_or(config, "scheduler.max-threads", std::size_t{0}) ==
        actor_threads(std::thread::hardware_concurrency()));
}

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
  CHECK(details(read_config("lease: 25h\n", "c.yaml", config)).field == "lease");
  config = {};
  CHECK(message("heartbeat_interval: 10s\n") ==
        "15000 ms is less than twice heartbeat_interval, 20000 ms");
  config = {};
  CHECK_FALSE(read_config("grace: 4s\n", "c.yaml", config));
  CHECK_FALSE(read_config("mode: slots\nlease: 20s\n", "c.yaml", config));
  CHECK(config.mode == DealMode::slots);
  CHECK(config.lease_ms == 20'000);
}

TEST_CASE("jobs may ask for leases of up to five minutes unless it says otherwise",
          "[unit][daemon_config]") {
  const auto longest_of = [](const std::string& text) {
    CoordinatorConfig config;
    REQUIRE_FALSE(read_config(text, "c.yaml", config));
    REQUIRE_FALSE(validate(config));
    return longest_lease_ms(config);
  };
  CHECK(longest_of("") == 300'000);
  CHECK(longest_of("lease: 10m\n") == 600'000);
  CHECK(longest_of("longest_lease: 15s\n") == 15'000);
  CoordinatorConfig config;
  const auto message = [&](const std::string& text) {
    return details(read_config(text, "c.yaml", config)).message;
  };
  CHECK(message("longest_lease: 14s\n") ==
        "14000 ms is less than lease, 15000 ms (line 1 of c.yaml)");
  CHECK(message("longest_lease: 25h\n") == "90000000 ms is more than one day (line 1 of c.yaml)");
}

TEST_CASE("classes have leases between the ordinary and the longest", "[unit][daemon_config]") {
  CoordinatorConfig config;
  REQUIRE_FALSE(read_config("class_leases: {nightly: 2m, web: 15s}\n", "c.yaml", config));
  CHECK(config.class_leases_ms ==
        std::map<std::string, std::int64_t>{{"nightly", 120'000}, {"web", 15'000}});
  const auto message = [&](const std::string& text) {
    return details(read_config(text, "c.yaml", config)).message;
  };
  CHECK(message("class_leases: {nightly: 6m}\n") ==
        "360000 ms is not between lease, 15000 ms, and longest_lease, 300000 ms (line 1 of "
        "c.yaml)");
  CHECK(message("class_leases: {nightly: 14s}\n") ==
        "14000 ms is not between lease, 15000 ms, and longest_lease, 300000 ms (line 1 of "
        "c.yaml)");
  CHECK(message("class_leases: {'a b': 20s}\n") ==
        "'a b' is not the name of a class (line 1 of c.yaml)");
  CHECK(message("class_leases: [20s]\n") ==
        "a list is not a mapping of keys to values (line 1 of c.yaml)");
}

TEST_CASE("history is kept as long as the configuration says, of each tenant",
          "[unit][daemon_config]") {
  constexpr std::int64_t kDay_ms = 24 * 3'600'000;
  CoordinatorConfig config;
  REQUIRE_FALSE(
      read_config("history:\n"
                  "  keep_jobs: 20d\n"
                  "  most_jobs: 1000000\n"
                  "  tenants:\n"
                  "    physics: {keep_jobs: 90d}\n"
                  "    guests: {most_jobs: 10000}\n"
                  "    trials: {keep_jobs: 0s, most_jobs: 0}\n"
                  "  archive: {age: 100d, bytes: 1GiB}\n",
                  "c.yaml", config));
  HistoryLimits limits;
  limits.jobs = {20 * kDay_ms, 1'000'000};
  limits.tenants = {{"physics", {90 * kDay_ms, 1'000'000}},
                    {"guests", {20 * kDay_ms, 10'000}},
                    {"trials", {0, 0}}};
  limits.keep_archive_ms = 100 * kDay_ms;
  limits.max_archive_bytes = std::uint64_t{1} << 30;
  CHECK(config.history == limits);

  CoordinatorConfig silent;
  REQUIRE_FALSE(read_config("history: {tenants: {guests: {keep_jobs: 1d}}}\n", "c.yaml", silent));
  CHECK(silent.history.jobs == JobRetention{30 * kDay_ms, std::nullopt});
  CHECK(silent.history.tenants ==
        std::map<std::string, JobRetention>{{"guests", {kDay_ms, std::nullopt}}});

  const auto refused = [](const std::string& history) {
    CoordinatorConfig config;
    return details(read_config("history: {" + history + "}\n", "c.yaml", config));
  };
  for (const auto& [history, field, message] :
       {std::array<const char*, 3>{"tenants: {guests: {keep_jobs: soon}}",
                                   "history.tenants.guests.keep_jobs", "'soon' is not"},
        {"tenants: {guests: {most_jobs: -1}}", "history.tenants.guests.most_jobs",
         "'-1' is not a whole number from 0 to"},
        {"most_jobs: few", "history.most_jobs", "'few' is not a whole number from 0 to"},
        {"tenants: {guests: {keep: 1d}}", "history.tenants.guests.keep",
         "is not a key here; the keys are keep_jobs, most_jobs"},
        {"tenants: {guests: 1d}", "history.tenants.guests", "'1d' is not a mapping"},
        {"tenants: {'a b': {keep_jobs: 1d}}", "history.tenants.a b",
         "'a b' is not the name of a tenant"},
        {"tenants: [guests]", "history.tenants", "a list is not a mapping"}}) {
    CAPTURE(history);
    CHECK(refused(history).field == field);
    CHECK_THAT(refused(history).message, Catch::Contains(message));
  }
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

TEST_CASE("a node's devices are listed, found or counted", "[unit][daemon_config]") {
  const auto node_of = [](const std::string& text, const std::vector<std::string>& gpus) {
    AgentConfig config;
    const auto error = read_config(text, "a.yaml", config);
    if (error) FAIL(details(error).message);
    return node_resources(config, gpus);
  };
  const std::string some = "resources: {cpu: 4, memory: 8GiB";
  const std::vector<std::string> found{"0", "2", "3"};
  CHECK(node_of("", {})->devices.empty());
  CHECK_FALSE(node_of("", {})->capacity.contains("gpu"));
  CHECK(node_of("", found)->devices == NamedDevices{{"gpu", found}});
  CHECK(node_of("", found)->capacity.at("gpu") == 3);
  CHECK(node_of("", found)->capacity.at("cpu") >= 1000);
  // What is configured is all that there is, as it was before devices had ids.
  CHECK(node_of(some + "}\n", found)->devices.empty());
  CHECK(node_of(some + "}\ndevices: {gpu: auto}\n", found)->capacity ==
        NamedAmounts{{"cpu", 4000}, {"gpu", 3}, {"memory", 8192}});
  CHECK(node_of(some + ", gpu: 2}\n", found)->devices == NamedDevices{{"gpu", {"0", "2"}}});
  CHECK(node_of(some + ", gpu: 2}\n", {"0"})->devices == NamedDevices{{"gpu", {"0", "1"}}});
  CHECK(node_of(some + ", gpu: 2000000}\n", {})->devices.empty());
  const auto listed = node_of(some + "}\ndevices: {gpu: [1, 0], fpga: [left]}\n", found);
  CHECK(listed->devices == NamedDevices{{"fpga", {"left"}}, {"gpu", {"1", "0"}}});
  CHECK(listed->capacity.at("gpu") == 2);
  CHECK(listed->capacity.at("fpga") == 1);
  CHECK(node_of("devices: {gpu: []}\n", found)->devices == NamedDevices{{"gpu", {}}});
  CHECK_FALSE(node_of("devices: {gpu: []}\n", found)->capacity.contains("gpu"));
  // Shared ones are 1000 each, and then found ones are not whole ones beside them.
  const auto shared = node_of("devices: {gpu_milli: [0, 2]}\n", found);
  CHECK(shared->devices == NamedDevices{{"gpu_milli", {"0", "2"}}});
  CHECK(shared->capacity.at("gpu_milli") == 2000);
  CHECK(node_of("devices: {gpu_milli: auto}\n", found)->devices ==
        NamedDevices{{"gpu_milli", found}});
  CHECK(node_of(some + ", gpu_milli: 2000}\n", found)->devices ==
        NamedDevices{{"gpu_milli", {"0", "2"}}});
  const auto both = node_of(some + "}\ndevices: {gpu: [0], gpu_milli: [1]}\n", found);
  CHECK(both->capacity ==
        NamedAmounts{{"cpu", 4000}, {"gpu", 1}, {"gpu_milli", 1000}, {"memory", 8192}});
  CHECK(details(node_of(some + ", gpu_milli: 1500}\n", found).error()).field ==
        "devices.gpu_milli");
  const auto short_of = node_of(some + ", gpu: 4}\ndevices: {gpu: auto}\n", found);
  REQUIRE_FALSE(short_of);
  CHECK(details(short_of.error()).field == "devices.gpu");

  AgentConfig config;
  const auto message = [&](const std::string& text) {
    return details(read_config(text, "a.yaml", config)).message;
  };
  CHECK(message(some + ", gpu: 3}\ndevices: {gpu: [0, 1]}\n") ==
        "2 ids, but resources.gpu is 3; name as many, or leave the amount out (line 2 of a.yaml)");
  CHECK(message("devices: {fpga: auto}\n") ==
        "write the ids of its devices, as in [0, 1] (line 1 of a.yaml)");
  CHECK(message("device_files: {left: /dev/fpga0}\n").starts_with("'/dev/fpga0' is not a list"));
  CHECK(message("device_files: {left: [/dev/fpga0, /dev/fpga1]}\n").empty());
  CHECK(config.device_files == DeviceFiles{{"left", {"/dev/fpga0", "/dev/fpga1"}}});
  CHECK(message("devices: {gpu: all}\n") ==
        "write the ids of its devices, as in [0, 1], or auto (line 1 of a.yaml)");
}

TEST_CASE("labels that no expression can name are refused", "[unit][daemon_config]") {
  AgentConfig config;
  CHECK_FALSE(read_config("labels: {ssd: yes, zone-1/a: b.c_d}\n", "a.yaml", config));
  const auto refusal = [](const std::string& labels) {
    AgentConfig other;
    return details(read_config("name: n\nlabels: {" + labels + "}\n", "a.yaml", other));
  };
  CHECK(refusal("'bad key': x").field == "labels.bad key");
  CHECK(refusal("'bad key': x").message ==
        "the label is called 'bad key', which no job's expression can name: write letters, digits, "
        "'_', '-', '.' and '/' (line 2 of a.yaml)");
  CHECK(refusal("zone: x y").field == "labels.zone");
  CHECK_THAT(refusal("zone: x y").message, Catch::StartsWith("its value is 'x y', which no job's"));
  CHECK_THAT(refusal("zone: ''").message, Catch::StartsWith("its value is '', which"));
  CHECK_THAT(refusal("\u00fc: x").message, Catch::StartsWith("the label is called '\u00fc'"));
}

TEST_CASE("a site that no job can name is refused", "[unit][daemon_config]") {
  for (const char* good : {"north", "n-1.b_c"}) {
    AgentConfig config;
    CHECK_FALSE(read_config(std::string("site: ") + good, "a.yaml", config));
    CHECK(config.site == good);
  }
  for (const char* bad : {"'my site'", "''", "\"x\\ny\"", "a/b", "\u00fc"}) {
    CAPTURE(bad);
    AgentConfig config;
    const auto refusal = details(read_config(std::string("site: ") + bad, "a.yaml", config));
    CHECK(refusal.field == "site");
    CHECK_THAT(refusal.message, Catch::Contains("is not a site's name, which jobs could give"));
  }
}

TEST_CASE("an address by which others reach a node has no port", "[unit][daemon_config]") {
  for (const char* good : {"10.0.0.1", "n1.example.org", "fe80::1%eth0", "'::1'"}) {
    AgentConfig config;
    CAPTURE(good);
    CHECK_FALSE(read_config(std::string("address: ") + good, "a.yaml", config));
  }
  for (const char* bad : {"10.0.0.1:80", "n1:7400"}) {
    AgentConfig config;
    CAPTURE(bad);
    CHECK(details(read_config(std::string("address: '") + bad + "'", "a.yaml", config)).field ==
          "address");
  }
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

TEST_CASE("connections are as many as there are file descriptors for", "[unit][daemon_config]") {
  CoordinatorConfig config;
  const auto limits = connection_limits(config, 20'000);
  REQUIRE(limits);
  CHECK(limits->connections == 20'000 - 512 - 256);
  CHECK(limits->per_address == limits->connections / 2);
  CHECK(text_of(*limits) ==
        "at most 19232 connections (9616 from one address), and 256 more for operators");
  const auto few = connection_limits(config, 256);
  REQUIRE(few);
  CHECK(few->connections == 120);
  CHECK(few->for_operators == 8);
  CHECK(connection_limits(config, 1 << 20)->connections == kMaxDefaultConnections);

  REQUIRE_FALSE(read_config("connections: 5000\nconnections_per_address: 4000\n", "c", config));
  CHECK(connection_limits(config, 20'000)->connections == 5'000);
  CHECK(connection_limits(config, 20'000)->per_address == 4'000);
  const auto refused = connection_limits(config, 4'096);
  REQUIRE_FALSE(refused);
  CHECK(details(refused.error()).field == "connections");
  CHECK(read_config("connections: 0\n", "c", config));
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

TEST_CASE("resources that cannot be counted are refused by name", "[unit][daemon_config]") {
  const auto refusal = [](const std::string& resources) {
    CoordinatorConfig config;
    return details(read_config("resources: [" + resources + "]\n", "c.yaml", config));
  };
  const std::string memory = ", {name: memory, granule: 1GiB}";
  CHECK(refusal("{name: cpu, granule: 1, units: 0}" + memory).field == "resources.cpu.units");
  CHECK(refusal("{name: cpu, granule: 0}" + memory).field == "resources.cpu.granule");
  CHECK(refusal("{name: cpu, granule: 1, units: 0}").field == "resources");
  CHECK(refusal("").field == "resources");
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
        "'much' is neither how long of a tenant's own part, e.g. 24h, nor how much, e.g. 500core-h "
        "(line 3 of c.yaml)");
  CHECK(refused("debts: {cap: 0s}\n").field == "debts.cap");
  for (const char* none : {"0s", "0ms"})
    CHECK(refused("debts: {half_life: " + std::string(none) + "}\n").message ==
          "'" + std::string(none) +
              "' is no time in which debts become half; write more, e.g. 7d (line 2 of c.yaml)");
  CHECK(refused("debts: {half_life: -1h}\n").field == "debts.half_life");
  CHECK(refused("debts: {half: 1h}\n").field == "debts.half");
  CHECK(details(read_config("accounting: units\ndebts: {cap: 1h}\n", "c.yaml", config)).field ==
        "debts");
  CHECK(details(read_config("mode: slots\ndebts: {cap: 1h}\n", "c.yaml", config)).field == "debts");
  const ClusterCreated units{"c", ResourceCatalog{}.kinds(), DealMode::sized};
  CoordinatorConfig silent;
  REQUIRE_FALSE(read_config("debts: {cap: 1h}\n", "c.yaml", silent));
  CHECK_THAT(details(check_against(units, {}, silent)).message,
             Catch::StartsWith("caps and half-lives are of ledgers that count time"));
}

TEST_CASE("whether tasks within a min preempt is the coordinator's to say",
          "[unit][daemon_config]") {
  CoordinatorConfig config;
  REQUIRE_FALSE(read_config("preempt_after: 1s\n", "c.yaml", config));
  CHECK(config.preempts_for_min);
  REQUIRE_FALSE(read_config("preempt_for_min: false\n", "c.yaml", config));
  CHECK_FALSE(config.preempts_for_min);
  CHECK(details(read_config("preempt_for_min: never\n", "c.yaml", config)).field ==
        "preempt_for_min");
}

TEST_CASE("plans go by limits or by history where time is counted", "[unit][daemon_config]") {
  CoordinatorConfig config;
  REQUIRE_FALSE(read_config("predict: history\n", "c.yaml", config));
  CHECK(config.predict == Predict::history);
  const ClusterCreated units{"c", ResourceCatalog{}.kinds(), DealMode::sized};
  CHECK(details(check_against(units, {}, config)).field == "predict");
  CoordinatorConfig counts_units;
  const auto refused =
      details(read_config("accounting: units\npredict: limits\n", "c.yaml", counts_units));
  CHECK(refused.field == "predict");
  CHECK_THAT(refused.message,
             Catch::StartsWith("places in time are given where the ledger counts time"));
  CoordinatorConfig guessed;
  CHECK(details(read_config("predict: luck\n", "c.yaml", guessed)).field == "predict");
}

}  // namespace fairwater
