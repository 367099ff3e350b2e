// What a tenant's window shows beside the next tasks in its order: what these would hide.
#include <bit>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "state/tenant_jobs.hpp"

namespace fairwater {
namespace {

constexpr TenantId kShows{2};
constexpr std::size_t kRanges = 8;
constexpr std::uint32_t kTasks = 40;

class Shown {
 public:
  explicit Shown(QueuePolicy policy) : jobs_(kShows, policy, ResourceCatalog{}) {}

  JobSpec spec(std::uint32_t tasks, Amount cpu = 1000) const {
    JobSpec spec;
    spec.command = {"true"};
    spec.tasks_min = spec.tasks_max = tasks;
    spec.resources = {{"cpu", cpu}};
    return spec;
  }
  void submit(const JobSpec& spec, std::uint32_t jobs = 1) {
    for (std::uint32_t i = 0; i < jobs; ++i)
      jobs_.add({submitted_job({JobId{++last_job_}, kShows, spec}, WallTime{}), {}, {}});
  }
  /// The first task of an elastic job, or one by which it grows.
  void start(std::uint64_t job, std::uint32_t index = 0) {
    Grant grant;
    grant.task = {JobId{job}, index, 1};
    grant.tenant = kShows;
    grant.cost = 1;
    grant.step = index == 0 ? GrantStep::allowance : GrantStep::growth;
    REQUIRE(jobs_.grant(grant, NodeId{5}, {++last_record_, WallTime{}}));
  }
  void cancel(std::uint64_t job) { (void)jobs_.cancel(JobId{job}, "", WallTime{}); }
  /// `7:3` for three tasks of job 7, from the place in the window on.
  [[nodiscard]] std::string from(std::size_t place) const {
    return told(jobs_.window(kRanges, kTasks, 0, {}).next, place);
  }
  /// Likewise of what elastic jobs would grow by.
  [[nodiscard]] std::string growth() const {
    return told(jobs_.window(kRanges, kTasks, 0, {}).growth, 0);
  }

 private:
  static std::string told(const std::vector<WaitingRange>& ranges, std::size_t place) {
    std::string text;
    for (; place < ranges.size(); ++place)
      text += (text.empty() ? "" : " ") + std::to_string(ranges[place].job.value) + ":" +
              std::to_string(ranges[place].count);
    return text;
  }

