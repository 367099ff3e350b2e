#include "sim/engine/engine.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "policy/core/check.hpp"

namespace fairwater::sim::inline engine {
namespace {

using Slot = std::uint32_t;

struct Running {
  TaskId task;
  NodeIndex node = 0;
  Units units = 1;
  std::int64_t work_left = 0;  ///< unit-milliseconds, at `since`
  TimeMs since = 0;
  std::uint64_t order = 0;  ///< changes with every event planned for it: older ones are void
};

struct End {
  TimeMs at = 0;
  std::uint64_t order = 0;
  Slot slot = 0;
  bool operator>(const End& other) const {
    return at != other.at ? at > other.at : order > other.order;
  }
};

struct WaitingOfJob {
  std::vector<bool> is_waiting;  ///< by task
  std::uint32_t count = 0;
};

/// An elastic job over nodes while it runs.
struct Spread {
  Slot slot = 0;                             ///< of all of its work; its units are tasks
  std::map<std::uint32_t, NodeIndex> nodes;  ///< by task that works
  std::set<std::uint32_t> grown;             ///< of those
  bool has_begun = false;                    ///< it had its least
  [[nodiscard]] std::size_t least() const { return nodes.size() - grown.size(); }
};

/// When it ends, and how many were told before it.
using WindingDown = std::pair<TimeMs, std::uint64_t>;
/// So long a task takes at least to end: else what is taken back and grows again in vain would
/// do so for ever at one instant.
constexpr TimeMs kShortestGrace_ms = 1;

class Engine {
 public:
  Engine(const Cluster& cluster, const Workload& workload, Scheduler& scheduler, Observer& observer,
         const EngineOptions& options)
      : workload_(workload), scheduler_(scheduler), observer_(observer), options_(options) {
    for (const auto& node : cluster.nodes) free_.push_back(node.capacity);
    waiting_.resize(workload.jobs.size());
  }

  EngineResult run() {
    take_arrivals();
    for (const auto& running : options_.running) resume(running);
    take_ends();
    if (cycle_is_due()) run_cycle();
    while (const auto next = next_instant()) {
      if (options_.end_ms != 0 && *next >= options_.end_ms) break;
      changed_ = changed_ || is_woken_at(*next);
      pass_to(*next);
      take_ends();
      take_ends_of_winding_down();
      take_arrivals();
      if (cycle_is_due()) run_cycle();
    }
    if (options_.end_ms != 0) pass_to(options_.end_ms);
    scheduler_.finish();
    for (Slot slot = 0; slot < slots_.size(); ++slot)
      if (slots_[slot].order != 0) settle(slot);
    result_.end_ms = now_;
    return result_;
  }

 private:
  [[nodiscard]] bool cycle_is_due() const {
    return changed_ && (options_.cycle_ms == 0 || now_ % options_.cycle_ms == 0);
  }

  [[nodiscard]] std::optional<TimeMs> next_instant() {
    auto next = std::numeric_limits<TimeMs>::max();
    drop_void_ends();
    if (!ends_.empty()) next = ends_.top().at;
    if (!winding_down_.empty()) next = std::min(next, winding_down_.begin()->first.first);
    if (next_arrival_ < workload_.jobs.size())
      next = std::min(next, workload_.jobs[next_arrival_].submit_ms);
    if (changed_ && options_.cycle_ms != 0)
      next = std::min(next, (now_ / options_.cycle_ms + 1) * options_.cycle_ms);
    // Where nothing else is to come, nothing would come for ever of looking again.
    if (next == std::numeric_limits<TimeMs>::max())
      return result_.waiting > 0 ? scheduler_.changes_at() : std::nullopt;
    return std::min(next, scheduler_.wakes_at().value_or(next));
  }

  [[nodiscard]] bool is_woken_at(TimeMs now) const {
    const auto wakes_at = scheduler_.wakes_at();
    return wakes_at && *wakes_at <= now;
  }

  void pass_to(TimeMs now) {
    if (now == now_) return;
    FAIRWATER_CHECK(now > now_, "time goes forward");
    const TimeMs step = options_.step_ms;
    while (step > 0 && (now_ / step + 1) * step < now) step_to((now_ / step + 1) * step);
    step_to(now);
  }

  void step_to(TimeMs now) {
    now_ = now;
    scheduler_.pass_to(now);
    observer_.advance(now);
  }

