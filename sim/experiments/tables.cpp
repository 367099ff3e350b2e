// The worked tables of Wang, Hong, Feng, sequence deployment: table 1 deals equal slots, table 2
// tasks of declared sizes. What stands in the constants is the paper's, misprints included.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "policy/allocator/sized.hpp"
#include "policy/core/splitmix64.hpp"
#include "policy/sequence/sequence.hpp"
#include "sim/experiments/list.hpp"

namespace fairwater::sim::inline experiments {
namespace {

constexpr Sequence::Member kA = 0, kB = 1;

// -- table 1 ------------------------------------------------------------------

struct SlotsOfTwo {
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  friend bool operator==(const SlotsOfTwo&, const SlotsOfTwo&) = default;
};

constexpr Weight kTable1WeightA = 5, kTable1WeightB = 3;
constexpr std::uint64_t kTable1Slots = 5;  ///< per heartbeat
constexpr std::string_view kTable1Order = "ABAABABA";
constexpr std::array<SlotsOfTwo, 8> kTable1Granted{
    {{3, 2}, {3, 2}, {3, 2}, {4, 1}, {3, 2}, {3, 2}, {3, 2}, {3, 2}}};

Sequence sequence_of(Sequence::Method method, const std::vector<Weight>& weights) {
  Sequence sequence(method);
  for (std::size_t i = 0; i < weights.size(); ++i)
    sequence.join(static_cast<Sequence::Member>(i), weights[i]);
  sequence.set_position(0);
  return sequence;
}

/// One period, slot by slot.
std::vector<Sequence::Member> order_of(Sequence::Method method,
                                       const std::vector<Weight>& weights) {
  Sequence sequence = sequence_of(method, weights);
  std::vector<Sequence::Member> order(sequence.cycle());
  for (Sequence::Member& slot : order) slot = sequence.next();
  return order;
}

std::string letters(const std::vector<Sequence::Member>& order) {
  std::string text;
  for (const Sequence::Member member : order) text += static_cast<char>('A' + member);
  return text;
}

/// How far A is ahead of its exact part after each slot of two periods.
Series lead_of_a(const std::string& name, Sequence::Method method) {
  Sequence sequence = sequence_of(method, {kTable1WeightA, kTable1WeightB});
  const double part = static_cast<double>(kTable1WeightA) / static_cast<double>(sequence.cycle());
  Series series{.name = name, .points = {{0, 0}}, .error = {}};
  double had = 0;
  for (std::uint64_t slot = 1; slot <= 2 * sequence.cycle(); ++slot) {
    if (sequence.next() == kA) ++had;
    series.points.emplace_back(static_cast<double>(slot), had - part * static_cast<double>(slot));
  }
  return series;
}

struct MethodComparison {
  std::uint32_t sets = 0;      ///< of random weights
  std::uint32_t equal = 0;     ///< sets for which both orders are the same
  std::uint32_t mirrored = 0;  ///< sets for which each is the other backwards
};

/// Two to six members of weight 1 to 20 per seed.
MethodComparison compare_methods(std::uint32_t seeds) {
  MethodComparison result{.sets = seeds};
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    SplitMix64 random(seed);
    std::vector<Weight> weights(2 + random.below(5));
    for (Weight& weight : weights) weight = 1 + static_cast<Weight>(random.below(20));
    const auto deficit = order_of(Sequence::Method::max_deficit, weights);
    const auto ratio = order_of(Sequence::Method::min_ratio, weights);
    if (deficit == ratio) ++result.equal;
    if (std::equal(deficit.rbegin(), deficit.rend(), ratio.begin())) ++result.mirrored;
  }
  return result;
}

Claim methods_claim(std::uint32_t seeds) {
  const std::vector<Weight> weights{kTable1WeightA, kTable1WeightB};
  const auto deficit = order_of(Sequence::Method::max_deficit, weights);
  const auto ratio = order_of(Sequence::Method::min_ratio, weights);
  const MethodComparison random = compare_methods(seeds);
  Claim claim{
      .paper = "Wang, Hong, Feng, the two methods",
      .statement = "Maximum deficit and minimum ratio are equal.",
      .measured = fmt::format(
          "For weights 5 and 3 the orders are {} and {}. Of {} random sets of weights {} have "
          "the same order by both methods, and for {} each order is the other backwards.",
          letters(deficit), letters(ratio), random.sets, random.equal, random.mirrored),
      .verdict = Verdict::does_not_hold};
  if (deficit == ratio && random.equal == random.sets)
    claim.verdict = Verdict::holds;
  else if (random.mirrored == random.sets)
    claim.verdict = Verdict::holds_in_part;
  return claim;
}

// -- table 2 ------------------------------------------------------------------

struct SizedOfTwo {
  Units granted_a = 0, granted_b = 0;
  std::vector<Units> placed_a, placed_b;
  Units unused = 0;
  Units printed_total_a = 0, printed_total_b = 0;
};

const std::vector<SizedTenant>& table2_tenants() {
  static const std::vector<SizedTenant> tenants{
      {.weight = 50, .tasks = {12, 15, 8, 6, 11, 10, 14, 9}},
      {.weight = 30, .tasks = {8, 6, 10, 11, 5, 7, 6, 5}}};
  return tenants;
}

constexpr std::array<Units, 5> kTable2Heartbeats{30, 35, 32, 31, 20};

/// As printed: B's total of the third heartbeat is a wrong sum, which the next two carry on.
const std::vector<SizedOfTwo>& table2_rows() {
  static const std::vector<SizedOfTwo> rows{{19, 11, {12}, {8, 6}, 4, 12, 14},
                                            {22, 13, {15, 8}, {10}, 2, 35, 24},
                                            {20, 12, {6, 11}, {11}, 4, 52, 33},
                                            {20, 11, {10, 14}, {5}, 2, 76, 38},
                                            {12, 8, {9}, {7}, 4, 85, 45}};
  return rows;
}

std::vector<SizedHeartbeat> run_table2(const SizedSettings& settings) {
  SizedDeal deal(settings, table2_tenants());
  std::vector<SizedHeartbeat> heartbeats;
  heartbeats.reserve(kTable2Heartbeats.size());
  for (const Units units : kTable2Heartbeats) heartbeats.push_back(deal.heartbeat(units));
  return heartbeats;
}

bool deals_as_printed(const SizedHeartbeat& heartbeat, const SizedOfTwo& row) {
  const SizedLine &a = heartbeat.lines[kA], &b = heartbeat.lines[kB];
  return a.granted == row.granted_a && b.granted == row.granted_b && a.placed == row.placed_a &&
         b.placed == row.placed_b && heartbeat.unused == row.unused;
}

Claim deals_claim(const std::vector<SizedHeartbeat>& heartbeats) {
  std::size_t same = 0;
  for (std::size_t i = 0; i < heartbeats.size(); ++i)
    same += deals_as_printed(heartbeats[i], table2_rows()[i]) ? 1 : 0;
  return {.paper = "Wang, Hong, Feng, table 2, deals",
          .statement =
              "With weights 50 and 30, heartbeats of 30, 35, 32, 31 and 20 units fall to "
              "A and B, and are filled with their tasks, as the table shows.",
          .measured = fmt::format("{} of {} heartbeats deal, place and leave over as printed.",
                                  same, heartbeats.size()),
          .verdict = same == heartbeats.size() ? Verdict::holds
                     : same > 0                ? Verdict::holds_in_part
                                               : Verdict::does_not_hold};
}

Claim totals_claim(const std::vector<SizedHeartbeat>& heartbeats) {
  std::size_t same = 0;
  std::vector<std::string> differences;
  const auto compare = [&](std::size_t round, char name, Units printed, Units right) {
    if (printed == right)
      ++same;
    else
      differences.push_back(
          fmt::format("{} after round {}: {}, not {}", name, round + 1, right, printed));
  };
  for (std::size_t i = 0; i < heartbeats.size(); ++i) {
    compare(i, 'A', table2_rows()[i].printed_total_a, heartbeats[i].lines[kA].total);
    compare(i, 'B', table2_rows()[i].printed_total_b, heartbeats[i].lines[kB].total);
  }
  const std::size_t all = 2 * heartbeats.size();
  Claim claim{.paper = "Wang, Hong, Feng, table 2, totals",
              .statement = "What each tenant placed so far adds up to the printed totals.",
              .measured = fmt::format("{} of {} totals are as printed.", same, all),
              .verdict = same == all ? Verdict::holds
                         : same > 0  ? Verdict::holds_in_part
                                     : Verdict::does_not_hold};
  if (!differences.empty()) claim.measured += fmt::format(" {}.", fmt::join(differences, "; "));
  return claim;
}

Table table2_table(const std::vector<SizedHeartbeat>& heartbeats) {
  Table table{.title = "Table 2, computed, beside the totals as printed",
              .columns = {"heartbeat", "units", "granted A, B", "allowance A, B", "A places",
                          "B places", "unused", "balance A, B", "total A, B", "printed A, B"},
              .rows = {}};
  for (std::size_t i = 0; i < heartbeats.size(); ++i) {
    const SizedHeartbeat& now = heartbeats[i];
    const SizedLine &a = now.lines[kA], &b = now.lines[kB];
    table.rows.push_back({std::to_string(i + 1), std::to_string(now.units),
                          fmt::format("{}, {}", a.granted, b.granted),
                          fmt::format("{}, {}", a.allowance, b.allowance),
                          fmt::format("{}", fmt::join(a.placed, " + ")),
                          fmt::format("{}", fmt::join(b.placed, " + ")), std::to_string(now.unused),
                          fmt::format("{}, {}", a.balance, b.balance),
                          fmt::format("{}, {}", a.total, b.total),
                          fmt::format("{}, {}", table2_rows()[i].printed_total_a,
                                      table2_rows()[i].printed_total_b)});
  }
  return table;
}

/// How the deals depend on the two settings that the table does not name.
Table table2_sensitivity() {
  Table table{.title = "Table 2 with other settings: does each heartbeat stay as printed?",
              .columns = {"mu", "backups", "heartbeats as printed", "total A", "total B"},
              .rows = {}};
  for (const std::uint32_t millionths : {1'000'000u, 750'000u, 500'000u, 250'000u})
    for (const std::uint32_t backups : {1u, 2u, 3u}) {
      const auto heartbeats =
          run_table2({.granule = 1, .repay_millionths = millionths, .backups = backups});
      std::size_t same = 0;
      for (std::size_t i = 0; i < heartbeats.size(); ++i)
        same += deals_as_printed(heartbeats[i], table2_rows()[i]) ? 1 : 0;
      table.rows.push_back({fmt::format("{:g}", millionths / 1e6), std::to_string(backups),
                            fmt::format("{} of {}", same, heartbeats.size()),
                            std::to_string(heartbeats.back().lines[kA].total),
                            std::to_string(heartbeats.back().lines[kB].total)});
    }
  return table;
}

Chart table2_chart(const std::vector<SizedHeartbeat>& heartbeats) {
  Chart chart{.title = "What A and B placed so far, and B's totals as printed",
              .x_label = "heartbeat",
              .y_label = "units",
              .categories = {},
              .series = {{.name = "A", .points = {}, .error = {}},
                         {.name = "B", .points = {}, .error = {}},
                         {.name = "B as printed", .points = {}, .error = {}}}};
  for (std::size_t i = 0; i < heartbeats.size(); ++i) {
    const double x = static_cast<double>(i + 1);
    chart.series[0].points.emplace_back(x, heartbeats[i].lines[kA].total);
    chart.series[1].points.emplace_back(x, heartbeats[i].lines[kB].total);
    chart.series[2].points.emplace_back(x, table2_rows()[i].printed_total_b);
  }
  return chart;
}

}  // namespace

Expected<ExperimentReport> run_sequence_table1(const ExperimentOptions& options) {
  ExperimentReport report{
      .title = "Sequence deployment, table 1", .claims = {}, .assumptions = {}, .items = {}};
  const std::vector<Weight> weights{kTable1WeightA, kTable1WeightB};
  Sequence sequence = sequence_of(Sequence::Method::max_deficit, weights);
  Table table{
      .title = "Table 1, computed",
      .columns = {"heartbeat", "slots", "A", "B", "printed A, B", "total A", "total B", "position"},
      .rows = {}};
  SlotsOfTwo total;
  std::size_t same = 0;
  for (std::size_t i = 0; i < kTable1Granted.size(); ++i) {
    SlotsOfTwo granted;
    for (const Sequence::Count& count : sequence.advance(kTable1Slots))
      (count.member == kA ? granted.a : granted.b) += count.slots;
    total = {total.a + granted.a, total.b + granted.b};
    same += granted == kTable1Granted[i] ? 1 : 0;
    table.rows.push_back(
        {std::to_string(i + 1), std::to_string(kTable1Slots), std::to_string(granted.a),
         std::to_string(granted.b), fmt::format("{}, {}", kTable1Granted[i].a, kTable1Granted[i].b),
         std::to_string(total.a), std::to_string(total.b), std::to_string(sequence.position())});
  }
  const std::string order = letters(order_of(Sequence::Method::max_deficit, weights));
  const bool in_proportion = total.a * kTable1WeightB == total.b * kTable1WeightA;
  report.claims.push_back(
      {.paper = "Wang, Hong, Feng, table 1",
       .statement = fmt::format("For weights 5 and 3 the sequence is {}; eight heartbeats of 5 "
                                "slots fall to A and B as printed, 25 and 15 in all.",
                                kTable1Order),
       .measured = fmt::format("The sequence is {}; {} of {} heartbeats as printed; {} and {} in "
                               "all, {} proportion to the weights.",
                               order, same, kTable1Granted.size(), total.a, total.b,
                               in_proportion ? "in exact" : "not in"),
       .verdict = order == kTable1Order && same == kTable1Granted.size() && in_proportion
                      ? Verdict::holds
                  : same > 0 ? Verdict::holds_in_part
                             : Verdict::does_not_hold});
  report.claims.push_back(methods_claim(options.seeds));
  report.assumptions = {
      "The table starts at the sequence's first slot; equal keys fall to the last-ranked tenant "
      "(maximum deficit) or the first-ranked one (minimum ratio).",
      "The random sets to compare the methods by have 2 to 6 tenants of weight 1 to 20."};
  report.items = {table,
                  Chart{.title = "How far A is ahead of its exact part, 5/8 of the slots dealt",
                        .x_label = "slots dealt",
                        .y_label = "slots ahead",
                        .kind = ChartKind::steps,
                        .categories = {},
                        .series = {lead_of_a("maximum deficit", Sequence::Method::max_deficit),
                                   lead_of_a("minimum ratio", Sequence::Method::min_ratio)}}};
  options.progress(1);
  return report;
}

Expected<ExperimentReport> run_sequence_table2(const ExperimentOptions& options) {
  const auto heartbeats = run_table2({});
  ExperimentReport report{
      .title = "Sequence deployment with sized tasks, table 2",
      .claims = {deals_claim(heartbeats), totals_claim(heartbeats)},
      .assumptions =
          {"A debtor repays out of all that fell to it (mu = 1), and the backfill looks at one "
           "next task of each tenant.",
           "The third round adds 24 and 11 to 33; the totals printed for rounds four and five are "
           "taken to carry this on."},
      .items = {table2_table(heartbeats), table2_chart(heartbeats), table2_sensitivity()}};
  options.progress(1);
  return report;
}

}  // namespace fairwater::sim::inline experiments
