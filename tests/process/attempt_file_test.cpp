// The files of an attempt: what is written is read again, and what is torn is seen.
#include <fstream>
#include <sys/stat.h>

#include "process/attempt_text.hpp"
#include "task_host_fixture.hpp"

using namespace fairwater;

TEST_CASE("Names of attempts are read back, and others are refused", "[process]") {
  const TaskKey task{JobId{12}, 3, 4};
  CHECK(attempt_name(task) == "12.3.4");
  CHECK(attempt_from_name("12.3.4") == task);
  const TaskKey later{JobId{12}, 3, 4, 5};
  CHECK(attempt_name(later) == "12.3.4.5");
  CHECK(attempt_from_name("12.3.4.5") == later);
  for (const char* name : {"", "12", "12.3", "12.3.", "12.3.4.", "12.3.4.0", "12.3.4.5.6", "a.b.c",
                           "12.3.4x", "-1.0.1"})
    CHECK_FALSE(attempt_from_name(name));
}

namespace {

struct Host {
  Host() { REQUIRE(!AttemptFile::make_directories(directory.path())); }
  TemporaryDirectory directory;
  AttemptFile file{directory.path(), {JobId{1}, 2, 3}};
};

const TaskResult kResult{{JobId{1}, 2, 3}, EndReason::memory_limit, 137, 9, {1}, {2}, 3, 4,
                         "five\nsix"};

}  // namespace

TEST_CASE("Nobody waits at a pipe in an attempt's place", "[process]") {
  Host host;
  REQUIRE(::mkfifo(host.file.path().c_str(), 0600) == 0);
  const auto error = details(host.file.read().error());
  CHECK(error.code == ErrorCode::storage_damaged);
  CHECK(error.message == host.file.path().string() + " is a pipe, and no file");
  CHECK(host.file.append_forgotten());
}

