#include "cli/commands.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "cli/cluster/job_submit.hpp"
#include "cli/core/version.hpp"
#include "input/job_file.hpp"
#include "process/temporary_directory.hpp"
#include "sim/experiments/experiment.hpp"

namespace fairwater {
namespace {

struct Outcome {
  int status = 0;
  std::string out;
  std::string err;
};

Outcome run(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const int status = run_fairwater(arguments, out, err);
  return {status, out.str(), err.str()};
}

/// Sets a variable for the time of a test.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Environment() { unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
};

/// An address that nobody listens on: the port is bound, so nobody else takes it meanwhile.
class DeadAddress {
 public:
  DeadAddress() : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(bind(socket_, reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    text_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  ~DeadAddress() { close(socket_); }
  DeadAddress(const DeadAddress&) = delete;
  DeadAddress& operator=(const DeadAddress&) = delete;
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  int socket_;
  std::string text_;
};

}  // namespace

TEST_CASE("version is printed both ways", "[unit][commands]") {
  const std::string version{kVersion};
  CHECK(run({"version"}).out == "fairwater " + version + "\n");
  CHECK(run({"version", "--json"}).out == R"({"version":1,"software":")" + version + "\"}\n");
  CHECK(run({"--json", "version"}).out == run({"version", "--json"}).out);
  const Outcome flag = run({"--version"});
  CHECK(flag.status == 0);
  CHECK(flag.out == "fairwater " + version + "\n");
}

TEST_CASE("every command's help has examples", "[unit][commands]") {
  const std::vector<std::vector<std::string>> commands = {
      {},
      {"status"},
      {"top"},
      {"tenant", "apply"},
      {"tenant", "list"},
      {"tenant", "show"},
      {"tenant", "remove"},
      {"tenant", "token"},
      {"node", "list"},
      {"node", "show"},
      {"node", "drain"},
      {"node", "undrain"},
      {"job", "submit"},
      {"job", "run"},
      {"job", "list"},
      {"job", "show"},
      {"job", "logs"},
      {"job", "cancel"},
      {"job", "wait"},
      {"job", "explain"},
      {"ledger", "show"},
      {"ledger", "journal"},
      {"ledger", "verify"},
      {"ledger", "forgive"},
      {"events"},
      {"replay"},
      {"policy"},
      {"version"},
      {"completion"},
  };
  for (auto arguments : commands) {
    arguments.emplace_back("--help");
    const Outcome outcome = run(arguments);
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.out, Catch::Contains("Examples:\n  "));
    CHECK(outcome.err.empty());
  }
}

