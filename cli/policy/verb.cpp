// policy NAME: the allocation algorithms, without a cluster
#include "cli/policy/verb.hpp"

#include <memory>

#include "cli/core/verbs.hpp"
#include "cli/policy/commands.hpp"

namespace fairwater::inline cli::inline policy_cli {
namespace {

struct PolicyOptions {
  std::string name;
  std::string file;
  bool pretty = false;
};

constexpr std::size_t kMaxPolicyInputBytes = 256 * 1024 * 1024;

int run_policy(const Context& context, const PolicyOptions& options) {
  std::string text;
  if (find_policy(options.name) != nullptr) {  // a wrong name is told before anything is read
    auto input = read_input(options.file.empty() ? "-" : options.file, kMaxPolicyInputBytes);
    if (!input) return context.fail(input.error());
    text = std::move(*input);
  }
  return policy_command(options.name, text, options.pretty, context.out(), context.err());
}

}  // namespace

void add_policy_command(CLI::App& app, Context& context) {
  auto* verb = add_verb(app, "policy", "Run an allocation algorithm on JSON",
                        "  echo '{\"tenants\": [{\"name\": \"A\", \"weight\": 5}], \"events\": "
                        "[{\"slots\": 3}]}' | fairwater policy sequence\n"
                        "  fairwater policy water-fill input.json --pretty");
  auto options = std::make_shared<PolicyOptions>();
  std::string names;
  for (const auto& command : policy_commands())
    names += (names.empty() ? "" : ", ") + std::string{command.name};
  verb->add_option("name", options->name, "one of " + names)->required();
  verb->add_option("file", options->file, "JSON; - or nothing: standard input");
  verb->add_flag("--pretty", options->pretty, "indent the output");
  on_run(verb, context, [&context, options] { return run_policy(context, *options); });
}

}  // namespace fairwater::inline cli::inline policy_cli
