// What every command of `fairwater` is made of: nouns, verbs, what runs when one was chosen.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/core/context.hpp"

namespace fairwater::inline cli::inline core {

/// A noun that needs a verb.
[[nodiscard]] CLI::App* add_noun(CLI::App& app, const char* name, const char* description);
/// A command that runs something; `examples` are whole lines, printed under its help.
[[nodiscard]] CLI::App* add_verb(CLI::App& parent, const char* name, const char* description,
                                 const char* examples);
/// What to do when the arguments chose `verb`.
void on_run(CLI::App* verb, Context& context, std::function<int()> run);

/// The same for work that needs a connection; that there is none is printed.
void on_run_with_client(CLI::App* verb, Context& context,
                        std::function<int(const Context&, Client&)> work);
/// The same with the verb's own options.
template <class Options>
void on_run_with_client(CLI::App* verb, Context& context, const std::shared_ptr<Options>& options,
                        int (*work)(const Context&, Client&, const Options&)) {
  on_run_with_client(verb, context, [options, work](const Context& given, Client& client) {
    return work(given, client, *options);
  });
}

/// For a verb whose calls a coordinator that follows answers, too.
void add_stale_option(CLI::App* verb, Context& context);

/// Prints what was answered, as `json(answer)` or `text(answer)`, or the error; returns the exit
/// status.
template <class Answer, class JsonShape, class TextShape>
[[nodiscard]] int print_answer(const Context& context, const Expected<Answer>& answer,
                               JsonShape json, TextShape text) {
  if (!answer) return context.fail(answer.error());
  if (context.json())
    context.print_json(json(*answer));
  else
    context.out() << text(*answer);
  return kExitDone;
}

/// The whole file, or standard input for `-`. `invalid_input` when it cannot be read or is too
/// large.
[[nodiscard]] Expected<std::string> read_input(const std::string& path, std::size_t max_bytes);
/// What errors call it.
[[nodiscard]] std::string input_name(const std::string& path);

}  // namespace fairwater::inline cli::inline core
