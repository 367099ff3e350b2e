#include "cli/sim/commands.hpp"

#include "cli/core/verbs.hpp"

namespace fairwater::inline cli::inline sim_cli {

void add_sim_commands(CLI::App& app, Context& context) {
  auto* sim = add_noun(app, "sim", "Simulate clusters");
  add_sim_run(*sim, context);
  add_sim_compare(*sim, context);
  add_sim_reproduce(*sim, context);
  add_sim_what_if(*sim, context);
}

}  // namespace fairwater::inline cli::inline sim_cli
