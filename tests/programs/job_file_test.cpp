#include "input/job_file.hpp"

#include <catch2/catch.hpp>

#include "model/job_validation.hpp"

namespace fairwater {
namespace {

ErrorDetails job_refusal(std::string_view text) {
  const auto file = parse_job_file(text, "job.yaml");
  if (file) return {ErrorCode::internal, "was accepted", ""};
  return details(file.error());
}

}  // namespace

TEST_CASE("a job file leaves amounts to the profile of its class", "[unit][job_file]") {
  const auto read = [](const std::string& resources) {
    const auto file =
        parse_job_file("class: render\ncommand: [a]\nresources: " + resources + "\n", "job.yaml");
    if (!file) FAIL(details(file.error()).message);
    return file->spec;
  };
  const JobSpec all = read("auto");
  CHECK(all.profiled.all);
  CHECK(all.resources.empty());
  const JobSpec both = read("{memory: auto, cpu: auto}");
  CHECK_FALSE(both.profiled.all);
  CHECK(both.profiled.resources == std::vector<std::string>{"cpu", "memory"});
  CHECK(both.resources.empty());
  const JobSpec one = read("{memory: auto, gpu: 1}");
  CHECK(one.profiled.resources == std::vector<std::string>{"memory"});
  CHECK(one.resources == NamedAmounts{{"cpu", 1000}, {"gpu", 1}});
  CHECK_FALSE(read("{cpu: 2}").profiled.wanted());
  CHECK_THAT(job_refusal("command: [a]\nresources: auto\n").message,
             Catch::Contains("write class: NAME"));
  CHECK_THAT(job_refusal("class: a\ncommand: [a]\nresources: automatic\n").message,
             Catch::Contains("a mapping, as in {cpu: 1, memory: 512MiB}"));
  CHECK_THAT(job_refusal("class: a\ncommand: [a]\nresources: {cpu: most}\n").message,
             Catch::Contains("'most' is not an amount of cpu"));
}

TEST_CASE("a job file says everything that a job has", "[unit][job_file]") {
  const auto file = parse_job_file(R"yaml(tenant: physics
name: render
class: blender
command: [sleep, "10"]
environment: {SEED: "7", N: 3}
directory: /tmp
tasks: 20
resources: {cpu: 2000m, memory: 2GiB, gpu: 1}
cpus: exclusive
kind: batch
priority: -3
gang: false
labels: "ssd && zone in (a, b)"
sites: [north, south]
devices: []
placement: best-fit
time_limit: 10m
grace: 2s
lease: 5m
retries: 3
after: [41, 42]
preemptible: false
preempt: true
)yaml",
                                   "job.yaml");
  REQUIRE(file);
  JobSpec expected;
  expected.tenant = "physics";
  expected.name = "render";
  expected.job_class = "blender";
  expected.command = {"sleep", "10"};
  expected.environment = {{"SEED", "7"}, {"N", "3"}};
  expected.directory = "/tmp";
  expected.tasks_min = expected.tasks_max = 20;
  expected.resources = {{"cpu", 2000}, {"memory", 2048}, {"gpu", 1}};
  expected.exclusive_cpus = true;
  expected.priority = -3;
  expected.labels = "ssd && zone in (a, b)";
  expected.sites = {"north", "south"};
  expected.time_limit_ms = 600'000;
  expected.grace_ms = 2000;
  expected.lease_ms = 300'000;
  expected.retries = 3;
  expected.after = {JobId{41}, JobId{42}};
  expected.preemptible = false;
  expected.preempt = true;
  expected.placement = Placement::best_fit;
  CHECK(file->spec == expected);
}

TEST_CASE("a job file needs no more than a command", "[unit][job_file]") {
  const auto file = parse_job_file("command: [/usr/bin/sort, -n]", "job.yaml");
  REQUIRE(file);
  CHECK(file->spec.name == "sort");
  CHECK(file->spec.tasks_max == 1);
  CHECK(file->spec.resources == NamedAmounts{{"cpu", 1000}, {"memory", 512}});
}

TEST_CASE("a program that cannot be shown gives the job no name", "[unit][job_file]") {
  JobSpec spec;
  spec.command = {"/opt/caf\xe9"};
  fill_defaults(spec);
  CHECK(spec.name.empty());
  CHECK(validate(spec));
}

TEST_CASE("what has no effect is said when it is asked for", "[unit][job_file]") {
  const auto warnings = [](const char* text) {
    const auto file = parse_job_file(text, "job.yaml");
    REQUIRE(file);
    return file->warnings;
  };
  CHECK(warnings("command: [a]").empty());
  CHECK(warnings("{command: [a], preempt: true, priority: 1}").empty());
  REQUIRE(warnings("{command: [a], preempt: true}").size() == 1);
  CHECK_THAT(warnings("{command: [a], preempt: true}").front(),
             Catch::EndsWith("most have 0: priority is 0"));
}

