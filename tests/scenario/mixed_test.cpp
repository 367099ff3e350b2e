// Everything at once, under random kills: a tree of tenants and two people of one, arrays, gangs,
// elastic jobs, services, devices, gpus that tasks share, preemption and a profile. Afterwards the
// journal is read from its beginning, also for how long a min waited for what others held beyond
// their quotas.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <future>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/scenario/file_queue.hpp"
#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

constexpr int kProcessorsPerNode = 3;  // every task takes one
constexpr int kNodes = 3;
constexpr int kChemistryMin = 3;  // processors

ClusterSetup mixed_cluster() {
  ClusterSetup setup{.agents = {},
                     .tenants =
                         "tenants:\n"
                         "  - name: faculty\n"
                         "    weight: 3\n"
                         "    tenants: [{name: physics, weight: 2}, {name: biology, weight: 1}]\n"
                         "  - {name: chemistry, weight: 1, min: {cpu: 3}}\n",  // kChemistryMin
                     .lease = "5s",
                     .heartbeat_interval = "200ms"};
  setup.coordinator_lines =
      "preempt_after: 1s\n"
      "resources:\n"
      "  - {name: cpu, granule: 0.1, units: 1}\n"
      "  - {name: memory, granule: 256MiB, units: 1}\n"
      "  - {name: gpu, granule: 1, units: 10}\n"
      "  - {name: gpu_milli, granule: 100, units: 1}\n";
  for (int node = 1; node <= kNodes; ++node) {
    setup.agents.push_back({.name = fmt::format("node{}", node),
                            .resources = fmt::format("cpu: {}, memory: 1GiB", kProcessorsPerNode)});
    setup.agents.back().configuration +=
        node < kNodes ? "devices: {gpu: [0, 1]}\n" : "devices: {gpu_milli: [0]}\n";
  }
  return setup;
}

/// Each task takes one of its node's places, which it has for as long as one of its processes
/// lives.
std::string taking_a_place(const std::filesystem::path& place) {
  std::string script =
      fmt::format("node=${{FAIRWATER_ATTEMPT%/tasks/*}}; node={}/${{node//[^a-z0-9]/_}}; has=\n",
                  place.string());
  for (int i = 1; i <= kProcessorsPerNode; ++i)
    script += fmt::format(
        "[ $has ] || {{ exec {{p}}>$node.{0}; if flock -n $p; then has={0}; else exec {{p}}>&-; "
        "fi; }}\n",
        i);
  return script + fmt::format("[ $has ] || echo $FAIRWATER_ATTEMPT >> {}/over\n", place.string());
}

std::string mixed_job(const std::string& tenant, const std::string& more, const std::string& script,
                      const std::string& devices = "") {
  return fmt::format(
      "tenant: {}\n{}resources: {{cpu: 1, memory: 32MiB{}}}\ngrace: 1s\ncommand: {}\n", tenant,
      more, devices, json({"bash", "-c", script}).dump());
}

/// Holds a lock for each device that it was given, on its node.
std::string holding_its_devices(const std::filesystem::path& place) {
  return fmt::format(
      "for d in ${{FAIRWATER_DEVICES//,/ }}; do exec {{lock}}> $node.$d; "
      "flock -n $lock || echo $d twice >> {0}/twice; done\nsleep 0.4",
      place.string());
}

/// Of 400 thousandths of a gpu there are two in one.
std::string sharing_its_gpu(const std::filesystem::path& place) {
  return fmt::format(
      "[ $FAIRWATER_GPU_SHARE = 400 ] || echo $FAIRWATER_ATTEMPT >> {0}/twice\n"
      "for d in $FAIRWATER_DEVICES; do exec {{one}}> $node.$d.1 {{two}}> $node.$d.2; "
      "flock -n $one || flock -n $two || echo $d thrice >> {0}/twice; done\nsleep 0.4",
      place.string());
}

