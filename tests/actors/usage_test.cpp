// What was used, as clients ask for it: whose they may see, and groups in pages.
#include <map>
#include <random>
#include <set>

#include <rocksdb/env.h>

#include "actors/coordinator/usage_scan.hpp"
#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

UsageQuery always_by_tenant() {
  UsageQuery query;
  query.last_day = kLastDay;
  query.by_tenant = true;
  return query;
}

std::vector<UsageRow> shown_usage(ClusterFixture& cluster, const Caller& caller,
                                  const UsageQuery& query) {
  const auto list = cluster.ask<UsageList>(QueryUsage{caller, query});
  if (!list) FAIL(details(list.error()).message);
  CHECK_FALSE(list->more);
  return list->rows;
}

/// `name ok jobs`, of each row.
std::string in_words(const std::vector<UsageRow>& rows) {
  std::string text;
  for (const UsageRow& row : rows)
    text += (text.empty() ? "" : ", ") + row.tenant + " " + std::to_string(row.usage.succeeded) +
            " " + std::to_string(row.usage.submitted);
  return text;
}

void run_all(ClusterFixture& cluster, FakeAgent& agent, std::size_t& seen) {
  const auto launches = agent.launches();
  for (; seen < launches.size(); ++seen)
    REQUIRE(cluster.report(agent, {succeeded(launches[seen].task)}).engaged());
}

}  // namespace

TEST_CASE("usage is shown to whose it is, and to operators", "[actor][usage]") {
  ClusterFixture cluster;
  TenantSpec optics = tenant_spec("optics", 1);
  optics.parent = "science";
  TenantSpec lasers = tenant_spec("lasers", 1);
  lasers.parent = "science";
  cluster.apply({tenant_spec("science", 1), tenant_spec("music", 1), optics, lasers});
  auto agent = cluster.join("node1", 4);
  std::size_t seen = 0;
  for (const char* tenant : {"optics", "lasers", "lasers", "music"}) {
    (void)cluster.submit(tenant, 1);
    cluster.run();
    run_all(cluster, agent, seen);
  }
  (void)cluster.submit("music", 100);  // has not ended

  const auto check = [&] {
    const auto seen_by_all = shown_usage(cluster, cluster.operator_caller(), always_by_tenant());
    CHECK(in_words(seen_by_all) == "music 1 2, optics 1 1, lasers 2 2");
    CHECK(in_words(shown_usage(cluster, cluster.tenant_caller("music"), always_by_tenant())) ==
          "music 1 2");
    CHECK(in_words(shown_usage(cluster, cluster.tenant_caller("optics"), always_by_tenant())) ==
          "optics 1 1");
    // Those in it together, as its own.
    CHECK(in_words(shown_usage(cluster, cluster.tenant_caller("science"), always_by_tenant())) ==
          "science 3 3");
    UsageQuery of_science = always_by_tenant();
    of_science.tenant = "science";
    CHECK(in_words(shown_usage(cluster, cluster.operator_caller(), of_science)) ==
          "optics 1 1, lasers 2 2");
    of_science.by_tenant = false;
    CHECK(in_words(shown_usage(cluster, cluster.operator_caller(), of_science)) == " 3 3");
  };
  check();
  cluster.restart();
  check();

  const auto refused = [&](const Caller& caller, UsageQuery query) {
    const auto answer = cluster.ask<UsageList>(QueryUsage{caller, std::move(query)});
    REQUIRE_FALSE(answer);
    return details(answer.error());
  };
  UsageQuery of_optics = always_by_tenant();
  of_optics.tenant = "optics";
  CHECK(refused(cluster.tenant_caller("music"), of_optics).code == ErrorCode::not_permitted);
  CHECK(refused(cluster.tenant_caller("science"), of_optics).code == ErrorCode::not_permitted);
  UsageQuery of_nobody = always_by_tenant();
  of_nobody.tenant = "nobody";
  CHECK(refused(cluster.operator_caller(), of_nobody).code == ErrorCode::not_found);
  of_nobody.tenant = "tenant-99";  // never was
  CHECK(refused(cluster.operator_caller(), of_nobody).field == "tenant");
  UsageQuery backwards = always_by_tenant();
  backwards.first_day = 8;
  backwards.last_day = 7;
  CHECK(refused(cluster.operator_caller(), backwards).field == "last_day");
}

TEST_CASE("a removed tenant's usage is found by its number", "[actor][usage]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("leaves", 1)});
  auto agent = cluster.join("node1", 4);
  std::size_t seen = 0;
  (void)cluster.submit("leaves", 1);
  cluster.run();
  run_all(cluster, agent, seen);
  const TenantId number = cluster.tenant_caller("leaves").tenant;
  const auto removed =
      cluster.ask<TenantDeparture>(RemoveTenant{cluster.operator_caller(), "leaves"});
  if (!removed) FAIL(details(removed.error()).message);
  CHECK(in_words(shown_usage(cluster, cluster.operator_caller(), always_by_tenant())) == " 1 1");
  UsageQuery query = always_by_tenant();
  query.tenant = "tenant-" + std::to_string(number.value);
  const auto rows = shown_usage(cluster, cluster.operator_caller(), query);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].group.tenant == number);
  query.tenant += "x";
  CHECK_FALSE(cluster.ask<UsageList>(QueryUsage{cluster.operator_caller(), query}));
}