TEST_CASE("a range of one task count is not elastic", "[unit][job_file]") {
  const auto file = parse_job_file("{command: [a], tasks: {min: 4, max: 4}}", "job.yaml");
  REQUIRE(file);
  CHECK(file->spec.tasks_min == 4);
  CHECK_FALSE(is_elastic(file->spec));
  const auto elastic = parse_job_file("{command: [a], tasks: {min: 2, max: 8}}", "job.yaml");
  REQUIRE(elastic);
  CHECK(is_elastic(elastic->spec));
  CHECK(elastic->spec.tasks_max == 8);
}

TEST_CASE("a bad job file is refused naming line and key", "[golden][job_file]") {
  struct Refusal {
    const char* text;
    const char* field;
    const char* message;
  };
  const Refusal refusals[] = {
      {"", "", "nothing is not a mapping of keys to values (in job.yaml)"},
      {"[a, b]", "", "a list is not a mapping of keys to values (line 1 of job.yaml)"},
      {"just text", "", "'just text' is not a mapping of keys to values (line 1 of job.yaml)"},
      {"a: [1\n", "", "not YAML: end of sequence flow not found (line 2 of job.yaml)"},
      {"command: [a]\n---\ncommand: [b]\n", "", "more than one document (line 2 of job.yaml)"},
      {"command: [a]\ntaks: 3\n", "taks",
       "is not a key here; the keys are after, class, command, cpus, devices, directory, "
       "environment, gang, grace, kind, labels, lease, name, notify, placement, preempt, "
       "preemptible, "
       "priority, resources, retries, sites, tasks, tenant, time_limit (line 2 of job.yaml)"},
      {"command: [a]\nname: b\nname: c\n", "name", "given twice (line 3 of job.yaml)"},
      {"command: [a]\n[x]: 1\n", "", "a key must be a name, not a list (line 2 of job.yaml)"},
      {"name: x\n", "command", "is missing: a list of the program and its arguments"},
      {"command: sleep 10\n", "command", "'sleep 10' is not a list (line 1 of job.yaml)"},
      {"command: [a, [b]]\n", "command[1]", "a list is not text (line 1 of job.yaml)"},
      {"command: [a]\ntenant: [b]\n", "tenant", "a list is not text (line 2 of job.yaml)"},
      {"command: [a]\ntenant:\n", "tenant", "nothing is not text (line 2 of job.yaml)"},
      {"command: [a]\ntenant: 'no such'\n", "tenant",
       "'no such' is not a tenant's name (line 2 of job.yaml)"},
      {"command: [a]\ntasks: many\n", "tasks", "'many' is not a whole number (line 2 of job.yaml)"},
      {"command: [a]\ntasks: '3'\n", "tasks",
       "the text '3' is not a whole number (line 2 of job.yaml)"},
      {"command: [a]\ntasks: 0\n", "tasks", "0 is not between 1 and 1000000 (line 2 of job.yaml)"},
      {"command: [a]\ntasks: 1.5\n", "tasks", "'1.5' is not a whole number (line 2 of job.yaml)"},
      {"command: [a]\ntasks:\n  min: 4\n  max: 2\n", "tasks.max",
       "2 is below min, which is 4 (line 4 of job.yaml)"},
      {"command: [a]\ntasks: {min: 1, most: 2}\n", "tasks.most",
       "is not a key here; the keys are max, min (line 2 of job.yaml)"},
      {"command: [a]\nresources: 4\n", "resources",
       "'4' is not a mapping, as in {cpu: 1, memory: 512MiB} (line 2 of job.yaml)"},
      {"command: [a]\nresources:\n  cpu: 1\n  memory: 2 GB\n", "resources.memory",
       "'2 GB' is not an amount of memory; write 2GiB (line 4 of job.yaml)"},
      {"command: [a]\nresources: {cpu: -1}\n", "resources.cpu",
       "'-1' is not an amount of cpu; write cpus as in 1, 0.5 or 1500m (line 2 of job.yaml)"},
      {"command: [a]\nresources: {cpu: 1, cpu: 2}\n", "resources.cpu",
       "given twice (line 2 of job.yaml)"},
      {"command: [a]\nresources: {cpu: [1]}\n", "resources.cpu",
       "a list is not an amount (line 2 of job.yaml)"},
      {"command: [a]\nresources: {cpu: 0, memory: 0}\n", "resources",
       "a task must ask for some resource, as in {cpu: 1} (line 2 of job.yaml)"},
      {"command: [a]\ngang: yes\n", "gang", "'yes' is not true or false (line 2 of job.yaml)"},
      {"command: [a]\nkind: daemon\n", "kind",
       "'daemon' is not one of batch, service (line 2 of job.yaml)"},
      {"command: [a]\npriority: high\n", "priority",
       "'high' is not a whole number (line 2 of job.yaml)"},
      {"command: [a]\npriority: -1000001\n", "priority",
       "-1000001 is not between -1000000 and 1000000 (line 2 of job.yaml)"},
      {"command: [a]\ntime_limit: 10\n", "time_limit",
       "'10' is not a duration; write 10s for seconds or 10m for minutes (line 2 of job.yaml)"},
      {"command: [a]\nenvironment: [A=1]\n", "environment",
       "a list is not a mapping of keys to values (line 2 of job.yaml)"},
      {"command: [a]\nenvironment: {A: {}}\n", "environment.A",
       "a mapping is not text (line 2 of job.yaml)"},
      {"command: [a]\nenvironment:\n  FAIRWATER_JOB_ID: 3\n", "environment.FAIRWATER_JOB_ID",
       "is set for every task (line 3 of job.yaml)"},
      {"command: [a]\nafter:\n- 3\n- one\n", "after[1]",
       "'one' is not a whole number (line 4 of job.yaml)"},
      {"command: [a]\nretries: -1\n", "retries",
       "'-1' is not a whole number, 0 or more (line 2 of job.yaml)"},
      {"command: [a]\nretries: 1001\n", "retries",
       "1001 is not between 0 and 1000 (line 2 of job.yaml)"},
      {"command: [a]\nretries: 5000000000\n", "retries",
       "'5000000000' is more than 4294967295 (line 2 of job.yaml)"},
      {"command: [a]\ncpus: mine\n", "cpus",
       "'mine' is not one of shared, exclusive (line 2 of job.yaml)"},
      {"command: [a]\nplacement: near\n", "placement",
       "'near' is not one of in-turn, gdrf, best-fit, spread, pack (line 2 of job.yaml)"},
      {"command: [a]\ngang: true\nplacement: pack\n", "placement",
       "the nodes of a gang are chosen together, as few as possible; leave it out "
       "(line 3 of job.yaml)"},
      {"command: [a]\ncpus: exclusive\nresources: {cpu: 1.5}\n", "cpus",
       "exclusive gives whole processors, and resources.cpu is 1.5; write a whole number, 1 or "
       "more "
       "(line 2 of job.yaml)"},
      {"command: [a]\nenvironment: {FAIRWATER_CPUS: '0'}\n", "environment.FAIRWATER_CPUS",
       "is set for every task (line 2 of job.yaml)"},
      {"command: [a]\ndirectory: tmp\n", "directory",
       "'tmp' is not an absolute path (line 2 of job.yaml)"},
      {"command: [a]\nlabels: \"ssd &&\"\n", "labels", "(line 2 of job.yaml)"},
      {"kind: service\ncommand: [a]\ntime_limit: 1h\n", "time_limit", "(line 3 of job.yaml)"},
      {"kind: service\ncommand: [a]\nretries: 2\n", "retries", "(line 3 of job.yaml)"},
  };
  for (const auto& expected : refusals) {
    INFO(expected.text);
    const ErrorDetails said = job_refusal(expected.text);
    CHECK(said.code == ErrorCode::invalid_input);
    CHECK(said.field == expected.field);
    CHECK_THAT(said.message, Catch::EndsWith(expected.message));
  }
}

