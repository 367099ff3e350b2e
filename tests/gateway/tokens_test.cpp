#include "rpc/tokens.hpp"

#include <filesystem>
#include <fstream>
#include <set>
#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "process/temporary_directory.hpp"
#include "rpc/agent/credential.hpp"

using namespace fairwater;

namespace {

mode_t mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

}  // namespace

TEST_CASE("tokens carry their prefix and never repeat", "[gateway]") {
  std::set<std::string> tokens;
  for (int i = 0; i < 1000; ++i) tokens.insert(make_token("fw_op_"));
  CHECK(tokens.size() == 1000);
  for (const auto& token : tokens) {
    REQUIRE(token.rfind("fw_op_", 0) == 0);
    REQUIRE(token.size() == 6 + 43);  // 256 bits, 6 to a character
  }
}

TEST_CASE("a hash is BLAKE2b-256 of the whole token", "[gateway]") {
  // The published digest of the three letters "abc".
  const Hash expected{0xbd, 0xdd, 0x81, 0x3c, 0x63, 0x42, 0x39, 0x72, 0x31, 0x71, 0xef,
                      0x3f, 0xee, 0x98, 0x57, 0x9b, 0x94, 0x96, 0x4e, 0x3b, 0xb1, 0xcb,
                      0x3e, 0x42, 0x72, 0x62, 0xc8, 0xc0, 0x68, 0xd5, 0x23, 0x19};
  CHECK(same_hash(hash_token("abc"), expected));
  CHECK_FALSE(same_hash(hash_token("abd"), expected));
}

TEST_CASE("a secret file is for its owner alone and is never overwritten", "[gateway]") {
  const TemporaryDirectory directory;
  const std::string path = directory / "operator.token";
  const mode_t umask_before = ::umask(0);
  const auto written = write_secret_file(path, "secret");
  ::umask(umask_before);
  REQUIRE_FALSE(written);
  CHECK(mode_of(path) == 0600);
  CHECK(details(write_secret_file(path, "other")).code == ErrorCode::already_exists);
  const auto secret = read_secret_file(path);
  REQUIRE(secret);
  CHECK(*secret == "secret");
}

TEST_CASE("a secret that others can read is refused", "[gateway]") {
  const TemporaryDirectory directory;
  const std::string path = directory / "token";
  REQUIRE_FALSE(write_secret_file(path, "secret"));
  REQUIRE(::chmod(path.c_str(), 0640) == 0);
  const auto secret = read_secret_file(path);
  REQUIRE_FALSE(secret);
  CHECK(details(secret.error()).code == ErrorCode::not_permitted);
  CHECK_THAT(details(secret.error()).message, Catch::Contains("chmod 600"));
  CHECK(details(read_secret_file(directory / "none").error()).code == ErrorCode::not_found);
}

TEST_CASE("a credential survives a crash between any two of its steps", "[gateway]") {
  const TemporaryDirectory directory;
  const std::string file = directory / "credential";

  Credential first(file);
  REQUIRE_FALSE(first.prepare());
  CHECK_FALSE(first.accepted());
  CHECK_FALSE(first.was_shown());
  CHECK(mode_of(file + ".pending") == 0600);

  // A crash after the coordinator may have accepted it: the same credential is shown again.
  Credential second(file);
  REQUIRE_FALSE(second.prepare());
  CHECK(second.secret() == first.secret());
  CHECK(second.was_shown());
  CHECK_FALSE(second.accepted());
  REQUIRE_FALSE(second.accept());

  Credential third(file);
  REQUIRE_FALSE(third.prepare());
  CHECK(third.secret() == first.secret());
  CHECK(third.accepted());
  CHECK_FALSE(std::filesystem::exists(file + ".pending"));
}

TEST_CASE("a credential whose writing was cut off is made anew", "[gateway]") {
  const TemporaryDirectory directory;
  const std::string file = directory / "credential";
  std::ofstream(file + ".pending").close();
  REQUIRE(::chmod((file + ".pending").c_str(), 0600) == 0);
  Credential credential(file);
  REQUIRE_FALSE(credential.prepare());
  CHECK_FALSE(credential.was_shown());
  CHECK(credential.secret().size() > 40);
}
