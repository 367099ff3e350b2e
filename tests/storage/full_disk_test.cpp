// A ledger on a disk that is full: an error, no harm, and room heals it.
#include <fstream>
#include <sys/mount.h>

#include <catch2/catch.hpp>

#include "tests/storage/support.hpp"

namespace fairwater::test {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;

/// A file system of 24 MiB of its own; `mounted` is false without the right to mount.
class SmallDisk {
 public:
  SmallDisk() {
    mounted_ = mount("fairwater-test", directory_.path().c_str(), "tmpfs", 0, "size=24m") == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount(directory_.path().c_str());
  }
  [[nodiscard]] bool mounted() const { return mounted_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return directory_ / name; }
  /// Leaves this many bytes free, by a file of another program.
  void fill(std::uintmax_t leave) const {
    const std::uintmax_t free = fs::space(directory_.path()).free;
    std::ofstream(directory_ / "filler", std::ios::binary | std::ios::app)
        << std::string(free > leave ? free - leave : 0, 'x');
  }
  void empty() const { fs::remove(directory_ / "filler"); }

 private:
  TemporaryDirectory directory_;
  bool mounted_ = false;
};

TEST_CASE("a full disk refuses appends before it writes, and room heals it", "[unit][damage]") {
  const SmallDisk disk;
  if (!disk.mounted()) {
    WARN("skipped: a tmpfs can be mounted by root alone");
    return;
  }
  LedgerOptions options = options_for(disk / "ledger");
  options.min_free_bytes = 4 << 20;
  must(Ledger::open(options));  // ends when its thread has made the reserve
  std::uint64_t last = 0;
  {
    auto ledger = must(Ledger::open(options));
    must(ledger->append(founding()));
    Traffic traffic(*ledger, 3);
    must(ledger->append(traffic.next_batch(4)));
    last = ledger->last_number();
    disk.fill(3 << 20);
    const auto refused = ledger->append({JobSubmitted{{}, TenantId{1}, job_spec("a", 1)}});
    REQUIRE_FALSE(refused);
    CHECK(code_of(refused.error()) == ErrorCode::disk_full);
    CHECK(is_retryable(code_of(refused.error())));
    CHECK_THAT(details(refused.error()).message, Contains(disk / "ledger") && Contains("is full"));
    CHECK(ledger->last_number() == last);
    disk.empty();
    last = must(ledger->append({JobSubmitted{{}, TenantId{1}, job_spec("a", 1)}}))[0].number;
  }
  disk.fill(0);
  {
    auto ledger = must(Ledger::open(options));  // the reserve makes room to open and read
    CHECK(ledger->last_number() == last);
    CHECK_FALSE(fs::exists(disk / "ledger/reserve"));
    CHECK_FALSE(ledger->append({JobSubmitted{{}, TenantId{1}, job_spec("a", 1)}}));
    CHECK(ledger->verify().ok);
    disk.empty();
    CHECK(ledger->append({JobSubmitted{{}, TenantId{1}, job_spec("a", 1)}}));
  }
  CHECK(must(Ledger::verify_directory(disk / "ledger")).ok);
}

TEST_CASE("on a full disk a coordinator begins, and one that follows takes that in",
          "[unit][damage]") {
  const SmallDisk disk;
  if (!disk.mounted()) {
    WARN("skipped: a tmpfs can be mounted by root alone");
    return;
  }
  const TemporaryDirectory elsewhere;
  auto leader = must(Ledger::open(options_for(elsewhere / "ledger")));
  LedgerOptions options = options_for(disk / "ledger");
  options.min_free_bytes = 4 << 20;
  auto follower = must(Ledger::open(options));
  const auto follow = [&] {
    return follower->follow({to_bytes(*leader->record(follower->last_number() + 1))});
  };
  const auto beginning = [](const Ledger& ledger) {
    CoordinatorStarted started;
    started.epoch = ledger.epoch() + 1;
    return started;
  };
  must(leader->append(founding()));
  while (follower->last_number() < leader->last_number()) REQUIRE_FALSE(follow());
  disk.fill(3 << 20);
  must(leader->append({beginning(*leader)}));
  CHECK_FALSE(follow());
  CHECK(follower->append({beginning(*follower)}));
  // Nothing else is.
  const auto refused =
      follower->append({beginning(*follower), JobSubmitted{{}, TenantId{1}, job_spec("a", 1)}});
  REQUIRE_FALSE(refused);
  CHECK(code_of(refused.error()) == ErrorCode::disk_full);
  CHECK(follower->room());
  disk.empty();
  CHECK_FALSE(follower->room());
  CHECK(follower->verify().ok);
}

TEST_CASE("a disk without room for opening is an error, not the end of the process",
          "[unit][damage]") {
  const SmallDisk disk;
  if (!disk.mounted()) {
    WARN("skipped: a tmpfs can be mounted by root alone");
    return;
  }
  LedgerOptions options = options_for(disk / "ledger");
  options.min_free_bytes = 4 << 20;
  must(must(Ledger::open(options))->append(founding()));
  fs::remove(disk / "ledger/reserve");
  for (const std::uintmax_t left : {0, 4096, 256 * 1024}) {
    disk.fill(left);
    const ErrorDetails error = open_error(options);
    CHECK(error.code == ErrorCode::disk_full);
    CHECK_THAT(error.message, Contains(disk / "ledger") && Contains("to open the ledger"));
    disk.empty();
  }
  disk.fill(600 * 1024);
  {
    const auto ledger = must(Ledger::open(options));
    CHECK(ledger->last_number() == founding().size());
    CHECK(ledger->verify().ok);
  }
  disk.empty();
  CHECK(must(Ledger::open(options))->append({NodeChanged{node(1, "n1")}}));
}

TEST_CASE("a disk too small for a new ledger says so", "[unit][damage]") {
  const SmallDisk disk;
  if (!disk.mounted()) {
    WARN("skipped: a tmpfs can be mounted by root alone");
    return;
  }
  const ErrorDetails error = open_error(options_for(disk / "ledger"));
  CHECK(error.code == ErrorCode::disk_full);
}

}  // namespace
}  // namespace fairwater::test
