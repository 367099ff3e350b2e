// Who may come in: tokens, which the coordinator keeps in memory beside the ledger, so that a login
// reads nothing.
#include <algorithm>
#include <tuple>
#include <utility>

#include "actors/coordinator/login.hpp"
#include "actors/coordinator/state.hpp"

namespace fairwater::inline actors::inline coordinator::coordination {
namespace {

/// Every login looks at one, every listing at all of them.
constexpr std::size_t kMaxTokens = 10'000;
/// Ids of 48 bits: two of 10,000 tokens are alike once in five million clusters.
constexpr std::size_t kIdBytes = 6;
/// A hundred years: in microseconds, and added to the present, it is a time that can be told.
constexpr std::int64_t kMaxLifetime_ms = 36'525LL * 24 * 60 * 60 * 1'000;

using Tokens = std::map<Hash, TokenEntry>;

/// The part of the hash that is shown: enough to tell tokens apart, useless to log in with.
std::string id_of(const Hash& hash) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string id;
  for (std::size_t i = 0; i < kIdBytes; ++i) {
    id += kDigits[hash[i] >> 4];
    id += kDigits[hash[i] & 15];
  }
  return id;
}

TokenInfo describe(const CoordinatorState& state, const Tokens::value_type& token) {
  const auto& [hash, entry] = token;
  const auto tenant = state.tenants.find(entry.grant.tenant);
  return {id_of(hash),
          entry.grant.name,
          entry.grant.role,
          tenant == state.tenants.end() ? std::string{} : tenant->second.spec.name,
          entry.grant.created_at,
          entry.grant.expires_at,
          entry.last_used,
          entry.grant.user};
}

/// By name first: an operator gave it.
Expected<Tokens::iterator> find_token(CoordinatorState& state, const std::string& name_or_id) {
  auto& tokens = state.tokens;
  const auto named = std::find_if(tokens.begin(), tokens.end(), [&](const auto& token) {
    return !name_or_id.empty() && token.second.grant.name == name_or_id;
  });
  if (named != tokens.end()) return named;
  const auto matches = [&](const auto& token) { return id_of(token.first) == name_or_id; };
  const auto found = std::find_if(tokens.begin(), tokens.end(), matches);
  if (found == tokens.end())
    return make_error(ErrorCode::not_found,
                      "there is no token with the name or id '" + name_or_id + "'", "token");
  if (std::find_if(std::next(found), tokens.end(), matches) != tokens.end())
    return make_error(ErrorCode::wrong_state, "two tokens have the id " + name_or_id, "token");
  return found;
}

/// Would this one be missed? A token that expires does not count: in time it would lock the
/// operators out as well.
bool is_last_of_operators(const CoordinatorState& state, const Hash& hash) {
  const auto opens_for_good = [](const TokenEntry& entry) {
    return entry.grant.role == Role::operator_role && !entry.grant.expires_at &&
           entry.state == TokenEntry::State::good;
  };
  return opens_for_good(state.tokens.at(hash)) &&
         std::none_of(state.tokens.begin(), state.tokens.end(), [&](const auto& token) {
           return token.first != hash && opens_for_good(token.second);
         });
}

caf::error check_new_token(const CoordinatorState& state, const NewToken& wanted) {
  if (!wanted.name.empty() && !is_valid_name(wanted.name))
    return make_error(
        ErrorCode::invalid_input,
        "'" + wanted.name + "' is not a token's name: 1 to 63 letters, digits, '.', '_', '-'",
        "name");
  for (const auto& [hash, entry] : state.tokens)
    if (!wanted.name.empty() && entry.grant.name == wanted.name)
      return make_error(ErrorCode::already_exists,
                        "there is a token with the name " + wanted.name + " already", "name");
  if (wanted.lifetime_ms < 0)
    return make_error(ErrorCode::invalid_input, "a token cannot expire before it is made",
                      "expires");
  if (wanted.lifetime_ms > kMaxLifetime_ms)
    return make_error(ErrorCode::invalid_input,
                      "a token cannot live for " + std::to_string(wanted.lifetime_ms) +
                          " ms; at most 100 years, " + std::to_string(kMaxLifetime_ms) +
                          " ms, unless it never expires",
                      "expires");
  if ((wanted.role == Role::tenant) == wanted.tenant.empty())
    return make_error(ErrorCode::invalid_input,
                      "a tenant's token names its tenant, and no other does", "tenant");
  if (wanted.role == Role::tenant && !state.tenant_ids.contains(wanted.tenant))
    return make_error(ErrorCode::not_found, "there is no tenant " + wanted.tenant, "tenant");
  if (!wanted.user.empty()) {
    if (wanted.role != Role::tenant)
      return make_error(ErrorCode::invalid_input,
                        "users are a tenant's; name it beside, as in --tenant physics", "user");
    if (auto wrong = validate_user_name(wanted.user)) return wrong;
  }
  if (state.tokens.size() >= kMaxTokens)
    return make_error(ErrorCode::overloaded, "there are " + std::to_string(kMaxTokens) +
                                                 " tokens, the most that are kept; revoke those "
                                                 "that nobody needs");
  return {};
}

}  // namespace

