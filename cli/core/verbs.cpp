#include "cli/core/verbs.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

namespace fairwater::inline cli::inline core {

CLI::App* add_noun(CLI::App& app, const char* name, const char* description) {
  CLI::App* noun = app.add_subcommand(name, description);
  noun->require_subcommand(1);
  return noun;
}

CLI::App* add_verb(CLI::App& parent, const char* name, const char* description,
                   const char* examples) {
  CLI::App* verb = parent.add_subcommand(name, description);
  verb->footer(std::string{"Examples:\n"} + examples);
  return verb;
}

void on_run(CLI::App* verb, Context& context, std::function<int()> run) {
  verb->callback([&context, run = std::move(run)] { context.action = run; });
}

void on_run_with_client(CLI::App* verb, Context& context,
                        std::function<int(const Context&, Client&)> work) {
  on_run(verb, context, [&context, work = std::move(work)] { return context.with_client(work); });
}

void add_stale_option(CLI::App* verb, Context& context) {
  verb->add_flag("--stale", context.options.stale,
                 "what a coordinator that follows holds will do; it says how old that may be");
}

Expected<std::string> read_input(const std::string& path, std::size_t max_bytes) {
  std::ifstream file;
  if (path != "-") {
    file.open(path, std::ios::binary);
    if (!file)
      return make_error(ErrorCode::invalid_input, "cannot be read: " + std::string{strerror(errno)},
                        path);
  }
  std::istream& in = path == "-" ? std::cin : file;
  std::string text;
  char buffer[1 << 16];
  while (in.read(buffer, sizeof buffer) || in.gcount() > 0) {
    text.append(buffer, static_cast<std::size_t>(in.gcount()));
    if (text.size() > max_bytes)
      return make_error(ErrorCode::invalid_input,
                        "is larger than " + std::to_string(max_bytes) + " bytes", input_name(path));
  }
  if (in.bad())  // a directory opens, but cannot be read
    return make_error(ErrorCode::invalid_input, "cannot be read: " + std::string{strerror(errno)},
                      path);
  return text;
}

std::string input_name(const std::string& path) { return path == "-" ? "standard input" : path; }

}  // namespace fairwater::inline cli::inline core