TEST_CASE("wrong usage is 2 and says what is wrong", "[golden][commands]") {
  struct Misuse {
    std::vector<std::string> arguments;
    const char* message;
  };
  const Misuse misuses[] = {
      {{}, "a command is missing; write one of status, top, "},
      {{"frobnicate"}, "'frobnicate' is not known here; write one of status, top, "},
      {{"job", "frobnicate"}, "'frobnicate' is not known here; write one of submit, run, list, "},
      {{"node", "drian", "n"}, "'drian' is not known here; did you mean drain?"},
      {{"node", "drain", "a", "b", "--reason", "r"},
       "'b' is not known here; write fairwater node drain NAME --reason TEXT"},
      {{"job"}, "a command is missing; write one of submit, run, list, "},
      {{"job", "show"}, "id: is required; write fairwater job show ID"},
      {{"job", "show", "7", "--colour"},
       "'--colour' is not known here; fairwater job show --help says which options are"},
      {{"node", "drain", "n", "--reson=r"},
       "'--reson=r' is not known here; did you mean --reason?"},
      {{"job", "run", "--tasks", "many", "--", "sleep"},
       "--tasks: 'many' is not a whole number from 0 to 4294967295"},
      {{"job", "run", "--tasks", "-1", "--", "sleep"},
       "--tasks: '-1' is not a whole number from 0"},
      {{"job", "run", "--tasks", "010", "--", "sleep"}, "--tasks: '010' begins with 0"},
      {{"job", "run", "--tasks"}, "--tasks: is without a value; write --tasks NUMBER"},
      {{"job", "run", "--tasks=", "--", "sleep"}, "--tasks: is without a value"},
      {{"job", "run", "--priority", "3000000000", "--", "sleep"},
       "--priority: '3000000000' is not a whole number from -1000000 to 1000000"},
      {{"job", "run", "--gang=maybe", "--", "sleep"},
       "--gang: takes no value, and has 'maybe'; write --gang"},
      {{"job", "run", "--after", "", "--", "sleep"}, "--after: is empty: leave it out"},
      {{"job", "run", "--directory", "", "--", "sleep"}, "--directory: is empty"},
      {{"job", "run", "--request-id", "", "--", "sleep"}, "--request-id: is empty"},
      {{"job", "run", "--cpus", "all", "--", "sleep"}, "--cpus: 'all' is not shared or exclusive"},
      {{"job", "run", "--kind", "cron", "--", "sleep"}, "--kind: 'cron' is not batch or service"},
      {{"--address"}, "--address: is without a value; write --address TEXT"},
      {{"job", "run", "--tasks", "2", "--min", "1", "--", "sleep"},
       "--tasks: does not go with --min; give one of them"},
      {{"job", "run", "--tenant", "a"}, "command: is missing: write it after --"},
      {{"job", "run", "--cpu", "lots", "--", "sleep"}, "cpu: 'lots' is not an amount of cpu"},
      {{"job", "run", "--resource", "cpu=1,cpu=2", "--", "sleep"}, "cpu: given twice"},
      {{"job", "run", "--time-limit", "10", "--", "sleep"}, "time_limit: '10' is not a duration"},
      {{"job", "run", "--env", "X", "--", "sleep"}, "environment: 'X' is not NAME=VALUE"},
      {{"job", "run", "--min", "4", "--max", "2", "--", "sleep"}, "tasks.max: 2 is below min"},
      {{"job", "run", "--min", "0", "--max", "2", "--", "sleep"},
       "--min: '0' is not a whole number from 1 to 1000000"},
      {{"job", "run", "--max", "0", "--", "sleep"},
       "--max: '0' is not a whole number from 1 to 1000000"},
      {{"job", "run", "--max", "4", "--gang", "--", "sleep"}, "tasks: the tasks of a gang"},
      {{"job", "run", "sleep", "1"},
       "'sleep' is not known here; the command to run stands after --, as in: fairwater job run -- "
       "sleep 1"},
      {{"job", "run", "--tasks", "17", "--attach", "--tenant", "a", "--", "true"},
       "--attach: follows at most 16 tasks, the job has 17"},
      {{"job", "run", "--memory", "500M", "--", "true"}, "write 500MiB"},
      {{"job", "run", "--time-limit", "60", "--", "true"}, "write 60s for seconds or 60m"},
      {{"job", "run", "--lease", "long", "--", "true"}, "lease: 'long' is not a duration"},
      {{"job", "list", "--", "sleep"},
       "only job run, gang run and gang reach take a command after --"},
      {{"node", "drain", "n"},
       "--reason: is required; write fairwater node drain NAME --reason TEXT"},
      {{"node", "drain", "n", "--reason"}, "--reason: is without a value; write --reason TEXT"},
      {{"node", "drain", "n", "--reason", "a", "--reason", "b"},
       "--reason: is given 2 times; once is right"},
      {{"ledger", "forgive", "--debtor", "a"}, "--reason: is required"},
      {{"ledger", "forgive", "--reason", "r"}, "--debtor: is required"},
      {{"node", "drain", "n", "--reason", "r", "--deadline", "soon"},
       "deadline: 'soon' is not a duration"},
      {{"node", "drain", "n", "--reason", "r", "--deadline", "0s"}, "to stop all at once say 1ms"},
      {{"node", "drain", "n", "--reason", "r", "--at", "2026-12-01 02:00"},
       "at: '2026-12-01 02:00' is no moment: write it in UTC as 2026-12-01T02:00Z"},
      {{"job", "submit", "/nonexistent/job.yaml"},
       "/nonexistent/job.yaml: cannot be read: No such"},
      {{"tenant", "apply", "/nonexistent/t.yaml"}, "/nonexistent/t.yaml: cannot be read: No such"},
      {{"policy", "sequence", "/nonexistent/input.json"},
       "/nonexistent/input.json: cannot be read: No such"},
      {{"policy", "sequence", "/"}, "/: cannot be read: Is a directory"},
      {{"replay", "/nonexistent/log.swf"}, "/nonexistent/log.swf: cannot be read: No such"},
      {{"replay", "log.swf", "--speedup", "0"},
       "--speedup: '0' is not a number from 0.001 to 1000000000"},
      {{"replay", "log.swf", "--tenants", "site"}, "--tenants: 'site' is not user, group or queue"},
      {{"completion", "fish"}, "shell: 'fish' is not bash or zsh"},
      {{"tenant", "apply", "/"}, "/: cannot be read: Is a directory"},
      {{"top", "--interval", "often"}, "interval: 'often' is not a duration"},
      {{"status"}, "token: no token: set FAIRWATER_TOKEN"},
      {{"ledger", "journal", "--since", "-1"}, "--since: '-1' is not a whole number, 0 or more"},
      {{"events", "--since", "-1", "--follow"}, "--since: '-1' is not a whole number, 0 or more"},
      {{"status", "--token-file", "/nonexistent"}, "token-file: there is no file '/nonexistent'"},
      {{"status", "--token-file", "/"}, "token-file: '/' is not a regular file"},
  };
  for (const auto& misuse : misuses) {
    const Outcome outcome = run(misuse.arguments);
    INFO(misuse.message);
    INFO(outcome.err);
    CHECK(outcome.status == 2);
    CHECK_THAT(outcome.err, Catch::StartsWith("fairwater: ") && Catch::Contains(misuse.message));
    CHECK(outcome.out.empty());
  }
}

