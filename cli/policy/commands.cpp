#include "cli/policy/commands.hpp"

#include <algorithm>
#include <ostream>

#include "input/document.hpp"

namespace fairwater::inline cli::inline policy_cli {
const std::vector<PolicyCommand>& policy_commands() {
  static const std::vector<PolicyCommand> commands = {
      {"drf", "tasks by dominant resource share", run_drf},
      {"gdrf", "tasks on unlike machines by generalised dominant resource share", run_gdrf},
      {"ledger", "IOUs: lend, repay, transfer, leave", run_ledger},
      {"qrea", "one round of elastic jobs, by quota and credit", run_qrea},
      {"saturation", "the amount of resources beyond which more does not pay", run_saturation},
      {"saturation-advice", "that point from a noisy history, and what to measure next",
       run_saturation_advice},
      {"sequence", "slots in proportion to weights, counted without writing the order out",
       run_sequence},
      {"sized", "the sequence with self-declared task sizes", run_sized},
      {"water-fill", "runtime quotas of groups in a tree", run_water_fill},
  };
  return commands;
}

const PolicyCommand* find_policy(std::string_view name) {
  const auto& commands = policy_commands();
  const auto found =
      std::find_if(commands.begin(), commands.end(),
                   [&](const PolicyCommand& command) { return command.name == name; });
  return found == commands.end() ? nullptr : &*found;
}

int policy_command(std::string_view name, std::string_view text, bool pretty, std::ostream& out,
                   std::ostream& err) {
  constexpr int kBadInput = 2;
  constexpr int kIndent = 2;
  const PolicyCommand* command = find_policy(name);
  if (command == nullptr) {
    err << "fairwater policy: no policy is called " << Json(name).dump() << "; there are";
    for (const PolicyCommand& known : policy_commands()) err << ' ' << known.name;
    err << '\n';
    return kBadInput;
  }
  const auto document = parse_json(text);
  const auto output = document ? document->read(command->run) : Expected<Json>{document.error()};
  if (!output) {
    const ErrorDetails said = details(output.error());
    err << "fairwater policy " << name << ": " << (said.field.empty() ? "input" : said.field)
        << ": " << said.message << '\n';
    return kBadInput;
  }
  out << output->dump(pretty ? kIndent : -1) << '\n';
  return 0;
}

}  // namespace fairwater::inline cli::inline policy_cli
