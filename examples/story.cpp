// The story that `./dev run` tells: three tenants share a cluster of real processes on this
// machine, two of them of one faculty. One goes idle and lends, comes back and is repaid; the
// coordinator is killed and nothing is lost; a gang starts at once, and an elastic job grows into
// what the others leave. Every figure is measured.
#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <thread>

#include <fmt/format.h>

#include "examples/screen.hpp"
#include "examples/usage.hpp"
#include "tests/harness/work_log.hpp"

namespace fairwater::story {

namespace {

using nlohmann::json;

constexpr int kQueuedFiles = 150;  // of a tenth of a second each
constexpr int kProcessors = 12;    // three agents of four; a task takes one
/// A debt of less is less than what a task of these jobs takes: not worth waiting for.
constexpr double kEvenCoreSeconds = 1;
/// Its tasks are told to start at once: those that start later have missed an order, which is sent
/// again after seconds, or were granted apart.
constexpr double kGangStartsWithinSeconds = 2;
const std::vector<std::string> kTenants{"physics", "biology", "chemistry"};
const std::map<std::string, double> kPaidFor{{"physics", 50}, {"biology", 30}, {"chemistry", 20}};

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::filesystem::path examples() { return FAIRWATER_EXAMPLES; }

harness::ClusterSetup setup() {
  harness::ClusterSetup setup;
  for (const char* name : {"north", "east", "south"}) setup.agents.push_back({name});
  setup.lease = "15s";
  setup.tenants = read_file(examples() / "tenants.yaml");
  return setup;
}

/// Of a balance in an answer that names its currency.
double core_seconds(const json& unit_ms, const json& answer) {
  if (answer["currency"] != "unit_ms") throw std::runtime_error("the ledger does not count time");
  return unit_ms.get<double>() * answer["millicores_per_unit"].get<double>() / 1e6;
}

std::string standing(const std::string& tenant, double net) {
  return fmt::format("{} {} {:.1f} core-seconds", tenant, net < 0 ? "owes" : "is owed",
                     std::abs(net));
}

class Story {
 public:
  Story() : cluster_(setup()), screen_(kTenants), log_(cluster_.directory() / "starts") {
    // Every bash reads BASH_ENV first: so each task leaves a line of its own, which no part of
    // Fairwater writes.
    std::ofstream(startup_file()) << log_.start_line() << '\n';
  }

  /// True when all that it promises held.
  bool tell();

 private:
  struct Moment {
    std::map<std::string, int> running;
    std::map<std::string, int> pending;
    std::map<std::string, double> net;  ///< core-seconds
  };

  void begin();
  void everybody_is_busy();
  void biology_goes_idle();
  void biology_comes_back();
  void coordinator_is_killed();
  void everything_finishes();
  void say_gang(std::uint64_t id);
  void submit_queue();
  void say_queue();
  [[nodiscard]] std::filesystem::path queue() const { return cluster_.directory() / "queue"; }
  bool report();

  void submit(const std::string& job);
  [[nodiscard]] Moment ask() const;
  /// Shows a moment each second and asks four times in between, until `done`. Counts towards the
  /// shares of the phase.
  Moment watch(const std::function<std::string(const Moment&)>& note,
               const std::function<bool(const Moment&)>& done);
  [[nodiscard]] double elapsed() const { return wall_clock() - begun_; }
  [[nodiscard]] std::filesystem::path startup_file() const {
    return cluster_.directory() / "startup.sh";
  }
  void say_shares(const std::string& what, double from, double until) const;
  [[nodiscard]] std::string debts() const;
  bool promise(bool kept, const std::string& text);

