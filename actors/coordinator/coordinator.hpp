// The coordinator actor: deals every node's free capacity out (docs/architecture.md, "Life of a
// heartbeat"). It owns the allocator and the directory of tenants, nodes and tokens.
//
//   takes  NodeBeat                              from nodes
//          SettleFailedLaunches                  from nodes
//          DemandWindow, Withdraw, StopTasks, TellMembers   from tenants
//          Login, AgentCredential, RegisterNode, FindTenant, AdmitJob, FindNode,
//          DescribeCluster, DescribeTenants, ExplainWaiting, GetExpectedStart, and its calls of
//          model/calls.hpp from the frontend
//   sends  Commit (one Cycle for all heartbeats that gathered)        to the ledger
//          Granted, once durable                 to tenants
//   bound  one beat per node report and one window per tenant refresh are under way; at most
//          kMaxCyclesInFlight cycles are computed ahead of the ledger
//
//              beat, window                 deals made             committed
//   resting ───────────────> cycle due ────────────────> in flight ───────────> grants sent
//      ^                         ^                           │ failed
//      │ rebuilt from the ledger │                           v
//      └─────────────────────────┴──────────────────── not granting
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <caf/actor_system.hpp>
#include <caf/typed_actor.hpp>

#include "actors/coordinator/frontend.hpp"
#include "actors/coordinator/ledger.hpp"
#include "actors/coordinator/node.hpp"
#include "actors/coordinator/tenant.hpp"
#include "actors/message.hpp"

FAIRWATER_COORDINATOR_MESSAGE(Granted)
FAIRWATER_COORDINATOR_MESSAGE(NodeBeat)
FAIRWATER_MESSAGE(inline policy::inline allocator, DemandWindow)
FAIRWATER_COORDINATOR_MESSAGE(Withdraw)
FAIRWATER_COORDINATOR_MESSAGE(TenantAddress)
FAIRWATER_COORDINATOR_MESSAGE(FindTenant)
FAIRWATER_COORDINATOR_MESSAGE(AdmitJob)
FAIRWATER_COORDINATOR_MESSAGE(NodeAddress)
FAIRWATER_COORDINATOR_MESSAGE(FindNode)
FAIRWATER_COORDINATOR_MESSAGE(DescribeCluster)
FAIRWATER_COORDINATOR_MESSAGE(DescribeTenants)
FAIRWATER_COORDINATOR_MESSAGE(TenantViews)
FAIRWATER_COORDINATOR_MESSAGE(ExplainWaiting)
FAIRWATER_COORDINATOR_MESSAGE(GetExpectedStart)
FAIRWATER_COORDINATOR_MESSAGE(ExpectedStart)

namespace fairwater::inline actors::inline coordinator {

inline constexpr std::uint32_t kMaxCyclesInFlight = 4;
/// In one answer of the coordinator, which has other things to do: some milliseconds' work. Who
/// lists asks for the next.
inline constexpr std::size_t kMaxShownAtOnce = 1000;
inline constexpr std::size_t kMaxDealsPerCycle = 256;
/// Together with that a cycle's record stays near a megabyte (a line has up to 29 words) and so
/// within one message: at most this and one deal more, which has a line for each tenant.
inline constexpr std::size_t kMaxDealEntriesPerCycle = 4096;

struct GrantOnNode {
  Grant grant;
  NodeActor node;
  NodeId node_id;
};
/// Grants of one cycle to one tenant; durable.
struct Granted {
  std::uint64_t deal = 0;  ///< the last deal of the cycle, see DemandWindow::seen_deal
  Moment moment;           ///< of the cycle's journal record
  std::vector<GrantOnNode> grants;
};

struct TenantAddress {
  TenantId id;
  std::string name;
  TenantActor actor;
  std::size_t memory_steps = 0;  ///< to AdmitJob: so many of the job's some node could give
  NamedAmounts of_devices =
      {};  ///< the same: amounts of the devices that it names, where it names no amount
};
/// Where a tenant's actor is: by name, or by id when the name is empty. `not_found`.
struct FindTenant {
  std::string name;
  TenantId id;
};
/// As FindTenant, and refuses a job that could not run on any node of the cluster.
struct AdmitJob {
  AdmittedJob job;
};
struct NodeAddress {
  NodeActor actor;
};
struct FindNode {
  NodeId id;
};
struct DescribeCluster {};
/// Of one tenant, or of the first so many after `after`.
struct DescribeTenants {
  std::optional<TenantId> only;
  TenantId after;
};
struct TenantViews {
  std::vector<TenantInfo> tenants;  ///< by id; totals are the ledger's to fill in
  bool more = false;                ///< there are others after these
};
struct ExplainWaiting {
  TenantId tenant;
  JobId job;
  std::uint32_t index = 0;
  Caller caller = {};
};
struct GetExpectedStart {
  TenantId tenant;
  JobId job;
};
struct ExpectedStart {
  WallTime at;  ///< none: it is not known
};

#define FAIRWATER_REPLY(method, Request) , caf::replies_to<Request>::with<Request::Answer>
using CoordinatorActor = caf::typed_actor<
    caf::reacts_to<NodeBeat>, caf::replies_to<SettleFailedLaunches>::with<FailedLaunchesSettled>,
    caf::reacts_to<DemandWindow>, caf::replies_to<Withdraw>::with<Done>, caf::reacts_to<StopTasks>,
    caf::reacts_to<TellMembers>, caf::replies_to<AgentCredential>::with<Done>,
    caf::replies_to<RegisterNode>::with<NodeRegistered>,
    caf::replies_to<FindTenant>::with<TenantAddress>,
    caf::replies_to<AdmitJob>::with<TenantAddress>, caf::replies_to<FindNode>::with<NodeAddress>,
    caf::replies_to<DescribeCluster>::with<ClusterStatus>,
    caf::replies_to<DescribeTenants>::with<TenantViews>,
    caf::replies_to<ExplainWaiting>::with<WaitingDescription>,
    caf::replies_to<GetExpectedStart>::with<ExpectedStart>,
    caf::replies_to<Login>::with<Caller> FAIRWATER_COORDINATOR_CALLS(FAIRWATER_REPLY)>;
#undef FAIRWATER_REPLY

struct ClusterContext;  // cluster.hpp

/// Everything that a restart hands to the coordinator; it spawns the tenants and nodes.
struct CoordinatorStart {
  std::shared_ptr<const ClusterSnapshot> snapshot;
  std::vector<TenantRecord> tenants;
  std::vector<NodeRecord> nodes;
  std::map<Hash, TokenGrant> tokens;
  std::map<TenantId, TenantStart> work;
  std::uint32_t next_tenant = 1;
  std::uint32_t next_node = 1;
};
[[nodiscard]] CoordinatorActor spawn_coordinator(caf::actor_system& system,
                                                 std::shared_ptr<const ClusterContext> context,
                                                 CoordinatorStart start);
[[nodiscard]] FrontendActor spawn_frontend(caf::actor_system& system,
                                           std::shared_ptr<const ClusterContext> context,
                                           CoordinatorActor coordinator);

}  // namespace fairwater::inline actors::inline coordinator