/// What the journal says, followed from its first record: gangs are whole, no attempt begins twice,
/// and none while another of its task runs.
void check_journal(const Cluster& cluster, const std::set<std::uint64_t>& gangs, int gang_size) {
  std::set<std::string> runs;  // "job.task"
  std::set<std::string> begun;
  const auto name_of = [](const json& task) {
    return fmt::format("{}.{}", task["job"].get<std::uint64_t>(), task["task"].get<int>());
  };
  const auto end = [&](const json& task) { CHECK(runs.erase(name_of(task)) == 1); };
  for (const json& record : journal_of(cluster)) {
    const std::string kind = record["kind"];
    INFO("cycle " << record["cycle"] << " " << kind);
    if (kind == "cycle") {
      std::map<std::uint64_t, int> granted_of_gang;
      for (const json& deal : record["deals"])
        for (const json& grant : deal["grants"]) {
          CHECK(begun.insert(name_of(grant) + "." + grant["attempt"].dump()).second);
          CHECK(runs.insert(name_of(grant)).second);
          const auto job = grant["job"].get<std::uint64_t>();
          if (gangs.contains(job)) ++granted_of_gang[job];
        }
      for (const auto& [gang, tasks] : granted_of_gang) CHECK(tasks == gang_size);
    }
    if (kind == "tasks_finished")
      for (const json& result : record["results"]) end(result);
    if (kind == "tasks_requeued")
      for (const json& task : record["tasks"]) end(task);
    if (kind == "launches_failed")
      for (const json& launch : record["launches"]) end(launch);
  }
  CHECK(runs.empty());
}

/// From when to when, in seconds since 1970: by the times of the journal's records.
struct Stretch {
  double from = 0;
  double until = 0;
};

/// Its newest record, by number.
std::uint64_t newest_record(const Cluster& cluster) {
  return cluster.ask({"status"})["cluster"]["cycle"].get<std::uint64_t>();
}

/// Its lease holds it up meanwhile, so its state does not tell.
void wait_until_agent_is_back(const Cluster& cluster, const std::string& node,
                              std::chrono::system_clock::time_point killed) {
  const double killed_at = std::chrono::duration<double>(killed.time_since_epoch()).count();
  harness::wait_until(node + "'s agent is back", Duration(20'000), [&] {
    return harness::seconds_since_1970(cluster.node(node)["last_heartbeat"]) > killed_at;
  });
}

/// Something was killed or closed between these records of the journal.
struct Trouble {
  std::uint64_t from = 0;
  std::uint64_t until = 0;
};

/// When a tenant had a task that waits and held less than its min, while others held what they were
/// granted beyond their quotas: from the journal, whose every task takes one processor.
class WaitsOfMin {
 public:
  WaitsOfMin(std::string tenant, std::size_t min) : tenant_(std::move(tenant)), min_(min) {}

  void follow(const json& record) {
    const double time = harness::seconds_since_1970(record["time"]);
    if (waits() && time > time_) {
      if (!stretches_.empty() && stretches_.back().until == time_)
        stretches_.back().until = time;
      else
        stretches_.push_back({time_, time});
    }
    time_ = time;
    apply(record);
  }
  [[nodiscard]] const std::vector<Stretch>& stretches() const { return stretches_; }

  /// Of the parts of all stretches between which nothing was disturbed.
  [[nodiscard]] double longest(const std::vector<Stretch>& disturbed) const {
    double longest = 0;
    for (const Stretch& stretch : stretches_) {
      double from = stretch.from;
      for (const Stretch& trouble : disturbed) {
        if (trouble.until <= from || trouble.from >= stretch.until) continue;
        longest = std::max(longest, trouble.from - from);
        from = trouble.until;
      }
      longest = std::max(longest, stretch.until - from);
    }
    return longest;
  }

 private:
  using TaskName = std::pair<std::uint64_t, int>;
  static TaskName name_of(const json& task) { return {task["job"], task["task"]}; }
  [[nodiscard]] bool waits() const {
    const auto holds = std::count_if(running_.begin(), running_.end(), [&](const auto& task) {
      return task.second["tenant"] == tenant_;
    });
    const bool others_hold_more =
        std::any_of(running_.begin(), running_.end(), [&](const auto& task) {
          return task.second["beyond_quota"] == true && task.second["tenant"] != tenant_;
        });
    return others_hold_more && !waiting_.empty() && static_cast<std::size_t>(holds) < min_;
  }
  /// `again`: it waits once more.
  void end(const json& task, bool again) {
    const auto ended = running_.extract(name_of(task));
    if (again && !ended.empty() && ended.mapped()["tenant"] == tenant_)
      waiting_.insert(name_of(task));
  }
  void apply(const json& record) {
    const std::string kind = record["kind"];
    if (kind == "job_submitted" && record["tenant"] == tenant_)
      for (int index = 0; index < record["tasks"].get<int>(); ++index)
        waiting_.emplace(record["job"].get<std::uint64_t>(), index);
    if (kind == "job_cancelled")
      std::erase_if(waiting_, [&](const TaskName& task) { return task.first == record["job"]; });
    if (kind == "cycle")
      for (const json& deal : record["deals"])
        for (const json& grant : deal["grants"]) {
          waiting_.erase(name_of(grant));
          running_[name_of(grant)] = grant;
        }
    if (kind == "tasks_finished")
      for (const json& result : record["results"])  // what its supervisor lost pauses
        end(result, result["reason"] != "exited" && result["reason"] != "supervisor_lost");
    if (kind == "tasks_requeued")
      for (const json& task : record["tasks"]) end(task, true);
    if (kind == "launches_failed")
      for (const json& launch : record["launches"]) end(launch, false);  // it pauses
  }