TEST_CASE("devices are read by name, and refused where tasks start together", "[unit][job_file]") {
  const auto file = parse_job_file("command: [a]\ndevices: [gpu0, card]\n", "job.yaml");
  REQUIRE(file);
  CHECK(file->spec.devices == std::vector<std::string>{"gpu0", "card"});
  const ErrorDetails said = job_refusal("command: [a]\ndevices: [gpu0]\ntasks: {min: 1, max: 2}\n");
  CHECK(said.code == ErrorCode::invalid_input);
  CHECK(said.field == "devices");
  CHECK_THAT(said.message, Catch::EndsWith("(line 2 of job.yaml)"));
}

TEST_CASE("what a coordinator says against a job gets its line", "[unit][job_file]") {
  const auto file = parse_job_file("command: [a]\nresources:\n  cpu: 900\n", "job.yaml");
  REQUIRE(file);
  const auto located = details(file->document.locate(
      make_error(ErrorCode::invalid_input, "no node is so large", "resources.cpu")));
  CHECK(located.message == "no node is so large (line 3 of job.yaml)");
  const auto elsewhere =
      details(file->document.locate(make_error(ErrorCode::not_found, "no such tenant", "tenant")));
  CHECK(elsewhere.message == "no such tenant");
}

TEST_CASE("a job file of more than 4 MiB is refused unread", "[unit][job_file]") {
  CHECK_THAT(job_refusal(std::string(kMaxYamlBytes + 1, '#')).message,
             Catch::Contains("are more than"));
}

}  // namespace fairwater
