#include "actors/coordinator/follower.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <caf/all.hpp>

#include "actors/coordinator/follower_reads.hpp"
#include "actors/coordinator/login.hpp"
#include "actors/coordinator/visible.hpp"
#include "policy/core/check.hpp"

namespace fairwater::inline actors::inline coordinator {

struct StatusDue {};
/// Who waits is to be told who leads.
struct LeaderHeard {};

}  // namespace fairwater::inline actors::inline coordinator

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::StatusDue)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::LeaderHeard)

namespace fairwater::inline actors::inline coordinator {
namespace {

using FollowerBase = FrontendActor::extend<caf::reacts_to<StatusDue>, caf::reacts_to<LeaderHeard>>;

struct FollowerState {
  static inline const char* name = "follower";
  std::shared_ptr<const Ledger> ledger;
  std::shared_ptr<const Following> following;
  std::shared_ptr<StorageAlarm> alarm;
  FollowerSettings settings;
  LedgerReader reader;
  LedgerScanner scanner;
  std::vector<caf::typed_response_promise<ClusterStatus>> want_status;
  std::vector<std::function<void(const caf::error&)>> want_leader;
};

using FollowerSelf = FollowerBase::stateful_pointer<FollowerState>;

/// Answers with what `read()` returns, or with what keeps it from being read.
template <class Answer, class Read>
void deliver(const FollowerState& state, caf::typed_response_promise<Answer> promise, Read read) {
  try {
    promise.deliver(read());
  } catch (const StorageFault& fault) {
    promise.deliver(state.alarm->raise(fault));
  }
}

template <class Answer>
auto fail(caf::typed_response_promise<Answer> promise) {
  return [promise](const caf::error& error) mutable { promise.deliver(error); };
}

Expected<Caller> log_in(const FollowerState& state, const Hash& token_hash) {
  const auto token = state.ledger->token(token_hash);
  if (auto refused = check_token(token ? &*token : nullptr, state.settings.wall_clock()))
    return refused;
  const auto tenant = state.ledger->tenant(token->tenant);
  auto caller = caller_of(*token, tenant ? &tenant->spec.name : nullptr);
  if (caller) caller->token_hash = token_hash;
  return caller;
}

/// Where the leader may be gone, its address would send the caller in vain.
template <class Answer>
caf::result<Answer> tell_leader(FollowerSelf self) {
  auto& state = self->state;
  if (!state.following->may_be_gone()) return state.following->refusal();
  auto promise = self->make_response_promise<Answer>();
  if (state.want_leader.empty()) self->delayed_send(self, kLongestWait, LeaderHeard{});
  state.want_leader.push_back(
      [promise](const caf::error& refused) mutable { promise.deliver(refused); });
  return promise;
}

void tell_all_leader(FollowerState& state) {
  const caf::error refused = state.following->refusal();
  for (const auto& tell : std::exchange(state.want_leader, {})) tell(refused);
}

// -- what it answers ------------------------------------------------------------------------------

caf::result<Freshness> answer(FollowerSelf self, const GetFreshness&) {
  const auto& state = self->state;
  return Freshness{state.settings.name, state.following->age_ms(Following::Clock::now())};
}

ClusterStatus status_of(const FollowerState& state) {
  ClusterStatus status = read_status(*state.ledger);
  status.version = state.settings.version;
  status.cycle = std::max(status.cycle, state.following->end());
  status.granting = false;
  status.why_not_granting = details(state.following->refusal()).message;
  status.storage_damage = state.alarm->text();
  status.leader = state.following->leader();
  status.replicas = state.settings.replicas();
  return status;
}

/// All who ask before it is read are answered at once.
caf::result<ClusterStatus> answer(FollowerSelf self, const GetStatus&) {
  auto promise = self->make_response_promise<ClusterStatus>();
  auto& all = self->state.want_status;
  if (all.empty()) self->send(self, StatusDue{});
  all.push_back(promise);
  return promise;
}

void answer_status(FollowerState& state) {
  const auto askers = std::exchange(state.want_status, {});
  try {
    const ClusterStatus status = status_of(state);
    for (auto promise : askers) promise.deliver(status);
  } catch (const StorageFault& fault) {
    for (auto promise : askers) promise.deliver(state.alarm->raise(fault));
  }
}

caf::result<JobList> answer(FollowerSelf self, const ListJobs& request) {
  const auto& state = self->state;
  const Caller& caller = request.caller;
  const JobQuery& query = request.query;
  if (auto refused = check_listing(caller, query)) return refused;
  TenantId of = caller.role == Role::operator_role ? TenantId{} : caller.tenant;
  if (caller.role == Role::operator_role && !query.tenant.empty()) {
    const auto named = find_tenant(*state.ledger, query.tenant);
    if (!named)
      return make_error(ErrorCode::not_found, "there is no tenant " + query.tenant, "tenant");
    of = *named;
  }
  return self->delegate(state.scanner, QueryJobs{of, query});
}

JobDetail with_names(const Ledger& ledger, JobDetail detail) {
  const NameTable names = read_names(ledger);
  for (TaskInfo& task : detail.tasks)
    if (const auto node = names.nodes.find(task.record.node); node != names.nodes.end())
      task.node = node->second;
  return detail;
}

caf::result<JobDetail> answer(FollowerSelf self, const ShowJob& request) {
  auto promise = self->make_response_promise<JobDetail>();
  const TaskRange tasks{request.first_task, kMaxTasksInAnswer};
  self->request(self->state.reader, caf::infinite, GetJob{request.id, tasks})
      .then(
          [self, promise, request](JobDetail& detail) mutable {
            if (!may_see(request.caller, detail.job.tenant)) {
              promise.deliver(no_such_job(request.id));
              return;
            }
            detail.more = request.first_task + detail.tasks.size() < detail.job.tasks.total;
            deliver(self->state, promise,
                    [&] { return with_names(*self->state.ledger, std::move(detail)); });
          },
          fail(promise));
  return promise;
}

caf::result<LedgerView> answer(FollowerSelf self, const ShowLedger& request) {
  auto promise = self->make_response_promise<LedgerView>();
  self->request(self->state.reader, caf::infinite, ReadLedger{})
      .then([promise, caller = request.caller](
                const LedgerView& view) mutable { promise.deliver(visible_part(caller, view)); },
            fail(promise));
  return promise;
}

caf::result<UsageList> answer(FollowerSelf self, const QueryUsage& request) {
  const Caller& caller = request.caller;
  if (auto refused = check_usage(caller, request.query)) return refused;
  const TenantId of = caller.role == Role::operator_role ? TenantId{} : caller.tenant;
  return self->delegate(self->state.scanner, QuerySums{request.query, of});
}

caf::result<JournalPage> answer(FollowerSelf self, const ReadJournal& request) {
  auto promise = self->make_response_promise<JournalPage>();
  self->request(self->state.scanner, caf::infinite,
                ReadRecords{request.since, request.limit, request.wait_ms})
      .then(
          [self, promise](JournalPage& page) mutable {
            deliver(self->state, promise, [&] {
              page.names = names_in(page.records, read_names(*self->state.ledger));
              return std::move(page);
            });
          },
          fail(promise));
  return promise;
}

/// Whoever is shown something here logged in here. A token may have been revoked since.
template <class Request>
auto answering(FollowerSelf self) {
  return [self](const Request& request) -> caf::result<typename Request::Answer> {
    const auto& state = self->state;
    if constexpr (kByFollower<Request>) {
      try {
        const auto caller = log_in(state, request.caller.token_hash);
        if (!caller) return caller.error();
        if (auto refused = check_role(request)) return refused;
        return answer(self, request);
      } catch (const StorageFault& fault) {
        return state.alarm->raise(fault);
      }
    } else {
      return state.following->refusal();
    }
  };
}

FollowerBase::behavior_type follower(FollowerSelf self, const FollowerState& state) {
  self->state = state;
#define FAIRWATER_ANSWERING(method, Request) , answering<Request>(self)
  return {[self](const StatusDue&) { answer_status(self->state); },
          [self](const LeaderHeard&) { tell_all_leader(self->state); },
          [self](const Login& login) -> caf::result<Caller> {
            const auto& held = self->state;
            if (!login.accepts_follower) return tell_leader<Caller>(self);
            try {
              const auto caller = log_in(held, login.token_hash);
              if (!caller) return caller.error();
              return *caller;
            } catch (const StorageFault& fault) {
              return held.alarm->raise(fault);
            }
          },
          [self](const AgentCredential&) -> caf::result<Done> { return tell_leader<Done>(self); },
          [self](const RegisterNode&) -> caf::result<NodeRegistered> {
            return self->state.following->refusal();
          } FAIRWATER_CALLS(FAIRWATER_ANSWERING)};
#undef FAIRWATER_ANSWERING
}

}  // namespace

void Following::set_leader(std::string name, std::string address, bool may_be_gone) {
  const std::lock_guard lock(mutex_);
  name_ = std::move(name);
  address_ = std::move(address);
  may_be_gone_ = may_be_gone;
}

void Following::note_seen() {
  const std::lock_guard lock(mutex_);
  seen_at_ = Clock::now();
}

bool Following::may_be_gone() const {
  const std::lock_guard lock(mutex_);
  return may_be_gone_;
}

void Following::set_held(Clock::time_point at, std::uint64_t end) {
  const std::lock_guard lock(mutex_);
  held_at_ = at;
  end_ = end;
}

std::string Following::leader() const {
  const std::lock_guard lock(mutex_);
  return name_;
}

std::uint64_t Following::end() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

std::int64_t Following::age_ms(Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  return std::chrono::ceil<std::chrono::milliseconds>(now - held_at_).count();
}

caf::error Following::refusal(Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  const auto unseen = std::chrono::duration_cast<std::chrono::seconds>(now - seen_at_);
  if (unseen >= kBlindAfter)
    return make_not_leader("this coordinator follows, and etcd has not answered it for " +
                               std::to_string(unseen.count()) + " s" +
                               (name_.empty() ? "" : "; " + name_ + " led before, at " + address_),
                           address_);
  if (name_.empty())
    return make_not_leader("this coordinator follows, and nobody leads at the moment", {});
  return make_not_leader("this coordinator follows; " + name_ + " leads, at " + address_, address_);
}

Follower::Follower(caf::actor_system& system, std::shared_ptr<const Ledger> ledger,
                   std::shared_ptr<const Following> following, FollowerSettings settings) {
  const auto catalog = ResourceCatalog::make(ledger->cluster().resources);
  FAIRWATER_CHECK(catalog, "a ledger's resources were checked when it was created");
  FollowerState state;
  state.alarm = std::make_shared<StorageAlarm>();
  const Threading threading = settings.threading;
  reader_ = spawn_ledger_reader(system, threading, ledger, state.alarm);
  scanner_ = spawn_ledger_scanner(system, threading, ledger, state.alarm, *catalog,
                                  settings.wall_clock, {});
  state.ledger = std::move(ledger);
  state.following = std::move(following);
  state.settings = std::move(settings);
  state.reader = reader_;
  state.scanner = scanner_;
  if (threading == Threading::shared)
    frontend_ = system.spawn(follower, state);
  else
    frontend_ = system.spawn<caf::detached>(follower, state);
}

Follower::~Follower() {
  for (const auto& actor :
       {caf::actor_cast<caf::actor>(frontend_), caf::actor_cast<caf::actor>(reader_),
        caf::actor_cast<caf::actor>(scanner_)})
    caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
}

void Follower::heard_leader() const {
  caf::anon_send(caf::actor_cast<caf::actor>(frontend_), LeaderHeard{});
}

void Follower::grew(std::uint64_t number) const { caf::anon_send(scanner_, JournalGrew{number}); }

}  // namespace fairwater::inline actors::inline coordinator
