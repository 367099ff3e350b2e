#include "bench/history_maker.hpp"

#include <algorithm>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/value_of.hpp"

namespace fairwater::bench {
namespace {

constexpr std::uint32_t kTasksOfArray = 10'000;
constexpr std::uint32_t kTasksOfRecord = 500;
/// A record's bodies that share a write, so that a ledger is made in minutes.
constexpr std::size_t kBodiesOfAppend = 1000;

LedgerOptions options_of(const std::string& directory, bool create) {
  LedgerOptions options;
  options.directory = directory;
  options.create = create;
  options.sync = false;  // nothing is lost that could not be made again
  return options;
}

}  // namespace

HistoryMaker::HistoryMaker(const std::string& directory, bool create,
                           std::vector<std::string> tenants)
    : ledger_(value_of(Ledger::open(options_of(directory, create)))),
      tenants_(std::move(tenants)) {}

void HistoryMaker::add(JournalBody body) {
  bodies_.push_back(std::move(body));
  entries_ += std::holds_alternative<Cycle>(bodies_.back()) ? kTasksOfRecord : 1;
  if (entries_ >= kBodiesOfAppend) flush();
}

void HistoryMaker::add_ended(std::uint64_t tasks, std::uint64_t cut_every) {
  const std::vector<std::string> command{"/usr/bin/env", "simulate", "--input",
                                         "/data/measurements/input.json"};
  std::uint64_t uncut = 0;
  for (std::uint64_t made = 0; made < tasks; made += kTasksOfArray) {
    const auto size =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(kTasksOfArray, tasks - made));
    end_all(submit(size, command), size);
    uncut += size;
    if (cut_every > 0 && uncut >= cut_every) {
      cut();
      uncut = 0;
    }
  }
}

void HistoryMaker::add_waiting(std::uint64_t jobs, const std::vector<std::string>& command) {
  for (std::uint64_t i = 0; i < jobs; ++i) (void)submit(1, command);
}

JobId HistoryMaker::submit(std::uint32_t tasks, const std::vector<std::string>& command) {
  const TenantId tenant = tenant_of(++jobs_);
  JobSpec spec;
  spec.tenant = tenants_[tenant.value - 1];
  spec.name = "bench";
  spec.command = command;
  spec.environment = {{"OMP_NUM_THREADS", "4"}};
  spec.tasks_min = spec.tasks_max = tasks;
  spec.resources = {{"cpu", 1000}, {"memory", 1024}};
  add(JobSubmitted{{}, tenant, spec});
  return JobId{jobs_};
}

void HistoryMaker::end_all(JobId job, std::uint32_t tasks) {
  for (std::uint32_t first = 0; first < tasks; first += kTasksOfRecord) {
    Deal deal;
    deal.node = NodeId{1};
    deal.keeps_accounts = false;
    TasksFinished finished;
    finished.node = deal.node;
    for (std::uint32_t i = first; i < std::min(tasks, first + kTasksOfRecord); ++i) {
      Grant grant;
      grant.task = {job, i, 1};
      grant.tenant = tenant_of(job.value);
      grant.cost = 1;
      deal.grants.push_back(grant);
      TaskResult result;
      result.task = grant.task;
      result.started_at = {1'000'000};
      result.finished_at = {3'000'000};
      finished.results.push_back(result);
    }
    add(Cycle{{deal}});
    add(finished);
  }
}

void HistoryMaker::cut() {
  flush();
  (void)value_of(ledger_->append({value_of(ledger_->measure_checkpoint()).record}));
  (void)value_of(ledger_->cut_history({}));
}

void HistoryMaker::flush() {
  (void)value_of(ledger_->append(std::exchange(bodies_, {})));
  entries_ = 0;
}

TenantId HistoryMaker::tenant_of(std::uint64_t job) const {
  return TenantId{1 + static_cast<std::uint32_t>(job % tenants_.size())};
}

void run_apart(const std::string& what, const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child == 0) {
    try {
      work();
      ::_exit(0);
    } catch (const std::exception& error) {
      std::cerr << what << " failed: " << error.what() << '\n';
      ::_exit(1);
    }
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child || status != 0)
    throw std::runtime_error(what + " failed");
}

}  // namespace fairwater::bench