TEST_CASE("standard input is told of by its name", "[unit][commands]") {
  for (const std::vector<std::string>& command : {std::vector<std::string>{"tenant", "apply", "-"},
                                                  {"job", "submit", "-"},
                                                  {"sim", "run", "-"}}) {
    std::istringstream input{"wrong: 1\n"};
    auto* const before = std::cin.rdbuf(input.rdbuf());
    const Outcome outcome = run(command);
    std::cin.rdbuf(before);
    CAPTURE(command);
    CHECK(outcome.status == 2);
    CHECK_THAT(outcome.err, Catch::Contains("standard input)"));
  }
}

TEST_CASE("what sim reproduce's help runs is there to be run", "[unit][commands]") {
  const std::string help = run({"sim", "reproduce", "--help"}).out;
  const std::string command = "\n  fairwater sim reproduce ";
  std::size_t examples = 0;
  for (auto at = help.find(command); at != std::string::npos; at = help.find(command, at + 1)) {
    const auto name = help.substr(at + command.size())
                          .substr(0, help.substr(at + command.size()).find_first_of(" \n"));
    INFO(name);
    const auto& known = sim::all_experiments();
    CHECK((name == "all" || std::any_of(known.begin(), known.end(), [&](const auto& experiment) {
             return experiment.name == name;
           })));
    ++examples;
  }
  CHECK(examples == 2);
}

TEST_CASE("a policy that there is not is told before any input is read", "[unit][commands]") {
  const Outcome outcome = run({"policy", "sequenze", "/nonexistent/input.json"});
  CHECK(outcome.status == 2);
  CHECK_THAT(outcome.err, Catch::StartsWith("fairwater policy: no policy is called \"sequenze\""));
  CHECK(outcome.out.empty());
}

TEST_CASE("with --json a failure is one value of JSON", "[golden][commands]") {
  const Outcome outcome = run({"status", "--json"});
  CHECK(outcome.status == 2);
  CHECK(outcome.err.empty());
  CHECK(outcome.out ==
        R"({"version":1,"error":{"code":"invalid_input","message":"no token: set FAIRWATER_TOKEN, )"
        R"(or give --token or --token-file","field":"token"}})"
        "\n");
  const Outcome usage = run({"job", "show", "--json"});
  CHECK(usage.status == 2);
  CHECK(Json::parse(usage.out).at("error").at("code") == "invalid_input");
  CHECK(Json::parse(usage.out).at("error").at("field") == "id");
  const Outcome number = run({"job", "list", "--json", "--limit", "x"});
  CHECK(number.out ==
        R"({"version":1,"error":{"code":"invalid_input","message":"'x' is not a whole number )"
        R"(from 0 to 4294967295","field":"--limit"}})"
        "\n");
}

TEST_CASE("FAIRWATER_OUTPUT chooses JSON", "[unit][commands]") {
  {
    const Environment json{"FAIRWATER_OUTPUT", "json"};
    CHECK(run({"version"}).out == run({"version", "--json"}).out);
    CHECK(Json::parse(run({"nonsense"}).out).contains("error"));
  }
  const Environment wrong{"FAIRWATER_OUTPUT", "xml"};
  const Outcome outcome = run({"version"});
  CHECK(outcome.status == 2);
  CHECK(outcome.err == "fairwater: FAIRWATER_OUTPUT: 'xml' is not json or text\n");
}