  const std::string tenant_;
  const std::size_t min_;
  double time_ = 0;
  std::set<TaskName> waiting_;  ///< of the tenant
  std::map<TaskName, json> running_;
  std::vector<Stretch> stretches_;
};

/// A min waits no longer than the grace of what has grown, and a heartbeat, for its room.
void check_min(const Cluster& cluster, const std::vector<Trouble>& troubles) {
  constexpr double kGrace_s = 2;  // of the queue
  constexpr double kHeartbeat_s = 0.2;
  constexpr double kOfMachine_s = 4;  // which is busy: until processes are told and their ends read
  const std::vector<json> journal = journal_of(cluster);
  WaitsOfMin waits("chemistry", kChemistryMin);
  std::map<std::uint64_t, double> times;
  for (const json& record : journal) {
    waits.follow(record);
    times[record["cycle"]] = harness::seconds_since_1970(record["time"]);
  }
  std::vector<Stretch> disturbed;
  for (const Trouble& trouble : troubles)  // over at the first record behind it at the latest
    disturbed.push_back({times.at(trouble.from), times.upper_bound(trouble.until)->second});
  CHECK(waits.stretches().size() > 0);
  CHECK(waits.longest(disturbed) <= kGrace_s + kHeartbeat_s + kOfMachine_s);
}

/// Whoever submits with the token is the job's user.
std::uint64_t submit_as(const Cluster& cluster, const std::string& user, const std::string& token,
                        const std::string& job) {
  const auto submitted = cluster.fairwater({"job", "submit", "-", "--quiet"}, job, token);
  REQUIRE(submitted.status == 0);
  const std::uint64_t id = std::stoull(submitted.output);
  CHECK(cluster.job(id)["user"] == user);
  return id;
}