TEST_CASE("Orders and results keep every byte", "[process]") {
  Host host;
  CHECK(details(host.file.read().error()).code == ErrorCode::not_found);
  TaskOrder order;
  order.launch.task = host.file.task();
  order.launch.epoch = 5;
  order.launch.task_count = 6;
  order.launch.command = {"sh", "", "a\nend\n1:2", std::string("\x01\xff", 2)};
  order.launch.environment = {{"A", "x=y\n"}, {"EMPTY", ""}};
  order.launch.directory = "/tmp/a b";
  order.launch.limits = {{"cpu", 100}, {"memory", 64}};
  order.launch.time_limit_ms = 7;
  order.launch.grace_ms = 8;
  order.method = LimitMethod::cgroup_v1;
  order.cgroup = {{"memory", "/sys/fs/cgroup/memory/x=y"}};
  order.log_limit_bytes = 9;
  order.launch.tenant = TenantId{10};
  order.work_directory = "/var/work/a b";
  SECTION("as the host") {}
  SECTION("of a gang") {
    order.launch.gang_key = "ab12";
    order.launch.gang = {{"node1", "10.0.0.1", 2}, {"node2", "fe80::1%eth0", 1}};
  }
  SECTION("with a lease of its own") { order.launch.lease_ms = 14; }
  SECTION("with devices") { order.devices = {{"fpga", {}}, {"gpu", {"0", "GPU-8932f937"}}}; }
  SECTION("with devices of others") { order.denied_devices = {"c 195:0", "b 8:16"}; }
  SECTION("among others on their processors") { order.shared_cpuset = "/sys/a b/shared"; }
  SECTION("as a user") { order.user = TaskUser{4'000'000'000, 11, {12, 13}, "alice"}; }
  REQUIRE(!host.file.create(order));
  CHECK(details(host.file.create(order)).code == ErrorCode::already_exists);
  CHECK(host.file.read()->order == order);
  CHECK_FALSE(host.file.read()->result);

  const TaskStarted started{{12, 34, "boot"}, {56}};
  const auto lock = host.file.try_lock();
  REQUIRE(!AttemptFile::append(lock, started));
  REQUIRE(!AttemptFile::append(lock, kResult));
  const auto whole = host.file.read();
  CHECK(whole->order == order);
  CHECK(whole->started == started);
  CHECK(whole->result == kResult);
  CHECK_FALSE(whole->forgotten);

  REQUIRE(!host.file.append_forgotten());
  CHECK(host.file.read()->forgotten);
  host.file.remove();
  CHECK(AttemptFile::list(host.directory.path())->empty());
}

TEST_CASE("A section counts when it is whole, wherever the file was cut", "[process]") {
  Host host;
  TaskOrder order;
  order.launch.task = host.file.task();
  order.launch.command = {"true"};
  REQUIRE(!host.file.create(order));
  const auto order_bytes = read_file(host.file.path())->size();
  REQUIRE(!AttemptFile::append(host.file.try_lock(), kResult));
  const auto whole = read_file(host.file.path());
  REQUIRE(whole);
  for (std::size_t length = 0; length <= whole->size(); ++length) {
    std::ofstream(host.file.path(), std::ios::trunc) << whole->substr(0, length);
    const auto record = host.file.read();
    REQUIRE(record);
    CHECK(record->order.has_value() == (length >= order_bytes));
    CHECK(record->result.has_value() == (length == whole->size()));
  }
}

TEST_CASE("An attempt's file has the text that earlier versions wrote, and is read",
          "[process][golden]") {
  constexpr std::string_view kText =
      "fairwater-order 1\nepoch 1:5\ntask_count 1:6\ntime_limit_ms 1:7\ngrace_ms 1:8\n"
      "log_limit_bytes 2:-1\nmethod 1:1\ntenant 2:10\ndirectory 4:/tmp\nwork_directory 5:/work\n"
      "argument 2:sh\nargument 0:\nenvironment 5:A=x=y\nenvironment 6:EMPTY=\nlimit 7:cpu=100\n"
      "cgroup 9:memory=/m\nuid 10:4000000000\ngid 2:11\ngroup 2:12\ngroup 2:13\nuser 5:alice\n"
      "end\n"
      "fairwater-started 1\npid 2:12\nstart_ticks 2:34\nboot_id 4:boot\nstarted_at_us 2:56\nend\n"
      "fairwater-result 1\nreason 1:2\nexit_code 3:137\nsignal 1:9\nstarted_at_us 1:1\n"
      "finished_at_us 1:2\ncpu_ms 1:3\npeak_memory_kib 1:4\nmessage 8:five\nsix\nend\n"
      "fairwater-forgotten 1\nend\n";
  const AttemptRecord record = read_attempt(kResult.task, kText);
  REQUIRE(record.order);
  CHECK(record.order->log_limit_bytes == ~std::uint64_t{0});
  CHECK(record.order->method == LimitMethod::cgroup_v1);
  CHECK(*record.order->launch.environment ==
        std::map<std::string, std::string>{{"A", "x=y"}, {"EMPTY", ""}});
  CHECK(record.order->user == TaskUser{4'000'000'000, 11, {12, 13}, "alice"});
  REQUIRE(record.started);
  CHECK(record.result == kResult);
  CHECK(record.forgotten);
  CHECK(to_text(*record.order) + to_text(*record.started) + to_text(*record.result) +
            forgotten_text() ==
        kText);
}

TEST_CASE("A section that says what is not known counts as not written", "[process]") {
  const std::string known = to_text(kResult);
  const auto with = [&](std::string_view was, std::string_view is) {
    std::string text = known;
    return text.replace(text.find(was), was.size(), is);
  };
  CHECK(read_attempt(kResult.task, known).result == kResult);
  CHECK(
      read_attempt(kResult.task, with("cpu_ms", "later_ms")).result);  // a field of a newer version
  CHECK_FALSE(read_attempt(kResult.task, with("reason 1:2", "reason 2:10")).result);
  CHECK_FALSE(read_attempt(kResult.task, with("reason 1:2", "reason 2:-1")).result);
  CHECK_FALSE(read_attempt(kResult.task, with("exit_code 3:137", "exit_code 3:1x7")).result);
  CHECK_FALSE(read_attempt(kResult.task, with("signal 1:9", "signal 10:4294967296")).result);
  TaskOrder order;
  order.method = LimitMethod::rlimit;
  std::string text = to_text(order);
  CHECK(read_attempt({}, text).order);
  text.replace(text.find("method 1:2"), 10, "method 1:3");
  CHECK_FALSE(read_attempt({}, text).order);
}

TEST_CASE("A torn file is replaced by a whole one", "[process]") {
  Host host;
  std::ofstream(host.file.path()) << "fairwater-order 1\nepoch 99999999999999999999:";
  REQUIRE(!host.file.replace({}, kResult));
  CHECK(host.file.read()->result == kResult);
  TaskOrder order;
  order.launch.task = host.file.task();
  order.launch.tenant = TenantId{7};
  REQUIRE(!host.file.replace({order, {}, {}, false}, kResult));
  CHECK(host.file.read()->order->launch.tenant == TenantId{7});
}

TEST_CASE("Only one can hold an attempt", "[process]") {
  Host host;
  CHECK_FALSE(host.file.try_lock());  // nothing to hold
  REQUIRE(!host.file.create({}));
  auto lock = host.file.try_lock();
  REQUIRE(lock);
  CHECK_FALSE(host.file.try_lock());
  lock.reset();
  CHECK(host.file.try_lock());
}
