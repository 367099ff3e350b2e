#include "actors/coordinator/login.hpp"

namespace fairwater::inline actors::inline coordinator {

caf::error check_token(const TokenGrant* token, WallTime now) {
  if (token == nullptr)
    return make_error(ErrorCode::unauthenticated, "this token is not known", "token");
  if (token->expires_at && token->expires_at <= now)
    return make_error(ErrorCode::unauthenticated,
                      "this token has expired; an operator makes new ones: fairwater token create",
                      "token");
  return {};
}

Expected<Caller> caller_of(const TokenGrant& token, const std::string* tenant_name) {
  if (token.role == Role::join)
    return make_error(ErrorCode::not_permitted, "a join token lets nodes join, it logs nobody in",
                      "token");
  Caller caller{token.role, token.tenant, {}, token.expires_at, token.user};
  if (token.role == Role::operator_role) return caller;
  if (tenant_name == nullptr)
    return make_error(ErrorCode::unauthenticated, "this token's tenant was removed", "token");
  caller.tenant_name = *tenant_name;
  return caller;
}

}  // namespace fairwater::inline actors::inline coordinator
