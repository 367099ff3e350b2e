// What a ledger was created with, and what a configuration says of it.
#include <catch2/catch.hpp>

#include "cli/cluster/ledger_tables.hpp"
#include "daemon/accounting.hpp"
#include "daemon/config.hpp"
#include "process/temporary_directory.hpp"

namespace fairwater {

TEST_CASE("weights of single resources are refused where units are dealt by the sequence",
          "[unit][daemon_config]") {
  const ClusterCreated of_units{"c", ResourceCatalog{}.kinds(), DealMode::sized};
  TenantRecord plain, weighted;
  plain.spec.name = "plain";
  weighted.spec.name = "weighted";
  weighted.spec.weights = {{"cpu", 3}};
  CoordinatorConfig config;
  config.allocation = AllocationRule::drf;
  CHECK_FALSE(check_against(of_units, {plain, weighted}, config));
  config.allocation = AllocationRule::sequence;
  CHECK_FALSE(check_against(of_units, {plain}, config));
  const auto wrong = details(check_against(of_units, {plain, weighted}, config));
  CHECK(wrong.field == "allocation");
  CHECK_THAT(wrong.message, Catch::StartsWith("tenant weighted has weights of single resources"));
  ClusterCreated of_time = of_units;
  of_time.accounting = Accounting::time;
  CHECK_FALSE(check_against(of_time, {plain, weighted}, config));
}

TEST_CASE("a mode and resources other than the ledger's are refused, and both are named",
          "[unit][daemon_config]") {
  const ClusterCreated cluster{"c", ResourceCatalog{}.kinds(), DealMode::sized};
  const auto check = [&](const char* text) {
    CoordinatorConfig config;
    REQUIRE_FALSE(read_config(text, "c.yaml", config));
    return check_against(cluster, {}, config);
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
  CHECK(accounting.field == "convert_balances");
  CHECK(accounting.message ==
        "the configuration says time, but this ledger counts units so far: say what becomes of "
        "what is owed, either convert_balances: {core_seconds_per_unit: 60} (what a unit is then) "
        "or convert_balances: forgive");
  CHECK_FALSE(check("accounting: time\nconvert_balances: forgive\n"));
  CHECK_FALSE(check("accounting: time\nconvert_balances: {core_seconds_per_unit: 60}\n"));
  CHECK_FALSE(check("accounting: time\nconvert_balances: forgive\ndebts: {cap: 1h}\n"));
  CHECK(
      details(check("accounting: time\nconvert_balances: {core_seconds_per_unit: much}\n")).field ==
      "convert_balances.core_seconds_per_unit");
  CoordinatorConfig unclear;
  CHECK(details(read_config("convert_balances: away\n", "c.yaml", unclear)).field ==
        "convert_balances");
  CHECK(details(read_config("convert_balances: {}\n", "c.yaml", unclear)).field ==
        "convert_balances.core_seconds_per_unit");
  CoordinatorConfig units;
  REQUIRE_FALSE(read_config("accounting: units\n", "c.yaml", units));
  const ClusterCreated of_time{"c", ResourceCatalog{}.kinds(), DealMode::sized, Accounting::time};
  CHECK_THAT(details(check_against(of_time, {}, units)).message,
             Catch::StartsWith("the configuration says units, but this ledger counts time"));
  CoordinatorConfig time;
  REQUIRE_FALSE(read_config("accounting: time\nconvert_balances: forgive\n", "c.yaml", time));
  CHECK_FALSE(check_against(of_time, {}, time));
  const ClusterCreated of_slots{"c", ResourceCatalog{}.kinds(), DealMode::slots};
  CHECK_THAT(details(check_against(of_slots, {}, time)).message,
             Catch::Contains("created with mode slots, where accounting is units"));
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

namespace {

std::unique_ptr<Ledger> open_ledger_of(const std::string& directory, bool create) {
  LedgerOptions options;
  options.directory = directory;
  options.create = create;
  auto ledger = Ledger::open(options);
  if (!ledger) FAIL(details(ledger.error()).message);
  return std::move(*ledger);
}

/// `a` owes `b` four units.
void make_debt(Ledger& ledger) {
  TenantsChanged tenants;
  for (const char* name : {"a", "b"}) {
    TenantRecord& tenant = tenants.tenants.emplace_back();
    tenant.id = TenantId{static_cast<std::uint32_t>(tenants.tenants.size())};
    tenant.spec.name = name;
    tenant.spec.weight = 1;
  }
  NodeChanged node;
  node.node.id = NodeId{1};
  Deal deal;
  deal.node = NodeId{1};
  deal.free_units = 4;
  deal.unused = 0;
  deal.lines.resize(2);
  deal.lines[0].tenant = TenantId{1};
  deal.lines[0].placed = 4;
  deal.lines[1].tenant = TenantId{2};
  deal.lines[1].granted = 4;
  Grant grant;
  grant.task = {JobId{1}, 0, 1};
  grant.tenant = TenantId{1};
  grant.cost = 4;
  deal.grants = {grant};
  deal.loans = {{TenantId{2}, TenantId{1}, 4}};
  JobSubmitted job;
  job.id = JobId{1};
  job.tenant = TenantId{1};
  job.spec.tenant = "a";
  job.spec.tasks_min = job.spec.tasks_max = 1;
  const auto written =
      ledger.append({ClusterCreated{"c", ResourceCatalog{}.kinds(), DealMode::sized}, tenants, node,
                     job, Cycle{{deal}}});
  if (!written) FAIL(details(written.error()).message);
}

CoordinatorConfig read_coordinator(const std::string& text) {
  CoordinatorConfig config;
  REQUIRE_FALSE(read_config(text, "c.yaml", config));
  return config;
}

}  // namespace

TEST_CASE("a ledger of units begins to count time once", "[unit][daemon_config]") {
  const TemporaryDirectory directory;
  const std::string path = directory / "ledger";
  const auto as_before = read_coordinator("");
  const auto changed =
      read_coordinator("accounting: time\nconvert_balances: {core_seconds_per_unit: 60}\n");
  {
    auto ledger = open_ledger_of(path, true);
    make_debt(*ledger);
    REQUIRE_FALSE(change_accounting(*ledger, as_before));
    CHECK(ledger->cluster().accounting == Accounting::units);
    REQUIRE_FALSE(change_accounting(*ledger, changed));
  }
  auto ledger = open_ledger_of(path, false);
  const auto records = ledger->last_number();
  REQUIRE_FALSE(check_against(ledger->cluster(), ledger->tenants(), changed));
  REQUIRE_FALSE(change_accounting(*ledger, changed));
  REQUIRE_FALSE(check_against(ledger->cluster(), ledger->tenants(), as_before));
  REQUIRE_FALSE(change_accounting(*ledger, as_before));
  CHECK(ledger->last_number() == records);
  CHECK(ledger->cluster().accounting == Accounting::time);
  CHECK(ledger->ious() == std::vector<IouBook::Iou>{{1, 2, 4 * 600'000, 1}});
  CHECK(ledger->verify().differences.empty());
  CHECK(
      check_against(ledger->cluster(), ledger->tenants(), read_coordinator("accounting: units\n")));
}

TEST_CASE("what was owed in units can be forgiven instead", "[unit][daemon_config]") {
  const TemporaryDirectory directory;
  auto ledger = open_ledger_of(directory / "ledger", true);
  make_debt(*ledger);
  REQUIRE_FALSE(change_accounting(
      *ledger, read_coordinator("accounting: time\nconvert_balances: forgive\n")));
  CHECK(ledger->cluster().accounting == Accounting::time);
  CHECK(ledger->ious().empty());
  CHECK(ledger->verify().differences.empty());
}

TEST_CASE("ledger show says since when time is counted", "[golden][json]") {
  LedgerView view;
  view.measure = {Accounting::time, 100};
  view.counts_time_since = {1'795'262'400'000'000};
  view.unit_ms_per_unit = 600'000;
  CHECK_THAT(ledger_text(view),
             Catch::StartsWith("cycle 0, sequence at 0\ncounts time since 2026-11-21T12:00:00Z; "
                               "each unit that was owed became 60.0 core-s\n"));
  view.unit_ms_per_unit = 0;
  CHECK_THAT(ledger_text(view), Catch::Contains("; what was owed in units was forgiven\n"));
}

}  // namespace fairwater
