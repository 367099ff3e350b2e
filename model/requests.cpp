#include "model/requests.hpp"

namespace fairwater::inline model {
namespace {

/// Collects the names of what it is shown.
class NamesInUse {
 public:
  explicit NamesInUse(const NameTable& all) : all_(all) { used_.resources = all.resources; }

  [[nodiscard]] NameTable take() { return std::move(used_); }

  void operator()(TenantId tenant) {
    const auto known = all_.tenants.find(tenant);
    if (known != all_.tenants.end()) used_.tenants.insert(*known);
  }
  void operator()(NodeId node) {
    const auto known = all_.nodes.find(node);
    if (known != all_.nodes.end()) used_.nodes.insert(*known);
  }
  void operator()(const Deal& deal) {
    (*this)(deal.node);
    for (const auto& line : deal.lines) (*this)(line.tenant);
    for (const auto& grant : deal.grants) (*this)(grant.tenant);
    for (const auto& repayment : deal.repayments) both(repayment.debtor, repayment.creditor);
    for (const auto& loan : deal.loans) both(loan.lender, loan.borrower);
    if (deal.reservation) (*this)(deal.reservation->tenant);
  }

  void operator()(const Cycle& cycle) {
    for (const auto& deal : cycle.deals) (*this)(deal);
  }
  void operator()(const TimeSettled& settled) {
    for (const auto& line : settled.settlement.lines) (*this)(line.tenant);
  }
  void operator()(const CreditsSettled& settled) {
    for (const auto& line : settled.settlement.lines) (*this)(line.tenant);
  }
  void operator()(const TasksReclaimed& reclaimed) {
    for (const auto& task : reclaimed.tasks) {
      (*this)(task.node);
      both(task.tenant, task.claimant);
    }
  }
  void operator()(const DebtForgiven& forgiven) {
    (*this)(forgiven.debtor);
    for (const auto& debt : forgiven.debts) (*this)(debt.creditor);
  }
  void operator()(const TenantRemoved& removed) { (*this)(removed.tenant); }
  void operator()(const TenantLeaves& leaves) { (*this)(leaves.tenant); }
  void operator()(const TokenIssued& issued) { (*this)(issued.tenant); }
  void operator()(const JobSubmitted& submitted) { (*this)(submitted.tenant); }
  void operator()(const TasksFinished& finished) { (*this)(finished.node); }
  void operator()(const TasksDisowned& disowned) { (*this)(disowned.node); }
  void operator()(const TasksRequeued& requeued) { (*this)(requeued.node); }
  void operator()(const LaunchesFailed& failed) {
    (*this)(failed.node);
    for (const auto& launch : failed.launches)
      for (const auto& advance : launch.returned) (*this)(advance.lender);
  }
  void operator()(const NodeDrained& drained) { (*this)(drained.node); }
  void operator()(const NodeLost& lost) { (*this)(lost.node); }
  void operator()(const NodeReturned& returned) { (*this)(returned.node); }
  void operator()(const NodeSuperseded& superseded) { (*this)(superseded.node); }
  void operator()(const NodeRemoved& removed) { (*this)(removed.node); }
  // These carry the names themselves,
  void operator()(const TenantsChanged&) {}
  void operator()(const NodeChanged&) {}
  void operator()(const NodeAdmitted&) {}
  // and these name nobody. A new kind is in one of the lists, or does not compile.
  void operator()(const ClusterCreated&) {}
  void operator()(const CoordinatorStarted&) {}
  void operator()(const TokenRevoked&) {}
  void operator()(const JobCancelled&) {}
  void operator()(const JobWindsDown&) {}
  void operator()(const GrowthLimited&) {}
  void operator()(const AccountingChanged&) {}
  void operator()(const LedgerTrusted&) {}
  void operator()(const Checkpointed&) {}

 private:
  void both(TenantId one, TenantId other) {
    (*this)(one);
    (*this)(other);
  }

  const NameTable& all_;
  NameTable used_;
};

}  // namespace

LedgerMeasure measure_of(const ClusterCreated& cluster) {
  LedgerMeasure measure{.accounting = cluster.accounting};
  if (cluster.mode == DealMode::slots) return measure;
  for (const auto& kind : cluster.resources)
    if (kind.name == "cpu") measure.millicores_per_unit = kind.granule / kind.units;
  return measure;
}

NameTable names_in(const std::vector<JournalRecord>& records, const NameTable& all) {
  NamesInUse names(all);
  for (const auto& record : records)
    std::visit([&](const auto& body) { names(body); }, record.body);
  return names.take();
}

NameTable names_in(const Explanation& explanation, const NameTable& all) {
  NamesInUse names(all);
  names(explanation.job.tenant);
  if (explanation.deal) names(*explanation.deal);
  if (explanation.mark)
    for (const auto& move : explanation.mark->moves) names(move.other);
  return names.take();
}

std::uint64_t records_behind(const ReplicaInfo& replica, const ClusterStatus& status) {
  const bool is_behind = replica.name != status.leader && replica.cycle < status.cycle;
  return is_behind ? status.cycle - replica.cycle : 0;
}

}  // namespace fairwater::inline model
