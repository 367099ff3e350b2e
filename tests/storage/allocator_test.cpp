// The allocator and the ledger together: every deal is accepted as it stands, both keep the same
// accounts, and an allocator that is rebuilt from the ledger after any deal goes on as the one that
// was lost would have.
#include "policy/allocator/allocator.hpp"

#include <algorithm>
#include <set>

#include <catch2/catch.hpp>
#include <rocksdb/env.h>

#include "model/resources.hpp"
#include "policy/allocator/advances.hpp"
#include "tests/storage/memory_disk.hpp"
#include "tests/storage/support.hpp"

namespace fairwater::test {
namespace {

constexpr std::uint32_t kNodes = 3;

ResourceVector cpu(Amount millicores) {
  ResourceVector vector;
  vector[kCpu] = millicores;
  return vector;
}

std::string numbered(std::string name, std::uint32_t number) {
  return name.append(std::to_string(number));
}

/// A coordinator's core without actors: what it deals becomes durable at once.
class Cluster {
  bool slow_payers_;
  std::unique_ptr<rocksdb::Env> env_;  // outlives the ledger

 public:
  /// With `slow_payers` some tenants repay by parts of a unit.
  Cluster(std::uint64_t seed, bool slow_payers)
      : slow_payers_(slow_payers), env_(memory_disk()), random_(seed) {
    open();
    must(ledger->append({small_cluster(), CoordinatorStarted{1, "test"}}));
    for (std::uint32_t id = 1; id <= kNodes; ++id)
      must(ledger->append({NodeChanged{node(id, numbered("n", id))}}));
    allocator = fresh();
    for (int i = 0; i < 5; ++i) join();
  }

  void step() {
    const std::uint64_t choice = below(100);
    if (choice < 20)
      submit();
    else if (choice < 40)
      finish();
    else if (choice < 45)
      fail_launches();
    else if (choice < 47)
      join();
    else if (choice < 50)
      leave();
    else if (choice < 53)
      open_or_close_a_node();
    else
      deal();
  }

  void deal() {
    refresh(allocator);
    const NodeId node{static_cast<std::uint32_t>(1 + below(kNodes))};
    const std::optional<Deal> dealt = allocator.deal(node);
    if (!dealt) return;
    must(ledger->append({Cycle{{*dealt}}}));
    ++deals;
    if (dealt->reservation) ++reservations;
    loans += dealt->loans.size();
    repayments += dealt->repayments.size();
    for (const Grant& grant : dealt->grants) {
      queues_.at(grant.tenant).erase({grant.task.job, grant.task.index});
      running_.push_back({node, grant});
      granted_[grant.tenant] += grant.cost;
    }
    for (const auto& [id, moved] : moves_of(*dealt)) standing_[id] += moved;
    made_.push_back(*dealt);
  }

  /// Every launch of some deal fails, whatever was dealt, netted and paid since: all standings are
  /// as if that deal had not been made.
  void fail_launches() {
    if (made_.empty()) return;
    const std::size_t age = below(std::min<std::size_t>(made_.size(), 6));  // older ones have ended
    const auto at = made_.end() - 1 - static_cast<std::ptrdiff_t>(age);
    const Deal deal = *at;
    made_.erase(at);
    const auto advances = advances_of(deal);
    LaunchesFailed body{deal.node, {}};
    for (std::size_t i = 0; i < deal.grants.size(); ++i) {
      const Grant& grant = deal.grants[i];
      const auto held = std::find_if(running_.begin(), running_.end(), [&](const HeldTask& other) {
        return other.grant.task == grant.task;
      });
      if (held == running_.end()) return;  // it has ended otherwise
      TaskResult result = success(grant.task);
      result.reason = EndReason::launch_failed;
      body.launches.push_back({result, advances[i]});
    }
    must(ledger->append({body}));
    for (std::size_t i = 0; i < deal.grants.size(); ++i) take_back(deal.grants[i], advances[i]);
    bool is_whole = true;
    for (const auto& [id, moved] : moves_of(deal)) {
      const auto line = std::find_if(deal.lines.begin(), deal.lines.end(),
                                     [&](const TenantLine& other) { return other.tenant == id; });
      // What a tenant passed on of an earlier deficit is no grant's.
      is_whole = is_whole && queues_.contains(id) && -moved <= line->placed;
    }
    if (!is_whole) {
      follow_standings();
      return;
    }
    for (const auto& [id, moved] : moves_of(deal)) standing_[id] -= moved;
    ++undone;
    if (!moves_of(deal).empty()) ++undone_with_advances;
  }

