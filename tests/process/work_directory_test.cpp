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

TEST_CASE("A work directory is one host's", "[process]") {
  const TemporaryDirectory directory;
  HostFixture fixture;
  fixture.options().work_directory = directory / "work";
  fixture.reopen();
  const LaunchOrder order = fixture.shell("echo mine >file; while [ ! -e " + (directory / "go") +
                                          " ]; do sleep 0.02; done; cat file");
  REQUIRE(!fixture.host().launch(order));
  TaskHostOptions options = fixture.options();
  options.directory = directory / "other";
  const auto refused = TaskHost::open(options);
  REQUIRE_FALSE(refused);
  CHECK(details(refused.error()).code == ErrorCode::storage_locked);
  CHECK(details(refused.error()).field == "work_directory");
  CHECK_THAT(details(refused.error()).message, Catch::Contains(directory / "work"));
  std::ofstream(directory / "go") << "now\n";
  CHECK(fixture.wait_for(order.task).exit_code == 0);
  CHECK(fixture.output(order.task) == "mine\n");
  fixture.close();
  CHECK(TaskHost::open(options));
}

namespace {

ino_t inode_of(const std::filesystem::path& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_ino;
}

std::optional<TaskUser> user_with(uid_t uid) {
  TaskUser user;
  user.uid = user.gid = uid;
  return user;
}

}  // namespace

TEST_CASE("A directory that a task left empty is its user's next one", "[process]") {
  const TemporaryDirectory directory;
  const std::filesystem::path work = directory.path();
  const auto first = work / "1.0.1";
  const auto second = work / "2.0.1";
  REQUIRE(!make_work_directory(first, std::nullopt));
  const ino_t inode = inode_of(first);
  SECTION("as private as a new one") {
    std::filesystem::permissions(first, std::filesystem::perms::all);
    std::filesystem::permissions(first / "tmp", std::filesystem::perms::all);
  }
  SECTION("in place of what an earlier life left") {
    std::filesystem::create_directories(second / "left" / "over");
  }
  CHECK(give_back_work_directory(first, std::nullopt));
  CHECK_FALSE(std::filesystem::exists(first));
  REQUIRE(!make_work_directory(second, std::nullopt));
  CHECK(inode_of(second) == inode);
  for (const auto& made : {second, second / "tmp"})
    CHECK(std::filesystem::status(made).permissions() == std::filesystem::perms::owner_all);
  CHECK(std::distance(std::filesystem::directory_iterator(second), {}) == 1);
  CHECK(std::filesystem::is_empty(second / "tmp"));
}

TEST_CASE("A directory that is not as new is no spare one", "[process]") {
  const TemporaryDirectory directory;
  const std::filesystem::path work = directory.path();
  const auto first = work / "1.0.1";
  REQUIRE(!make_work_directory(first, std::nullopt));
  SECTION("with a file") { std::ofstream(first / "file") << "secret"; }
  SECTION("with a temporary file") { std::ofstream(first / "tmp" / "file") << "secret"; }
  SECTION("with a link for its tmp") {
    std::filesystem::remove(first / "tmp");
    std::filesystem::create_directory_symlink(work, first / "tmp");
  }
  CHECK_FALSE(give_back_work_directory(first, std::nullopt));
  CHECK(std::filesystem::exists(first));
  CHECK_FALSE(std::filesystem::exists(work / ".spare"));
}

TEST_CASE("Spare directories are bounded, and go to nobody else", "[process]") {
  const TemporaryDirectory directory;
  const std::filesystem::path work = directory.path();
  std::vector<std::filesystem::path> directories;
  for (int i = 0; i <= kSpareWorkDirectories; ++i) {
    directories.push_back(work / (std::to_string(i) + ".0.1"));
    REQUIRE(!make_work_directory(directories.back(), std::nullopt));
  }
  for (const auto& directory : directories)
    CHECK(give_back_work_directory(directory, std::nullopt));
  std::size_t spares = 0;
  for (const auto& user : std::filesystem::directory_iterator(work / ".spare"))
    spares += std::distance(std::filesystem::directory_iterator(user), {});
  CHECK(spares == kSpareWorkDirectories);
  if (::geteuid() != 0) {
    WARN("another user's directory needs root");
    return;
  }
  const auto another = user_with(1'900'001);
  REQUIRE(!make_work_directory(work / "1.1.1", another));
  CHECK(std::distance(std::filesystem::directory_iterator(
                          work / ".spare" /
                          (std::to_string(::geteuid()) + "." + std::to_string(::getegid()))),
                      {}) == kSpareWorkDirectories);
}
