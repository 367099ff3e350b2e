#include "cli/core/context.hpp"

#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "rpc/tokens.hpp"

namespace fairwater::inline cli::inline core {
namespace {

/// Of several coordinators nobody leads for a second or two when the leader falls, five in bad
/// cases (docs/performance.md). Whoever takes over lets go of all who wait there for the next
/// leader, and listens anew in a moment: where the others are gone, nobody answers then.
constexpr TakeoverPatience kTakeoverPatience{.leaderless_ms = 10'000, .unanswered_ms = 3'000};

/// Whoever is named to lead does not answer.
caf::error nobody_led(const caf::error& refusal) {
  const ErrorDetails said = details(refusal);
  return make_not_leader(said.message + ". Nobody took over for " +
                             std::to_string(kTakeoverPatience.leaderless_ms / 1000) +
                             " s; status, job list and others show with --stale what it holds",
                         said.leader);
}

std::string environment_or(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

}  // namespace

int exit_status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_input:
    case ErrorCode::not_supported:
      return kExitUsage;
    case ErrorCode::unavailable:
    case ErrorCode::not_leader:
      return kExitNotReached;
    case ErrorCode::not_permitted:
    case ErrorCode::unauthenticated:
      return kExitNotPermitted;
    default:
      return kExitFailed;
  }
}

caf::error Context::complete_from_environment() {
  if (options.address.empty())
    options.address = environment_or("FAIRWATER_ADDRESS", kDefaultAddress);
  if (options.coordinator_key.empty())
    options.coordinator_key = environment_or("FAIRWATER_COORDINATOR_KEY", "");
  const std::string output = environment_or("FAIRWATER_OUTPUT", "text");
  if (output == "json")
    options.json = true;
  else if (output != "text")
    return make_error(ErrorCode::invalid_input, "'" + output + "' is not json or text",
                      "FAIRWATER_OUTPUT");
  if (!options.token.empty()) return {};
  if (options.token_file.empty()) {
    options.token = environment_or("FAIRWATER_TOKEN", "");
    return {};
  }
  auto token = read_secret_file(options.token_file);
  if (!token)
    return make_error(ErrorCode::invalid_input, details(token.error()).message, "token-file");
  options.token = std::move(*token);
  return {};
}

Expected<std::unique_ptr<Client>> Context::connect() const {
  const auto addresses = AddressList::parse(options.address);
  if (!addresses) return addresses.error();
  return connect(*addresses);
}

Expected<std::unique_ptr<Client>> Context::connect(const AddressList& addresses) const {
  if (options.token.empty())
    return make_error(ErrorCode::invalid_input,
                      "no token: set FAIRWATER_TOKEN, or give --token or --token-file", "token");
  std::optional<PublicKey> pinned;
  if (!options.coordinator_key.empty()) {
    const auto key = parse_key(options.coordinator_key);
    if (!key) return key.error();
    pinned = *key;
  }
  auto client = Client::connect(addresses, options.token,
                                {.key = pinned,
                                 .reads = options.stale ? Reads::of_any : Reads::of_leader,
                                 .patience = kTakeoverPatience});
  if (!client && details(client.error()).code == ErrorCode::not_leader)
    return nobody_led(client.error());
  return client;
}

int Context::with_client(const std::function<int(const Context&, Client&)>& use) const {
  auto client = connect();
  if (!client) return fail(client.error());
  if (!options.stale) return use(*this, **client);
  const auto freshness = (*client)->freshness();
  if (!freshness) return fail(freshness.error());
  Context dated = *this;
  dated.freshness_ = *freshness;
  if (!json()) say_age(*freshness);
  return use(dated, **client);
}

void Context::say_age(const Freshness& of) const {
  if (of.follower.empty()) return;
  const std::int64_t tenths = (of.age_ms + 99) / 100;  // rounded up: it is a bound
  *err_ << fmt::format("fairwater: {} answers, which follows: this is at most {}.{} s old\n",
                       printable(of.follower), tenths / 10, tenths % 10);
}

int Context::fail(const caf::error& error) const {
  const ErrorDetails said = details(error);
  if (json()) {
    Json fields;
    fields["error"]["code"] = to_string(said.code);
    fields["error"]["message"] = said.message;
    fields["error"]["field"] = said.field;
    print_json(fields);
  } else {
    *err_ << "fairwater: " << (said.field.empty() ? "" : printable(said.field) + ": ")
          << printable(said.message) << "\n";
  }
  // It was reached, and said that it takes nothing in yet.
  if (said.field == kLedgerField) return kExitFailed;
  return exit_status_of(said.code);
}

int Context::fail_usage(const std::string& message, const std::string& field) const {
  return fail(make_error(ErrorCode::invalid_input, message, field));
}

void Context::warn(const std::vector<std::string>& warnings) const {
  if (json()) return;
  for (const auto& warning : warnings)
    *err_ << "fairwater: warning: " << printable(warning) << "\n";
}

void Context::print_json(const Json& fields) const {
  Json value;
  value["version"] = 1;
  if (!freshness_.follower.empty())
    value["as_of"] = {{"coordinator", freshness_.follower}, {"age_ms", freshness_.age_ms}};
  value.update(fields);
  print_line(json_text(value));
}

void Context::print_line(const std::string& line) const { *out_ << line << "\n" << std::flush; }

}  // namespace fairwater::inline cli::inline core
