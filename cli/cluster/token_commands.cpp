// token create | list | revoke
#include <memory>

#include "cli/cluster/commands.hpp"
#include "cli/cluster/json_shapes.hpp"
#include "cli/cluster/tables.hpp"
#include "cli/core/files.hpp"
#include "cli/core/verbs.hpp"

namespace fairwater::inline cli::inline cluster {
namespace {

/// A join token is copied to other machines: it is good for a day unless said otherwise.
constexpr std::int64_t kJoinLifetimeMs = 24 * 3'600'000;

struct CreateOptions {
  std::string tenant;
  bool for_operator = false;
  bool for_nodes = false;
  std::string name;
  std::string expires;
  std::string file;
  std::string user;
};

Expected<NewToken> wanted_token(const CreateOptions& options) {
  if (!options.tenant.empty() + options.for_operator + options.for_nodes != 1)
    return make_error(ErrorCode::invalid_input,
                      "say whose token it is, one of --tenant NAME, --operator, --join", "token");
  NewToken token;
  token.tenant = options.tenant;
  token.name = options.name;
  token.user = options.user;
  if (!token.user.empty() && token.tenant.empty())
    return make_error(ErrorCode::invalid_input,
                      "users are a tenant's; name it, as in --tenant physics", "user");
  if (options.for_operator) token.role = Role::operator_role;
  if (options.for_nodes) token.role = Role::join;
  if (options.expires.empty()) {
    token.lifetime_ms = options.for_nodes ? kJoinLifetimeMs : 0;
  } else {
    auto lifetime = parse_lifetime_ms(options.expires);
    if (!lifetime)
      return make_error(ErrorCode::invalid_input, details(lifetime.error()).message, "expires");
    token.lifetime_ms = *lifetime;
  }
  return token;
}

int create(const Context& context, const CreateOptions& options) {
  const auto wanted = wanted_token(options);
  if (!wanted) return context.fail(wanted.error());
  if (!options.file.empty())
    if (const auto error = check_token_file(options.file)) return context.fail(error);
  return context.with_client([&](const Context&, Client& client) {
    const auto made = client.create_token(*wanted);
    if (!made) return context.fail(made.error());
    Json fields = token_json(made->info);
    if (options.file.empty()) {
      fields["token"] = made->token;
    } else {
      if (const auto error = write_token_file(options.file, made->token))
        return context.fail(error);
      fields["file"] = options.file;
    }
    if (context.json())
      context.print_json(fields);
    else
      context.print_line(options.file.empty() ? made->token : "wrote " + options.file);
    return kExitDone;
  });
}

int list_tokens(const Context& context, Client& client) {
  return print_answer(context, client.list_tokens(), listed("tokens", token_json), token_table);
}

int revoke(const Context& context, Client& client, const std::string& token) {
  const auto revoked = client.revoke_token(token);
  if (!revoked) return context.fail(revoked.error());
  if (context.json())
    context.print_json(Json{{"revoked", token_json(*revoked)}});
  else
    context.print_line("revoked " + revoked->id +
                       (revoked->name.empty() ? "" : " (" + revoked->name + ")") +
                       "; its sessions are ended");
  return kExitDone;
}

}  // namespace

void add_token_commands(CLI::App& app, Context& context) {
  auto* noun = add_noun(app, "token", "Who may come in");

  auto* create_verb =
      add_verb(*noun, "create", "Make a token; it is shown once",
               "  fairwater token create --tenant physics --name ci --expires 720h\n"
               "  fairwater token create --tenant physics --user ada\n"
               "  fairwater token create --join --file join.token\n"
               "  fairwater token create --operator --name alice");
  auto options = std::make_shared<CreateOptions>();
  create_verb->add_option("--tenant", options->tenant, "for what this tenant may do");
  create_verb->add_option("--user", options->user,
                          "one of those who share the tenant: its jobs carry the name");
  create_verb->add_flag("--operator", options->for_operator, "for everything");
  create_verb->add_flag("--join", options->for_nodes, "for nodes that join the cluster");
  create_verb->add_option("--name", options->name, "what others read in listings");
  create_verb->add_option("--expires", options->expires,
                          "after this time, or never (default: --join 24h, the others never)");
  create_verb->add_option("--file", options->file, "write it there, readable by you alone");
  on_run(create_verb, context, [&context, options] { return create(context, *options); });

  auto* list_verb = add_verb(*noun, "list", "All tokens, never the secrets",
                             "  fairwater token list\n  fairwater token list --json");
  on_run_with_client(list_verb, context, list_tokens);

  auto* revoke_verb =
      add_verb(*noun, "revoke", "A token opens nothing any more",
               "  fairwater token revoke ci\n  fairwater token revoke 3f09a1c24b7e");
  auto token = std::make_shared<std::string>();
  revoke_verb->add_option("token", *token, "its name or id, as token list shows them")->required();
  on_run_with_client(revoke_verb, context, token, revoke);
}

}  // namespace fairwater::inline cli::inline cluster
