#include "cli/commands.hpp"

#include "cli/cluster/commands.hpp"
#include "cli/completion.hpp"
#include "cli/core/command_line.hpp"
#include "cli/front/front.hpp"
#include "cli/policy/verb.hpp"
#include "cli/replay/command.hpp"
#include "cli/sim/commands.hpp"
#include "storage/ledger.hpp"

namespace fairwater::inline cli {
namespace {

Expected<VerifyReport> verify_directory(const std::string& directory, bool with_archive) {
  return Ledger::verify_directory(directory, nullptr,
                                  with_archive ? VerifyScope::archive : VerifyScope::database);
}

}  // namespace

int run_fairwater(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err) {
  return run_command_line(arguments, out, err, [](CLI::App& app, Context& context) {
    add_front_commands(app, context, verify_directory);
    add_replay_command(app, context);
    add_policy_command(app, context);
    add_sim_commands(app, context);
    add_completion_command(app, context);
  });
}

}  // namespace fairwater::inline cli
