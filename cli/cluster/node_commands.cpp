// node list | show | drain | undrain | remove
#include <memory>
#include <optional>

#include "cli/cluster/commands.hpp"
#include "cli/cluster/drain_times.hpp"
#include "cli/cluster/json_shapes.hpp"
#include "cli/cluster/tables.hpp"
#include "cli/core/verbs.hpp"

namespace fairwater::inline cli::inline cluster {
namespace {

struct DrainOptions {
  std::string name;
  std::string reason;
  std::string at;
  std::string deadline;
};

int list_nodes(const Context& context, Client& client) {
  return print_answer(context, client.list_nodes(), listed("nodes", node_json), node_table);
}

Expected<NodeInfo> find_node(Client& client, const std::string& name) {
  auto nodes = client.list_nodes();
  if (!nodes) return nodes.error();
  for (auto& node : *nodes)
    if (node.record.spec.traits.name == name) return std::move(node);
  return make_error(ErrorCode::not_found, "there is no node '" + name + "'", "node");
}

int show_node(const Context& context, Client& client, const std::string& name) {
  const auto shape = [](const NodeInfo& node) { return Json{{"node", node_json(node)}}; };
  return print_answer(context, find_node(client, name), shape, node_text);
}

int say_changed(const Context& context, const caf::error& error, const std::string& name,
                bool draining) {
  if (error) return context.fail(error);
  if (context.json())
    context.print_json(Json{{"node", {{"name", name}, {"draining", draining}}}});
  else
    context.print_line(name + (draining ? " gets no new tasks" : " gets tasks again"));
  return kExitDone;
}

int say_planned(const Context& context, const caf::error& error, const std::string& name,
                WallTime begins) {
  if (error) return context.fail(error);
  if (context.json())
    context.print_json(
        Json{{"node", {{"name", name}, {"draining", false}, {"drain_begins", json_time(begins)}}}});
  else
    context.print_line(name + " drains from " + table_time(begins) +
                       " on; until then it takes what ends before that by its time limit");
  return kExitDone;
}

int drain(const Context& context, const DrainOptions& options) {
  const auto deadline_ms = drain_deadline(options.deadline);
  if (!deadline_ms) return context.fail(deadline_ms.error());
  std::optional<WallTime> begins;
  if (!options.at.empty()) {
    const auto moment = drain_begins(options.at, wall_time_now());
    if (!moment) return context.fail(moment.error());
    begins = *moment;
  }
  return context.with_client([&](const Context&, Client& client) {
    if (begins)
      return say_planned(context,
                         client.plan_drain(options.name, options.reason, *begins, *deadline_ms),
                         options.name, *begins);
    return say_changed(context, client.drain_node(options.name, options.reason, *deadline_ms),
                       options.name, true);
  });
}

int undrain(const Context& context, Client& client, const std::string& name) {
  return say_changed(context, client.undrain_node(name), name, false);
}

int remove_node(const Context& context, Client& client, const std::string& name) {
  if (const auto error = client.remove_node(name)) return context.fail(error);
  if (context.json())
    context.print_json(Json{{"removed", name}});
  else
    context.print_line("removed " + name + "; to come back it has to join anew");
  return kExitDone;
}

}  // namespace

void add_node_commands(CLI::App& app, Context& context) {
  auto* noun = add_noun(app, "node", "The machines that run tasks");

  auto* list_verb = add_verb(*noun, "list", "All nodes with what is free",
                             "  fairwater node list\n  fairwater node list --json");
  on_run_with_client(list_verb, context, list_nodes);

  auto name = std::make_shared<std::string>();
  auto* show_verb = add_verb(*noun, "show", "One node", "  fairwater node show node-1");
  show_verb->add_option("name", *name, "the node")->required();
  on_run_with_client(show_verb, context, name, show_node);

  auto* drain_verb =
      add_verb(*noun, "drain", "Give a node no new tasks; those it runs go on, or until a deadline",
               "  fairwater node drain node-1 --reason 'new disk'\n"
               "  fairwater node drain node-1 --reason 'new kernel' --deadline 2h\n"
               "  fairwater node drain node-1 --reason 'new kernel' --at 2026-12-01T02:00Z");
  auto options = std::make_shared<DrainOptions>();
  drain_verb->add_option("name", options->name, "the node")->required();
  drain_verb->add_option("--reason", options->reason, "what others read in listings")->required();
  drain_verb->add_option("--at", options->at,
                         "from then on, in UTC or so long from now; until then the node\ntakes "
                         "what ends before by its "
                         "time limit");
  drain_verb->add_option("--deadline", options->deadline,
                         "so long after it begins what still runs there is stopped, and\nruns "
                         "elsewhere; 2h, 30m, 1ms");
  on_run(drain_verb, context, [&context, options] { return drain(context, *options); });

  auto* undrain_verb = add_verb(*noun, "undrain", "Give a drained node tasks again",
                                "  fairwater node undrain node-1");
  undrain_verb->add_option("name", *name, "the node")->required();
  on_run_with_client(undrain_verb, context, name, undrain);

  auto* remove_verb =
      add_verb(*noun, "remove", "Forget a node that is down or drained and runs nothing",
               "  fairwater node drain node-1 --reason 'sold'\n  fairwater node remove node-1");
  remove_verb->add_option("name", *name, "the node")->required();
  on_run_with_client(remove_verb, context, name, remove_node);
}

}  // namespace fairwater::inline cli::inline cluster
