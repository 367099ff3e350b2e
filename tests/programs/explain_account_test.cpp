// The account of a deal as job explain prints it closes, whatever was dealt.
#include <random>
#include <sstream>

#include <catch2/catch.hpp>

#include "cli/cluster/explain_text.hpp"
#include "policy/allocator/allocator.hpp"

namespace fairwater {
namespace {

class RandomDeals {
 public:
  explicit RandomDeals(std::uint64_t seed) : random_(seed), allocator_(settings()) {
    for (std::uint32_t tenant = 1; tenant <= kTenants; ++tenant) set_tenant(tenant);
    for (std::uint32_t node = 1; node <= kNodes; ++node)
      allocator_.set_node(NodeId{node}, {"node", "here", {}},
                          cpu(static_cast<Amount>(draw(4, 24)) * 500), true);
  }

  /// Somebody wants something else, some tasks end, a node is dealt.
  std::optional<Deal> next() {
    for (std::uint32_t tenant = 1; tenant <= kTenants; ++tenant) {
      if (draw(0, 30) == 0) set_tenant(tenant);
      if (draw(0, 2) == 0) set_window(tenant);
    }
    std::erase_if(running_,
                  [&](const TaskKey& task) { return draw(0, 3) == 0 && allocator_.release(task); });
    auto deal = allocator_.deal(NodeId{static_cast<std::uint32_t>(draw(1, kNodes))});
    if (deal)
      for (const Grant& grant : deal->grants) running_.push_back(grant.task);
    return deal;
  }

 private:
  static constexpr std::uint32_t kTenants = 5;
  static constexpr std::uint32_t kNodes = 3;

  static ResourceVector cpu(Amount millicores) {
    ResourceVector amounts;
    amounts[kCpu] = millicores;
    return amounts;
  }
  static AllocatorSettings settings() {
    AllocatorSettings settings;
    settings.granules = cpu(100);
    return settings;
  }

  std::uint64_t draw(std::uint64_t from, std::uint64_t to) {
    return from + random_() % (to - from + 1);
  }

  void set_tenant(std::uint32_t tenant) {
    TenantTerms terms;
    terms.weight = static_cast<Weight>(draw(1, 9));
    if (draw(0, 3) == 0) terms.min = cpu(static_cast<Amount>(draw(1, 4)) * 500);
    if (draw(0, 3) == 0) terms.max = cpu(static_cast<Amount>(draw(4, 12)) * 500);
    terms.repay_millionths = static_cast<std::uint32_t>(draw(1, 1'000'000));
    terms.may_lend = draw(0, 5) > 0;
    terms.may_borrow = draw(0, 5) > 0;
    allocator_.set_tenant(TenantId{tenant}, terms);
  }

  void set_window(std::uint32_t tenant) {
    DemandWindow window;
    window.tenant = TenantId{tenant};
    window.seen_deal = allocator_.last_deal();
    for (std::uint64_t ranges = draw(0, 2); ranges > 0; --ranges) {
      WaitingRange range;
      range.job = JobId{++last_job_};
      range.count = static_cast<std::uint32_t>(draw(1, 6));
      range.demand = cpu(static_cast<Amount>(draw(1, 40)) * 100);
      window.next.push_back(range);
      window.pending_tasks += range.count;
      for (std::uint32_t i = 0; i < range.count; ++i) window.pending += range.demand;
    }
    allocator_.set_window(std::move(window));
  }

  std::mt19937_64 random_;
  Allocator allocator_;
  std::vector<TaskKey> running_;
  std::uint64_t last_job_ = 0;
};

Explanation explanation_of(const Deal& deal, const Grant& grant) {
  Explanation explanation;
  explanation.job.id = grant.task.job;
  explanation.job.tenant = grant.tenant;
  explanation.task.index = grant.task.index;
  explanation.task.record.attempt = grant.task.attempt;
  explanation.task.record.state = TaskState::running;
  explanation.deal = deal;
  return explanation;
}

/// What the lines before and behind the total add up to.
struct PrintedAccount {
  Units before = 0;
  Units total = 0;
  Units behind = 0;
};

PrintedAccount printed_account(const std::string& text) {
  PrintedAccount account;
  std::istringstream lines(text.substr(text.find("account of ")));
  bool is_behind = false;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  ")) continue;
    const Units count = std::stoll(line);
    if (line.ends_with("in all")) {
      account.total = count;
      is_behind = true;
    } else {
      (is_behind ? account.behind : account.before) += count;
    }
  }
  return account;
}

}  // namespace

TEST_CASE("the account of any deal closes as it is printed", "[explain]") {
  std::size_t pooled = 0;
  std::size_t borrowed = 0;
  std::size_t below_zero = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    RandomDeals deals(seed);
    for (int step = 0; step < 100; ++step) {
      const auto deal = deals.next();
      if (!deal) continue;
      for (const Grant& grant : deal->grants) {
        const std::string text = explain_text(explanation_of(*deal, grant));
        INFO(text);
        const PrintedAccount account = printed_account(text);
        REQUIRE(account.before == account.total);
        REQUIRE(account.behind == account.total);
        pooled += text.find("from the pool") != std::string::npos ? 1 : 0;
        borrowed += text.find("  borrowed from") != std::string::npos ? 1 : 0;
        below_zero += text.find("placed before beyond") != std::string::npos ? 1 : 0;
      }
    }
  }
  CHECK(pooled > 0);
  CHECK(borrowed > 0);
  CHECK(below_zero > 0);
}

}  // namespace fairwater