  void compare_standings() {
    for (const TenantRecord& tenant : ledger->tenants()) {
      const TenantView view = allocator.tenant(tenant.id);
      CHECK(view.net + view.deficit == standing_[tenant.id]);
      CHECK(tenant.granted_units_total == granted_[tenant.id]);
      CHECK(tenant.lent_total >= 0);
      CHECK(tenant.borrowed_total >= 0);
    }
  }

  /// A copy that is made of what the ledger holds deals on as the allocator does.
  void compare_with_restored() {
    Allocator lost = allocator;
    Allocator restored = rebuilt();
    refresh(lost);
    refresh(restored);
    for (std::uint32_t id = 1; id <= kNodes; ++id) {
      const std::optional<Deal> was = lost.deal(NodeId{id});
      const std::optional<Deal> is = restored.deal(NodeId{id});
      CHECK(was.has_value() == is.has_value());
      CHECK((was == is));
    }
  }

  /// Loses the process: all that is left is the ledger.
  void restart() {
    open();
    allocator = rebuilt();
  }

  /// What the ledger says of every tenant is what the allocator says.
  void compare_accounts() const {
    const auto without_ages = [](AccountsSnapshot accounts) {
      for (IouBook::Iou& iou : accounts.ious) iou.age = 0;
      accounts.last_iou_age = 0;
      return accounts;
    };
    CHECK(without_ages(ledger->accounts()) == without_ages(allocator.accounts().snapshot()));
  }

  std::unique_ptr<Ledger> ledger;
  Allocator allocator{AllocatorSettings{}};
  std::size_t deals = 0;
  std::size_t loans = 0;
  std::size_t repayments = 0;
  std::size_t left = 0;
  std::size_t undone = 0;
  std::size_t undone_with_advances = 0;
  std::size_t reservations = 0;

 private:
  using Queue = std::map<std::pair<JobId, std::uint32_t>, ResourceVector>;

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  /// What a deal moved of net and deficit, by tenant.
  static std::map<TenantId, Units> moves_of(const Deal& deal) {
    std::map<TenantId, Units> moves;
    for (const TenantLine& line : deal.lines)
      moves[line.tenant] += line.deficit_after - line.deficit_before + line.paid - line.received;
    for (const Loan& loan : deal.loans) {
      moves[loan.lender] += loan.units;
      moves[loan.borrower] -= loan.units;
    }
    std::erase_if(moves, [](const auto& move) { return move.second == 0; });
    return moves;
  }

  void follow_standings() {
    for (const auto& [id, queue] : queues_)
      standing_[id] = allocator.tenant(id).net + allocator.tenant(id).deficit;
  }

  void take_back(const Grant& grant, const std::vector<Advance>& advances) {
    CHECK(allocator.release(grant.task));
    allocator.take_back(grant.tenant, advances);
    std::erase_if(running_, [&](const HeldTask& held) { return held.grant.task == grant.task; });
    granted_[grant.tenant] -= grant.cost;
    const TaskRecord after = *ledger->task(grant.task.job, grant.task.index);
    if (after.state != TaskState::pending) return;  // tried too often
    queues_.at(grant.tenant)[{grant.task.job, grant.task.index}] = grant.demand;
    attempts_[{grant.task.job, grant.task.index}] = after.attempt;
  }

  void open() {
    ledger.reset();
    ledger = must(Ledger::open(options_for("/ledger", env_.get())));
  }

  [[nodiscard]] Allocator fresh() const {
    AllocatorSettings settings;
    settings.granules = cpu(100);
    Allocator made(settings);
    for (std::uint32_t id = 1; id <= kNodes; ++id)
      made.set_node(NodeId{id}, {}, cpu(4000), !closed_.contains(id));
    return made;
  }

  [[nodiscard]] Allocator rebuilt() const {
    Allocator restored = fresh();
    for (const TenantRecord& tenant : ledger->tenants()) set(restored, tenant);
    restored.restore(ledger->accounts());
    restored.restore_held(running_);
    return restored;
  }

  static void set(Allocator& target, const TenantRecord& tenant) {
    target.set_tenant(tenant.id, must(terms_of(tenant.spec, ResourceCatalog())));
  }

  void join() {
    const TenantId id = ledger->next_tenant_id();
    TenantRecord record =
        tenant(id.value, numbered("t", id.value), static_cast<Weight>(1 + below(6)));
    record.spec.repay_millionths = slow_payers_ && below(2) ? 400'000 : 1'000'000;
    record.spec.may_borrow = below(5) != 0;
    record.spec.may_lend = below(5) != 0;
    if (below(3) == 0) record.spec.min = {{"cpu", 1000}};
    set(allocator, record);
    must(ledger->append({TenantsChanged{{record}, allocator.position()}}));
    queues_[id];
  }

