// completion bash | zsh: a script that knows every noun, verb and option of this program
#include "cli/completion.hpp"

#include <memory>

#include "cli/core/usage_error.hpp"
#include "cli/core/verbs.hpp"

namespace fairwater::inline cli {
namespace {

std::string options_of(const CLI::App& app) {
  std::string words;
  for (const auto* option : app.get_options())
    for (const auto& name : option->get_lnames()) words += "--" + name + " ";
  return words;
}

std::string words_after(const CLI::App& app) {
  std::string words;
  for (const auto* child : app.get_subcommands([](const CLI::App*) { return true; }))
    words += child->get_name() + " ";
  return words + options_of(app);
}

/// One case per command: the words before the cursor, options aside, choose what may follow.
void append_cases(const CLI::App& app, const std::string& path, std::string& script) {
  script += "    '" + path + "') words='" + words_after(app) + "' ;;\n";
  for (const auto* child : app.get_subcommands([](const CLI::App*) { return true; }))
    append_cases(*child, path.empty() ? child->get_name() : path + " " + child->get_name(), script);
}

std::string bash_script(const CLI::App& app) {
  std::string script = R"(_fairwater() {
  local current="${COMP_WORDS[COMP_CWORD]}" path='' word words='' global
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) path="${path:+$path }$word" ;; esac
  done
  case "$path" in
)";
  append_cases(app, "", script);
  script += "  esac\n  global='" + options_of(app) + "'\n";
  script += R"(  COMPREPLY=($(compgen -W "$words $global" -- "$current"))
}
complete -o default -F _fairwater fairwater
)";
  return script;
}

}  // namespace

void add_completion_command(CLI::App& app, Context& context) {
  auto* verb = add_verb(app, "completion", "A completion script for a shell",
                        "  source <(fairwater completion bash)\n"
                        "  source <(fairwater completion zsh)");
  auto shell = std::make_shared<std::string>();
  verb->add_option("shell", *shell, "bash or zsh")->required()->check(one_of({"bash", "zsh"}));
  on_run(verb, context, [&app, &context, shell] {
    const std::string script =
        (*shell == "zsh" ? "autoload -Uz compinit bashcompinit && compinit && bashcompinit\n"
                         : "") +
        bash_script(app);
    if (context.json())
      context.print_json(Json{{"shell", *shell}, {"script", script}});
    else
      context.out() << script;
    return kExitDone;
  });
}

}  // namespace fairwater::inline cli