  TenantJobs jobs_;
  std::uint64_t last_job_ = 0;
  std::uint64_t last_record_ = 0;
};

}  // namespace

TEST_CASE("a window shows of each kind of tasks", "[unit][tenant_jobs]") {
  Shown shown(GENERATE(QueuePolicy::fifo, QueuePolicy::priority, QueuePolicy::shortest_first));
  shown.submit(shown.spec(1), 100);
  CHECK(shown.from(0) == "1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1");
  SECTION("what asks for amounts of another magnitude") {
    shown.submit(shown.spec(3, 9000));
    CHECK(shown.from(kRanges) == "101:3");
    shown.submit(shown.spec(1, 9500), 20);
    CHECK(shown.from(kRanges) == "101:3 102:1 103:1 104:1 105:1 106:1 107:1 108:1");
    shown.submit(shown.spec(30, 100));
    CHECK(shown.from(kRanges) == "101:3 102:1 103:1 104:1 122:30");
    shown.cancel(101);
    CHECK(shown.from(kRanges) == "102:1 103:1 104:1 105:1 122:30");
  }
  SECTION("what goes to other nodes") {
    JobSpec elsewhere = shown.spec(2);
    elsewhere.labels = "ssd";
    shown.submit(elsewhere, 2);
    elsewhere.labels = "gpu";
    shown.submit(elsewhere);
    elsewhere.labels = "ssd";
    elsewhere.sites = {"hall-1"};
    shown.submit(elsewhere);
    CHECK(shown.from(kRanges) == "101:2 102:2 103:2 104:2");
  }
  SECTION("what preempts") {
    JobSpec urgent = shown.spec(1);
    urgent.preempt = true;
    shown.submit(urgent);
    CHECK(shown.from(kRanges) == "101:1");
  }
  SECTION("what starts together") {
    JobSpec gang = shown.spec(50);
    gang.gang = true;
    shown.submit(gang, 2);
    CHECK(shown.from(kRanges) == "101:50");
  }
  SECTION("no more of them than of those in front, and the first") {
    for (Amount cpu = 2048; cpu < (Amount{2048} << 20U); cpu *= 2) shown.submit(shown.spec(9, cpu));
    CHECK(shown.from(kRanges) == "101:9 102:9 103:9 104:9 105:9 106:9 107:9 108:9");
  }
}

TEST_CASE("of what would grow a window shows each kind", "[unit][tenant_jobs][elastic]") {
  Shown shown(QueuePolicy::fifo);
  const auto elastic = [&](std::uint32_t most, Amount cpu) {
    JobSpec spec = shown.spec(most, cpu);
    spec.tasks_min = 1;
    return spec;
  };
  shown.submit(elastic(3, 1000), 10);
  shown.submit(elastic(5, 9000), 10);
  shown.submit(elastic(4, 1000));
  shown.submit(elastic(6, 100), 2);
  CHECK(shown.growth().empty());
  for (std::uint64_t job = 1; job <= 10; ++job) shown.start(job);
  CHECK(shown.growth() == "1:2 2:2 3:2 4:2 5:2 6:2 7:2 8:2");
  shown.start(12);
  CHECK(shown.growth() == "1:2 2:2 3:2 4:2 5:2 6:2 7:2 8:2 12:4");
  for (std::uint64_t job = 11; job <= 23; ++job)
    if (job != 12) shown.start(job);
  CHECK(shown.growth() == "1:2 2:2 3:2 4:2 5:2 6:2 7:2 8:2 11:4 12:4 13:4 14:4 22:5 23:5");
  shown.start(11, 1);
  shown.start(3, 2);
  CHECK(shown.growth() == "1:2 2:2 3:1 4:2 5:2 6:2 7:2 8:2 11:3 12:4 13:4 14:4 22:5 23:5");
  shown.cancel(22);
  for (std::uint64_t job = 1; job <= 10; ++job) shown.cancel(job);
  CHECK(shown.growth() == "11:3 12:4 13:4 14:4 15:4 16:4 17:4 18:4 21:3 23:5");
}

TEST_CASE("an array that fills the window hides no other kind", "[unit][tenant_jobs]") {
  Shown shown(GENERATE(QueuePolicy::fifo, QueuePolicy::priority));
  shown.submit(shown.spec(2000));
  shown.submit(shown.spec(1), 3);
  shown.submit(shown.spec(1, 100), 3);
  CHECK(shown.from(0) == "1:2000 5:1 6:1 7:1");
  shown.cancel(1);
  CHECK(shown.from(0) == "2:1 3:1 4:1 5:1 6:1 7:1");
}

TEST_CASE("where users take turns, each user's kinds are shown", "[unit][tenant_jobs]") {
  Shown shown(QueuePolicy::fair);
  JobSpec ann = shown.spec(1000);
  ann.user = "ann";
  shown.submit(ann, 20);
  ann.resources["cpu"] = 100;
  shown.submit(ann);
  JobSpec bob = shown.spec(1000);
  bob.user = "bob";
  shown.submit(bob, 20);
  bob.resources["cpu"] = 100'000;
  shown.submit(bob);
  // In front some of the jobs that are alike; of the others their part of 8 tasks.
  CHECK(shown.from(kRanges) == "21:4 42:4");
}

TEST_CASE("kinds of which nobody shows anything come before further users", "[unit][tenant_jobs]") {
  Shown shown(QueuePolicy::fair);
  // Users enough to fill what is shown of hidden kinds, each with two kinds; then one with another.
  for (int user = 0; user < 30; ++user) {
    JobSpec spec = shown.spec(1000);
    spec.user = "user" + std::to_string(user);
    shown.submit(spec, 20);
    spec.resources["cpu"] = 100;
    shown.submit(spec);
  }
  JobSpec last = shown.spec(3, 100'000);
  last.user = "zoe";
  shown.submit(last);
  CHECK_THAT(shown.from(kRanges), Catch::Contains("631:"));
}

TEST_CASE("no task is shown twice, and what is hidden is told", "[property][tenant_jobs]") {
  std::size_t hidden = 0, late = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t limit) { return random() % limit; };
    constexpr QueuePolicy kPolicies[] = {QueuePolicy::fifo, QueuePolicy::fair,
                                         QueuePolicy::priority, QueuePolicy::shortest_first};
    TenantJobs jobs(kShows, kPolicies[below(4)], ResourceCatalog{});
    // What makes a kind here: the amount, and the magnitude of what starts together.
    using Kind = std::pair<Amount, int>;
    std::map<std::uint64_t, std::pair<Kind, std::uint32_t>> waiting;  // by job
    std::map<Kind, std::int64_t> tasks_of;
    const auto count = 1 + below(40);
    for (std::uint64_t id = 1; id <= count; ++id) {
      JobSpec spec;
      spec.command = {"true"};
      spec.tasks_min = spec.tasks_max = static_cast<std::uint32_t>(1 + below(12));
      spec.gang = below(6) == 0;
      spec.resources = {{"cpu", Amount{100} << (2 * below(4))}};
      spec.priority = static_cast<std::int32_t>(below(3));
      spec.time_limit_ms = below(2) == 0 ? 0 : static_cast<std::int64_t>(1 + below(50)) * 60'000;
      spec.user = below(2) == 0 ? "ann" : "bob";
      jobs.add({submitted_job({JobId{id}, kShows, spec}, WallTime{}), {}, {}});
      const Kind kind{spec.resources.at("cpu"), std::bit_width(spec.gang ? spec.tasks_min : 1U)};
      waiting[id] = {kind, spec.tasks_min};
      tasks_of[kind] += spec.tasks_min;
    }
    const std::size_t ranges = 1 + below(10);
    std::optional<WallTime> now;
    if (below(4) != 0) now = WallTime{static_cast<std::int64_t>(below(7200)) * 1'000'000};
    const auto window = jobs.window(ranges, static_cast<std::uint32_t>(1 + below(30)), 0, now);
    REQUIRE(window.next.size() <= 2 * ranges);
    std::set<std::pair<JobId, std::uint32_t>> shown;
    std::map<Kind, std::int64_t> hidden_of = tasks_of;
    std::map<TaskKind, Kind> kinds;
    for (const WaitingRange& range : window.next) {
      const auto& [kind, tasks] = waiting.at(range.job.value);
      REQUIRE(kinds.try_emplace(range.kind, kind).first->second == kind);
      if (range.is_gang) REQUIRE(range.count == tasks);
      hidden_of[kind] -= range.count;
      for (std::uint32_t i = 0; i < range.count; ++i)
        REQUIRE(shown.emplace(range.job, range.first_index + i).second);
    }
    for (const WaitingRange& range : window.next) {
      REQUIRE(range.hides_alike == (hidden_of.at(kinds.at(range.kind)) > 0));
      hidden += range.hides_alike ? 1 : 0;
    }
    late += now && window.next.size() > ranges ? 1 : 0;
  }
  CHECK(hidden > 100);
  CHECK(late > 20);
}

TEST_CASE("a queue knows the first of each kind", "[property][tenant_jobs]") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    JobQueue<std::uint64_t> queue;
    std::map<QueueKey, TaskKind> naive;
    for (int step = 0; step < 300; ++step) {
      const QueueKey key{static_cast<std::int64_t>(random() % 3), JobId{random() % 20}};
      const TaskKind kind{random() % 4};
      if (random() % 2 == 0) {
        REQUIRE(queue.insert(key, kind, key.second.value) == naive.emplace(key, kind).second);
      } else if (naive.contains(key)) {
        REQUIRE(queue.erase(key, naive.at(key)));
        naive.erase(key);
      } else {
        REQUIRE_FALSE(queue.erase(key, kind));
      }
      std::map<TaskKind, QueueKey> firsts;
      for (const auto& [at, of] : naive) firsts.try_emplace(of, at);
      REQUIRE(queue.firsts().size() == firsts.size());
      for (const auto& [first, of] : queue.firsts()) REQUIRE(firsts.at(of) == first);
      REQUIRE(queue.jobs().size() == naive.size());
      for (const auto& [of, first] : firsts) REQUIRE(queue.of(of).begin()->first == first);
    }
  }
}

}  // namespace fairwater
