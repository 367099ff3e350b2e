#include "bin/policy_commands.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <istream>
#include <ostream>

namespace fairwater {
namespace {

std::string read_all(const std::string& file, std::istream& in) {
  std::ifstream stream;
  const bool from_file = !file.empty() && file != "-";
  if (from_file) stream.open(file, std::ios::binary);
  std::istream& source = from_file ? stream : in;
  std::string text;
  std::array<char, 65536> block;
  while (source.read(block.data(), block.size()) || source.gcount() > 0)
    text.append(block.data(), static_cast<std::size_t>(source.gcount()));
  // Only a source that was read to its end has reached it; a directory, say, has not.
  if (!source.eof()) throw InputError(file, "cannot be read");
  return text;
}

}  // namespace

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

int policy_command(std::string_view name, const std::string& file, bool pretty, std::istream& in,
                   std::ostream& out, std::ostream& err) {
  constexpr int kBadInput = 2;
  constexpr int kIndent = 2;
  const auto& commands = policy_commands();
  const auto command = std::find_if(commands.begin(), commands.end(),
                                    [&](const PolicyCommand& c) { return c.name == name; });
  if (command == commands.end()) {
    err << "fairwater policy: no policy is called " << Json(name).dump() << "; there are";
    for (const PolicyCommand& known : commands) err << ' ' << known.name;
    err << '\n';
    return kBadInput;
  }
  try {
    const Json output = command->run(parse_json(read_all(file, in)));
    out << output.dump(pretty ? kIndent : -1) << '\n';
    return 0;
  } catch (const InputError& error) {
    err << "fairwater policy " << name << ": " << error.what() << '\n';
    return kBadInput;
  }
}

}  // namespace fairwater
