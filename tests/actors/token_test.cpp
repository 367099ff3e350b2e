// Who may come in: tokens are made, listed, used and revoked.
#include <algorithm>
#include <limits>

#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

using Catch::Matchers::Contains;

Hash hash_numbered(std::uint8_t number) {
  Hash hash{};
  hash.fill(number);
  return hash;
}

/// A cluster with a clock that stands still unless it is set.
struct ClusterWithClock {
  std::shared_ptr<WallTime> now = std::make_shared<WallTime>(WallTime{1'000'000'000});
  ClusterFixture cluster{[now = now] {
    auto settings = ClusterFixture::default_settings();
    settings.wall_clock = [now] { return *now; };
    return settings;
  }()};

  Expected<TokenInfo> create(std::uint8_t number, const NewToken& wanted) {
    return cluster.ask<TokenInfo>(
        CreateToken{cluster.operator_caller(), wanted, hash_numbered(number)});
  }
  Expected<RevokedToken> revoke(const std::string& name_or_id) {
    return cluster.ask<RevokedToken>(RevokeToken{cluster.operator_caller(), name_or_id});
  }
  Expected<Caller> log_in(std::uint8_t number) {
    return cluster.ask<Caller>(Login{hash_numbered(number)});
  }
  std::vector<std::string> names() {
    const auto list = cluster.ask<TokenList>(ListTokens{cluster.operator_caller()});
    std::vector<std::string> names;
    for (const auto& token : list->tokens) names.push_back(token.name);
    return names;
  }
};

template <class Value>
ErrorCode code_of(const Expected<Value>& answer) {
  return answer ? ErrorCode{} : details(answer.error()).code;
}

TEST_CASE("a token opens its role until it is revoked, also after a restart", "[actor]") {
  ClusterWithClock with;
  with.cluster.apply({tenant_spec("physics", 1)});
  const auto made = with.create(1, {Role::tenant, "physics", "ci", 0});
  REQUIRE(made.engaged());
  CHECK(*made == TokenInfo{"010101010101", "ci", Role::tenant, "physics", *with.now, {}, {}});
  REQUIRE(with.create(2, {Role::operator_role, "", "alice", 0}).engaged());
  CHECK(with.log_in(1)->tenant_name == "physics");
  CHECK(with.log_in(2)->role == Role::operator_role);
  with.cluster.restart();
  CHECK(with.log_in(1)->tenant_name == "physics");
  const auto revoked = with.revoke("ci");
  REQUIRE(revoked.engaged());
  CHECK(revoked->token_hash == hash_numbered(1));
  CHECK(revoked->info.last_used == *with.now);
  CHECK(code_of(with.log_in(1)) == ErrorCode::unauthenticated);
  with.cluster.restart();
  CHECK(code_of(with.log_in(1)) == ErrorCode::unauthenticated);
  CHECK(with.log_in(2).engaged());
  CHECK(with.names() == std::vector<std::string>{"", "alice"});
  CHECK(with.cluster.verify().ok);
}

TEST_CASE("a token is revoked by the id that the listing shows", "[actor]") {
  ClusterWithClock with;
  REQUIRE(with.create(1, {Role::join, "", "", 0}).engaged());
  CHECK(code_of(with.revoke("")) == ErrorCode::not_found);
  CHECK(code_of(with.revoke("0101")) == ErrorCode::not_found);
  CHECK(with.revoke("010101010101").engaged());
}

TEST_CASE("an expired token opens nothing", "[actor]") {
  ClusterWithClock with;
  REQUIRE(with.create(1, {Role::operator_role, "", "", 60'000}).engaged());
  const auto caller = with.log_in(1);
  REQUIRE(caller.engaged());
  CHECK(caller->expires_at.microseconds == with.now->microseconds + 60'000'000);
  with.now->microseconds += 60'000'000;
  const auto refused = with.log_in(1);
  CHECK(code_of(refused) == ErrorCode::unauthenticated);
  CHECK_THAT(details(refused.error()).message, Contains("has expired"));
}

TEST_CASE("a token lives for a hundred years at most, or for ever", "[actor]") {
  constexpr std::int64_t kHundredYears_ms = 36'525LL * 24 * 60 * 60 * 1'000;
  ClusterWithClock with;
  const auto made = with.create(1, {Role::operator_role, "", "", kHundredYears_ms});
  REQUIRE(made.engaged());
  CHECK(made->expires_at.microseconds == with.now->microseconds + kHundredYears_ms * 1'000);
  const auto refused = with.create(2, {Role::operator_role, "", "", kHundredYears_ms + 1});
  CHECK(code_of(refused) == ErrorCode::invalid_input);
  CHECK_THAT(details(refused.error()).message,
             Contains("3155760000001 ms") && Contains("3155760000000 ms"));
}

TEST_CASE("an expired join token joins nobody", "[actor]") {
  ClusterWithClock with;
  REQUIRE(with.create(9, {Role::join, "", "", 60'000}).engaged());
  RegisterNode request;
  request.spec.traits.name = "node1";
  request.spec.capacity = {{"cpu", 1000}};
  request.joining = true;
  request.join_hash = hash_numbered(9);
  with.now->microseconds += 60'000'000;
  CHECK(code_of(with.cluster.ask<NodeRegistered>(request)) == ErrorCode::unauthenticated);
}

/// Which of several that ask at once comes first is nobody's promise.
template <class Answers>
std::ptrdiff_t carried_out(const Answers& answers) {
  return std::count_if(answers.begin(), answers.end(), [](const auto& a) { return a.engaged(); });
}
template <class Answers>
std::ptrdiff_t refused_with(const Answers& answers, ErrorCode code) {
  return std::count_if(answers.begin(), answers.end(),
                       [code](const auto& answer) { return code_of(answer) == code; });
}

TEST_CASE("names of tokens are unique, also among those that are just being made", "[actor]") {
  ClusterWithClock with;
  std::vector<CreateToken> requests;
  for (std::uint8_t number : {1, 2, 3})
    requests.push_back({with.cluster.operator_caller(),
                        {Role::operator_role, "", "alice", 0},
                        hash_numbered(number)});
  const auto answers = with.cluster.ask_at_once<TokenInfo>(requests);
  CHECK(carried_out(answers) == 1);
  CHECK(refused_with(answers, ErrorCode::already_exists) == 2);
}

TEST_CASE("the last operator's token that does not expire stays", "[actor]") {
  ClusterWithClock with;
  REQUIRE(with.create(1, {Role::operator_role, "", "first", 0}).engaged());
  REQUIRE(with.create(2, {Role::operator_role, "", "passing", 60'000}).engaged());
  CHECK(code_of(with.revoke("first")) == ErrorCode::wrong_state);
  REQUIRE(with.create(3, {Role::operator_role, "", "second", 0}).engaged());

  SECTION("one of two at once") {
    const auto caller = with.cluster.operator_caller();
    const auto answers = with.cluster.ask_at_once<RevokedToken>(
        std::vector<RevokeToken>{{caller, "first"}, {caller, "second"}});
    CHECK(carried_out(answers) == 1);
    CHECK(refused_with(answers, ErrorCode::wrong_state) == 1);
  }
  SECTION("one after the other") {
    CHECK(with.revoke("passing").engaged());
    CHECK(with.revoke("second").engaged());
    CHECK(code_of(with.revoke("first")) == ErrorCode::wrong_state);
  }
}

TEST_CASE("wrong wishes for a token are refused by field", "[actor]") {
  ClusterWithClock with;
  with.cluster.apply({tenant_spec("physics", 1)});
  const auto field = [&](const NewToken& wanted) {
    return details(with.create(1, wanted).error()).field;
  };
  CHECK(field({Role::tenant, "", "", 0}) == "tenant");
  CHECK(field({Role::tenant, "nobody", "", 0}) == "tenant");
  CHECK(field({Role::operator_role, "physics", "", 0}) == "tenant");
  CHECK(field({Role::join, "", "a name", 0}) == "name");
  CHECK(field({Role::join, "", "", -1}) == "expires");
  CHECK(field({Role::join, "", "", std::numeric_limits<std::int64_t>::max()}) == "expires");
  const CreateToken by_tenant{
      with.cluster.tenant_caller("physics"), {Role::operator_role, "", "", 0}, hash_numbered(1)};
  CHECK(code_of(with.cluster.ask<TokenInfo>(by_tenant)) == ErrorCode::not_permitted);
}

TEST_CASE("a tenant's tokens go with it, also one that is revoked meanwhile", "[actor]") {
  ClusterWithClock with;
  with.cluster.apply({tenant_spec("physics", 1)});
  REQUIRE(with.create(1, {Role::tenant, "physics", "ci", 0}).engaged());
  const RemoveTenant request{with.cluster.operator_caller(), "physics"};
  SECTION("by itself") { CHECK(with.cluster.ask<TenantDeparture>(request).engaged()); }
  SECTION("beside") {
    const RevokeToken beside{with.cluster.operator_caller(), "ci"};
    CHECK(with.cluster.ask_beside<TenantDeparture>(request, beside).engaged());
  }
  CHECK(code_of(with.log_in(1)) == ErrorCode::unauthenticated);
  CHECK(with.names() == std::vector<std::string>{""});
  CHECK(with.cluster.verify().ok);
}

}  // namespace
}  // namespace fairwater