/// The urgent tasks run within their tenant's quota in the place of others that hold more than
/// theirs, and would otherwise not end.
void check_preemption(const Cluster& cluster, const std::string& script,
                      std::vector<std::uint64_t>& jobs) {
  const auto go = (cluster.directory() / "go").string();
  const int tasks = kNodes * kProcessorsPerNode - 1;  // all that the service leaves
  jobs.push_back(
      cluster.submit(mixed_job("biology", fmt::format("tasks: {}\n", tasks),
                               script + fmt::format("until [ -e {} ]; do sleep 0.05; done", go))));
  harness::wait_until("others have all that the service leaves", Duration(30'000),
                      [&] { return cluster.job(jobs.back())["tasks"]["running"] == tasks; });
  const auto urgent = cluster.submit(
      mixed_job("chemistry", "tasks: 2\npriority: 5\npreempt: true\n", script + "sleep 0.3"));
  CHECK(cluster.wait({urgent}) == 0);
  std::ofstream{go} << "";
  CHECK(cluster.wait({jobs.back()}) == 0);
  std::size_t preempted = 0;
  for (const json& record : journal_of(cluster))
    if (record["kind"] == "tasks_reclaimed")
      for (const json& task : record["tasks"])
        preempted += task["preempted"] == true && task["job"] == jobs.back();
  CHECK(preempted == 2);
}

TEST_CASE("all kinds of work at once survive random kills", "[scenario][crash]") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  Cluster cluster(mixed_cluster());
  cluster.start();
  const auto place = cluster.directory() / "locks";
  std::filesystem::create_directories(place);
  constexpr int kFiles = 600;
  const FileQueue queue(cluster, kFiles);
  constexpr int kGangSize = 4;
  const std::string first = taking_a_place(place);
  const std::string pause = first + "sleep 0.3";
  const auto service = cluster.submit(
      mixed_job("chemistry", "kind: service\n", first + "while :; do sleep 0.1; done"));
  harness::wait_until("the service runs", Duration(30'000),
                      [&] { return cluster.job(service)["tasks"]["running"] == 1; });
  std::vector<std::uint64_t> jobs;
  check_preemption(cluster, first, jobs);
  constexpr int kProcessors = kNodes * kProcessorsPerNode;
  jobs.push_back(cluster.submit(queue.job(1, 2 * kProcessors, "biology", first)));
  harness::wait_until("the queue has all that the service leaves", Duration(30'000), [&] {
    return cluster.job(jobs.back())["tasks"]["running"] == kProcessors - 1;
  });
  // Within its min: what has grown makes room.
  jobs.push_back(cluster.submit(mixed_job("chemistry", "tasks: 4\n", pause)));
  CHECK(cluster.wait({jobs.back()}) == 0);
  std::vector<Trouble> troubles;
  std::set<std::uint64_t> gangs;
  std::map<std::string, std::string> tokens;
  for (const char* user : {"ada", "bob"})
    tokens[user] = cluster.ask({"token", "create", "--tenant", "biology", "--user", user})["token"];
  auto profile = std::async(std::launch::async, [&] {
    return cluster.fairwater({"profile", "run", "-", "--vary", "memory=32MiB,64MiB", "--json"},
                             mixed_job("physics", "class: pause\n", pause));
  });
  for (int round = 0; round < 12; ++round) {
    jobs.push_back(cluster.submit(mixed_job("physics", "tasks: 6\n", pause)));
    const auto& [user, token] = *std::next(tokens.begin(), round % 2);
    jobs.push_back(submit_as(
        cluster, user, token,
        mixed_job("biology", "tasks: 3\n", first + holding_its_devices(place), ", gpu: 1")));
    jobs.push_back(cluster.submit(
        mixed_job("physics", "tasks: 3\n", first + sharing_its_gpu(place), ", gpu_milli: 400")));
    if (round % 3 == 0)
      gangs.insert(jobs.emplace_back(cluster.submit(mixed_job(
          "physics", fmt::format("gang: true\ntasks: {}\nretries: 1000\n", kGangSize), pause))));
    if (round % 2 == 0)
      jobs.push_back(
          cluster.submit(mixed_job("chemistry", "tasks: 2\npriority: 5\npreempt: true\n", pause)));
    const std::string node = fmt::format("node{}", 1 + random() % kNodes);
    const std::uint64_t before = newest_record(cluster);
    const auto trouble = random() % 4;
    switch (trouble) {
      case 0:
        cluster.stop_coordinator(SIGKILL);
        cluster.start_coordinator();
        break;
      case 1: {
        cluster.stop_agent(node, SIGKILL);
        const auto killed = std::chrono::system_clock::now();
        cluster.start_agent(node);
        wait_until_agent_is_back(cluster, node, killed);
        break;
      }
      case 2:
        CHECK(cluster.fairwater({"node", "drain", node, "--reason", "mixed"}).status == 0);
        CHECK(cluster.fairwater({"node", "undrain", node}).status == 0);
        break;
      default:
        std::this_thread::sleep_for(Duration(random() % 1000));  // a quiet moment
    }
    cluster.wait_for_nodes(kNodes);
    if (trouble < 3) troubles.push_back({before, newest_record(cluster)});
  }
  CHECK(cluster.wait(jobs, Duration(120'000)) == 0);
  const auto measured = profile.get();
  INFO(measured.output);
  CHECK(measured.status == 0);
  const json curve = cluster.ask({"profile", "show", "pause", "--tenant", "physics"})["profile"];
  CHECK(curve["amounts"].size() == 2);
  CHECK(cluster.fairwater({"job", "cancel", std::to_string(service)}).status == 0);
  CHECK(cluster.wait({service}) == 125);
  for (const std::uint64_t job : jobs) CHECK(cluster.job(job)["state"] == "succeeded");
  CHECK(queue.files("done") == kFiles);
  CHECK_FALSE(std::filesystem::exists(place / "twice"));
  CHECK(read_file(place / "over").empty());
  check_journal(cluster, gangs, kGangSize);
  check_min(cluster, troubles);
  CHECK(ledger_is_sound(cluster));
}

}  // namespace
}  // namespace fairwater::scenario
