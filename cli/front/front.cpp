#include "cli/front/front.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "cli/core/command_line.hpp"
#include "cli/gang/commands.hpp"
#include "cli/profile/command.hpp"
#include "policy/core/check.hpp"

namespace fairwater::inline cli::inline front {
namespace {

constexpr std::array<std::string_view, 13> kNouns{
    "status", "top",  "coordinator", "version", "tenant", "token", "node",
    "job",    "gang", "profile",     "ledger",  "events", "usage"};
/// That may stand before the noun, with a word of their own behind them.
constexpr std::array<std::string_view, 4> kGlobalOptions{"--address", "--token", "--token-file",
                                                         "--coordinator-key"};

template <std::size_t count>
bool is_among(const std::array<std::string_view, count>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

Expected<VerifyReport> not_here(const std::string& /*directory*/, bool /*with_archive*/) {
  FAIRWATER_CHECK(false, "a directory's ledger is verified by the program that has RocksDB");
}

}  // namespace

bool is_for_front(const std::vector<std::string>& arguments) {
  if (arguments == std::vector<std::string>{"--version"}) return true;
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  const auto wants_all = [](std::string_view word) {
    return word == "--help" || word == "-h" || word == "--data" || word.starts_with("--data=");
  };
  if (std::any_of(arguments.begin(), end, wants_all)) return false;
  auto noun = arguments.begin();
  while (noun != end && noun->starts_with('-')) {
    const bool has_word = is_among(kGlobalOptions, *noun);
    ++noun;
    if (has_word && noun != end) ++noun;
  }
  return noun != end && is_among(kNouns, *noun);
}

void add_front_commands(CLI::App& app, Context& context, VerifyDirectory verify_directory) {
  add_status_commands(app, context);
  add_tenant_commands(app, context);
  add_token_commands(app, context);
  add_node_commands(app, context);
  add_job_commands(app, context);
  add_gang_commands(app, context);
  add_profile_commands(app, context);
  add_ledger_commands(app, context, verify_directory);
  add_usage_command(app, context);
}

int run_front(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err) {
  return run_command_line(arguments, out, err, [](CLI::App& app, Context& context) {
    add_front_commands(app, context, not_here);
  });
}

}  // namespace fairwater::inline cli::inline front
