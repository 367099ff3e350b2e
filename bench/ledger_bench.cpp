// Cycles made durable per second: one deal of four grants each, with sync on, alone and 32 to a
// commit.
#include <stdexcept>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "process/temporary_directory.hpp"
#include "storage/ledger.hpp"

namespace fairwater {
namespace {

constexpr std::uint32_t kTenants = 3;
constexpr std::uint32_t kGrants = 4;

/// A ledger in a temporary directory, with tenants, one node and jobs that never run out of tasks.
class BenchLedger {
 public:
  BenchLedger() {
    LedgerOptions options;
    options.directory = directory_.path();
    options.create = true;
    auto opened = Ledger::open(options);
    if (!opened) throw std::runtime_error(details(opened.error()).message);
    ledger_ = std::move(*opened);
    TenantsChanged tenants;
    for (std::uint32_t i = 1; i <= kTenants; ++i) {
      TenantRecord tenant;
      tenant.id = TenantId{i};
      tenant.spec.name = "tenant" + std::to_string(i);
      tenants.tenants.push_back(tenant);
    }
    NodeRecord node;
    node.id = NodeId{1};
    append({ClusterCreated{"bench", {{"cpu", 100}, {"memory", 256}}, DealMode::sized}, tenants,
            NodeChanged{node}});
  }
  BenchLedger(const BenchLedger&) = delete;
  BenchLedger& operator=(const BenchLedger&) = delete;

  void append(std::vector<JournalBody> bodies) {
    const auto receipts = ledger_->append(std::move(bodies));
    if (!receipts) throw std::runtime_error(details(receipts.error()).message);
  }

  /// The next cycle: tenant 1 gets all slots, tenant 2 uses them; every second one goes the other
  /// way.
  Cycle next_cycle() {
    if (next_task_ % kMaxTasksPerJob == 0) submit();
    const bool forth = (next_task_ / kGrants) % 2 == 0;
    Deal deal;
    deal.node = NodeId{1};
    deal.free_units = kGrants;
    TenantLine lender;
    lender.tenant = TenantId{forth ? 1u : 2u};
    lender.granted = kGrants;
    TenantLine borrower;
    borrower.tenant = TenantId{forth ? 2u : 1u};
    borrower.placed = kGrants;
    for (std::uint32_t i = 0; i < kGrants; ++i, ++next_task_) {
      Grant grant;
      grant.task = {forth ? JobId{jobs_ - 1} : JobId{jobs_}, next_task_ % kMaxTasksPerJob, 1};
      grant.tenant = borrower.tenant;
      grant.cost = 1;
      grant.demand[kCpu] = 100;
      deal.grants.push_back(grant);
    }
    deal.lines = {lender, borrower};
    deal.loans = {{lender.tenant, borrower.tenant, kGrants}};
    return {{deal}};
  }

 private:
  /// One job each for tenants 2 and 1.
  void submit() {
    JobSpec spec;
    spec.name = "bench";
    spec.command = {"true"};
    spec.tasks_max = kMaxTasksPerJob;
    append({JobSubmitted{{}, TenantId{2}, spec}, JobSubmitted{{}, TenantId{1}, spec}});
    jobs_ += 2;
  }

  TemporaryDirectory directory_;
  std::unique_ptr<Ledger> ledger_;
  std::uint64_t jobs_ = 0;
  std::uint32_t next_task_ = 0;
};

void ledger_commit(benchmark::State& state) {
  BenchLedger ledger;
  const auto batch = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    std::vector<JournalBody> bodies;
    for (std::size_t i = 0; i < batch; ++i) bodies.emplace_back(ledger.next_cycle());
    ledger.append(std::move(bodies));
  }
  state.counters["cycles_per_second"] =
      benchmark::Counter(static_cast<double>(batch) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}
BENCHMARK(ledger_commit)->Arg(1)->Arg(32)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace fairwater
