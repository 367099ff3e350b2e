// policy NAME: the allocation algorithms, without a cluster
#include <iostream>
#include <memory>

#include "bin/commands.hpp"
#include "bin/policy_commands.hpp"

namespace fairwater {
namespace {

struct PolicyOptions {
  std::string name;
  std::string file;
  bool pretty = false;
};

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
  on_run(verb, context, [&context, options] {
    return policy_command(options->name, options->file, options->pretty, std::cin, context.out(),
                          context.err());
  });
}

}  // namespace fairwater
