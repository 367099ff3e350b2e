// Conservative backfilling against a slow reading of it.
#include <optional>

#include "sim/schedulers/list.hpp"
#include "tests/sim/support.hpp"

namespace fairwater::sim {
namespace {

using namespace test;

/// Tries every node and every moment at which something ends, and looks at every moment at which
/// something else begins.
class SlowConservative final : public Scheduler {
 public:
  explicit SlowConservative(const RandomCase& made) : made_(made) {}
  void submit(JobIndex job) override { arrived_.push_back(job); }
  void end(TaskId task, NodeIndex /*node*/) override {
    std::erase_if(plan_, [task](const Planned& planned) { return planned.task == task; });
  }
  Actions cycle(TimeMs now) override {
    now_ = now;
    while (move_up_once()) ++moves;
    for (const JobIndex job : std::exchange(arrived_, {}))
      for (std::uint32_t i = 0; i < made_.workload.jobs[job].tasks; ++i) {
        plan_.push_back(*earliest({job, i}, std::nullopt));
        promised[{job, i}] = plan_.back().start;
        if (made_.workload.jobs[job].is_gang) break;
      }
    sort();
    Actions actions;
    for (auto& planned : plan_) {
      if (planned.runs || planned.start > now) continue;
      planned.runs = true;
      for (std::uint32_t i = 0; i < planned.nodes.size(); ++i)
        actions.start.push_back({{planned.task.job, planned.task.index + i}, planned.nodes[i], 1});
    }
    return actions;
  }

  std::map<TaskId, TimeMs> promised;  ///< when each was to start when it arrived
  int moves = 0;                      ///< passes in which reservations moved

 private:
  struct Planned {
    TaskId task;                   ///< of a gang the first
    std::vector<NodeIndex> nodes;  ///< one, or that of each task of a gang
    TimeMs start = 0;
    TimeMs end = 0;
    bool runs = false;
    [[nodiscard]] Amount tasks_on(NodeIndex node) const {
      return std::count(nodes.begin(), nodes.end(), node);
    }
  };
  [[nodiscard]] const Job& job_of(TaskId task) const { return made_.workload.jobs[task.job]; }
  void sort() {
    std::sort(plan_.begin(), plan_.end(), [](const Planned& a, const Planned& b) {
      return std::pair{a.start, a.task} < std::pair{b.start, b.task};
    });
  }
  [[nodiscard]] bool fits(const Planned& wanted, NodeIndex node) const {
    std::vector<TimeMs> moments{wanted.start};
    for (const auto& other : plan_)
      if (other.start > wanted.start && other.start < wanted.end) moments.push_back(other.start);
    return std::all_of(moments.begin(), moments.end(), [&](TimeMs moment) {
      ResourceVector free = made_.cluster.nodes[node].capacity;
      for (const auto& other : plan_)
        if (other.start <= moment && moment < other.end)
          free -= job_of(other.task).demand * other.tasks_on(node);
      return (job_of(wanted.task).demand * wanted.tasks_on(node)).fits(free);
    });
  }
  [[nodiscard]] std::optional<Planned> earliest(TaskId task, std::optional<TimeMs> before) const {
    const Job& job = job_of(task);
    std::vector<TimeMs> moments{now_};
    for (const auto& other : plan_)
      if (other.end > now_) moments.push_back(other.end);
    std::sort(moments.begin(), moments.end());
    for (const TimeMs moment : moments) {
      if (before && moment >= *before) break;
      Planned wanted{task, {}, moment, moment + std::max<TimeMs>(job.estimate_ms, 1)};
      for (NodeIndex node = 0; node < made_.cluster.nodes.size(); ++node) {
        if (job.rule && !job.rule->allows(made_.cluster.nodes[node].traits)) continue;
        for (wanted.nodes.push_back(node); fits(wanted, node); wanted.nodes.push_back(node))
          if (wanted.nodes.size() == starts_at_once(job)) return wanted;
        wanted.nodes.pop_back();
      }
    }
    return std::nullopt;
  }
  bool move_up_once() {
    sort();
    std::vector<TaskId> waiting;
    for (const auto& planned : plan_)
      if (!planned.runs) waiting.push_back(planned.task);
    bool moved = false;
    for (const TaskId task : waiting) {
      const auto mine = std::find_if(plan_.begin(), plan_.end(),
                                     [task](const Planned& other) { return other.task == task; });
      const Planned before = *mine;
      plan_.erase(mine);
      const auto better = earliest(task, before.start);
      plan_.push_back(better.value_or(before));
      moved = moved || better;
    }
    return moved;
  }

