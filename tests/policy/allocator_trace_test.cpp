// Scripted clusters whose deals are written out as text and compared with golden/*.txt. Set
// FAIRWATER_BLESS=1 to rewrite the files; review them like code.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "allocator_cluster.hpp"

namespace fairwater::test {
namespace {

constexpr std::uint32_t kA = 1;
constexpr std::uint32_t kB = 2;
constexpr std::uint32_t kC = 3;

std::string name(TenantId tenant) { return std::string(1, static_cast<char>('@' + tenant.value)); }

/// Field names and values, those that are zero left out.
std::string fields(const TenantLine& line) {
  const std::pair<const char*, Units> all[] = {{"deficit before", line.deficit_before},
                                               {"granted", line.granted},
                                               {"passed on", line.passed_on},
                                               {"passed to", line.passed_to},
                                               {"paid", line.paid},
                                               {"received", line.received},
                                               {"pooled", line.pooled},
                                               {"allowance", line.allowance},
                                               {"guaranteed", line.guaranteed},
                                               {"placed", line.placed},
                                               {"rolled back", line.rolled_back},
                                               {"deficit", line.deficit_after}};
  std::string text;
  for (const auto& [field, value] : all)
    if (value != 0) text += fmt::format(" {} {},", field, value);
  return text + fmt::format(" held {} of quota {}", line.used[kCpu], line.quota[kCpu]);
}

/// A cluster that writes down what happens.
class Trace {
 public:
  explicit Trace(const AllocatorSettings& settings = default_settings()) : cluster(settings) {}

  void say(const std::string& text) { out_ << "-- " << text << "\n"; }
  void deal(std::uint32_t node) { print(node, cluster.deal(node)); }
  void end_one(std::uint32_t tenant) {
    out_ << "a task of " << name(TenantId{tenant}) << " ends\n";
    print(0, cluster.turn_over(tenant));
  }
  void submit(std::uint32_t tenant, std::uint32_t count, const ResourceVector& demand,
              PlacementRulePtr rule = nullptr) {
    const JobId job = cluster.submit(tenant, count, demand, std::move(rule));
    out_ << name(TenantId{tenant}) << " submits " << count << " tasks as job " << job.value << "\n";
    cluster.refresh(tenant);
  }
  void explain(std::uint32_t tenant, JobId job, std::uint32_t index) {
    out_ << "why does task " << job.value << "." << index << " wait?\n";
    for (const Obstacle& obstacle : cluster.allocator.explain_waiting(TenantId{tenant}, job, index))
      out_ << "  " << obstacle.code << ": " << obstacle.message << "\n";
  }

  void compare(const std::string& file) const {
    const auto path =
        std::filesystem::path(FAIRWATER_SOURCE_DIR) / "tests/policy" / "golden" / (file + ".txt");
    if (std::getenv("FAIRWATER_BLESS") != nullptr) {
      std::filesystem::create_directories(path.parent_path());
      std::ofstream(path) << out_.str();
    }
    std::ifstream golden(path);
    std::stringstream expected;
    expected << golden.rdbuf();
    CHECK(out_.str() == expected.str());
  }

  TestCluster cluster;

 private:
  void print(std::uint32_t node, const std::optional<Deal>& deal) {
    if (!deal) {
      out_ << "no deal on node " << node << "\n";
      return;
    }
    out_ << fmt::format("deal {} on node {}: {} units, {} unused, position {} -> {}\n",
                        cluster.allocator.last_deal(), deal->node.value, deal->free_units,
                        deal->unused, deal->position_before, deal->position_after);
    for (const TenantLine& line : deal->lines)
      out_ << "  " << name(line.tenant) << ":" << fields(line) << "\n";
    for (const Grant& grant : deal->grants)
      out_ << fmt::format("  {} starts {}.{} by {}, cost {}{}\n", name(grant.tenant),
                          grant.task.job.value, grant.task.index, to_string(grant.step), grant.cost,
                          grant.beyond_quota ? ", beyond its quota" : "");
    for (const Repayment& repayment : deal->repayments)
      out_ << fmt::format("  {} repays {} to {}\n", name(repayment.debtor), repayment.units,
                          name(repayment.creditor));
    for (const Loan& loan : deal->loans)
      out_ << fmt::format("  {} lends {} to {}\n", name(loan.lender), loan.units,
                          name(loan.borrower));
    for (const IouBook::Iou& iou : cluster.allocator.book().ious())
      out_ << fmt::format("  IOU: {} owes {} to {}\n", name(TenantId{iou.debtor}), iou.units,
                          name(TenantId{iou.creditor}));
  }