  void drop_void_ends() {
    while (!ends_.empty() && slots_[ends_.top().slot].order != ends_.top().order) ends_.pop();
  }

  void take_ends() {
    for (drop_void_ends(); !ends_.empty() && ends_.top().at == now_; drop_void_ends()) {
      const Slot slot = ends_.top().slot;
      ends_.pop();
      const Running ended = slots_[slot];
      settle(slot);
      FAIRWATER_CHECK(slots_[slot].work_left <= 0, "a task ends when its work is done");
      changed_ = true;
      if (shares_work(workload_.jobs[ended.task.job])) {
        end_spread(ended.task.job);
        continue;
      }
      vacate(slot);
      observer_.ended(ended.task, ended.node, ended.units, false);
      scheduler_.end(ended.task, ended.node);
      ++result_.events;
    }
  }

  void take_arrivals() {
    for (; next_arrival_ < workload_.jobs.size() && workload_.jobs[next_arrival_].submit_ms <= now_;
         ++next_arrival_) {
      const auto job = static_cast<JobIndex>(next_arrival_);
      waiting_[job] = {std::vector<bool>(workload_.jobs[job].tasks, true),
                       workload_.jobs[job].tasks};
      result_.waiting += workload_.jobs[job].tasks;
      observer_.submitted(job);
      scheduler_.submit(job);
      changed_ = true;
      ++result_.events;
    }
  }

  void run_cycle() {
    changed_ = false;
    ++result_.events;
    const Actions actions = scheduler_.cycle(now_);
    for (const auto& resize : actions.shrink) apply(resize, true);
    for (const auto& task : actions.kill) kill(task);
    for (const auto& start : actions.start) apply(start);
    for (const auto& resize : actions.grow) apply(resize, false);
    check_started_whole(actions);
    for (const auto& task : actions.take_back) tell_to_end(task, false);
    for (const auto& task : actions.preempt) tell_to_end(task, true);
    observer_.cycle_done(scheduler_);
  }

  // -- what runs -------------------------------------------------------------------------------

  static std::uint64_t key_of(TaskId task) { return std::uint64_t{task.job} << 32 | task.index; }

  [[nodiscard]] bool waits(TaskId task) const {
    return task.job < waiting_.size() && task.index < waiting_[task.job].is_waiting.size() &&
           waiting_[task.job].is_waiting[task.index];
  }

  void set_waiting(TaskId task, bool waits) {
    WaitingOfJob& job = waiting_[task.job];
    job.is_waiting[task.index] = waits;
    job.count += waits ? 1 : -1;
    result_.waiting += waits ? 1 : -1;
  }

  [[nodiscard]] Slot slot_of(TaskId task) const {
    const auto found = slot_by_task_.find(key_of(task));
    FAIRWATER_CHECK(found != slot_by_task_.end(), "a task that is resized or killed runs");
    return found->second;
  }

  void check_started_whole(const Actions& actions) {
    for (const auto& start : actions.start) {
      const Job& job = workload_.jobs[start.task.job];
      FAIRWATER_CHECK(!job.is_gang || waiting_[start.task.job].count == 0, "a gang starts whole");
      if (!shares_work(job)) continue;
      Spread& spread = spread_.at(start.task.job);
      FAIRWATER_CHECK(spread.has_begun || spread.least() == job.least_tasks,
                      "an elastic job starts with its least");
      spread.has_begun = true;
    }
  }

  /// Brings what is left of the task's work up to now.
  void settle(Slot slot) {
    Running& running = slots_[slot];
    const auto done = running.units * (now_ - running.since);
    running.work_left -= done;
    running.since = now_;
    result_.work_done += done;
  }

  void plan_end(Slot slot) {
    Running& running = slots_[slot];
    running.order = ++last_order_;
    if (running.units == 0) return;  // all of an elastic job was preempted
    if (workload_.jobs[running.task.job].is_service) return;
    const auto left = std::max<std::int64_t>(running.work_left, 0);
    ends_.push({now_ + (left + running.units - 1) / running.units, running.order, slot});
  }

  void vacate(Slot slot) {
    Running& running = slots_[slot];
    free_[running.node] += demand_of(workload_.jobs[running.task.job], running.units);
    slot_by_task_.erase(key_of(running.task));
    give_up(slot);
    --result_.running;
  }

