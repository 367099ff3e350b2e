#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <catch2/catch.hpp>

#include "cli/commands.hpp"
#include "cli/sim/reproduce.hpp"
#include "process/temporary_directory.hpp"

namespace fairwater {
namespace {

Expected<sim::ExperimentReport> run_turns(const sim::ExperimentOptions& options) {
  options.progress(0.5);
  const double share = 1.0 / options.seeds;
  const sim::Series series{.name = "share", .points = {{1, share}}};
  return sim::ExperimentReport{
      .title = "Turns",
      .claims = {{"A paper", "all get turns", std::to_string(options.seeds) + " of them",
                  sim::Verdict::holds}},
      .assumptions = {"nothing"},
      .items = {sim::Chart{.title = "Share", .x_label = "x", .y_label = "y", .series = {series}}}};
}

Expected<sim::ExperimentReport> run_logs(const sim::ExperimentOptions& options) {
  if (!std::filesystem::exists(options.traces + "/log.swf"))
    return make_error(ErrorCode::invalid_input, "cannot be read", "log.swf");
  return sim::ExperimentReport{
      .title = "Logs",
      .claims = {{"", "a log is read", "yes", sim::Verdict::measured_only}},
      .assumptions = {},
      .items = {}};
}

const std::vector<sim::Experiment>& turns_and_logs() {
  static const std::vector<sim::Experiment> both{
      {.name = "turns", .run = run_turns}, {.name = "logs", .needs_traces = true, .run = run_logs}};
  return both;
}

struct Reproduced {
  int status = 0;
  std::string out;
  std::string err;
};

Reproduced reproduce_both(const ReproduceOptions& options, bool json = false) {
  std::ostringstream out;
  std::ostringstream err;
  Context context{out, err};
  context.options.json = json;
  const int status = reproduce(context, turns_and_logs(), options);
  return {status, out.str(), err.str()};
}

std::string text_of(const std::string& path) {
  std::ifstream file{path};
  REQUIRE(file);
  return {std::istreambuf_iterator<char>{file}, {}};
}

}  // namespace

TEST_CASE("reproduce writes pages, numbers and an overview", "[unit][reproduce]") {
  const TemporaryDirectory directory;
  const std::string out = directory / "new/folder";
  std::ofstream{directory / "log.swf"};
  const auto done =
      reproduce_both({.name = "all", .out = out, .seeds = 4, .traces = directory.path()});
  CHECK(done.err.empty());
  CHECK(done.status == kExitDone);
  CHECK(done.out ==
        "turns: holds: 4 of them\nlogs: measured only: yes\nwrote " + out + "/index.html\n");
  CHECK_THAT(text_of(out + "/index.html"), Catch::Contains("<a href=\"turns.html\">") &&
                                               Catch::Contains("<a href=\"logs.html\">"));
  CHECK_THAT(text_of(out + "/turns.html"), Catch::Contains("<h1>Turns</h1>"));
  const Json numbers = Json::parse(text_of(out + "/turns.json"));
  CHECK(numbers["version"] == 1);
  CHECK(numbers["seeds"] == 4);
  CHECK(numbers["claims"][0]["verdict"] == "holds");
  CHECK(numbers["items"][0]["chart"]["series"][0]["points"] == Json::parse("[[1, 0.25]]"));
}

TEST_CASE("without traces the experiments that need them are skipped", "[unit][reproduce]") {
  const TemporaryDirectory directory;
  const auto all = reproduce_both({.name = "all", .out = directory.path()});
  CHECK(all.status == kExitDone);
  CHECK_THAT(all.out, Catch::Contains("\nlogs: skipped: needs traces"));
  CHECK_THAT(text_of(directory / "index.html"), Catch::Contains("skipped: needs traces"));
  CHECK_FALSE(std::filesystem::exists(directory / "logs.html"));
  const auto alone = reproduce_both({.name = "logs", .out = directory.path()});
  CHECK(alone.status == kExitUsage);
  CHECK_THAT(alone.err, Catch::Contains("logs: needs traces"));
}

TEST_CASE("reproduce prints one value of JSON", "[unit][reproduce]") {
  const TemporaryDirectory directory;
  const Json value =
      Json::parse(reproduce_both({.name = "all", .out = directory.path()}, true).out);
  CHECK(value["version"] == 1);
  CHECK(value["experiments"][0]["claims"][0]["measured"] == "10 of them");
  CHECK(value["experiments"][0]["page"] == directory / "turns.html");
  CHECK(value["experiments"][1] == Json{{"name", "logs"}, {"skipped", true}});
}

TEST_CASE("reproduce says what is wrong", "[golden][reproduce]") {
  const TemporaryDirectory directory;
  const auto unknown = reproduce_both({.name = "turn", .out = directory.path()});
  CHECK(unknown.status == kExitUsage);
  CHECK(unknown.err == "fairwater: no experiment is called 'turn'; there are turns, logs, all\n");

  const std::string file = directory / "file";
  std::ofstream{file} << "x";
  const auto no_folder = reproduce_both({.name = "turns", .out = file});
  CHECK(no_folder.status == kExitFailed);
  CHECK_THAT(no_folder.err, Catch::Contains(file + ": cannot be made"));
  std::filesystem::create_directory(directory / "turns.html");
  const auto no_page = reproduce_both({.name = "turns", .out = directory.path()});
  CHECK(no_page.status == kExitFailed);
  CHECK(no_page.err ==
        "fairwater: " + (directory / "turns.html") + ": cannot be written: Is a directory\n");

  const auto failed =
      reproduce_both({.name = "logs", .out = directory.path(), .traces = directory.path()});
  CHECK(failed.status == kExitUsage);
  CHECK(failed.err == "fairwater: log.swf: cannot be read\n");
}

TEST_CASE("the table of claims is written into a document", "[unit][reproduce]") {
  const TemporaryDirectory directory;
  std::ofstream{directory / "log.swf"};
  const std::string document = directory / "document.md";
  const std::string begin = "above\n" + std::string{kTableBegin};
  const std::string end = std::string{kTableEnd} + "below\n";
  std::ofstream{document} << begin << "old\n" << end;
  ReproduceOptions options{
      .name = "all", .out = directory / "out", .traces = directory.path(), .table_file = document};
  REQUIRE(reproduce_both(options).status == kExitDone);
  CHECK(text_of(document) == begin +
                                 "| experiment | claim | measured | verdict |\n"
                                 "| --- | --- | --- | --- |\n"
                                 "| turns | A paper: all get turns | 10 of them | holds |\n"
                                 "| logs | a log is read | yes | measured only |\n" +
                                 end);
  const std::string before = text_of(document);
  options.traces.clear();
  CHECK_THAT(reproduce_both(options).err, Catch::Contains("the table needs all experiments"));
  CHECK(text_of(document) == before);
  // Before anything is measured.
  options.traces = directory.path();
  options.out = directory / "later";
  options.table_file = directory / "absent.md";
  CHECK_THAT(reproduce_both(options).err, Catch::Contains("absent.md: cannot be read"));
  std::ofstream{options.table_file} << "no marks";
  CHECK_THAT(reproduce_both(options).err, Catch::Contains("absent.md: has no lines that mark"));
  CHECK_FALSE(std::filesystem::exists(options.out));
  CHECK_FALSE(replace_table("no marks", {}));
  CHECK_FALSE(replace_table(std::string{kTableEnd} + std::string{kTableBegin}, {}));
}

TEST_CASE("sim reproduce takes its flags", "[unit][reproduce]") {
  const auto run = [](const std::vector<std::string>& arguments) {
    std::ostringstream out;
    std::ostringstream err;
    const int status = run_fairwater(arguments, out, err);
    return Reproduced{status, out.str(), err.str()};
  };
  const auto unknown = run({"sim", "reproduce", "nothing"});
  CHECK(unknown.status == kExitUsage);
  CHECK_THAT(unknown.err, Catch::Contains("no experiment is called 'nothing'"));
  CHECK(run({"sim"}).status == kExitUsage);
  CHECK(run({"sim", "reproduce"}).status == kExitUsage);
  CHECK(run({"sim", "reproduce", "all", "--seeds", "0"}).status == kExitUsage);
  CHECK_THAT(run({"sim", "reproduce", "all", "--traces", "/nowhere"}).err,
             Catch::Contains("/nowhere: is not a folder"));
  CHECK_THAT(run({"sim", "reproduce", "nothing", "--table", "x.md"}).err,
             Catch::Contains("only 'all'"));
}

}  // namespace fairwater
