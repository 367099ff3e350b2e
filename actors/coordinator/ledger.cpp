#include "actors/coordinator/ledger.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <optional>
#include <utility>

#include <caf/all.hpp>
#include <spdlog/spdlog.h>

#include "policy/core/check.hpp"

namespace fairwater::inline actors::inline coordinator {

struct Flush {};
/// Is this the journal's next group?
struct ProposeGroup {
  RecordGroup group;
};
struct GroupAgreed {};

}  // namespace fairwater::inline actors::inline coordinator

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::Flush)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::ProposeGroup)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::GroupAgreed)

namespace fairwater::inline actors::inline coordinator {
namespace {

/// Keep one WriteBatch at a few megabytes: by number for small records, by bytes for large ones.
constexpr std::size_t kMaxBodiesPerGroup = 4096;
constexpr std::size_t kMaxBytesPerGroup = 4u << 20;

// -- who asks the store ---------------------------------------------------------------------------

using GroupProposer = caf::typed_actor<caf::replies_to<ProposeGroup>::with<GroupAgreed>>;

GroupProposer::behavior_type group_proposer(GroupProposer::pointer /*self*/, JournalStore* store) {
  return {[store](const ProposeGroup& proposed) -> caf::result<GroupAgreed> {
    if (caf::error refused = store->commit(proposed.group)) return refused;
    return GroupAgreed{};
  }};
}

// -- the writer -----------------------------------------------------------------------------------

using LedgerWriter = LedgerActor::extend<caf::reacts_to<Flush>>;

struct QueuedCommit {
  Commit commit;
  caf::typed_response_promise<Committed> promise;
  std::size_t bytes = 0;
};

/// What shares a write, once it was proposed.
struct ProposedCommits {
  std::vector<QueuedCommit> commits;
  std::vector<Receipt> receipts;
};

std::size_t bytes_of(const Commit& commit) {
  std::size_t bytes = 0;
  for (const auto& body : commit.bodies) bytes += approximate_bytes(body);
  return bytes;
}

struct WriterState {
  static inline const char* name = "ledger";
  std::shared_ptr<Ledger> ledger;
  LedgerScanner scanner;
  std::function<void(const caf::error&)> on_fatal;
  std::deque<QueuedCommit> queue;
  std::size_t queued_bytes = 0;
  std::uint64_t failed_generation = 0;
  bool flush_due = false;
  /// That share the next write: fewer when the store did not take so much at once.
  std::size_t most_commits = kMaxBodiesPerGroup;
  // Where there is a store.
  GroupProposer proposer;
  std::optional<ProposedCommits> proposed;  ///< asked about
  std::optional<ProposedCommits> agreed;    ///< to be written
};

/// Takes from the queue what shares the next write; refuses what depends on a commit that failed.
std::vector<QueuedCommit> take_group(WriterState& state) {
  std::vector<QueuedCommit> group;
  std::size_t bodies = 0;
  std::size_t bytes = 0;
  while (!state.queue.empty() && bodies < kMaxBodiesPerGroup && group.size() < state.most_commits &&
         (group.empty() || bytes + state.queue.front().bytes <= kMaxBytesPerGroup)) {
    QueuedCommit next = std::move(state.queue.front());
    state.queue.pop_front();
    state.queued_bytes -= next.bytes;
    const auto generation = next.commit.generation;
    if (generation != 0 && generation <= state.failed_generation) {
      next.promise.deliver(
          make_error(ErrorCode::unavailable, "an earlier commit that this one builds on failed"));
      continue;
    }
    bodies += next.commit.bodies.size();
    bytes += next.bytes;
    group.push_back(std::move(next));
  }
  return group;
}

/// Disks that are slower than what comes must not fill the memory. What is small passes. Chained
/// commits are few, and refusing one would cost the coordinator a new beginning.
bool is_too_much(const WriterState& state, const Commit& commit, std::size_t bytes) {
  return commit.generation == 0 && bytes > 0 && !state.queue.empty() &&
         state.queued_bytes + bytes > kMaxQueuedCommitBytes;
}

caf::error too_much() {
  return make_error(ErrorCode::overloaded,
                    std::to_string(kMaxQueuedCommitBytes >> 20) +
                        " MiB wait to be written to the coordinator's disk; try again later");
}

void refuse(WriterState& state, std::vector<QueuedCommit>& group, const caf::error& error) {
  for (auto& queued : group) {
    state.failed_generation = std::max(state.failed_generation, queued.commit.generation);
    queued.promise.deliver(error);
  }
  if (details(error).code != ErrorCode::disk_full) state.on_fatal(error);
}

/// Those that share a write must go in smaller groups, in their order.
void put_back(WriterState& state, std::vector<QueuedCommit>& group) {
  state.most_commits = group.size() / 2;
  while (!group.empty()) {
    state.queued_bytes += group.back().bytes;
    state.queue.push_front(std::move(group.back()));
    group.pop_back();
  }
}

/// One that is too large by itself. The ledger is as before, and takes others.
void refuse_too_large(WriterState& state, QueuedCommit& commit, const caf::error& error) {
  spdlog::warn("not written: {}", details(error).message);
  state.failed_generation = std::max(state.failed_generation, commit.commit.generation);
  commit.promise.deliver(error);
}

void acknowledge(WriterState& state, std::vector<QueuedCommit>& group,
                 const std::vector<Receipt>& receipts) {
  auto next = receipts.begin();
  for (auto& queued : group) {
    const auto count = static_cast<std::ptrdiff_t>(queued.commit.bodies.size());
    Committed committed{{next, next + count}, 0};
    next += count;
    committed.number =
        committed.receipts.empty() ? state.ledger->last_number() : committed.receipts.back().number;
    queued.promise.deliver(std::move(committed));
  }
}

using WriterSelf = LedgerWriter::stateful_pointer<WriterState>;

/// They stay in the group, which may have to be put back.
std::vector<JournalBody> bodies_of(const std::vector<QueuedCommit>& group) {
  std::vector<JournalBody> bodies;
  for (const auto& queued : group)
    bodies.insert(bodies.end(), queued.commit.bodies.begin(), queued.commit.bodies.end());
  return bodies;
}

std::vector<JournalBody> take_bodies(std::vector<QueuedCommit>& group) {
  std::vector<JournalBody> bodies;
  for (auto& queued : group)
    std::move(queued.commit.bodies.begin(), queued.commit.bodies.end(), std::back_inserter(bodies));
  return bodies;
}

void group_failed(WriterState& state, std::vector<QueuedCommit>& group, const caf::error& error) {
  if (details(error).code != ErrorCode::invalid_input) return refuse(state, group, error);
  if (group.size() > 1) return put_back(state, group);
  refuse_too_large(state, group.front(), error);
}

void group_durable(WriterSelf self, std::vector<QueuedCommit>& group,
                   const std::vector<Receipt>& receipts) {
  auto& state = self->state;
  state.most_commits = std::min(2 * state.most_commits, kMaxBodiesPerGroup);
  acknowledge(state, group, receipts);
  if (!receipts.empty()) self->send(state.scanner, JournalGrew{receipts.back().number});
}

/// Without a store, which alone finds a group too large.
void write_group(WriterSelf self, std::vector<QueuedCommit> group) {
  auto& state = self->state;
  const auto receipts = state.ledger->append(take_bodies(group));
  if (receipts)
    group_durable(self, group, *receipts);
  else
    refuse(state, group, receipts.error());
}

// -- with a store ---------------------------------------------------------------------------------

void flush_soon(WriterSelf self) {
  if (!std::exchange(self->state.flush_due, true)) self->send(self, Flush{});
}

void write_agreed(WriterSelf self) {
  auto& state = self->state;
  if (!state.agreed) return;
  auto agreed = std::move(*state.agreed);
  state.agreed.reset();
  if (const caf::error failed = state.ledger->write_agreed())
    refuse(state, agreed.commits, failed);
  else
    group_durable(self, agreed.commits, agreed.receipts);
}

void proposal_failed(WriterSelf self, const caf::error& error) {
  auto& state = self->state;
  auto proposed = std::move(*state.proposed);
  state.proposed.reset();
  const caf::error spoilt = state.ledger->withdraw();
  group_failed(state, proposed.commits, spoilt ? spoilt : error);
  flush_soon(self);
}

void propose_group(WriterSelf self) {
  auto& state = self->state;
  auto group = take_group(state);
  if (group.empty()) return;
  auto bodies = bodies_of(group);
  if (bodies.empty()) {  // asked is only until when all before is durable
    write_agreed(self);
    return write_group(self, std::move(group));
  }
  auto proposal = state.ledger->propose(std::move(bodies));
  if (!proposal) return group_failed(state, group, proposal.error());
  state.proposed = {std::move(group), std::move(proposal->receipts)};
  self->request(state.proposer, caf::infinite, ProposeGroup{std::move(proposal->group)})
      .then(
          [self](const GroupAgreed&) {
            auto& state = self->state;
            state.ledger->agreed();
            state.agreed = std::exchange(state.proposed, std::nullopt);
            // What came during the last sync is still in the mailbox: it shares the next group.
            flush_soon(self);
          },
          [self](const caf::error& error) { proposal_failed(self, error); });
}

void flush(WriterSelf self) {
  auto& state = self->state;
  if (!state.proposer) return write_group(self, take_group(state));
  if (!state.proposed) propose_group(self);
  write_agreed(self);
}

LedgerWriter::behavior_type ledger_writer(WriterSelf self, Threading threading,
                                          std::shared_ptr<Ledger> ledger, LedgerScanner scanner,
                                          std::function<void(const caf::error&)> on_fatal) {
  if (JournalStore* store = ledger->store())
    self->state.proposer = threading == Threading::own
                               ? self->spawn<caf::detached + caf::linked>(group_proposer, store)
                               : self->spawn<caf::linked>(group_proposer, store);
  self->state.ledger = std::move(ledger);
  self->state.scanner = std::move(scanner);
  self->state.on_fatal = std::move(on_fatal);
  return {
      [self](Commit& commit) -> caf::result<Committed> {
        auto& state = self->state;
        if (auto unknown = state.ledger->admit(commit.bodies)) return unknown;
        const std::size_t bytes = bytes_of(commit);
        if (is_too_much(state, commit, bytes)) return too_much();
        auto promise = self->make_response_promise<Committed>();
        state.queue.push_back({std::move(commit), promise, bytes});
        state.queued_bytes += bytes;
        flush_soon(self);
        return promise;
      },
      [self](const Flush&) {
        auto& state = self->state;
        state.flush_due = false;
        flush(self);
        FAIRWATER_CHECK(!state.queue.empty() || state.queued_bytes == 0,
                        "an empty queue has no bytes");
        if (!state.queue.empty() && !state.proposed) flush_soon(self);
      },
  };
}

}  // namespace

LedgerActor spawn_ledger(caf::actor_system& system, Threading threading,
                         std::shared_ptr<Ledger> ledger, LedgerScanner scanner,
                         std::function<void(const caf::error&)> on_fatal) {
  if (threading == Threading::shared)
    return system.spawn(ledger_writer, threading, std::move(ledger), std::move(scanner),
                        std::move(on_fatal));
  return system.spawn<caf::detached>(ledger_writer, threading, std::move(ledger),
                                     std::move(scanner), std::move(on_fatal));
}

}  // namespace fairwater::inline actors::inline coordinator