  void give_up(Slot slot) {
    slots_[slot].order = 0;
    unused_.push_back(slot);
  }

  void take_room(NodeIndex node, const ResourceVector& demand) {
    FAIRWATER_CHECK(demand.fits(free_[node]), "no node is over its capacity");
    free_[node] -= demand;
  }

  void apply(const Start& start) {
    FAIRWATER_CHECK(waits(start.task), "a task that starts waits");
    const Job& job = workload_.jobs[start.task.job];
    if (shares_work(job))
      join_spread(start);
    else
      occupy(start, run_ms_of(job, start.task.index) * job.min_units);
  }

  void resume(const RunningTask& running) {
    const Job& job = workload_.jobs[running.task.job];
    if (!shares_work(job)) {
      occupy({running.task, running.node, job.min_units}, running.left_ms * job.min_units);
      return;
    }
    join_spread({running.task, running.node, 1, running.step == GrantStep::growth});
    spread_.at(running.task.job).has_begun = true;
  }

  /// The task runs from now on, for `work` unit-milliseconds.
  void occupy(const Start& start, std::int64_t work) {
    FAIRWATER_CHECK(start.node < free_.size(), "a task starts on a node of the cluster");
    const Job& job = workload_.jobs[start.task.job];
    FAIRWATER_CHECK(start.units >= job.min_units && start.units <= job.max_units,
                    "a job runs with min to max units");
    set_waiting(start.task, false);
    take_room(start.node, demand_of(job, start.units));
    const Slot slot = take_slot();
    slots_[slot] = {start.task, start.node, start.units, work, now_, 0};
    slot_by_task_.emplace(key_of(start.task), slot);
    ++result_.running;
    plan_end(slot);
    observer_.started(start);
  }

  [[nodiscard]] Slot take_slot() {
    if (unused_.empty()) {
      slots_.emplace_back();
      return static_cast<Slot>(slots_.size() - 1);
    }
    const Slot slot = unused_.back();
    unused_.pop_back();
    return slot;
  }

  void apply(const Resize& resize, bool shrink) {
    const Slot slot = slot_of(resize.task);
    settle(slot);
    Running& running = slots_[slot];
    const Job& job = workload_.jobs[resize.task.job];
    const Units before = running.units;
    FAIRWATER_CHECK(shrink ? resize.units < before && resize.units >= job.min_units
                           : resize.units > before && resize.units <= job.max_units,
                    "a job shrinks to its min at most, and grows to its max at most");
    free_[running.node] += demand_of(job, before);
    running.units = resize.units;
    take_room(running.node, demand_of(job, running.units));
    plan_end(slot);
    observer_.resized(resize.task, before, resize.units);
  }

  void kill(TaskId task) {
    const Slot slot = slot_of(task);
    settle(slot);
    const Running killed = slots_[slot];
    vacate(slot);
    set_waiting(task, true);
    observer_.ended(task, killed.node, killed.units, true);
    changed_ = true;
  }

  // -- what is told to end -----------------------------------------------------------------------

  void tell_to_end(TaskId task, bool is_preempted) {
    const Job& job = workload_.jobs[task.job];
    FAIRWATER_CHECK(!job.is_service, "a service is not told to end");
    const Start run =
        shares_work(job) ? leave_spread(task, is_preempted) : stop_working(task, is_preempted);
    const TimeMs end = now_ + std::max(job.grace_ms, kShortestGrace_ms);
    winding_down_.emplace(WindingDown{end, ++last_told_}, run);
  }

  Start stop_working(TaskId task, bool is_preempted) {
    const Slot slot = slot_of(task);
    settle(slot);
    const Running stopped = slots_[slot];
    slot_by_task_.erase(key_of(task));
    give_up(slot);
    const std::int64_t work = run_ms_of(workload_.jobs[task.job], task.index) * stopped.units;
    if (is_preempted) observer_.preempted(task, work - stopped.work_left);
    return {task, stopped.node, stopped.units};
  }

  /// Their room is free. They wait again, unless the work of their job is done.
  void take_ends_of_winding_down() {
    while (!winding_down_.empty() && winding_down_.begin()->first.first == now_) {
      const Start run = winding_down_.extract(winding_down_.begin()).mapped();
      const auto [task, node, units] = std::tuple{run.task, run.node, run.units};
      const Job& job = workload_.jobs[task.job];
      const bool waits_again = !shares_work(job) || spread_.contains(task.job);
      free_[node] += demand_of(job, units);
      if (waits_again) set_waiting(task, true);
      --result_.running;
      changed_ = true;
      observer_.ended(task, node, units, waits_again);
      scheduler_.end(task, node);
      ++result_.events;
      if (job.is_gang) start_gang_over(task.job);
    }
  }