TEST_CASE("a token's file that cannot be made is no coordinator's fault", "[unit][commands]") {
  const Outcome outcome = run({"token", "create", "--operator", "--file", "/nonexistent/x"});
  CHECK(outcome.status == 1);
  CHECK(outcome.err ==
        "fairwater: file: cannot create '/nonexistent/x': No such file or directory\n");
}

TEST_CASE("output that cannot be written is a failure", "[unit][commands]") {
  for (const std::vector<std::string>& command : {std::vector<std::string>{"version"},
                                                  {"version", "--json"},
                                                  {"completion", "bash"},
                                                  {"--help"},
                                                  {"job", "show", "--json"}}) {
    std::ofstream full{"/dev/full"};
    std::ostringstream err;
    INFO(command.front());
    CHECK(run_fairwater(command, full, err) == 1);
    CHECK(err.str() == "fairwater: standard output: not all could be written\n");
  }
}

TEST_CASE("a coordinator that is not there is 3", "[unit][commands]") {
  const DeadAddress nobody;
  const Outcome outcome = run({"--address", nobody.text(), "--token", "x", "status"});
  CHECK(outcome.status == 3);
  CHECK_THAT(outcome.err, Catch::Contains(nobody.text()));
  const Environment address{"FAIRWATER_ADDRESS", nobody.text().c_str()};
  const Environment token{"FAIRWATER_TOKEN", "x"};
  const Outcome json = run({"job", "list", "--json"});
  CHECK(json.status == 3);
  CHECK(Json::parse(json.out).at("error").at("code") == "unavailable");
}

TEST_CASE("a picture that cannot be written is told of before anything is measured",
          "[unit][commands]") {
  const TemporaryDirectory directory;
  const std::string file = directory / "job.yaml";
  std::ofstream{file} << "class: c\ncommand: [\"true\"]\n";
  const DeadAddress nobody;
  const auto told = [&](const std::string& picture) {
    return run({"--address", nobody.text(), "--token", "x", "profile", "run", file, "--vary",
                "cpu=1", "--svg", picture});
  };
  CHECK_THAT(
      told(directory / "none/x.svg").err,
      Catch::Contains("x.svg") && Catch::Contains("cannot be written: No such file or directory"));
  CHECK_THAT(told(directory / ".").err, Catch::Contains("cannot be written: Is a directory"));
  CHECK_THAT(told(file + "/x.svg").err, Catch::Contains("cannot be written: Not a directory"));
  CHECK_THAT(told(directory / "x.svg").err, Catch::Contains(nobody.text()));
  CHECK_FALSE(std::ifstream{directory / "x.svg"}.is_open());
}

TEST_CASE("verifying a directory that holds no ledger says so", "[unit][commands]") {
  const TemporaryDirectory directory;
  const Outcome outcome = run({"ledger", "verify", "--data", directory / "none"});
  CHECK(outcome.status != 0);
  CHECK_THAT(outcome.err, Catch::StartsWith("fairwater: "));
}

TEST_CASE("completion knows nouns, verbs and options", "[unit][commands]") {
  const std::string bash = run({"completion", "bash"}).out;
  CHECK_THAT(bash, Catch::Contains("'') words='") && Catch::Contains("tenant ") &&
                       Catch::Contains("'job') words='submit run ") && Catch::Contains("--follow"));
  CHECK_THAT(run({"completion", "zsh"}).out, Catch::Contains("bashcompinit"));
}

TEST_CASE("with --json the completion script is a value of JSON", "[golden][commands]") {
  for (const std::string shell : {"bash", "zsh"}) {
    const Json json = Json::parse(run({"completion", shell, "--json"}).out);
    CHECK(json.at("version") == 1);
    CHECK(json.at("shell") == shell);
    CHECK(json.at("script") == run({"completion", shell}).out);
  }
}

TEST_CASE("the completion script is one that bash takes", "[unit][commands]") {
  const TemporaryDirectory directory;
  const std::string path = directory / "completion";
  std::FILE* file = std::fopen(path.c_str(), "w");
  REQUIRE(file != nullptr);
  std::fputs(run({"completion", "bash"}).out.c_str(), file);
  std::fclose(file);
  const std::string command = "bash -c 'source " + path +
                              "; COMP_WORDS=(fairwater job s); COMP_CWORD=2; _fairwater; "
                              "[ \"${COMPREPLY[*]}\" = \"submit show\" ]'";
  CHECK(std::system(command.c_str()) == 0);
}

