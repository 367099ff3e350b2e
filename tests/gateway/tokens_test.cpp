#include "rpc/tokens.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "process/temporary_directory.hpp"
#include "rpc/agent/credential.hpp"
#include "rpc/identity.hpp"

using namespace fairwater;

namespace {

/// What is done at each fsync of this thread.
thread_local std::function<void(int)>* on_sync = nullptr;

/// While it lives, `seen` is called with what is synced, just before.
class SyncWatch {
 public:
  explicit SyncWatch(std::function<void(int)> seen) : seen_(std::move(seen)) { on_sync = &seen_; }
  SyncWatch(const SyncWatch&) = delete;
  SyncWatch& operator=(const SyncWatch&) = delete;
  ~SyncWatch() { on_sync = nullptr; }

 private:
  std::function<void(int)> seen_;
};

/// The names of the files in a directory that were written to since.
class WriteWatch {
 public:
  explicit WriteWatch(const std::string& directory) : fd_(::inotify_init1(IN_NONBLOCK)) {
    REQUIRE(::inotify_add_watch(fd_, directory.c_str(), IN_MODIFY) >= 0);
  }
  WriteWatch(const WriteWatch&) = delete;
  WriteWatch& operator=(const WriteWatch&) = delete;
  ~WriteWatch() { ::close(fd_); }

  std::set<std::string> written() {
    alignas(inotify_event) std::array<char, 4096> events{};
    std::set<std::string> names;
    const ssize_t size = ::read(fd_, events.data(), events.size());
    for (ssize_t at = 0; at < size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(events.data() + at);
      names.insert(event->name);
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
    return names;
  }

 private:
  int fd_;
};

std::ptrdiff_t count_files(const std::string& directory) {
  return std::distance(std::filesystem::directory_iterator(directory), {});
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

}  // namespace

/// The C library's, seen by a SyncWatch first.
extern "C" int fsync(int descriptor) {
  if (on_sync != nullptr) (*on_sync)(descriptor);
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}

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
  CHECK(details(check_secret_file(path)).code == ErrorCode::already_exists);
  CHECK(check_secret_file(directory / "no folder/operator.token"));
  CHECK_FALSE(check_secret_file(directory / "other.token"));
  CHECK(count_files(directory.path()) == 1);
  const auto secret = read_secret_file(path);
  REQUIRE(secret);
  CHECK(*secret == "secret");
}

TEST_CASE("a secret file is whole whenever it is there", "[gateway]") {
  const TemporaryDirectory directory;
  const std::string path = directory / "operator.token";
  WriteWatch watch(directory.path());
  REQUIRE_FALSE(write_secret_file(path, "secret"));
  REQUIRE_FALSE(replace_secret_file(path, "other"));
  const auto written = watch.written();
  CHECK(written.size() == 2);
  CHECK_FALSE(written.contains("operator.token"));
  CHECK(*read_secret_file(path) == "other");
  CHECK(mode_of(path) == 0600);
  CHECK(count_files(directory.path()) == 1);
  REQUIRE_FALSE(write_secret_file(directory / "second", "secret"));
  CHECK(write_secret_file(directory / "second", "secret"));
  CHECK(count_files(directory.path()) == 2);
}

TEST_CASE("a secret file that was written is durable under its name", "[gateway]") {
  const TemporaryDirectory directory;
  const std::string path = directory / "operator.token";
  std::string durable;
  const SyncWatch watch([&](int descriptor) {
    struct stat status {};
    if (::fstat(descriptor, &status) != 0 || !S_ISDIR(status.st_mode)) return;
    durable = read_secret_file(path) ? *read_secret_file(path) : "nothing";
  });
  REQUIRE_FALSE(write_secret_file(path, "secret"));
  CHECK(durable == "secret");
  REQUIRE_FALSE(replace_secret_file(path, "other"));
  CHECK(durable == "other");
  const PublicKey key{7};
  REQUIRE_FALSE(PinnedKey(path).keep(key));
  CHECK(durable == key_text(key));
}

TEST_CASE("a secret is made once", "[gateway]") {
  const TemporaryDirectory directory;
  const std::string path = directory / "operator.token";
  const auto first = ensure_secret(path, [] { return std::string("first"); });
  REQUIRE(first);
  CHECK(*first == "first");
  CHECK(*ensure_secret(path, [] { return std::string("second"); }) == "first");
  REQUIRE(::chmod(path.c_str(), 0644) == 0);
  const auto open_to_others = ensure_secret(path, [] { return std::string("third"); });
  REQUIRE_FALSE(open_to_others);
  CHECK(details(open_to_others.error()).code == ErrorCode::not_permitted);
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
