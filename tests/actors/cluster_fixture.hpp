// A coordinator's actors in virtual time, on an in-memory ledger, with agents that do what the test
// says.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <catch2/catch.hpp>

#include "actors/coordinator/cluster.hpp"

namespace rocksdb {
class Env;
}

namespace fairwater {

class DiskInMemory;

/// What the coordinator ordered an agent to do.
struct FakeAgent {
  std::string name;
  Hash credential{};
  NodePort port;
  AgentLink link;
  std::shared_ptr<std::vector<AgentOrders>> orders;
  std::vector<TaskKey> running;  ///< what the next report names
  bool breaks = false;           ///< its connections end on orders, from the next registration on
  std::uint64_t session = 0;
  AgentIdentity identity;  ///< what it shows when it registers

  /// Every launch so far, in order.
  [[nodiscard]] std::vector<LaunchOrder> launches() const;
  [[nodiscard]] std::vector<TaskKey> stops() const;
};

class ClusterFixture {
 public:
  explicit ClusterFixture(ClusterSettings settings = default_settings(),
                          Accounting accounting = Accounting::units, JournalStore* store = nullptr);
  ~ClusterFixture();

  static ClusterSettings default_settings();
  /// Ends every actor and starts them anew on the same ledger, as after a crash; `meanwhile` gets
  /// the ledger's Env and directory.
  void restart(const std::function<void(rocksdb::Env*, const std::string&)>& meanwhile = {});
  void restart(ClusterSettings settings);
  /// While it is full the ledger takes nothing.
  void fill_disk(bool full);
  /// The same on what the ledger held when it was last copied: restored from a backup.
  void copy_ledger();
  void restore_ledger();
  void run();
  /// From now on others go before the ledger's actor, as where a disk takes its time: what follows
  /// from a result is decided before that is durable.
  void let_ledger_wait() { ledger_waits_ = true; }
  void advance(std::int64_t milliseconds);

  /// Asks the frontend; the answer or the error.
  template <class Result, class Request>
  Expected<Result> ask(const Request& request) {
    return ask_actor<Result>(cluster_->frontend, request);
  }
  template <class Result, class Target, class Request>
  Expected<Result> ask_actor(const Target& target, const Request& request) {
    caf::scoped_actor self{*system_};
    auto response = self->request(target, caf::infinite, request);
    run();
    Expected<Result> answer{caf::error{}};
    response.receive([&](Result& result) { answer = std::move(result); },
                     [&](caf::error& error) { answer = std::move(error); });
    return answer;
  }

  /// Asks for all of it at once; the answers in the same order.
  template <class Result, class Request>
  std::vector<Expected<Result>> ask_at_once(const std::vector<Request>& requests) {
    return ask_actor_at_once<Result>(cluster_->frontend, requests);
  }
  /// The same of another actor, which has all of it in its mailbox before it begins.
  template <class Result, class Target, class Request>
  std::vector<Expected<Result>> ask_actor_at_once(const Target& target,
                                                  const std::vector<Request>& requests) {
    caf::scoped_actor self{*system_};
    std::vector<Expected<Result>> answers;
    for (const auto& request : requests) self->send(target, request);
    run();
    for (std::size_t i = 0; i < requests.size(); ++i)
      self->receive([&](Result& result) { answers.emplace_back(std::move(result)); },
                    [&](caf::error& error) { answers.emplace_back(std::move(error)); });
    return answers;
  }
  /// Asks, and takes one step after the other with `beside` sent to the coordinator before each of
  /// the first ones: it meets every state on the way.
  template <class Result, class Request, class Beside>
  Expected<Result> ask_beside(const Request& request, const Beside& beside) {
    constexpr int kStepsOfOneCall = 40;
    caf::scoped_actor self{*system_};
    caf::scoped_actor other{*system_};
    auto response = self->request(cluster_->frontend, caf::infinite, request);
    for (int i = 0; i < kStepsOfOneCall; ++i) {
      other->send(cluster_->coordinator, beside);
      step();
    }
    run();
    Expected<Result> answer{caf::error{}};
    response.receive([&](Result& result) { answer = std::move(result); },
                     [&](caf::error& error) { answer = std::move(error); });
    return answer;
  }

  Caller operator_caller() const { return {Role::operator_role, {}, ""}; }
  Caller tenant_caller(const std::string& name);
  void apply(std::vector<TenantSpec> tenants);
  /// `cpu` in whole processors; every task of the tests asks for one.
  FakeAgent join(const std::string& name, Amount cpu);
  FakeAgent join(const NodeSpec& spec, const AgentIdentity& identity = {});
  /// What the agent would be told now.
  LedgerMark ledger_end();
  /// Registers again, naming what runs; the answer's error otherwise.
  caf::error reattach(FakeAgent& agent, std::vector<TaskResult> finished = {});
  /// A heartbeat: the results that the coordinator acknowledged as durable.
  Expected<ReportReply> report(FakeAgent& agent, std::vector<TaskResult> finished = {});
  JobId submit(const std::string& tenant, std::uint32_t tasks, std::uint32_t retries = 0);
  JobDetail show(JobId job);
  std::vector<TenantInfo> tenants();
  NodeInfo node(const std::string& name);
  VerifyReport verify();
  [[nodiscard]] std::vector<JournalRecord> journal();
  [[nodiscard]] const Cluster& actors() const { return *cluster_; }

 private:
  void start(bool copied = false);
  void stop();
  void step();

  std::unique_ptr<rocksdb::Env> memory_;
  std::unique_ptr<DiskInMemory> env_;
  std::unique_ptr<rocksdb::Env> backup_;
  ClusterSettings settings_;
  Accounting accounting_;
  JournalStore* store_;
  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  std::optional<Cluster> cluster_;
  bool ledger_waits_ = false;
  std::vector<AgentLink> links_;
  std::vector<std::string> fatal_;
};

/// Of the clusters: the default ones, and gpus that tasks share.
std::vector<ResourceKind> resource_kinds();
/// Of the token by which agents join.
Hash join_hash();
TaskResult succeeded(const TaskKey& task);
TaskResult failed(const TaskKey& task);
TaskResult ended(const TaskKey& task, EndReason reason);
TenantSpec tenant_spec(const std::string& name, Weight weight);

}  // namespace fairwater