TEST_CASE("job run builds a job from its flags", "[unit][commands]") {
  RunOptions options;
  options.tenant = "physics";
  options.memory = "1GiB";
  options.resources = {"gpu=1"};
  options.tasks = 20;
  options.environment = {"A=1", "B=x=y"};
  options.time_limit = "10m";
  options.lease = "5m";
  const auto spec = spec_of(options, {"/bin/test", "[a,b]"});
  REQUIRE(spec);
  CHECK(spec->name == "test");
  CHECK(spec->command == std::vector<std::string>{"/bin/test", "[a,b]"});
  CHECK(spec->resources == NamedAmounts{{"cpu", 1000}, {"memory", 1024}, {"gpu", 1}});
  CHECK(spec->tasks_min == 20);
  CHECK(spec->tasks_max == 20);
  CHECK(spec->environment == std::map<std::string, std::string>{{"A", "1"}, {"B", "x=y"}});
  CHECK(spec->time_limit_ms == 600'000);
  CHECK(spec->lease_ms == 300'000);
  CHECK(spec->kind == JobKind::batch);
  CHECK_FALSE(spec->exclusive_cpus);
  options.devices = {"gpu1", "fpga-left"};
  options.cpus = "exclusive";
  CHECK(spec_of(options, {"/bin/test"})->devices == options.devices);
  CHECK(spec_of(options, {"/bin/test"})->exclusive_cpus);
  options.kind = "service";
  const auto limited = spec_of(options, {"/bin/test"});
  REQUIRE_FALSE(limited);
  CHECK(details(limited.error()).field == "time_limit");
  options.time_limit.clear();
  CHECK(spec_of(options, {"/bin/test"})->kind == JobKind::service);
}

TEST_CASE("job run has a flag for what a job file says", "[unit][commands]") {
  RunOptions options;
  options.job_class = "render";
  options.cpu = "auto";
  options.resources = {"gpu=auto", "disk=2"};
  options.tasks_min = 1;
  options.tasks_max = 4;
  options.grace = "10s";
  options.after_jobs = "41,43-45";
  options.notify = "SIGUSR1";
  options.not_preemptible = true;
  options.preempt = true;
  const auto spec = spec_of(options, {"/bin/test"});
  if (!spec) FAIL(details(spec.error()).message);
  CHECK(spec->profiled.resources == std::vector<std::string>{"cpu", "gpu"});
  CHECK(spec->resources == NamedAmounts{{"disk", 2}, {"memory", 512}});
  CHECK(spec->grace_ms == 10'000);
  CHECK(spec->after == std::vector<JobId>{{41}, {43}, {44}, {45}});
  CHECK(spec->notify == "SIGUSR1");
  CHECK_FALSE(spec->preemptible);
  CHECK(warnings_on(*spec).size() == 1);
  const auto refused = [&](auto change) {
    RunOptions changed = options;
    change(changed);
    const auto wrong = spec_of(changed, {"/bin/test"});
    REQUIRE_FALSE(wrong);
    return details(wrong.error());
  };
  for (const char* jobs : {"all", "last", "x", "0", "5-3"}) {
    const auto said = refused([&](RunOptions& changed) { changed.after_jobs = jobs; });
    CHECK(said.field == "after");
    CHECK_THAT(said.message, Catch::Contains("is not a list of job ids"));
  }
  CHECK(refused([](RunOptions& changed) { changed.grace = "2h"; }).field == "grace");
  CHECK(refused([](RunOptions& changed) { changed.grace = "soon"; }).field == "grace");
  CHECK(refused([](RunOptions& changed) { changed.notify = "SIGKILL"; }).field == "notify");
  for (const char* twice : {"cpu=auto", "gpu=1", "cpu=2"})
    CHECK(refused([&](RunOptions& changed) { changed.resources.emplace_back(twice); }).message ==
          "given twice");
  for (const char* nothing : {"gpu", "=1"})
    CHECK(refused([&](RunOptions& changed) { changed.resources.emplace_back(nothing); }).field ==
          "resource");
}

TEST_CASE("exit statuses follow from what went wrong", "[unit][commands]") {
  CHECK(exit_status_of(ErrorCode::invalid_input) == 2);
  CHECK(exit_status_of(ErrorCode::not_supported) == 2);
  CHECK(exit_status_of(ErrorCode::unavailable) == 3);
  CHECK(exit_status_of(ErrorCode::not_permitted) == 4);
  CHECK(exit_status_of(ErrorCode::unauthenticated) == 4);
  CHECK(exit_status_of(ErrorCode::not_found) == 1);
  CHECK(exit_status_of(ErrorCode::internal) == 1);
}

}  // namespace fairwater