  /// Once all that ran of it has ended, what had ended before runs again, too.
  void start_gang_over(JobIndex index) {
    const Job& job = workload_.jobs[index];
    const auto is_told = [&](const auto& told) { return told.second.task.job == index; };
    if (std::any_of(winding_down_.begin(), winding_down_.end(), is_told)) return;
    for (TaskId task{index, 0}; task.index < job.tasks; ++task.index) {
      if (waits(task) || slot_by_task_.contains(key_of(task))) continue;
      set_waiting(task, true);
      observer_.started_over(task, run_ms_of(job, task.index) * job.min_units);
      scheduler_.start_over(task);
    }
  }

  // -- elastic jobs over nodes -------------------------------------------------------------------

  void join_spread(const Start& start) {
    const JobIndex index = start.task.job;
    const Job& job = workload_.jobs[index];
    FAIRWATER_CHECK(start.node < free_.size(), "a task starts on a node of the cluster");
    set_waiting(start.task, false);
    take_room(start.node, job.demand);
    const auto [spread, is_new] = spread_.try_emplace(index);
    if (is_new) {
      spread->second.slot = take_slot();
      slots_[spread->second.slot] = {{index, 0}, 0, 0, job.run_ms * job.least_tasks, now_, 0};
    }
    spread->second.nodes.emplace(start.task.index, start.node);
    if (start.has_grown) spread->second.grown.insert(start.task.index);
    change_units(spread->second.slot, 1);
    ++result_.running;
    observer_.started(start);
  }

  /// What the task did stays done.
  Start leave_spread(TaskId task, bool is_preempted) {
    const auto found = spread_.find(task.job);
    FAIRWATER_CHECK(found != spread_.end(), "a task that is told to end runs");
    Spread& spread = found->second;
    FAIRWATER_CHECK(spread.nodes.contains(task.index), "a task that is told to end runs");
    const bool had_grown = spread.grown.erase(task.index) > 0;
    FAIRWATER_CHECK(had_grown != is_preempted, "an elastic job keeps its least unless preempted");
    const NodeIndex node = spread.nodes.extract(task.index).mapped();
    change_units(spread.slot, -1);
    if (is_preempted) observer_.preempted(task, 0);
    return {task, node, 1, had_grown};
  }

  void change_units(Slot slot, Units change) {
    settle(slot);
    slots_[slot].units += change;
    plan_end(slot);
  }

  void end_spread(JobIndex index) {
    const auto node = spread_.extract(index);
    const Spread& ended = node.mapped();
    give_up(ended.slot);
    scheduler_.done(index);
    for (const auto& [task, where] : ended.nodes) {
      free_[where] += workload_.jobs[index].demand;
      --result_.running;
      observer_.ended({index, task}, where, 1, false);
      scheduler_.end({index, task}, where);
      ++result_.events;
    }
    result_.waiting -= std::exchange(waiting_[index], {}).count;
  }

  const Workload& workload_;
  Scheduler& scheduler_;
  Observer& observer_;
  const EngineOptions options_;
  std::vector<ResourceVector> free_;
  std::vector<WaitingOfJob> waiting_;  ///< by job, from its arrival on
  std::map<JobIndex, Spread> spread_;
  std::map<WindingDown, Start> winding_down_;  ///< what has not ended yet
  std::uint64_t last_told_ = 0;
  std::vector<Running> slots_;
  std::vector<Slot> unused_;
  std::unordered_map<std::uint64_t, Slot> slot_by_task_;  ///< looked up, never iterated
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::size_t next_arrival_ = 0;
  std::uint64_t last_order_ = 0;
  TimeMs now_ = 0;
  bool changed_ = false;
  EngineResult result_;
};

}  // namespace

EngineResult run_engine(const Cluster& cluster, const Workload& workload, Scheduler& scheduler,
                        Observer& observer, const EngineOptions& options) {
  return Engine{cluster, workload, scheduler, observer, options}.run();
}

}  // namespace fairwater::sim::inline engine
