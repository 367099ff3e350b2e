#include <type_traits>

#include <catch2/catch.hpp>

#include "model/job_validation.hpp"

namespace fairwater {
namespace {

JobSpec sleeping_job() {
  JobSpec spec;
  spec.tenant = "physics";
  spec.command = {"sleep", "1"};
  spec.resources = {{"cpu", 1000}, {"memory", 256}};
  return spec;
}

struct Rejection {
  const char* what;
  void (*spoil)(JobSpec&);
  ErrorCode code;
  const char* field;
  const char* message;
};

JobRecord job_of_three() {
  JobRecord job;
  job.tasks.total = 3;
  return job;
}

}  // namespace

TEST_CASE("a plain job is valid", "[unit][job]") { CHECK(validate(sleeping_job())); }

TEST_CASE("parts of gpus are for jobs of all kinds", "[unit][job]") {
  JobSpec spec = sleeping_job();
  spec.resources["gpu_milli"] = 500;
  spec.tasks_min = spec.tasks_max = 2;
  CHECK(validate(spec));
  spec.preempt = true;
  CHECK(validate(spec));
  spec.gang = true;
  CHECK(validate(spec));
  spec.gang = false;
  spec.tasks_max = 4;
  CHECK(validate(spec));
}

TEST_CASE("an invalid job is refused naming the field", "[unit][job]") {
  using S = JobSpec;
  constexpr auto invalid = ErrorCode::invalid_input;
  const Rejection rejections[] = {
      {"tenant", [](S& s) { s.tenant = "no such!"; }, invalid, "tenant", "'no such!'"},
      {"long name", [](S& s) { s.name.assign(201, 'x'); }, invalid, "name", "201 bytes"},
      {"escape", [](S& s) { s.name = "a\x1b[2J"; }, invalid, "name",
       "'a\\x1b[2J' has control characters; leave them out"},
      {"no UTF-8", [](S& s) { s.name = "caf\xe9"; }, invalid, "name",
       "'caf\\xe9' is not UTF-8; write it in UTF-8"},
      {"class", [](S& s) { s.job_class = "a b"; }, invalid, "class", "'a b'"},
      {"no command", [](S& s) { s.command.clear(); }, invalid, "command", "is missing"},
      {"empty program",
       [](S& s) {
         s.command = {"", "a"};
       },
       invalid, "command", "the program's name, is empty; write the program"},
      {"zero byte",
       [](S& s) {
         s.command = {"a", std::string("b\0c", 3)};
       },
       invalid, "command", "zero byte"},
      {"huge command", [](S& s) { s.command.emplace_back(kMaxCommandBytes, 'x'); }, invalid,
       "command", "are more than 131072"},
      {"large", [](S& s) { s.devices.assign(3000, std::string(100, 'x')); }, invalid, "job",
       "more than 262144"},
      {"long directory", [](S& s) { s.directory = "/" + std::string(4096, 'x'); }, invalid,
       "directory", "4097 bytes are more than 4096"},
      {"long labels", [](S& s) { s.labels.assign(4097, 'x'); }, invalid, "labels",
       "4097 bytes are more than 4096"},
      {"variable", [](S& s) { s.environment.emplace("A=B", "1"); }, invalid, "environment",
       "'A=B'"},
      {"reserved", [](S& s) { s.environment.emplace("FAIRWATER_JOB_ID", "1"); }, invalid,
       "environment.FAIRWATER_JOB_ID", "is set for every task"},
      {"relative path", [](S& s) { s.directory = "tmp"; }, invalid, "directory", "'tmp'"},
      {"cut path", [](S& s) { s.directory = std::string("/a\0b", 4); }, invalid, "directory",
       "'/a\\x00b' contains a zero byte"},
      {"no tasks", [](S& s) { s.tasks_min = s.tasks_max = 0; }, invalid, "tasks",
       "0 is not between 1 and 1000000"},
      {"many tasks", [](S& s) { s.tasks_min = s.tasks_max = 1'000'001; }, invalid, "tasks",
       "1000001 is not between 1 and 1000000"},
      {"none at least",
       [](S& s) {
         s.tasks_min = 0;
         s.tasks_max = 4;
       },
       invalid, "tasks.min", "0 is not between 1 and 1000000"},
      {"very many at most", [](S& s) { s.tasks_max = 1'000'001; }, invalid, "tasks.max",
       "1000001 is not between 1 and 1000000"},
      {"max below min",
       [](S& s) {
         s.tasks_min = 5;
         s.tasks_max = 4;
       },
       invalid, "tasks.max", "4 is below min, which is 5"},
      {"elastic service",
       [](S& s) {
         s.kind = JobKind::service;
         s.tasks_max = 4;
       },
       invalid, "tasks", "a service never is; write one number"},
      {"elastic gang",
       [](S& s) {
         s.gang = true;
         s.tasks_max = 4;
       },
       invalid, "tasks", "start and end together; write one number"},
      {"notice without change", [](S& s) { s.notify = "SIGUSR1"; }, invalid, "notify",
       "do not change; leave it out"},
      {"notice by what ends",
       [](S& s) {
         s.tasks_max = 4;
         s.notify = "SIGKILL";
       },
       invalid, "notify", "'SIGKILL' is not SIGUSR1, SIGUSR2 or SIGHUP"},
      {"elastic from very many",
       [](S& s) {
         s.tasks_min = kMaxGangTasks + 1;
         s.tasks_max = 2 * kMaxGangTasks;
       },
       invalid, "tasks.min", "1001 tasks are more than 1000, the most that start at once"},
      {"nothing asked", [](S& s) { s.resources.clear(); }, invalid, "resources", "some resource"},
      {"zero asked",
       [](S& s) {
         s.resources = {{"cpu", 0}};
       },
       invalid, "resources", "some resource"},
      {"negative", [](S& s) { s.resources["cpu"] = -1; }, invalid, "resources.cpu", "-1"},
      {"neither a part nor whole gpus", [](S& s) { s.resources["gpu_milli"] = 1500; }, invalid,
       "resources.gpu_milli", "1500 is neither"},
      {"resource name", [](S& s) { s.resources["a b"] = 1; }, invalid, "resources", "'a b'"},
      {"labels", [](S& s) { s.labels = "ssd &&"; }, invalid, "labels", ""},
      {"site",
       [](S& s) {
         s.sites = {"a", "a"};
       },
       invalid, "sites", "'a' is named twice"},
      {"device", [](S& s) { s.devices = {"gpu 0"}; }, invalid, "devices",
       "'gpu 0' is not a device's name"},
      {"device twice",
       [](S& s) {
         s.devices = {"gpu0", "gpu0"};
       },
       invalid, "devices", "'gpu0' is named twice"},
      {"devices of a gang",
       [](S& s) {
         s.devices = {"gpu0"};
         s.gang = true;
       },
       invalid, "devices", "leave gang out"},
      {"devices of an elastic job",
       [](S& s) {
         s.devices = {"gpu0"};
         s.tasks_max = s.tasks_min + 1;
       },
       invalid, "devices", "one number of tasks"},
      {"devices and preemption",
       [](S& s) {
         s.devices = {"gpu0"};
         s.preempt = true;
         s.priority = 1;
       },
       invalid, "devices", "leave one of both out"},
      {"limited service",
       [](S& s) {
         s.kind = JobKind::service;
         s.time_limit_ms = 1000;
       },
       invalid, "time_limit", "runs until it is cancelled; leave time_limit out"},
      {"service with retries",
       [](S& s) {
         s.kind = JobKind::service;
         s.retries = 1;
       },
       invalid, "retries", "started again whenever it ends; leave retries out"},
      {"gang of a service",
       [](S& s) {
         s.kind = JobKind::service;
         s.gang = true;
       },
       invalid, "gang", "started again one by one; leave gang out"},
      {"large gang",
       [](S& s) {
         s.gang = true;
         s.tasks_min = s.tasks_max = kMaxGangTasks + 1;
       },
       invalid, "tasks", "1001 tasks are more than 1000, the most that a gang may have"},
      {"priority", [](S& s) { s.priority = 1'000'001; }, invalid, "priority", "1000001"},
      {"time limit", [](S& s) { s.time_limit_ms = -1; }, invalid, "time_limit",
       "-1 ms is not between 0 and ten years"},
      {"grace", [](S& s) { s.grace_ms = 3'600'001; }, invalid, "grace",
       "3600001 ms is not between 0 and one hour"},
      {"lease", [](S& s) { s.lease_ms = 86'400'001; }, invalid, "lease",
       "86400001 ms is not between 0 and one day"},
      {"retries", [](S& s) { s.retries = 1001; }, invalid, "retries",
       "1001 is not between 0 and 1000"},
      {"after 0", [](S& s) { s.after = {JobId{0}}; }, invalid, "after", "0 is not"},
      {"after twice",
       [](S& s) {
         s.after = {JobId{3}, JobId{3}};
       },
       invalid, "after", "3 is named twice"},
  };
  for (const auto& rejection : rejections) {
    INFO(rejection.what);
    JobSpec spec = sleeping_job();
    rejection.spoil(spec);
    const auto job = validate(spec);
    REQUIRE_FALSE(job);
    const ErrorDetails said = details(job.error());
    CHECK(said.code == rejection.code);
    CHECK(said.field == rejection.field);
    CHECK_THAT(said.message, Catch::Contains(rejection.message));
  }
}

TEST_CASE("amounts are left to the profile of a class, by jobs that end", "[unit][job]") {
  JobSpec spec = sleeping_job();
  spec.job_class = "render";
  spec.resources = {{"cpu", 1000}};
  spec.profiled.resources = {"memory"};
  CHECK(validate(spec));
  JobSpec all = spec;
  all.resources.clear();
  all.profiled = {.all = true};
  all.exclusive_cpus = true;  // of as many as the profile gives
  CHECK(validate(all));
  const auto refused = [](JobSpec wrong, auto spoil) {
    spoil(wrong);
    const auto job = validate(std::move(wrong));
    REQUIRE_FALSE(job);
    return details(job.error()).field + ": " + details(job.error()).message;
  };
  CHECK(refused(spec, [](JobSpec& s) { s.job_class.clear(); }) ==
        "resources: auto takes the amounts from the profile of the job's class; write class: NAME");
  CHECK(refused(spec, [](JobSpec& s) { s.kind = JobKind::service; }) ==
        "resources: auto is for jobs that end; write a service's amounts");
  CHECK(refused(spec, [](JobSpec& s) { s.resources["memory"] = 64; }) ==
        "resources.memory: is auto and has an amount");
  CHECK(refused(all, [](JobSpec& s) { s.resources["cpu"] = 1000; }) ==
        "resources: is auto, and has amounts beside it");
  CHECK(refused(spec, [](JobSpec& s) { s.profiled.resources = {"me mory"}; }) ==
        "resources: 'me mory' is not a resource name");
  // What the coordinator filled in is held to the rules, too.
  spec.profiled.runs = 3;
  spec.resources["memory"] = 64;
  CHECK(validate(spec));
  CHECK(refused(spec, [](JobSpec& s) {
          s.resources = {{"memory", 0}};
        }) == "resources: a task must ask for some resource, as in {cpu: 1}");
  spec.exclusive_cpus = true;
  spec.profiled.resources = {"cpu"};
  spec.resources["cpu"] = 1500;
  CHECK(details(validate(spec).error()).field == "cpus");
}

TEST_CASE("only validation makes a job that may be submitted", "[unit][job]") {
  STATIC_REQUIRE_FALSE(std::is_default_constructible_v<AdmittedJob>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<AdmittedJob, JobSpec>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<AdmittedJob, JobSpec, PlacementRulePtr>);
  JobSpec spec = sleeping_job();
  const auto anywhere = validate(spec);
  REQUIRE(anywhere);
  CHECK(anywhere->spec() == spec);
  CHECK(anywhere->rule() == nullptr);
  spec.sites = {"north"};
  const auto there = validate(spec);
  REQUIRE(there);
  REQUIRE(there->rule() != nullptr);
  CHECK(there->rule()->sites == spec.sites);
  spec.labels = "a &&";
  CHECK_FALSE(validate(spec));
}

TEST_CASE("a job's state follows from its counts", "[unit][job]") {
  JobRecord job = job_of_three();
  CHECK(state_of(job) == JobState::pending);
  job.started_at = {1};
  CHECK(state_of(job) == JobState::running);  // also when all of it was requeued
  job.tasks.running = 1;
  job.tasks.succeeded = 2;
  CHECK(state_of(job) == JobState::running);
  job.tasks.running = 0;
  job.tasks.succeeded = 3;
  CHECK(state_of(job) == JobState::succeeded);
  job.tasks.succeeded = 2;
  job.tasks.failed = 1;
  CHECK(state_of(job) == JobState::failed);
}

TEST_CASE("a cancelled job runs until its last task has stopped", "[unit][job]") {
  JobRecord job = job_of_three();
  job.cancelled = true;
  CHECK(state_of(job) == JobState::cancelled);
  job.started_at = {1};
  job.tasks.running = 1;
  job.tasks.cancelled = 2;
  CHECK(state_of(job) == JobState::running);
  job.tasks.running = 0;
  job.tasks.cancelled = 3;
  CHECK(state_of(job) == JobState::cancelled);
}

TEST_CASE("states and reasons have stable names", "[unit][job]") {
  for (const auto state : {JobState::pending, JobState::running, JobState::succeeded,
                           JobState::failed, JobState::cancelled})
    CHECK(job_state_from(to_string(state)) == state);
  CHECK_FALSE(job_state_from("done").has_value());
  CHECK(to_string(EndReason::memory_limit) == "memory_limit");
  CHECK(to_string(TaskState::cancelled) == "cancelled");
}

TEST_CASE("a spec's bytes are those of all its texts", "[unit][job]") {
  const JobSpec plain = sleeping_job();
  JobSpec spec = plain;
  spec.environment.emplace("KEY", std::string(1000, 'v'));
  spec.directory = "/" + std::string(99, 'd');
  spec.after.assign(10, JobId{1});
  const std::size_t more = spec_bytes(spec) - spec_bytes(plain);
  CHECK(more >= 3 + 1000 + 100 + 80);
  CHECK(more < 1500);
}

TEST_CASE("a text is cut between characters", "[unit]") {
  CHECK(cut_text("short", 5) == "short");
  CHECK(cut_text("longer", 4) == "long");
  CHECK(cut_text("a\u00e4b", 2) == "a");  // the second byte of a letter of two
  CHECK(cut_text("a\u00e4b", 3) == "a\u00e4");
  CHECK(cut_text("\u20ac", 2).empty());
}

TEST_CASE("a reason has a bound", "[unit]") {
  CHECK_FALSE(validate_reason(std::string(kMaxReasonBytes, 'r')));
  const auto error = validate_reason(std::string(kMaxReasonBytes + 1, 'r'));
  CHECK(details(error).field == "reason");
  CHECK(details(error).message == "1025 bytes are more than 1024");
}

}  // namespace fairwater
