// The examples of the pages that need no cluster, run as they stand.
#include <cctype>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "cli/commands.hpp"
#include "cli/policy/commands.hpp"
#include "process/temporary_directory.hpp"
#include "tests/harness/page.hpp"

namespace fairwater {
namespace {

/// Those of that kind.
std::vector<std::string> blocks_of(const std::string& page, const std::string& kind) {
  std::vector<std::string> texts;
  for (const auto& block : harness::blocks_of(std::string{FAIRWATER_SOURCE_DIR} + "/docs/" + page))
    if (block.kind == kind) texts.push_back(block.text);
  return texts;
}

struct PolicyExample {
  std::string input;
  std::string policy;
  std::string answer;
};

/// Of `$ echo 'INPUT' | fairwater policy NAME` and the lines below it.
PolicyExample parse_example(const std::string& block) {
  const std::string begin = "$ echo '";
  const std::string command = "fairwater policy ";
  REQUIRE(block.starts_with(begin));
  const std::size_t input_end = block.find('\'', begin.size());
  REQUIRE(input_end != std::string::npos);
  const std::size_t name = block.find(command, input_end);
  REQUIRE(name != std::string::npos);
  const std::size_t line_end = block.find('\n', name);
  return {block.substr(begin.size(), input_end - begin.size()),
          block.substr(name + command.size(), line_end - name - command.size()),
          block.substr(line_end)};
}

std::string without_spaces(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
  return text;
}

TEST_CASE("what a page leaves out stands for anything", "[unit][docs]") {
  using harness::matches;
  CHECK(matches("abc", "abc"));
  CHECK_FALSE(matches("abcd", "abc"));
  CHECK_FALSE(matches("zabc", "abc"));
  CHECK(matches("abcd", "a..d"));
  CHECK(matches("abcd", "..cd"));
  CHECK(matches("abcd", "ab.."));
  CHECK_FALSE(matches("abcd", "b..d"));
  CHECK_FALSE(matches("abcd", "a..c"));
  CHECK_FALSE(matches("abcd", "abc..bcd"));
  CHECK(matches("abcbcd", "a..b..d"));
}

TEST_CASE("docs/policies.md does what it says", "[unit][docs]") {
  std::set<std::string> shown;
  for (const std::string& block : blocks_of("policies.md", "")) {
    INFO(block);
    const PolicyExample example = parse_example(block);
    std::ostringstream out, err;
    REQUIRE(policy_command(example.policy, example.input, false, out, err) == 0);
    INFO(out.str());
    CHECK(harness::matches(without_spaces(out.str()), without_spaces(example.answer)));
    shown.insert(example.policy);
  }
  CHECK(shown == std::set<std::string>{"sequence", "sized", "ledger", "water-fill", "saturation",
                                       "saturation-advice", "drf", "gdrf", "qrea"});
}

TEST_CASE("docs/simulator.md does what it says", "[unit][docs]") {
  const auto files = blocks_of("simulator.md", "yaml");
  REQUIRE(files.size() == 3);
  const TemporaryDirectory directory;
  // The logs that the page names, small ones; a reader of packed files takes plain ones too.
  std::ofstream log{directory / "log.swf.gz"};
  for (int job = 1; job <= 20; ++job)
    log << job << ' ' << job * 30 << " -1 " << 60 + job << " 1 -1 -1 1 300 -1 1 " << 1 + job % 3
        << " 1 1 1 1 -1 -1\n";
  log.close();
  std::ofstream{directory / "openb_node_list_gpu_node.csv.gz"}
      << "sn,cpu_milli,memory_mib,gpu,model\nn0,8000,4096,2,T4\n";
  std::ofstream{directory / "openb_pod_list_default.csv.gz"}
      << "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
         "deletion_time,scheduled_time\np0,1000,512,1,460,T4,LS,Running,10,40,20\n";
  for (const std::string& text : files) {
    INFO(text);
    const std::string file = directory / "file.yaml";
    std::ofstream{file} << text;
    std::ostringstream out, err;
    const int status = run_fairwater({"sim", "run", file}, out, err);
    INFO(err.str());
    CHECK(status == 0);
    CHECK_THAT(out.str(), Catch::Contains("jobs done"));
  }
}

}  // namespace
}  // namespace fairwater