  void leave() {
    for (const auto& [id, queue] : queues_) {
      const bool runs = std::any_of(running_.begin(), running_.end(),
                                    [&](const HeldTask& held) { return held.grant.tenant == id; });
      if (runs || !queue.empty() || queues_.size() < 3 || allocator.tenant(id).net < 0) continue;
      const TenantId leaver = id;
      queues_.erase(leaver);
      const Units forgiven = allocator.remove_tenant(leaver);
      must(ledger->append({TenantRemoved{leaver, allocator.position(), forgiven}}));
      follow_standings();
      ++left;
      return;
    }
  }

  /// One at a time. Nobody writes that down: a coordinator learns it from the node.
  void open_or_close_a_node() {
    auto id = static_cast<std::uint32_t>(1 + below(kNodes));
    if (closed_.empty())
      closed_.insert(id);
    else
      id = closed_.extract(closed_.begin()).value();
    allocator.set_node(NodeId{id}, {}, cpu(4000), !closed_.contains(id));
  }

  void submit() {
    auto owner = std::next(queues_.begin(), static_cast<std::ptrdiff_t>(below(queues_.size())));
    if (owner->second.size() > 40) return;
    const auto tasks = static_cast<std::uint32_t>(1 + below(20));
    const JobId job =
        must(ledger->append({JobSubmitted{{}, owner->first, job_spec("t", tasks)}}))[0].job;
    const ResourceVector demand = cpu(static_cast<Amount>(100 + 100 * below(12)));
    for (std::uint32_t i = 0; i < tasks; ++i) owner->second[{job, i}] = demand;
  }

  void finish() {
    for (std::uint64_t wanted = 1 + below(12); wanted > 0 && !running_.empty(); --wanted) {
      const auto at = static_cast<std::ptrdiff_t>(below(running_.size()));
      const HeldTask held = running_[static_cast<std::size_t>(at)];
      running_.erase(running_.begin() + at);
      must(ledger->append({TasksFinished{held.node, {success(held.grant.task)}}}));
      CHECK(allocator.release(held.grant.task));
    }
  }

  void refresh(Allocator& target) const {
    for (const auto& [id, queue] : queues_) {
      DemandWindow window;
      window.tenant = id;
      window.seen_deal = target.last_deal();
      for (const auto& [place, demand] : queue) {
        WaitingRange range;
        range.job = place.first;
        range.first_index = place.second;
        const auto attempt = attempts_.find(place);
        range.attempt = attempt == attempts_.end() ? 1 : attempt->second;
        range.demand = demand;
        window.next.push_back(range);
        window.pending += demand;
        ++window.pending_tasks;
      }
      target.set_window(window);
    }
  }

  std::mt19937_64 random_;
  std::map<TenantId, Queue> queues_;
  std::map<std::pair<JobId, std::uint32_t>, std::uint32_t> attempts_;  ///< where not the first
  std::vector<HeldTask> running_;
  std::set<std::uint32_t> closed_;  ///< nodes that take no tasks
  std::vector<Deal> made_;
  std::map<TenantId, Units> standing_;  ///< net + deficit, by the deals whose launches did not fail
  std::map<TenantId, Units> granted_;   ///< likewise
};

TEST_CASE("the ledger takes every deal of the allocator and restores it", "[property][ledger]") {
  std::size_t left = 0;
  std::size_t undone = 0;
  std::size_t undone_with_advances = 0;
  std::size_t reservations = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    INFO("seed " << seed);
    Cluster cluster(seed, seed % 2 == 1);
    for (int i = 1; i <= 700; ++i) {
      const std::size_t deals = cluster.deals;
      cluster.step();
      if (cluster.deals > deals) cluster.compare_with_restored();
      if (i % 50 == 0) cluster.compare_accounts();
      if (i % 50 == 0) cluster.compare_standings();
      if (i % 100 == 0) cluster.restart();
    }
    CHECK(cluster.ledger->verify().differences == std::vector<std::string>{});
    CHECK(cluster.deals > 100);
    CHECK(cluster.loans > 0);
    CHECK(cluster.repayments > 0);
    undone += cluster.undone;
    undone_with_advances += cluster.undone_with_advances;
    left += cluster.left;
    reservations += cluster.reservations;
  }
  CHECK(left > 0);
  CHECK(undone > 20);
  CHECK(undone_with_advances > 10);
  CHECK(reservations > 10);
}

}  // namespace
}  // namespace fairwater::test