  const RandomCase& made_;
  TimeMs now_ = 0;
  std::vector<JobIndex> arrived_;
  std::vector<Planned> plan_;
};

Books run_conservative(const RandomCase& made) {
  Books books(made.cluster, made.workload);
  const auto scheduler = make_scheduler({.name = "conservative"}, made.cluster, made.workload);
  REQUIRE(scheduler.engaged());
  run_engine(made.cluster, made.workload, **scheduler, books, {});
  CHECK(books.waiting.empty());
  CHECK(books.sound());
  return books;
}

std::vector<TimeMs> starts_of(const RandomCase& made) {
  std::vector<TimeMs> starts(made.workload.jobs.size());
  for (const auto& run : run_conservative(made).runs) starts[run.task.job] = run.start;
  return starts;
}

}  // namespace

TEST_CASE("conservative starts nothing that delays a reservation", "[unit][policy]") {
  // Job 0 holds 6 of 10 until 100, job 1 is promised 100 and job 2 150. Job 3 would fit beside job
  // 1, as under EASY, but not beside job 2: it comes behind it.
  RandomCase made{processors({10}, {1}), {}};
  made.workload.jobs = {job_of(0, 0, 1, 6, 100), job_of(1, 0, 1, 8, 50), job_of(2, 0, 1, 10, 10),
                        job_of(3, 0, 1, 2, 200)};
  CHECK(starts_of(made) == std::vector<TimeMs>{0, 100, 150, 160});
}

TEST_CASE("conservative moves reservations up when a task ends early", "[unit][policy]") {
  // Of 10, job 0 holds 6 until 60 instead of 100 and job 2 holds 4 until 99. Job 1 was to start at
  // 100 and job 3, with the 2 that job 1 leaves, at 99; job 4 at 150. At 60, jobs 3 and 4 can start
  // at once and job 1 at 99.
  RandomCase made{processors({10}, {1}), {}};
  made.workload.jobs = {job_of(0, 0, 1, 6, 60), job_of(1, 0, 1, 8, 50), job_of(2, 0, 1, 4, 97),
                        job_of(3, 0, 1, 2, 60), job_of(4, 0, 1, 4, 10)};
  made.workload.jobs[0].estimate_ms = 100;
  CHECK(starts_of(made) == std::vector<TimeMs>{0, 99, 2, 60, 60});
}

TEST_CASE("conservative keeps the order of reservations when a task runs on", "[unit][policy]") {
  // Job 0 holds 6 of 10 for 30 longer than it said. Job 3 finds room, but job 1 is due any moment.
  RandomCase made{processors({10}, {1}), {}};
  made.workload.jobs = {job_of(0, 0, 1, 6, 80), job_of(1, 0, 1, 8, 50), job_of(60, 0, 1, 8, 10),
                        job_of(70, 0, 1, 4, 5)};
  made.workload.jobs[0].estimate_ms = 50;
  CHECK(starts_of(made) == std::vector<TimeMs>{0, 80, 130, 140});
}

TEST_CASE("conservative gives each task what a slow reading of it gives, and as promised",
          "[property][policy]") {
  int moves = 0;
  std::size_t waits = 0;
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    RandomCase made = random_case(seed, 40);
    const bool has_gangs = seed > 40;
    SplitMix64 random(seed);
    for (auto& job : made.workload.jobs) job.is_gang = has_gangs && random.below(2) == 0;
    remove_impossible_jobs(made.cluster, made.workload);
    SlowConservative slow(made);
    Books expected(made.cluster, made.workload);
    run_engine(made.cluster, made.workload, slow, expected, {});
    const Books books = run_conservative(made);
    CAPTURE(seed);
    CHECK(books.runs == expected.runs);
    for (const auto& run : books.runs) {
      const Job& job = made.workload.jobs[run.task.job];
      const TimeMs promised = slow.promised.at({run.task.job, job.is_gang ? 0 : run.task.index});
      CHECK(run.start <= promised);
      waits += promised > job.submit_ms ? 1 : 0;
    }
    moves += slow.moves;
  }
  CHECK(moves > 800);
  CHECK(waits > 2000);
}

TEST_CASE("conservative runs everything where estimates are too short", "[property][policy]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    RandomCase made = random_case(seed, 80);
    for (auto& job : made.workload.jobs) job.estimate_ms = job.run_ms / 3;
    if (seed % 2 == 0)
      for (auto& job : made.workload.jobs) job.is_gang = job.tasks > 2;
    remove_impossible_jobs(made.cluster, made.workload);
    CAPTURE(seed);
    run_conservative(made);
  }
}

}  // namespace fairwater::sim
