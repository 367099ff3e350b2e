// Clocks of machines that are set while a cluster works.
#include <catch2/catch.hpp>

#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

constexpr const char* kTenYears_s = "315360000";

/// What is started meanwhile has a wall clock that can be set.
class SetClock {
 public:
  explicit SetClock(std::filesystem::path file) : file_(std::move(file)) {
    set("0");
    ::setenv("LD_PRELOAD", SET_CLOCK_LIBRARY, 1);
    // In a build with AddressSanitizer, whose library wants to be the first.
    ::setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
    ::setenv("FAIRWATER_CLOCK_AHEAD", file_.c_str(), 1);
  }
  ~SetClock() { stop(); }
  static void stop() {
    for (const char* name : {"LD_PRELOAD", "ASAN_OPTIONS", "FAIRWATER_CLOCK_AHEAD"})
      ::unsetenv(name);
  }
  void set(const std::string& seconds_ahead) const { std::ofstream(file_) << seconds_ahead; }

 private:
  std::filesystem::path file_;
};

std::size_t archived_files(const std::filesystem::path& directory) {
  std::size_t files = 0;
  if (std::filesystem::exists(directory))
    for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(directory))
      ++files;
  return files;
}

}  // namespace

TEST_CASE("clocks that are set ahead by ten years for some seconds leave nothing behind",
          "[scenario][clock][slow]") {
  Cluster cluster({.agents = {{"node1"}},
                   .tenants = tenants({{"a", 1}, {"b", 1}}),
                   .coordinator_lines = "history: {checkpoint_every: 20, keep_jobs: 1h, archive: "
                                        "{age: 1d}}\n"});
  const SetClock clock(cluster.directory() / "clock");
  cluster.start();
  SetClock::stop();  // the command line's is right
  const auto archive = cluster.coordinator_data() / "history";
  const auto run = [&](const std::string& command) {
    const auto id = cluster.submit(
        job_file("a", 1, "time_limit: 1m\ncommand: [bash, -c, '" + command + "']\n"));
    REQUIRE(cluster.wait({id}) == 0);
    return id;
  };
  const auto first = run("echo kept");
  harness::wait_until("history is cut twice", Duration(60'000), [&] {
    run("sleep 0.2");
    return archived_files(archive) >= 2;
  });
  const auto listed = cluster.ask({"job", "list"})["jobs"].size();
  const auto files = archived_files(archive);
  const auto across = cluster.submit(job_file("a", 2, "command: [sleep, '14']\ntime_limit: 1m\n"));
  REQUIRE(cluster
              .fairwater(
                  {"node", "drain", "node1", "--reason", "later", "--at", "2h", "--deadline", "1s"})
              .status == 0);

  clock.set(kTenYears_s);
  // Longer than the lease, and than history waits until it is looked at.
  REQUIRE(cluster.wait({across}) == 0);
  CHECK(cluster.log_of("coordinator").find("the clock was set ahead by") != std::string::npos);
  clock.set("0");
  const auto last = run("sleep 1");

  CHECK(cluster.ask({"job", "list"})["jobs"].size() >= listed + 2);
  CHECK(archived_files(archive) >= files);
  CHECK(cluster.fairwater({"job", "logs", std::to_string(first)}).output == "kept\n");
  CHECK(cluster.job(across)["task_list"][0]["attempts"] == 1);
  const double begun = harness::seconds_since_1970(cluster.job(first)["submitted_at"]);
  const double ended = harness::seconds_since_1970(cluster.job(last)["finished_at"]);
  CHECK(ended - begun < 600);
  CHECK(ended - harness::seconds_since_1970(cluster.job(last)["started_at"]) >= 1);
  const json used = cluster.ask({"usage", "--until", "2100-01-01", "--by", "total"});
  CHECK(used["usage"][0]["used_ms"]["cpu"] > 2 * 14'000 * 1000);
  CHECK(used["usage"][0]["used_ms"]["cpu"] < 200 * 1000 * 1000);
  for (const json& net : cluster.ask({"ledger", "show"})["tenants"])
    CHECK(std::abs(net["net"].get<double>()) < 200.0 * 1000 * 1000);
  CHECK(cluster.ask({"ledger", "verify", "--archive"})["ok"] == true);
}

TEST_CASE("a coordinator whose clock is behind its ledger says so", "[scenario][clock]") {
  Cluster cluster({});
  SetClock clock(cluster.directory() / "clock");
  clock.set(kTenYears_s);
  cluster.start_coordinator();
  cluster.stop_coordinator();
  CHECK(cluster.log_of("coordinator").find("stand still") == std::string::npos);
  SetClock::stop();
  cluster.start_coordinator();
  CHECK_THAT(cluster.log_of("coordinator"),
             Catch::Contains("and this machine's clock is 36") &&
                 Catch::Contains("behind that: until then the ledger's times stand still"));
}

}  // namespace fairwater::scenario
