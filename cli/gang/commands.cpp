#include "cli/gang/commands.hpp"

#include <charconv>
#include <cstdlib>

#include "cli/gang/tasks.hpp"

namespace fairwater::inline cli::inline gang {
namespace {

int status_of(const Context& context, const Expected<int>& ended) {
  return ended ? *ended : context.fail(ended.error());
}

int run(const Context& context) {
  if (context.command.empty())
    return context.fail_usage("is missing: write it after --, as in gang run -- mpirun ./solve",
                              "command");
  const auto place = gang_place_from_environment();
  if (!place) return context.fail(place.error());
  return status_of(context, place->index == 0 ? run_first_task(*place, context.command)
                                              : run_other_task(*place));
}

/// `task3`: 3.
std::optional<std::uint32_t> index_in(const std::string& host) {
  constexpr std::string_view kTask = "task";
  if (!host.starts_with(kTask)) return std::nullopt;
  std::uint32_t index = 0;
  const char* const last = host.data() + host.size();
  const auto [end, fault] = std::from_chars(host.data() + kTask.size(), last, index);
  if (fault != std::errc{} || end != last) return std::nullopt;
  return index;
}

int reach(const Context& context) {
  const auto index = context.command.empty() ? std::nullopt : index_in(context.command.front());
  if (!index || context.command.size() < 2)
    return context.fail_usage("is task0, task1, .. and what to run there, after --", "command");
  const char* socket = std::getenv("FAIRWATER_GANG_SOCKET");
  if (socket == nullptr)
    return context.fail(make_error(ErrorCode::invalid_input,
                                   "is not set: this is for what gang run has started",
                                   "FAIRWATER_GANG_SOCKET"));
  // As ssh does: the words are joined, and taken apart by the shell there.
  std::string words;
  for (std::size_t i = 1; i < context.command.size(); ++i)
    words += (words.empty() ? "" : " ") + context.command[i];
  return status_of(context, reach_task(socket, *index, words));
}

}  // namespace

void add_gang_commands(CLI::App& app, Context& context) {
  auto* noun = add_noun(app, "gang", "Start programs across the tasks of a gang, from within");
  auto* run_verb =
      add_verb(*noun, "run",
               "In each task of a gang: the first runs the command, which reaches the "
               "others without ssh",
               "  fairwater job run --gang --tasks 4 -- fairwater gang run -- mpirun ./solve");
  on_run(run_verb, context, [&context] { return run(context); });
  auto* reach_verb =
      add_verb(*noun, "reach", "For that command, in place of ssh: run words in another task",
               "  mpirun --mca plm_rsh_agent 'fairwater gang reach --' ./solve");
  on_run(reach_verb, context, [&context] { return reach(context); });
}

}  // namespace fairwater::inline cli::inline gang