Expected<TokenGrant> use_token(CoordinatorState& state, const Hash& hash) {
  const auto token = state.tokens.find(hash);
  const bool is_good =
      token != state.tokens.end() && token->second.state == TokenEntry::State::good;
  const WallTime now = state.context->wall_clock();
  if (auto refused = check_token(is_good ? &token->second.grant : nullptr, now)) return refused;
  token->second.last_used = now;
  return token->second.grant;
}

caf::result<Caller> log_in(CoordinatorState& state, const Login& request) {
  const auto grant = use_token(state, request.token_hash);
  if (!grant) return grant.error();
  const auto tenant = state.tenants.find(grant->tenant);
  const auto caller =
      caller_of(*grant, tenant == state.tenants.end() ? nullptr : &tenant->second.spec.name);
  if (!caller) return caller.error();
  return *caller;
}

caf::result<TokenInfo> answer(CoordinatorSelf self, const CreateToken& request) {
  auto& state = self->state;
  const NewToken& wanted = request.wanted;
  if (auto wrong = check_new_token(state, wanted)) return wrong;
  TokenGrant grant{wanted.role, {}, wanted.name, state.context->wall_clock(), {}, wanted.user};
  if (wanted.role == Role::tenant) grant.tenant = state.tenant_ids.at(wanted.tenant);
  if (wanted.lifetime_ms > 0)
    grant.expires_at = {grant.created_at.microseconds + wanted.lifetime_ms * 1000};
  const auto hash = request.token_hash;
  // From here on its name is taken.
  state.tokens[hash] = {grant, TokenEntry::State::changing, {}};
  auto promise = self->make_response_promise<TokenInfo>();
  self->request(state.context->ledger, caf::infinite,
                Commit{{TokenIssued{grant.role, grant.tenant, hash, grant.name, grant.created_at,
                                    grant.expires_at, grant.user}},
                       0})
      .then(
          [self, hash, promise](const Committed&) mutable {
            const auto token = self->state.tokens.find(hash);
            token->second.state = TokenEntry::State::good;
            promise.deliver(describe(self->state, *token));
          },
          [self, hash, promise](const caf::error& error) mutable {
            self->state.tokens.erase(hash);
            promise.deliver(error);
          });
  return promise;
}

caf::result<TokenList> answer(CoordinatorSelf self, const ListTokens&) {
  const auto& state = self->state;
  TokenList list;
  for (const auto& token : state.tokens) list.tokens.push_back(describe(state, token));
  std::stable_sort(list.tokens.begin(), list.tokens.end(), [](const auto& a, const auto& b) {
    return std::tie(a.created_at, a.role) < std::tie(b.created_at, b.role);
  });
  return list;
}

caf::result<RevokedToken> answer(CoordinatorSelf self, const RevokeToken& request) {
  auto& state = self->state;
  auto found = find_token(state, request.token);
  if (!found) return found.error();
  const auto token = *found;
  const auto hash = token->first;
  if (token->second.state != TokenEntry::State::good)
    return make_error(ErrorCode::unavailable, "the token is being made or revoked already");
  if (is_last_of_operators(state, hash))
    return make_error(ErrorCode::wrong_state,
                      "it is the last operator's token that does not expire; make another first: "
                      "fairwater token create --operator",
                      "token");
  token->second.state = TokenEntry::State::changing;  // opens nothing from here on
  auto promise = self->make_response_promise<RevokedToken>();
  self->request(state.context->ledger, caf::infinite, Commit{{TokenRevoked{hash}}, 0})
      .then(
          [self, hash, revoked = RevokedToken{describe(state, *token), hash},
           promise](const Committed&) mutable {
            self->state.tokens.erase(hash);
            promise.deliver(std::move(revoked));
          },
          [self, hash, promise](const caf::error& error) mutable {
            if (const auto kept = self->state.tokens.find(hash); kept != self->state.tokens.end())
              kept->second.state = TokenEntry::State::good;
            promise.deliver(error);
          });
  return promise;
}

void forget_tokens_of(CoordinatorState& state, TenantId tenant) {
  std::erase_if(state.tokens, [tenant](const auto& token) {
    return token.second.grant.role == Role::tenant && token.second.grant.tenant == tenant;
  });
}

}  // namespace fairwater::inline actors::inline coordinator::coordination
