// Whose directory it is, and what is refused.
#include <array>
#include <barrier>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <sys/file.h>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "actors/agent/directory.hpp"
#include "process/file_descriptor.hpp"
#include "process/temporary_directory.hpp"

using namespace fairwater;

namespace {

ErrorCode code_of(const Expected<AgentDirectory>& opened) {
  REQUIRE_FALSE(opened);
  return details(opened.error()).code;
}

}  // namespace

TEST_CASE("An agent's directory keeps its instance and its high-water mark", "[unit]") {
  const TemporaryDirectory scratch;
  const std::filesystem::path path = scratch / "agent";
  std::string instance;
  ClusterMemory memory{"cluster_1", {3, 1'234'567'890'123, Hash{}}};
  memory.seen.hash->fill(0xa7);
  {
    const auto opened = AgentDirectory::open(path, IfEmpty::create);
    REQUIRE(opened);
    instance = opened->instance();
    CHECK(instance.size() == 32);
    CHECK(opened->identity().memory == ClusterMemory{});
    REQUIRE(!opened->keep_memory({"", {0, 12, {}}}));
    memory.epoch = 17;
    REQUIRE(!opened->keep_memory(memory));
  }
  const auto again = AgentDirectory::open(path, IfEmpty::refuse);
  REQUIRE(again);
  CHECK(again->instance() == instance);
  CHECK(again->identity().memory == memory);
  const auto other = AgentDirectory::open(scratch / "other", IfEmpty::create);
  CHECK(other->instance() != instance);
}

TEST_CASE("An agent's directory has one owner", "[unit]") {
  const TemporaryDirectory scratch;
  const std::filesystem::path path = scratch / "agent";
  const auto first = AgentDirectory::open(path, IfEmpty::create);
  REQUIRE(first);
  const auto second = AgentDirectory::open(path, IfEmpty::refuse);
  CHECK(code_of(second) == ErrorCode::storage_locked);
  CHECK(details(second.error()).message == path.string() + " is in use by another agent");
}

TEST_CASE("Of agents that start at once on a new directory one owns it", "[unit]") {
  constexpr std::size_t kStarts = 4;
  constexpr int kRounds = 200;
  const TemporaryDirectory scratch;
  for (int round = 0; round < kRounds; ++round) {
    const auto path = scratch / std::to_string(round);
    std::array<std::optional<Expected<AgentDirectory>>, kStarts> opened;
    std::barrier together(kStarts);
    {
      std::vector<std::jthread> starts;
      for (auto& one : opened)
        starts.emplace_back([&] {
          together.arrive_and_wait();
          one.emplace(AgentDirectory::open(path, IfEmpty::create));
        });
    }
    std::size_t owners = 0;
    for (const auto& one : opened) {
      owners += *one ? 1 : 0;
      if (!*one) CHECK(code_of(*one) == ErrorCode::storage_locked);
    }
    CHECK(owners == 1);
  }
}

TEST_CASE("An agent that was killed in its first start can start again", "[unit]") {
  const TemporaryDirectory scratch;
  const std::filesystem::path path = scratch / "agent";
  std::filesystem::create_directory(path);
  std::ofstream(path / "agent.new") << "fairwater-agent 1\ninst";
  CHECK(code_of(AgentDirectory::open(path, IfEmpty::refuse)) == ErrorCode::not_found);
  {
    const auto opened = AgentDirectory::open(path, IfEmpty::create);
    REQUIRE(opened);
    CHECK(opened->identity().run.starts == 1);
    CHECK_FALSE(opened->identity().moved);
  }
  CHECK(AgentDirectory::open(path, IfEmpty::refuse));
}

TEST_CASE("An agent that an earlier version runs owns its directory", "[unit]") {
  const TemporaryDirectory scratch;
  const std::filesystem::path path = scratch / "agent";
  REQUIRE(AgentDirectory::open(path, IfEmpty::create));
  const FileDescriptor earlier(::open((path / "agent").c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(::flock(earlier.get(), LOCK_EX | LOCK_NB) == 0);
  CHECK(code_of(AgentDirectory::open(path, IfEmpty::refuse)) == ErrorCode::storage_locked);
}

TEST_CASE("An agent does not start on an empty or foreign directory", "[unit]") {
  const TemporaryDirectory scratch;
  CHECK(code_of(AgentDirectory::open(scratch.path(), IfEmpty::refuse)) == ErrorCode::not_found);
  CHECK(code_of(AgentDirectory::open(scratch / "absent", IfEmpty::refuse)) == ErrorCode::not_found);
  std::ofstream(scratch / "somebody's file") << "text";
  CHECK(code_of(AgentDirectory::open(scratch.path(), IfEmpty::create)) == ErrorCode::invalid_input);
}

TEST_CASE("A damaged agent's directory is refused", "[unit]") {
  const TemporaryDirectory scratch;
  const std::filesystem::path path = scratch / "agent";
  REQUIRE(AgentDirectory::open(path, IfEmpty::create));
  SECTION("without an identity") { std::ofstream(path / "agent") << "fairwater-agent 1\n"; }
  SECTION("without an epoch") { std::ofstream(path / "high-water") << "4 - 0 here\nepoch\n"; }
  SECTION("without a cycle number") { std::ofstream(path / "high-water") << "many\n"; }
  CHECK(code_of(AgentDirectory::open(path, IfEmpty::refuse)) == ErrorCode::storage_damaged);
}

TEST_CASE("An agent's directory counts its starts, and no two processes are one", "[unit]") {
  const TemporaryDirectory scratch;
  const std::filesystem::path path = scratch / "agent";
  const auto run = [&] { return AgentDirectory::open(path, IfEmpty::create)->identity().run; };
  const AgentRun first = run();
  const AgentRun second = run();
  CHECK(first.starts == 1);
  CHECK(second.starts == 2);
  CHECK(first.id != second.id);
}

TEST_CASE("What an older agent kept is still read", "[unit]") {
  const TemporaryDirectory scratch;
  const std::filesystem::path path = scratch / "agent";
  REQUIRE(AgentDirectory::open(path, IfEmpty::create));
  std::ofstream(path / "high-water") << "4711\n";
  SECTION("the cycle alone") {}
  SECTION("no epoch") { std::ofstream(path / "high-water") << "4711 - 0 \n"; }
  std::filesystem::remove(path / "starts");
  std::filesystem::remove(path / "place");
  const auto opened = AgentDirectory::open(path, IfEmpty::refuse);
  REQUIRE(opened);
  CHECK(opened->identity().memory == ClusterMemory{"", {0, 4711, {}}});
  CHECK(opened->identity().run.starts == 1);
  CHECK_FALSE(opened->identity().moved);
}

TEST_CASE("A copied agent's directory says so until it is let in", "[unit]") {
  const TemporaryDirectory scratch;
  REQUIRE(AgentDirectory::open(scratch / "agent", IfEmpty::create));
  std::filesystem::copy(scratch / "agent", scratch / "copy");
  {
    const auto copy = AgentDirectory::open(scratch / "copy", IfEmpty::refuse);
    REQUIRE(copy);
    CHECK(copy->identity().moved);
  }
  {
    const auto again = AgentDirectory::open(scratch / "copy", IfEmpty::refuse);
    CHECK(again->identity().moved);
    CHECK_FALSE(again->settle());
  }
  CHECK_FALSE(AgentDirectory::open(scratch / "copy", IfEmpty::refuse)->identity().moved);
  CHECK_FALSE(AgentDirectory::open(scratch / "agent", IfEmpty::refuse)->identity().moved);
}