namespace {

/// Submissions of three tenants and two users, on some of ninety days.
class NinetyDays {
 public:
  explicit NinetyDays(std::uint64_t seed)
      : random_(seed), env_(rocksdb::NewMemEnv(rocksdb::Env::Default())) {
    LedgerOptions options;
    options.directory = "/ledger";
    options.create = true;
    options.sync = false;
    options.env = env_.get();
    options.min_free_bytes = 0;
    options.clock = [this] { return WallTime{now_us_}; };
    auto opened = Ledger::open(options);
    if (!opened) FAIL(details(opened.error()).message);
    ledger_ = std::move(*opened);
    std::vector<TenantRecord> tenants(3);
    for (std::uint32_t id = 1; id <= 3; ++id) {
      tenants[id - 1].id = TenantId{id};
      tenants[id - 1].spec.name = std::string(1, static_cast<char>('a' + id - 1));
    }
    append({ClusterCreated{"test", {{"cpu", 100}, {"memory", 256}}, DealMode::sized},
            CoordinatorStarted{1, "test", {}, {}, true}, TenantsChanged{tenants, 0}});
    for (int day = 0; day < 90; ++day, now_us_ += 86'400'000'000)
      for (auto jobs = below(4); jobs > 0; --jobs) submit();
  }

  [[nodiscard]] const Ledger& ledger() const { return *ledger_; }
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

 private:
  void append(std::vector<JournalBody> bodies) {
    const auto done = ledger_->append(std::move(bodies));
    if (!done) FAIL(details(done.error()).message);
  }
  void submit() {
    JobSpec spec;
    spec.resources = {{"cpu", 100}};
    const char* users[] = {"", "ada", "bob"};
    spec.user = users[below(3)];
    append({JobSubmitted{{}, TenantId{static_cast<std::uint32_t>(1 + below(3))}, spec}});
  }

  std::mt19937_64 random_;
  std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<Ledger> ledger_;
  std::int64_t now_us_ = 20'000LL * 86'400'000'000;
};

using Counts = std::map<UsageGroup, std::uint64_t>;

/// Page by page; how many pages it took.
std::pair<Counts, std::size_t> counts_in_pages(const Ledger& ledger, UsageQuery query,
                                               std::size_t most_groups) {
  Counts counts;
  for (std::size_t pages = 1;; ++pages) {
    auto scan = UsageScan::make(ledger, {query, {}}, most_groups);
    REQUIRE(scan);
    while (!scan->read_slice(ledger)) continue;
    const UsageList list = scan->take();
    CHECK(list.rows.size() <= most_groups);
    for (const UsageRow& row : list.rows) {
      CHECK((counts.empty() || counts.rbegin()->first < row.group));
      counts.emplace(row.group, row.usage.submitted);
    }
    if (!list.more) return {counts, pages};
    REQUIRE_FALSE(list.rows.empty());
    query.after = list.rows.back().group;
  }
}

Counts counts_at_once(const Ledger& ledger, const UsageQuery& query,
                      const std::set<TenantId>& tenants) {
  Counts counts;
  ledger.visit_usage({}, [&](const UsageGroup& sums, const UsageRecord& usage) {
    const bool is_wanted = sums.day >= query.first_day && sums.day <= query.last_day &&
                           tenants.contains(sums.tenant) &&
                           (query.user.empty() || sums.user == query.user);
    if (is_wanted) counts[group_of(sums, query)] += usage.submitted;
    return true;
  });
  return counts;
}

}  // namespace

TEST_CASE("groups come in pages of a bounded size, each once and whole", "[actor][usage]") {
  NinetyDays history(GENERATE(1, 2));
  const std::vector<std::string> tenants{"", "a", "b", "c"};
  std::size_t most_pages = 0;
  for (int i = 0; i < 60; ++i) {
    UsageQuery query;
    query.first_day = 20'000 + static_cast<DayNumber>(history.below(90));
    query.last_day = query.first_day + static_cast<DayNumber>(history.below(90));
    query.tenant = tenants[history.below(4)];
    query.user = history.below(4) == 0 ? "ada" : "";
    query.period = static_cast<UsagePeriod>(history.below(3));
    query.by_tenant = history.below(2) == 0;
    query.by_user = history.below(2) == 0;
    std::set<TenantId> wanted{TenantId{1}, TenantId{2}, TenantId{3}};
    if (!query.tenant.empty())
      wanted = {TenantId{static_cast<std::uint32_t>(query.tenant[0] - 'a' + 1)}};
    CAPTURE(query.first_day, query.last_day, query.tenant, query.user,
            static_cast<int>(query.period), query.by_tenant, query.by_user);
    const Counts expected = counts_at_once(history.ledger(), query, wanted);
    CHECK(counts_in_pages(history.ledger(), query, UsageScan::kMostGroups).first == expected);
    const auto [counts, pages] = counts_in_pages(history.ledger(), query, 5);
    CHECK(counts == expected);
    CHECK(pages == std::max<std::size_t>(1, (expected.size() + 4) / 5));
    most_pages = std::max(most_pages, pages);
  }
  CHECK(most_pages > 5);
}

}  // namespace fairwater
