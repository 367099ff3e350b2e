// A frontend that answers with samples and shows what it was asked, and a coordinator's edge around
// it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <variant>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>

#include "actors/coordinator/frontend.hpp"
#include "gateway/server.hpp"
#include "rpc/client.hpp"
#include "tests/gateway/channel.hpp"

namespace fairwater::test {

inline const std::string kOperatorToken = "fw_op_operator";
inline const std::string kTenantToken = "fw_tn_physics";
/// Of a user of the same tenant.
inline const std::string kUserToken = "fw_tn_ada";
inline const std::string kJoinToken = "fw_jn_join";

/// WaitJob and CancelJob for this job are not answered before FakeCoordinator::release_waits, nor
/// is RevokeToken for this token.
inline constexpr JobId kHeldJob{77};
inline const std::string kHeldToken = "held";
/// RevokeToken for this one revokes kOperatorToken, for any other kTenantToken.
inline const std::string kOperatorsToken = "operator's";
/// A piece of log from this offset on is large.
inline constexpr std::uint64_t kLargeLogOffset = 1234;
inline constexpr std::size_t kLargeLogBytes = 256u << 10;
/// The node never answers a report of these running.
inline const std::vector<TaskKey> kUnansweredReport{{JobId{12'345}, 6, 7}};
/// What the frontend calls every registration.
inline constexpr std::uint64_t kSession = 17;
/// The frontend refuses this run of an agent as a duplicate.
inline const AgentRun kDuplicateRun{9, "duplicate"};
/// In one answer.
inline constexpr std::size_t kNodesAtOnce = 1000;
/// There is no such job.
inline constexpr JobId kMissingJob{404};

#define FAIRWATER_ALTERNATIVE(method, Request) , Request
using FrontendRequest = std::variant<std::monostate FAIRWATER_CALLS(FAIRWATER_ALTERNATIVE)>;
#undef FAIRWATER_ALTERNATIVE

/// What the frontend and its nodes saw; shared with the actors.
struct Seen {
  Channel<FrontendRequest> requests;  ///< all but submissions, logins and status
  Channel<JobSpec> submissions;
  Channel<RegisterNode> registrations;
  Channel<AgentCredential> refusals;
  Channel<AgentReport> reports;
  Channel<caf::error> ended_links;  ///< the reason of each link that went down
  /// When set, listings have this many entries, with ids from 1 on, instead of the one sample.
  std::atomic<std::uint32_t> listed{0};
  std::atomic<bool> takes_nodes{true};
  std::atomic<bool> is_cancelled{true};     ///< what ShowJob says of every job
  std::atomic<bool> has_removed = false;    ///< lists no node, and no token
  std::atomic<bool> holds_samples = false;  ///< what it answers with a sample is held back
  JournalPage journal;                      ///< when it has records: what ReadJournal tells
  std::atomic<bool> holds_nodes{false};     ///< registrations are answered at release_waits
  /// When it is not empty: who leads in this one's place, and what it was asked.
  std::string leader;
  bool redirects_logins = true;  ///< else calls alone
  Channel<std::string> redirected;
};

/// One port for all nodes: acknowledges what is reported as finished.
[[nodiscard]] NodePort spawn_fake_node(caf::actor_system& system, std::shared_ptr<Seen> seen);

struct ReleaseWaits {};
using FakeFrontendActor = FrontendActor::extend<caf::reacts_to<ReleaseWaits>>;

/// An edge on a port of its own, with a fake frontend behind it.
class FakeCoordinator {
 public:
  explicit FakeCoordinator(ServerOptions options = {});
  ~FakeCoordinator();

  [[nodiscard]] const std::string& address() const { return server->address(); }
  [[nodiscard]] std::unique_ptr<Client> client(const std::string& token) const;
  /// Answers what was held back: of kHeldJob, kHeldToken and nodes.
  void release_waits();

  caf::actor_system_config config;
  std::shared_ptr<Seen> seen = std::make_shared<Seen>();
  caf::actor_system system;
  NodePort node;
  FakeFrontendActor frontend;
  std::unique_ptr<Server> server;
};

}  // namespace fairwater::test

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::test::ReleaseWaits)
