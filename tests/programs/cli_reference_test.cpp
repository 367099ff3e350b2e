// docs/cli.md against the program: no command and no key of its JSON is missing there.
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "cli/cluster/explain_text.hpp"
#include "cli/cluster/json_shapes.hpp"
#include "cli/cluster/restore_report.hpp"
#include "cli/cluster/usage_output.hpp"
#include "cli/commands.hpp"
#include "cli/profile/report.hpp"

namespace fairwater {
namespace {

std::string reference() {
  std::ifstream file(std::string{FAIRWATER_SOURCE_DIR} + "/docs/cli.md");
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string help_of(std::vector<std::string> command) {
  std::ostringstream out;
  std::ostringstream err;
  command.emplace_back("--help");
  REQUIRE(run_fairwater(command, out, err) == 0);
  return out.str();
}

/// The first words of the lines under `Subcommands:`.
std::vector<std::string> subcommands(const std::string& help) {
  std::vector<std::string> names;
  std::istringstream lines(help.substr(std::min(help.find("\nSubcommands:"), help.size())));
  std::string line;
  std::getline(lines, line);
  std::getline(lines, line);
  while (std::getline(lines, line) && !line.empty()) {
    std::string name;
    std::istringstream(line) >> name;
    if (line.starts_with("  ") && line[2] != ' ') names.push_back(name);
  }
  return names;
}

void collect_keys(const Json& json, std::set<std::string>& keys) {
  if (json.is_object())
    for (const auto& [key, value] : json.items()) keys.insert(key);
  for (const auto& value : json)
    if (value.is_structured()) collect_keys(value, keys);
}

}  // namespace

TEST_CASE("docs/cli.md names every command", "[golden][commands]") {
  const std::string text = reference();
  std::size_t leaves = 0;
  const std::function<void(const std::vector<std::string>&)> visit =
      [&](const std::vector<std::string>& command) {
        const auto names = subcommands(help_of(command));
        std::string spoken;
        for (const auto& word : command) spoken += (spoken.empty() ? "" : " ") + word;
        CAPTURE(spoken);
        if (names.empty()) {
          ++leaves;
          const bool is_named = text.find("`fairwater " + spoken) != std::string::npos ||
                                text.find("`" + spoken) != std::string::npos;
          CHECK(is_named);
        }
        for (const auto& name : names) {
          auto longer = command;
          longer.push_back(name);
          visit(longer);
        }
      };
  visit({});
  CHECK(leaves > 30);
}

TEST_CASE("docs/cli.md names every key that is always there", "[golden][commands]") {
  TaskInfo task;
  task.record.result.emplace();
  std::set<std::string> keys;
  TenantInfo tenant;
  tenant.record.spec.run_as.user = "a";
  ClusterStatus status;
  status.replicas.emplace_back();
  LedgerStanding standing;
  standing.doubts.emplace_back();
  RestoreReport report;
  report.tasks.emplace_back();
  ClassProfile profile;
  profile.amounts = {{{{"cpu", 1000}}, {ClassRun{.run_ms = 5}}, {}}};
  for (const Json& json :
       {status_json(status), tenants_json({tenant}), tenant_change_json({}), token_json({}),
        node_json({}), job_detail_json({{}, {task}}), explain_json({}), ledger_json({}),
        verify_json({}), standing_json(standing), backup_json("", {}), restore_json(report),
        forgiven_json({}, {}), profile_json(profile), usage_json({}, {UsageRow{}})})
    collect_keys(json, keys);
  keys.erase("cpu");  // a resource's own name
  const std::string text = reference();
  for (const auto& key : keys) {
    CAPTURE(key);
    CHECK(text.find("`" + key + "`") != std::string::npos);
  }
  CHECK(keys.size() > 80);
}

}  // namespace fairwater
