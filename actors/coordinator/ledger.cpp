#include "actors/coordinator/ledger.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include <caf/all.hpp>
#include <spdlog/spdlog.h>

#include "policy/core/check.hpp"

namespace fairwater::inline actors::inline coordinator {

struct Flush {};

}  // namespace fairwater::inline actors::inline coordinator

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::Flush)

namespace fairwater::inline actors::inline coordinator {
namespace {

/// Keep one WriteBatch at a few megabytes: by number for small records, by bytes for large ones.
constexpr std::size_t kMaxBodiesPerGroup = 4096;
constexpr std::size_t kMaxBytesPerGroup = 4u << 20;

// -- the writer -----------------------------------------------------------------------------------

using LedgerWriter = LedgerActor::extend<caf::reacts_to<Flush>>;

struct QueuedCommit {
  Commit commit;
  caf::typed_response_promise<Committed> promise;
  std::size_t bytes = 0;
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

void write_group(LedgerWriter::stateful_pointer<WriterState> self) {
  auto& state = self->state;
  auto group = take_group(state);
  std::vector<JournalBody> bodies;
  for (auto& queued : group)
    bodies.insert(bodies.end(), queued.commit.bodies.begin(), queued.commit.bodies.end());
  auto receipts = state.ledger->append(std::move(bodies));
  if (!receipts && details(receipts.error()).code == ErrorCode::invalid_input) {
    if (group.size() > 1) return put_back(state, group);
    return refuse_too_large(state, group.front(), receipts.error());
  }
  if (!receipts) {
    refuse(state, group, receipts.error());
    return;
  }
  state.most_commits = std::min(2 * state.most_commits, kMaxBodiesPerGroup);
  acknowledge(state, group, *receipts);
  if (!receipts->empty()) self->send(state.scanner, JournalGrew{receipts->back().number});
}

LedgerWriter::behavior_type ledger_writer(LedgerWriter::stateful_pointer<WriterState> self,
                                          std::shared_ptr<Ledger> ledger, LedgerScanner scanner,
                                          std::function<void(const caf::error&)> on_fatal) {
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
        if (!std::exchange(state.flush_due, true)) self->send(self, Flush{});
        return promise;
      },
      [self](const Flush&) {
        self->state.flush_due = false;
        write_group(self);
        FAIRWATER_CHECK(!self->state.queue.empty() || self->state.queued_bytes == 0,
                        "an empty queue has no bytes");
        if (!self->state.queue.empty() && !std::exchange(self->state.flush_due, true))
          self->send(self, Flush{});
      },
  };
}

}  // namespace

LedgerActor spawn_ledger(caf::actor_system& system, Threading threading,
                         std::shared_ptr<Ledger> ledger, LedgerScanner scanner,
                         std::function<void(const caf::error&)> on_fatal) {
  if (threading == Threading::shared)
    return system.spawn(ledger_writer, std::move(ledger), std::move(scanner), std::move(on_fatal));
  return system.spawn<caf::detached>(ledger_writer, std::move(ledger), std::move(scanner),
                                     std::move(on_fatal));
}

}  // namespace fairwater::inline actors::inline coordinator
