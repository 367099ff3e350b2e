#include "actors/ledger.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <utility>

#include <caf/all.hpp>

#include "actors/cluster.hpp"

namespace fairwater {

struct Flush {};
struct WaitEnded {
  std::uint64_t waiter = 0;
};

}  // namespace fairwater

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::Flush)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::WaitEnded)

namespace fairwater {
namespace {

/// Keeps one WriteBatch at a few megabytes at the most.
constexpr std::size_t kMaxBodiesPerGroup = 4096;

// -- the writer -----------------------------------------------------------------------------------

using LedgerWriter = LedgerActor::extend<caf::reacts_to<Flush>>;

struct QueuedCommit {
  Commit commit;
  caf::typed_response_promise<Committed> promise;
};

struct WriterState {
  static inline const char* name = "ledger";
  std::shared_ptr<Ledger> ledger;
  LedgerReader reader;
  std::function<void(const caf::error&)> on_fatal;
  std::deque<QueuedCommit> queue;
  std::uint64_t failed_generation = 0;
  bool flush_due = false;
};

/// Takes from the queue what shares the next write; refuses what depends on a commit that failed.
std::vector<QueuedCommit> take_group(WriterState& state) {
  std::vector<QueuedCommit> group;
  std::size_t bodies = 0;
  while (!state.queue.empty() && bodies < kMaxBodiesPerGroup) {
    QueuedCommit next = std::move(state.queue.front());
    state.queue.pop_front();
    const auto generation = next.commit.generation;
    if (generation != 0 && generation <= state.failed_generation) {
      next.promise.deliver(
          make_error(ErrorCode::unavailable, "an earlier commit that this one builds on failed"));
      continue;
    }
    bodies += next.commit.bodies.size();
    group.push_back(std::move(next));
  }
  return group;
}

void refuse(WriterState& state, std::vector<QueuedCommit>& group, const caf::error& error) {
  for (auto& queued : group) {
    state.failed_generation = std::max(state.failed_generation, queued.commit.generation);
    queued.promise.deliver(error);
  }
  if (details(error).code != ErrorCode::disk_full) state.on_fatal(error);
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
  if (!receipts) {
    refuse(state, group, receipts.error());
    return;
  }
  acknowledge(state, group, *receipts);
  if (!receipts->empty()) self->send(state.reader, JournalGrew{receipts->back().number});
}

LedgerWriter::behavior_type ledger_writer(LedgerWriter::stateful_pointer<WriterState> self,
                                          std::shared_ptr<Ledger> ledger, LedgerReader reader,
                                          std::function<void(const caf::error&)> on_fatal) {
  self->state.ledger = std::move(ledger);
  self->state.reader = std::move(reader);
  self->state.on_fatal = std::move(on_fatal);
  return {
      [self](Commit& commit) -> caf::result<Committed> {
        auto promise = self->make_response_promise<Committed>();
        self->state.queue.push_back({std::move(commit), promise});
        if (!std::exchange(self->state.flush_due, true)) self->send(self, Flush{});
        return promise;
      },
      [self](const Flush&) {
        self->state.flush_due = false;
        write_group(self);
        if (!self->state.queue.empty() && !std::exchange(self->state.flush_due, true))
          self->send(self, Flush{});
      },
  };
}

// -- the reader -----------------------------------------------------------------------------------

using ReaderBase = LedgerReader::extend<caf::reacts_to<WaitEnded>>;

struct JournalWaiter {
  std::uint64_t id = 0;
  ReadRecords request;
  caf::typed_response_promise<JournalPage> promise;
};

struct ReaderState {
  static inline const char* name = "ledger-reader";
  std::shared_ptr<const Ledger> ledger;
  ResourceCatalog catalog;
  std::vector<JournalWaiter> waiters;
  std::uint64_t last_waiter = 0;
};

JournalPage read_records(const Ledger& ledger, const ReadRecords& request) {
  JournalPage page;
  const std::size_t limit = std::clamp<std::uint32_t>(request.limit, 1, 1000);
  ledger.visit_journal(std::max<std::uint64_t>(request.since, 1), [&](const JournalRecord& record) {
    page.records.push_back(record);
    return page.records.size() < limit;
  });
  return page;
}

caf::result<JobDetail> read_job(const Ledger& ledger, const GetJob& request) {
  auto job = ledger.job(request.id);
  if (!job)
    return make_error(ErrorCode::not_found, "there is no job " + std::to_string(request.id.value),
                      "id");
  JobDetail detail{std::move(*job), {}};
  const auto total = detail.job.tasks.total;
  const auto first = std::min(request.tasks.first, total);
  const auto end = first + std::min(request.tasks.count, total - first);
  if (first == end) return detail;
  std::map<std::uint32_t, TaskRecord> stored;
  if (end - first == 1) {
    if (auto task = ledger.task(request.id, first)) stored.emplace(first, std::move(*task));
  } else {
    for (auto& task : ledger.tasks(request.id)) stored.emplace(task.index, std::move(task.record));
  }
  for (std::uint32_t index = first; index < end; ++index) {
    TaskInfo info;
    info.index = index;
    if (auto task = stored.find(index); task != stored.end()) info.record = task->second;
    if (detail.job.cancelled && info.record.state == TaskState::pending)
      info.record.state = TaskState::cancelled;
    detail.tasks.push_back(std::move(info));
  }
  return detail;
}

JobList query_jobs(const Ledger& ledger, const QueryJobs& request) {
  JobList list;
  const auto& query = request.query;
  const std::size_t limit = std::clamp<std::uint32_t>(query.limit, 1, 10'000);
  const JobId from{query.before ? query.before.value - 1 : ~std::uint64_t{0}};
  ledger.visit_jobs(from, true, [&](const JobRecord& job) {
    const bool wanted = (!request.tenant || job.tenant == request.tenant) &&
                        (!query.state || state_of(job) == *query.state);
    if (wanted) list.jobs.push_back(job);
    return list.jobs.size() < limit;
  });
  return list;
}

LedgerView read_ledger(const Ledger& ledger) {
  LedgerView view;
  view.cycle = ledger.last_number();
  view.position = ledger.position();
  view.tenants = ledger.tenants();
  view.ious = ledger.ious();
  for (const auto& tenant : view.tenants) view.net[tenant.id] = 0;
  for (const auto& iou : view.ious) {
    view.net[TenantId{iou.debtor}] -= iou.units;
    view.net[TenantId{iou.creditor}] += iou.units;
  }
  return view;
}

/// Verifying reads the whole journal: it gets a thread of its own.
using Verifier = caf::typed_actor<caf::replies_to<RunVerify>::with<VerifyReport>>;
Verifier::behavior_type verifier(Verifier::pointer self, std::shared_ptr<const Ledger> ledger) {
  return {[self, ledger = std::move(ledger)](const RunVerify&) {
    self->quit();
    return ledger->verify();
  }};
}

void answer_waiters(ReaderState& state, std::uint64_t newest) {
  auto satisfied = std::stable_partition(
      state.waiters.begin(), state.waiters.end(),
      [newest](const JournalWaiter& waiter) { return waiter.request.since > newest; });
  for (auto waiter = satisfied; waiter != state.waiters.end(); ++waiter)
    waiter->promise.deliver(read_records(*state.ledger, waiter->request));
  state.waiters.erase(satisfied, state.waiters.end());
}

caf::result<JournalPage> read_or_wait(ReaderBase::stateful_pointer<ReaderState> self,
                                      const ReadRecords& request) {
  auto& state = self->state;
  if (request.since <= state.ledger->last_number() || request.wait_ms <= 0)
    return read_records(*state.ledger, request);
  auto promise = self->make_response_promise<JournalPage>();
  state.waiters.push_back({++state.last_waiter, request, promise});
  self->delayed_send(self,
                     std::chrono::milliseconds(std::min<std::int64_t>(request.wait_ms, 60'000)),
                     WaitEnded{state.last_waiter});
  return promise;
}

void end_wait(ReaderState& state, std::uint64_t id) {
  auto waiter = std::find_if(state.waiters.begin(), state.waiters.end(),
                             [id](const JournalWaiter& w) { return w.id == id; });
  if (waiter == state.waiters.end()) return;
  waiter->promise.deliver(JournalPage{});
  state.waiters.erase(waiter);
}

ReaderBase::behavior_type ledger_reader(ReaderBase::stateful_pointer<ReaderState> self,
                                        std::shared_ptr<const Ledger> ledger,
                                        ResourceCatalog catalog) {
  self->state.ledger = std::move(ledger);
  self->state.catalog = std::move(catalog);
  return {
      [self](const FindToken& request) -> caf::result<FoundToken> {
        auto grant = self->state.ledger->token(request.token_hash);
        if (!grant)
          return make_error(ErrorCode::unauthenticated, "this token is not known", "token");
        return FoundToken{*grant};
      },
      [self](const GetJob& request) { return read_job(*self->state.ledger, request); },
      [self](const QueryJobs& request) { return query_jobs(*self->state.ledger, request); },
      [self](const GetRecord& request) -> caf::result<FoundRecord> {
        auto record = self->state.ledger->record(request.number);
        if (!record)
          return make_error(ErrorCode::not_found,
                            "there is no journal record " + std::to_string(request.number));
        return FoundRecord{std::move(*record)};
      },
      [self](const ReadRecords& request) { return read_or_wait(self, request); },
      [self](const ReadLedger&) { return read_ledger(*self->state.ledger); },
      [self](const RunVerify& request) {
        return self->delegate(self->spawn<caf::detached>(verifier, self->state.ledger), request);
      },
      [self](const ReadSnapshot&) {
        return SnapshotRead{std::make_shared<const LedgerSnapshot>(
            read_snapshot(*self->state.ledger, self->state.catalog))};
      },
      [self](const JournalGrew& grew) { answer_waiters(self->state, grew.number); },
      [self](const WaitEnded& ended) { end_wait(self->state, ended.waiter); },
  };
}

}  // namespace

LedgerActor spawn_ledger(caf::actor_system& system, Threading threading,
                         std::shared_ptr<Ledger> ledger, LedgerReader reader,
                         std::function<void(const caf::error&)> on_fatal) {
  if (threading == Threading::shared)
    return system.spawn(ledger_writer, std::move(ledger), std::move(reader), std::move(on_fatal));
  return system.spawn<caf::detached>(ledger_writer, std::move(ledger), std::move(reader),
                                     std::move(on_fatal));
}

LedgerReader spawn_ledger_reader(caf::actor_system& system, Threading threading,
                                 std::shared_ptr<const Ledger> ledger, ResourceCatalog catalog) {
  if (threading == Threading::shared)
    return system.spawn(ledger_reader, std::move(ledger), std::move(catalog));
  return system.spawn<caf::detached>(ledger_reader, std::move(ledger), std::move(catalog));
}

}  // namespace fairwater