  std::ostringstream out_;
};

void three_tenants(Trace& trace, std::uint32_t repay_millionths = 1'000'000) {
  const Weight weights[] = {5, 3, 2};
  for (std::uint32_t i = 0; i < 3; ++i)
    trace.cluster.tenant(i + 1, {.weight = weights[i], .repay_millionths = repay_millionths});
}

TEST_CASE("three busy tenants on twelve slots", "[golden][allocator]") {
  Trace trace;
  three_tenants(trace);
  trace.cluster.node(1, cpu(12'000));
  for (const std::uint32_t tenant : {kA, kB, kC}) trace.submit(tenant, 50, cpu(1000));
  trace.deal(1);
  for (const std::uint32_t tenant : {kA, kB, kB, kC, kA, kB, kA, kC}) trace.end_one(tenant);
  trace.compare("busy");
}

void idle_and_back(std::uint32_t repay_millionths, const std::string& file) {
  Trace trace;
  three_tenants(trace, repay_millionths);
  trace.cluster.node(1, cpu(6'000));
  trace.submit(kA, 50, cpu(1000));
  trace.submit(kB, 50, cpu(1000));
  trace.say("C is idle: the others use its part");
  trace.deal(1);
  trace.end_one(kA);
  trace.end_one(kB);
  trace.say("C comes back");
  trace.submit(kC, 50, cpu(1000));
  for (const std::uint32_t tenant : {kA, kB, kA, kB, kC, kA, kB, kC}) trace.end_one(tenant);
  trace.compare(file);
}

TEST_CASE("an idle tenant lends and is repaid", "[golden][allocator]") {
  idle_and_back(1'000'000, "idle_and_back");
  idle_and_back(500'000, "idle_and_back_half");
}

TEST_CASE("guarantees come first and are not charged", "[golden][allocator]") {
  Trace trace;
  trace.cluster.tenant(kA, {.weight = 9});
  trace.cluster.tenant(kB, {.weight = 1, .min = cpu(2500)});
  trace.cluster.node(1, cpu(6000));
  trace.submit(kA, 50, cpu(1000));
  trace.submit(kB, 50, cpu(1000));
  trace.deal(1);
  trace.end_one(kA);
  trace.end_one(kB);
  trace.compare("guarantee");
}

TEST_CASE("nobody exceeds its max", "[golden][allocator]") {
  Trace trace;
  trace.cluster.tenant(kA, {.weight = 1, .max = cpu(2500)});
  trace.cluster.tenant(kB, {.weight = 1});
  trace.cluster.node(1, cpu(6000));
  trace.submit(kA, 50, cpu(1000));
  trace.deal(1);
  trace.explain(kA, JobId{1}, 2);
  trace.submit(kB, 50, cpu(1000));
  trace.deal(1);
  trace.end_one(kB);
  trace.compare("max");
}

TEST_CASE("who holds its quota passes on what falls to it", "[golden][allocator]") {
  Trace trace;
  trace.cluster.tenant(kA, {.weight = 1});
  trace.cluster.tenant(kB, {.weight = 1});
  trace.cluster.node(1, cpu(4000));
  trace.submit(kA, 50, cpu(1000));
  trace.submit(kB, 50, cpu(1000));
  trace.deal(1);
  trace.say("tasks of B are short, those of A long");
  for (int turn = 0; turn < 6; ++turn) trace.end_one(kB);
  trace.explain(kA, JobId{1}, 2);
  trace.end_one(kA);
  trace.compare("quota");
}

TEST_CASE("in slots mode every task costs one", "[golden][allocator]") {
  AllocatorSettings settings = default_settings();
  settings.mode = DealMode::slots;
  Trace trace(settings);
  three_tenants(trace);
  trace.cluster.node(1, cpu(10'000));
  trace.submit(kA, 20, cpu(1000));
  trace.submit(kB, 20, cpu(1000));
  trace.submit(kC, 20, cpu(2000));
  trace.deal(1);
  trace.end_one(kA);
  trace.end_one(kC);
  trace.compare("slots");
}

TEST_CASE("large tasks leave holes that are lent", "[golden][allocator]") {
  Trace trace;
  trace.cluster.tenant(kA, {.weight = 1});
  trace.cluster.tenant(kB, {.weight = 1});
  trace.cluster.node(1, cpu_memory(8000, 16'384));
  trace.submit(kA, 4, cpu_memory(5000, 1024));
  trace.submit(kB, 3, cpu_memory(2000, 8192));
  trace.deal(1);
  trace.explain(kA, JobId{1}, 1);
  trace.end_one(kA);
  trace.submit(kB, 20, cpu_memory(500, 256));
  trace.deal(1);
  trace.end_one(kB);
  trace.compare("large_tasks");
}

TEST_CASE("tasks run where their sites and labels allow", "[golden][allocator]") {
  Trace trace;
  trace.cluster.tenant(kA, {.weight = 1});
  trace.cluster.tenant(kB, {.weight = 1});
  trace.cluster.node(1, cpu(4000), {.name = "n1", .site = "north", .labels = {{"ssd", "true"}}});
  trace.cluster.node(2, cpu(4000), {.name = "s1", .site = "south", .labels = {}});
  const auto ssd = std::make_shared<PlacementRule>(
      PlacementRule{{"north"}, std::get<LabelExpression>(LabelExpression::parse("ssd"))});
  const auto east = std::make_shared<PlacementRule>(PlacementRule{{"east"}, {}});
  trace.submit(kA, 8, cpu(1000), ssd);
  trace.submit(kB, 8, cpu(1000));
  trace.deal(2);
  trace.deal(1);
  trace.submit(kB, 1, cpu(1000), east);
  trace.explain(kA, JobId{1}, 4);
  trace.explain(kB, JobId{3}, 0);
  trace.compare("labels");
}

}  // namespace
}  // namespace fairwater::test
