// tenant apply | list | show | remove | token
#include <map>
#include <memory>

#include "cli/cluster/commands.hpp"
#include "cli/cluster/json_shapes.hpp"
#include "cli/cluster/measure_text.hpp"
#include "cli/cluster/tables.hpp"
#include "cli/core/files.hpp"
#include "cli/core/verbs.hpp"
#include "input/document.hpp"
#include "input/tenants.hpp"
#include "model/tenant_nesting.hpp"

namespace fairwater::inline cli::inline cluster {
namespace {

struct ApplyOptions {
  std::string file;
  bool dry_run = false;
};

struct TokenOptions {
  std::string name;
  std::string file;
};

/// What the cluster would promise beyond what it has, once `specs` are applied.
Expected<std::vector<std::string>> excess_after(Client& client,
                                                const std::vector<TenantSpec>& specs) {
  const auto known = client.list_tenants();
  if (!known) return known.error();
  const auto status = client.status();
  if (!status) return status.error();
  std::map<std::string, TenantSpec> all;
  for (const auto& tenant : *known) all[tenant.record.spec.name] = tenant.record.spec;
  for (const auto& spec : specs) all[spec.name] = spec;
  TenantNesting::Specs numbered;
  for (auto& [name, spec] : all)
    numbered.emplace(TenantId{static_cast<std::uint32_t>(numbered.size() + 1)}, std::move(spec));
  return guarantees_beyond(status->capacity, TenantNesting(std::move(numbered)).guaranteed({}));
}

int apply(const Context& context, const ApplyOptions& options) {
  const auto text = read_input(options.file, kMaxYamlBytes);
  if (!text) return context.fail(text.error());
  const auto specs = parse_tenant_file(*text, input_name(options.file));
  if (!specs) return context.fail(specs.error());
  return context.with_client([&](const Context&, Client& client) {
    const auto warnings = excess_after(client, *specs);
    if (!warnings) return context.fail(warnings.error());
    const auto changes = client.apply_tenants(*specs, options.dry_run);
    if (!changes) return context.fail(changes.error());
    context.warn(*warnings);
    if (context.json()) {
      Json fields = list_json("changes", *changes, tenant_change_json);
      fields["dry_run"] = options.dry_run;
      fields["warnings"] = *warnings;
      context.print_json(fields);
    } else {
      context.out() << tenant_changes_text(*changes, options.dry_run);
    }
    return kExitDone;
  });
}

int list_tenants(const Context& context, Client& client) {
  return print_answer(context, client.list_tenants(), tenants_json, tenant_table);
}

Expected<TenantInfo> find_tenant(Client& client, const std::string& name) {
  auto tenants = client.list_tenants();
  if (!tenants) return tenants.error();
  for (auto& tenant : *tenants)
    if (tenant.record.spec.name == name) return std::move(tenant);
  return make_error(ErrorCode::not_found, "there is no tenant '" + name + "'", "tenant");
}

int show_tenant(const Context& context, Client& client, const std::string& name) {
  const auto shape = [](const TenantInfo& tenant) {
    Json json{{"tenant", tenant_json(tenant)}};
    put_measure(json, tenant.measure);
    return json;
  };
  return print_answer(context, find_tenant(client, name), shape, tenant_text);
}

int remove(const Context& context, Client& client, const std::string& name) {
  const auto departure = client.remove_tenant(name);
  if (!departure) return context.fail(departure.error());
  if (context.json())
    context.print_json(Json{{"removed", departure->leaving ? Json(nullptr) : Json(name)},
                            {"leaving", departure->leaving ? Json(name) : Json(nullptr)}});
  else if (departure->leaving)
    context.print_line(name +
                       " is leaving: it takes no jobs any more, and goes when it has none and owes "
                       "nothing (fairwater tenant list)");
  else
    context.print_line("removed " + name);
  return kExitDone;
}

int create_token(const Context& context, Client& client, const TokenOptions& options) {
  if (!options.file.empty())
    if (const auto error = check_token_file(options.file)) return context.fail(error);
  const auto made = client.create_token({Role::tenant, options.name, {}, 0});
  if (!made) return context.fail(made.error());
  Json fields{{"tenant", options.name}};
  if (options.file.empty()) {
    fields["token"] = made->token;
  } else {
    if (const auto error = write_token_file(options.file, made->token)) return context.fail(error);
    fields["file"] = options.file;
  }
  if (context.json())
    context.print_json(fields);
  else
    context.print_line(options.file.empty() ? made->token : "wrote " + options.file);
  return kExitDone;
}

}  // namespace

void add_tenant_commands(CLI::App& app, Context& context) {
  auto* noun = add_noun(app, "tenant", "Who shares the cluster");

  auto* apply_verb = add_verb(*noun, "apply", "Add and change tenants as a file declares them",
                              "  fairwater tenant apply tenants.yaml --dry-run\n"
                              "  fairwater tenant apply tenants.yaml");
  auto apply_options = std::make_shared<ApplyOptions>();
  apply_verb->add_option("file", apply_options->file, "YAML, or - for standard input")->required();
  apply_verb->add_flag("--dry-run", apply_options->dry_run, "only print what would change");
  on_run(apply_verb, context, [&context, apply_options] { return apply(context, *apply_options); });

  auto* list_verb = add_verb(*noun, "list", "All tenants with quota, use and net position",
                             "  fairwater tenant list\n  fairwater tenant list --json");
  on_run_with_client(list_verb, context, list_tenants);

  auto name = std::make_shared<std::string>();
  auto* show_verb = add_verb(*noun, "show", "One tenant", "  fairwater tenant show physics");
  show_verb->add_option("name", *name, "the tenant")->required();
  on_run_with_client(show_verb, context, name, show_tenant);

  auto* remove_verb =
      add_verb(*noun, "remove", "Let a tenant go, once its jobs have ended and it owes nothing",
               "  fairwater tenant remove physics");
  remove_verb->add_option("name", *name, "the tenant")->required();
  on_run_with_client(remove_verb, context, name, remove);

  auto* token_verb =
      add_verb(*noun, "token", "Make a new token for a tenant; it is shown once",
               "  fairwater tenant token physics --file physics.token\n"
               "  FAIRWATER_TOKEN=$(fairwater tenant token physics) fairwater job list");
  auto token_options = std::make_shared<TokenOptions>();
  token_verb->add_option("name", token_options->name, "the tenant")->required();
  token_verb->add_option("--file", token_options->file, "write it there, readable by you alone");
  on_run_with_client(token_verb, context, token_options, create_token);
}

}  // namespace fairwater::inline cli::inline cluster
