// The private directories of tasks, and how whatever is left in them is removed.
#include "process/work_directory.hpp"

#include <fcntl.h>
#include <fstream>
#include <sys/mount.h>
#include <sys/stat.h>

#include "task_host_fixture.hpp"

using namespace fairwater;

namespace {

/// A chain of directories far longer than any path may be.
void make_deep(const std::filesystem::path& top, int depth) {
  REQUIRE(::mkdir(top.c_str(), 0700) == 0);
  FileDescriptor current(::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int level = 0; level < depth; ++level) {
    REQUIRE(::mkdirat(current.get(), "d", 0700) == 0);
    REQUIRE(::mknodat(current.get(), "file", S_IFREG | 0600, 0) == 0);
    current.reset(::openat(current.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
}

}  // namespace

TEST_CASE("A tree is removed however deep, wide or read-only it is", "[process]") {
  const TemporaryDirectory directory;
  const std::filesystem::path top = directory / "top";
  SECTION("deep") { make_deep(top, 3000); }
  SECTION("wide") {
    std::filesystem::create_directory(top);
    for (int i = 0; i < 200; ++i) {
      std::filesystem::create_directories(top / std::to_string(i) / "a" / "b");
      std::ofstream(top / std::to_string(i) / "a" / "file");
    }
  }
  SECTION("read-only") {
    std::filesystem::create_directories(top / "a" / "b" / "c");
    for (const auto& sealed : {top / "a" / "b" / "c", top / "a" / "b", top / "a", top})
      std::filesystem::permissions(sealed, std::filesystem::perms::none);
  }
  SECTION("absent") {}
  CHECK(remove_tree(top));
  CHECK_FALSE(std::filesystem::exists(top));
}

TEST_CASE("Removing a tree stays in it", "[process]") {
  const TemporaryDirectory directory;
  const std::filesystem::path top = directory / "top";
  const std::filesystem::path outside = directory / "outside";
  std::filesystem::create_directories(outside / "kept");
  std::filesystem::create_directories(top / "in");
  SECTION("where links lead out") {
    std::filesystem::create_directory_symlink(outside, top / "link");
    std::filesystem::create_directory_symlink(outside, top / "in" / "link");
    CHECK(remove_tree(top));
  }
  SECTION("where the tree itself is a link") {
    std::filesystem::create_directory_symlink(outside, directory / "link");
    CHECK_FALSE(remove_tree(directory / "link"));
  }
  SECTION("where something is mounted") {
    std::filesystem::create_directory(top / "in" / "mount");
    if (::mount(outside.c_str(), (top / "in" / "mount").c_str(), nullptr, MS_BIND, nullptr) != 0) {
      WARN("mounting needs root");
      return;
    }
    CHECK_FALSE(remove_tree(top));
    CHECK(std::filesystem::exists(outside / "kept"));
    REQUIRE(::umount2((top / "in" / "mount").c_str(), 0) == 0);
    CHECK(remove_tree(top));
  }
  CHECK(std::filesystem::exists(outside / "kept"));
}

TEST_CASE("A work directory that its users cannot reach is refused", "[process]") {
  const TemporaryDirectory directory;  // 0700
  const auto error = make_work_parent(directory / "work", true, true);
  CHECK(details(error).code == ErrorCode::invalid_input);
  CHECK(details(error).field == "work_directory");
  CHECK_THAT(details(error).message, Catch::Contains(directory.path() + " lets only its owner"));
  REQUIRE(::chmod(directory.path().c_str(), 0711) == 0);
  CHECK(!make_work_parent(directory / "work", true, true));
}
