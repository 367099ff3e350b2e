// By what the tasks of a gang know each other, and which task this is.
#include <cstdlib>

#include <catch2/catch.hpp>

#include "cli/gang/place.hpp"
#include "cli/gang/proof.hpp"

namespace fairwater {

TEST_CASE("a proof is of one key, role, task and nonce", "[gang]") {
  const std::string nonce = make_gang_nonce();
  const std::string proof = gang_proof("key", GangRole::first, 12, nonce);
  CHECK(is_gang_proof(proof, "key", GangRole::first, 12, nonce));
  CHECK_FALSE(is_gang_proof(proof, "yek", GangRole::first, 12, nonce));
  CHECK_FALSE(is_gang_proof(proof, "key", GangRole::other, 12, nonce));
  CHECK_FALSE(is_gang_proof(proof, "key", GangRole::first, 1, nonce));
  CHECK_FALSE(is_gang_proof(proof, "key", GangRole::first, 12, make_gang_nonce()));
  CHECK_FALSE(is_gang_proof(proof.substr(1), "key", GangRole::first, 12, nonce));
  CHECK_FALSE(is_gang_proof("", "key", GangRole::first, 12, nonce));
}

TEST_CASE("a nonce of nothing proves nothing", "[gang]") {
  CHECK_FALSE(
      is_gang_proof(gang_proof("key", GangRole::other, 1, ""), "key", GangRole::other, 1, ""));
}

TEST_CASE("which task of a gang this is stands in its environment", "[gang]") {
  const auto set = [](const char* name, const char* value) { ::setenv(name, value, 1); };
  set("FAIRWATER_TASK_INDEX", "3");
  set("FAIRWATER_TASK_COUNT", "4");
  set("FAIRWATER_RENDEZVOUS", "[fd00::7]:20123");
  set("FAIRWATER_GANG_KEY", "secret");
  const auto place = gang_place_from_environment();
  REQUIRE(place);
  CHECK(place->index == 3);
  CHECK(place->tasks == 4);
  CHECK(place->address == "[fd00::7]");
  CHECK(place->port == 20123);
  CHECK(place->key == "secret");
  const std::pair<const char*, const char*> spoilt[] = {{"FAIRWATER_GANG_KEY", ""},
                                                        {"FAIRWATER_RENDEZVOUS", "here:70000"},
                                                        {"FAIRWATER_TASK_COUNT", "3"},
                                                        {"FAIRWATER_TASK_INDEX", "x"}};
  for (const auto& [name, value] : spoilt) {
    set(name, value);
    const auto wrong = gang_place_from_environment();
    REQUIRE(!wrong);
    CHECK(details(wrong.error()).field == name);
  }
  for (const auto& [name, value] : spoilt) ::unsetenv(name);
}

}  // namespace fairwater