  harness::Cluster cluster_;
  Screen screen_;
  harness::WorkLog log_;
  std::vector<std::uint64_t> jobs_;
  std::uint64_t elastic_ = 0;  ///< not among them: how often its tasks start is nobody's promise
  double begun_ = wall_clock();
  double all_busy_from_ = 0, all_busy_until_ = 0;
  std::map<std::string, std::string>
      kept_busy_with_;  ///< tenant to job: another one when little of it waits
  bool all_kept_ = true;
};

bool Story::tell() {
  begin();
  everybody_is_busy();
  biology_goes_idle();
  biology_comes_back();
  coordinator_is_killed();
  everything_finishes();
  return report();
}

void Story::begin() {
  screen_.title("Fairwater: three tenants, one cluster");
  cluster_.start_coordinator();
  cluster_.apply_tenants(setup().tenants);
  screen_.say("A coordinator at " + cluster_.address() + ", three agents of four processors each,");
  screen_.say("and what they keep, in " + cluster_.directory().string() +
              ". Paid for (examples/tenants.yaml; physics and biology are one faculty):");
  for (const auto& tenant : kTenants) {
    screen_.say(fmt::format("  {} {:2.0f} %",
                            screen_.coloured(tenant, fmt::format("{:10}", tenant)),
                            kPaidFor.at(tenant)));
  }
  screen_.say(
      "Every letter or block below is a processor at work for one of them, on a process of its "
      "own.");
}

void Story::everybody_is_busy() {
  screen_.heading("Everybody is busy: physics compresses, biology hashes, chemistry sorts");
  for (const char* job : {"compress", "hash", "sort"}) submit(job);
  kept_busy_with_ = {{"physics", "compress"}, {"chemistry", "sort"}};
  cluster_.start_agents();
  begun_ = wall_clock();
  all_busy_from_ = begun_ + 0.5;  // the first twelve processes start
  watch([](const Moment&) { return std::string(); },
        [](const Moment& now) { return now.pending.at("biology") == 0; });
  all_busy_until_ = wall_clock();
  say_shares("held", all_busy_from_, all_busy_until_);
}

void Story::biology_goes_idle() {
  screen_.heading("Biology has no more work: physics, of its faculty, uses its part, and owes it");
  const double until = elapsed() + 7;
  watch([](const Moment& now) { return standing("biology", now.net.at("biology")); },
        [&](const Moment&) { return elapsed() > until; });
  screen_.say(debts());
}

void Story::biology_comes_back() {
  screen_.heading("Biology comes back: its debtors give up half of their parts until all is even");
  kept_busy_with_["biology"] = "count";
  submit("count");
  const double from = wall_clock();
  watch([](const Moment& now) { return standing("biology", now.net.at("biology")); },
        [](const Moment& now) {
          return now.net.at("biology") <= kEvenCoreSeconds || now.pending.at("biology") == 0;
        });
  say_shares("held meanwhile", from, wall_clock());
  screen_.say(debts());
}

void Story::coordinator_is_killed() {
  screen_.heading("The coordinator is killed (SIGKILL) in the middle of it");
  const Moment before =
      watch([](const Moment&) { return std::string(); },
            [&, until = elapsed() + 1](const Moment&) { return elapsed() > until; });
  int running = 0;
  for (const auto& [tenant, count] : before.running) running += count;
  cluster_.stop_coordinator(SIGKILL);
  screen_.say(fmt::format(
      "killed while {} tasks ran: their processes go on, nobody is there to start more", running));
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // the outage on show
  const double restarted = wall_clock();
  cluster_.start_coordinator();
  const double ready = wall_clock();
  cluster_.wait_for_nodes(3);
  screen_.say(
      fmt::format("started again: ready after {:.0f} ms, all three nodes back after {:.0f} ms",
                  (ready - restarted) * 1e3, (wall_clock() - restarted) * 1e3));
  watch([](const Moment&) { return std::string(); },
        [&, until = elapsed() + 3](const Moment&) { return elapsed() > until; });
}

void Story::everything_finishes() {
  screen_.heading("Everything finishes: six tasks that start at once, and a job that grows");
  kept_busy_with_.clear();
  submit("gang");
  const std::uint64_t gang = jobs_.back();
  submit_queue();
  watch(
      [](const Moment& now) {
        int left = 0;
        for (const auto& tenant : kTenants) left += now.pending.at(tenant) + now.running.at(tenant);
        return fmt::format("{} tasks to go", left);
      },
      [](const Moment& now) {
        for (const auto& tenant : kTenants) {
          if (now.pending.at(tenant) + now.running.at(tenant) > 0) return false;
        }
        return true;
      });
  say_gang(gang);
  say_queue();
  promise(cluster_.wait(jobs_) == 0, "every job succeeded");
}

/// Files for as many workers as there is idle room for.
void Story::submit_queue() {
  for (const char* part : {"todo", "busy", "done"})
    std::filesystem::create_directories(queue() / part);
  for (int i = 0; i < kQueuedFiles; ++i) std::ofstream(queue() / "todo" / std::to_string(i)) << i;
  std::string text = read_file(examples() / "jobs" / "queue.yaml");
  const std::string place = "/tmp/queue}";
  text.replace(text.find(place), place.size(), queue().string() + "}");
  elastic_ = cluster_.submit(text);
}

void Story::say_queue() {
  const bool has_succeeded = cluster_.wait({elastic_}) == 0;
  const auto done = std::filesystem::directory_iterator(queue() / "done");
  const auto files = std::distance(std::filesystem::begin(done), std::filesystem::end(done));
  const json tasks = cluster_.job(elastic_)["tasks"];
  const int grown = tasks["succeeded"].get<int>() - 1;
  promise(has_succeeded && grown > 0 && files == kQueuedFiles,
          fmt::format("the elastic job began with 1 task and grew by {}: {} of {} files are done",
                      grown, files, kQueuedFiles));
}

void Story::say_gang(std::uint64_t id) {
  const json gang = cluster_.job(id);
  std::map<std::string, int> tasks_on;
  double first = wall_clock();
  double last = 0;
  for (const json& task : gang["task_list"]) {
    const double started = harness::seconds_since_1970(task["started_at"]);
    first = std::min(first, started);
    last = std::max(last, started);
    ++tasks_on[task["node"]];
  }
  std::string nodes;
  for (const auto& [node, tasks] : tasks_on)
    nodes += fmt::format("{}{} on {}", nodes.empty() ? "" : ", ", tasks, node);
  const json& counts = gang["tasks"];
  promise(
      counts["succeeded"] == counts["total"] && last >= first &&
          last - first < kGangStartsWithinSeconds,
      fmt::format("the gang's tasks started within {:.0f} ms: {}", (last - first) * 1e3, nodes));
}

bool Story::report() {
  screen_.heading("The report");
  const auto used = seconds_run(occupations(cluster_, jobs_), 0, wall_clock());
  const auto busy = seconds_run(occupations(cluster_, jobs_), all_busy_from_, all_busy_until_);
  double total = 0, busy_total = 0;
  for (const auto& tenant : kTenants) {
    total += used.at(tenant);
    busy_total += busy.at(tenant);
  }
  screen_.say("tenant       paid for   while all were busy   over all   core-seconds       net");
  const json ledger = cluster_.ask({"ledger", "show"});
  for (const auto& tenant : kTenants) {
    screen_.say(fmt::format("{} {:8.1f} % {:19.1f} % {:8.1f} % {:14.1f} {:>+9.1f}",
                            screen_.coloured(tenant, fmt::format("{:10}", tenant)),
                            kPaidFor.at(tenant), 100 * busy.at(tenant) / busy_total,
                            100 * used.at(tenant) / total, used.at(tenant),
                            core_seconds(ledger["net"].value(tenant, 0.0), ledger)));
  }
  screen_.say("ledger: " + debts());

  int submitted = 0;
  for (const std::uint64_t id : jobs_) submitted += cluster_.job(id)["tasks"]["total"].get<int>();
  int lost = submitted, twice = 0;
  for (const auto& [task, starts] : log_.starts()) {
    --lost;
    twice += starts > 1 ? 1 : 0;
  }
  promise(lost == 0 && twice == 0,
          fmt::format("tasks: {} submitted, {} started by their own account; twice: {}, lost: {}",
                      submitted, submitted - lost, twice, lost));
  const json verified = cluster_.ask({"ledger", "verify"});
  promise(verified["ok"] == true,
          fmt::format("ledger verify: {}, rebuilt from {} journal records, nets sum to {}",
                      verified["ok"] == true ? "ok" : "FAILED", verified["cycles"].dump(),
                      verified["net_sum"].dump()));
  screen_.say(fmt::format("{:.0f} seconds. Now play with one yourself: ./dev up", elapsed()));
  return all_kept_;
}

void Story::submit(const std::string& job) {
  const std::string text = read_file(examples() / "jobs" / (job + ".yaml"));
  jobs_.push_back(cluster_.submit(
      text + fmt::format("environment: {{BASH_ENV: {}}}\n", startup_file().string())));
}

Story::Moment Story::ask() const {
  Moment moment;
  const json listed = cluster_.ask({"tenant", "list"});
  for (const auto& tenant : listed["tenants"]) {
    if (!kPaidFor.contains(tenant["name"])) continue;  // the faculty is its tenants
    moment.running[tenant["name"]] = tenant["running_tasks"];
    moment.pending[tenant["name"]] = tenant["pending_tasks"];
    moment.net[tenant["name"]] = core_seconds(tenant["net"], listed);
  }
  return moment;
}

Story::Moment Story::watch(const std::function<std::string(const Moment&)>& note,
                           const std::function<bool(const Moment&)>& done) {
  double shown = 0;
  for (;;) {
    Moment now = ask();
    for (const auto& [tenant, job] : kept_busy_with_) {
      if (now.pending.at(tenant) < kProcessors) submit(job);
    }
    const bool last = done(now);
    if (wall_clock() - shown >= 1 || last) {
      shown = wall_clock();
      screen_.moment(elapsed(), now.running, kProcessors, note(now));
    }
    if (last) return now;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // how often to look
  }
}

void Story::say_shares(const std::string& what, double from, double until) const {
  const auto used = seconds_run(occupations(cluster_, jobs_), from, until);
  double total = 0;
  for (const auto& [tenant, seconds] : used) total += seconds;
  std::string line = what + ":";
  for (const auto& tenant : kTenants) {
    const auto found = used.find(tenant);
    line += fmt::format("  {} {:.1f} %", screen_.coloured(tenant, tenant),
                        found == used.end() ? 0 : 100 * found->second / total);
  }
  screen_.say(line + "   (paid for: 50, 30, 20)");
}

std::string Story::debts() const {
  const json ledger = cluster_.ask({"ledger", "show"});
  if (ledger["ious"].empty()) return "nobody owes anybody anything";
  std::string text;
  for (const auto& iou : ledger["ious"]) {
    text += fmt::format("{}{} owes {} {:.1f} core-seconds", text.empty() ? "" : ", ",
                        iou["debtor"].get<std::string>(), iou["creditor"].get<std::string>(),
                        core_seconds(iou["units"], ledger));
  }
  return text;
}

bool Story::promise(bool kept, const std::string& text) {
  screen_.say((kept ? "" : "NOT KEPT: ") + text);
  all_kept_ = all_kept_ && kept;
  return kept;
}

}  // namespace

}  // namespace fairwater::story

int main() {
  try {
    return fairwater::story::Story().tell() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "the story broke off: " << error.what() << '\n';
    return 1;
  }
}
