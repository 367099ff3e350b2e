// The client side of the control protocol, for the command line and for tests: blocking calls on a
// connection of its own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/calls.hpp"
#include "model/errors.hpp"
#include "rpc/addresses.hpp"
#include "rpc/identity.hpp"

namespace fairwater::inline rpc {

inline constexpr std::int64_t kConnectTimeoutMs = 5000;

/// Whose answers a client takes.
enum class Reads : bool { of_leader, of_any };

/// How long a client that knows several addresses looks for one that leads.
struct TakeoverPatience {
  std::int64_t leaderless_ms = 0;  ///< while they say that none of them does
  std::int64_t unanswered_ms = 0;  ///< while none of them answers
};

struct ClientOptions {
  std::int64_t timeout_ms = kConnectTimeoutMs;  ///< of a connection and its login
  /// Only a coordinator that proves that it has this key will do.
  std::optional<PublicKey> key = {};
  /// Whether a coordinator that follows will do, for calls of FAIRWATER_FOLLOWER_CALLS; see
  /// freshness().
  Reads reads = Reads::of_leader;
  TakeoverPatience patience = {};
};

/// It was not done, or nobody knows whether: a coordinator that leads may do it. False of no error.
[[nodiscard]] bool is_undone(const caf::error& error);

class Client {
 public:
  /// Connects to HOST:PORT, or to one of several with commas between them, and logs in. Goes where
  /// a coordinator that does not lead says, here and in each call. With patience, a connection that
  /// breaks within a call is made anew, and the call made again if it is one of
  /// FAIRWATER_REPEATABLE_CALLS. `unavailable` when nobody answers, `unauthenticated` for a wrong
  /// token.
  [[nodiscard]] static Expected<std::unique_ptr<Client>> connect(const std::string& address,
                                                                 const std::string& token,
                                                                 const ClientOptions& options = {});
  /// The same, beginning with the current one of `addresses`.
  [[nodiscard]] static Expected<std::unique_ptr<Client>> connect(AddressList addresses,
                                                                 const std::string& token,
                                                                 const ClientOptions& options = {});
  ~Client();

  [[nodiscard]] const Caller& caller() const;
  /// The current one is where it is connected.
  [[nodiscard]] const AddressList& addresses() const;
  /// Whether a submission may be repeated with its request id.
  [[nodiscard]] bool remembers_requests() const;
  /// Whether a tenant's weights of single resources are known there.
  [[nodiscard]] bool takes_weights() const;
  /// Another number after each login of this process, as when a call goes to another coordinator:
  /// what was seen before may be of a ledger that was taken back since.
  [[nodiscard]] std::uint64_t login() const;

  /// Makes any call of model/calls.hpp; the request's caller is left out. What stands below is made
  /// of it.
  template <class Request>
  [[nodiscard]] Expected<ShownOf<Request>> call(const Request& request);

  // Each call: the coordinator's answer or its error; `unavailable` when the connection is lost,
  // after which, but for what patience mends, only a new Client helps.
  [[nodiscard]] Expected<ClusterStatus> status();
  /// How old, at most, what is asked for afterwards will be, but for the time since. Of one that
  /// leads, or is too old to follow: empty.
  [[nodiscard]] Expected<Freshness> freshness();
  [[nodiscard]] Expected<std::vector<TenantInfo>> list_tenants();
  /// `not_supported` where the coordinator would leave out what it does not know.
  [[nodiscard]] Expected<std::vector<TenantChange>> apply_tenants(
      const std::vector<TenantSpec>& specs, bool dry_run);
  [[nodiscard]] Expected<TenantDeparture> remove_tenant(const std::string& name);
  /// To be shown once: only its hash is stored.
  [[nodiscard]] Expected<MadeToken> create_token(const NewToken& wanted);
  [[nodiscard]] Expected<std::vector<TokenInfo>> list_tokens();
  /// By name or id. This client's own connection is of no use afterwards if it was its token.
  [[nodiscard]] Expected<TokenInfo> revoke_token(const std::string& name_or_id);
  [[nodiscard]] Expected<std::vector<NodeInfo>> list_nodes();
  /// `deadline_ms` 0: none.
  [[nodiscard]] caf::error drain_node(const std::string& name, const std::string& reason,
                                      std::int64_t deadline_ms = 0);
  /// `deadline_ms` counts from its beginning.
  [[nodiscard]] caf::error plan_drain(const std::string& name, const std::string& reason,
                                      WallTime begins, std::int64_t deadline_ms);
  [[nodiscard]] caf::error undrain_node(const std::string& name);
  [[nodiscard]] caf::error remove_node(const std::string& name);
  /// Returns when the submission is durable.
  [[nodiscard]] Expected<JobId> submit(const JobSpec& spec, const std::string& request_id = {});
  /// Many at once, each durable on return, in one round trip; results in input order.
  [[nodiscard]] std::vector<Expected<JobId>> submit_all(const std::vector<JobSpec>& specs);
  [[nodiscard]] Expected<std::vector<JobRecord>> list_jobs(const JobQuery& query);
  [[nodiscard]] Expected<JobDetail> show_job(JobId id);
  [[nodiscard]] caf::error cancel_job(JobId id, const std::string& reason);
  /// Many at once, as submit_all: an error each, or none. Those that this coordinator does not take
  /// in, or whose answer is lost, are cancelled one by one as patience permits.
  [[nodiscard]] std::vector<caf::error> cancel_jobs(const std::vector<JobId>& ids,
                                                    const std::string& reason);
  /// The job when it is terminal, or as it is after `timeout_ms` (at most 60,000).
  [[nodiscard]] Expected<JobRecord> wait_job(JobId id, std::int64_t timeout_ms);
  [[nodiscard]] Expected<Explanation> explain(JobId id, std::uint32_t index);
  [[nodiscard]] Expected<LogChunk> read_log(JobId id, std::uint32_t index, bool standard_error,
                                            std::uint64_t offset);
  [[nodiscard]] Expected<LedgerView> ledger();
  /// All groups, by group.
  [[nodiscard]] Expected<std::vector<UsageRow>> query_usage(const UsageQuery& query);
  /// Records from `since` on, at most `limit`; waits up to `wait_ms` for the first.
  [[nodiscard]] Expected<JournalPage> journal(std::uint64_t since, std::uint32_t limit,
                                              std::int64_t wait_ms);
  [[nodiscard]] Expected<VerifyReport> verify_ledger(bool with_archive = false);
  /// In a directory on the coordinator's machine that is not there yet.
  [[nodiscard]] Expected<LedgerBackup> backup_ledger(const std::string& directory);
  /// Another of several coordinators is to lead. `unavailable` may mean that it does.
  [[nodiscard]] caf::error hand_over();
  [[nodiscard]] Expected<LedgerStanding> ledger_standing();
  /// The operator vouches for a ledger that is doubted; `wrong_state` when it is not.
  [[nodiscard]] caf::error trust_ledger(const std::string& reason);
  [[nodiscard]] Expected<DebtsForgiven> forgive_debt(const ForgiveDebt& wanted);

 private:
  class Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  /// What is wrong still after another attempt, where one may help.
  [[nodiscard]] caf::error cancel_again(JobId id, const std::string& reason,
                                        const caf::error& failed);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fairwater::inline rpc
