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

using Add = void (*)(CLI::App& app, Context& context, VerifyDirectory verify_directory);

/// Those that look into no directory.
template <void (*add)(CLI::App&, Context&)>
void plain(CLI::App& app, Context& context, VerifyDirectory /*verify_directory*/) {
  add(app, context);
}

/// Nouns, with what adds them; several may come together.
struct Noun {
  std::string_view name;
  Add add;
};
constexpr std::array<Noun, 13> kNouns{{{"status", plain<add_status_commands>},
                                       {"top", plain<add_status_commands>},
                                       {"coordinator", plain<add_status_commands>},
                                       {"version", plain<add_status_commands>},
                                       {"tenant", plain<add_tenant_commands>},
                                       {"token", plain<add_token_commands>},
                                       {"node", plain<add_node_commands>},
                                       {"job", plain<add_job_commands>},
                                       {"gang", plain<add_gang_commands>},
                                       {"profile", plain<add_profile_commands>},
                                       {"ledger", add_ledger_commands},
                                       {"events", add_ledger_commands},
                                       {"usage", plain<add_usage_command>}}};
/// That may stand before the noun, with a word of their own behind them.
constexpr std::array<std::string_view, 4> kGlobalOptions{"--address", "--token", "--token-file",
                                                         "--coordinator-key"};

Expected<VerifyReport> not_here(const std::string& /*directory*/, bool /*with_archive*/) {
  FAIRWATER_CHECK(false, "a directory's ledger is verified by the program that has RocksDB");
}

/// None: another, or none.
const Noun* noun_of(const std::vector<std::string>& arguments) {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  auto word = arguments.begin();
  while (word != end && word->starts_with('-')) {
    const bool has_value = std::ranges::find(kGlobalOptions, *word) != kGlobalOptions.end();
    ++word;
    if (has_value && word != end) ++word;
  }
  if (word == end) return nullptr;
  const auto noun = std::ranges::find(kNouns, *word, &Noun::name);
  return noun == kNouns.end() ? nullptr : &*noun;
}

}  // namespace

bool is_for_front(const std::vector<std::string>& arguments) {
  if (arguments == std::vector<std::string>{"--version"}) return true;
  const auto wants_all = [](std::string_view word) {
    return word == "--help" || word == "-h" || word == "--data" || word.starts_with("--data=");
  };
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  return std::none_of(arguments.begin(), end, wants_all) && noun_of(arguments) != nullptr;
}

void add_front_commands(CLI::App& app, Context& context, VerifyDirectory verify_directory) {
  Add last = nullptr;
  for (const Noun& noun : kNouns) {
    if (noun.add != last) noun.add(app, context, verify_directory);
    last = noun.add;
  }
}

int run_front(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err) {
  return run_command_line(arguments, out, err, [&](CLI::App& app, Context& context) {
    if (const Noun* noun = noun_of(arguments)) noun->add(app, context, not_here);
  });
}

}  // namespace fairwater::inline cli::inline front
