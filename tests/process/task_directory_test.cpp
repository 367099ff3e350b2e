// The files of an attempt: what is written is read again, and what is torn is seen.
#include <fstream>

#include "task_host_fixture.hpp"

using namespace fairwater;

TEST_CASE("Names of attempts are read back, and others are refused", "[process]") {
  const TaskKey task{JobId{12}, 3, 4};
  CHECK(directory_name(task) == "12.3.4");
  CHECK(task_from_directory_name("12.3.4") == task);
  for (const char* name : {"", "12", "12.3", "12.3.", "12.3.4.5", "a.b.c", "12.3.4x", "-1.0.1"})
    CHECK_FALSE(task_from_directory_name(name));
}

TEST_CASE("Orders and results keep every byte", "[process]") {
  TemporaryDirectory parent;
  const TaskDirectory files(parent.path(), {JobId{1}, 2, 3});
  REQUIRE(!files.create());
  CHECK(details(files.create()).code == ErrorCode::already_exists);
  CHECK(details(files.read_result().error()).code == ErrorCode::not_found);

  TaskOrder order;
  order.launch.task = files.task();
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
  REQUIRE(!files.write(order));
  CHECK(*files.read_order() == order);

  const TaskResult result{files.task(), EndReason::memory_limit, 137, 9, {1}, {2}, 3, 4,
                          "five\nsix"};
  REQUIRE(!files.write(result));
  CHECK(*files.read_result() == result);
}

TEST_CASE("A torn file is seen, wherever it was cut", "[process]") {
  TemporaryDirectory parent;
  const TaskDirectory files(parent.path(), {JobId{1}, 0, 1});
  REQUIRE(!files.create());
  REQUIRE(!files.write(TaskResult{files.task(), EndReason::exited, 3, 0, {1}, {2}, 3, 4, "words"}));
  const auto whole = read_file(files.path() / "result");
  REQUIRE(whole);
  for (std::size_t length = 0; length < whole->size(); ++length) {
    std::ofstream(files.path() / "result", std::ios::trunc) << whole->substr(0, length);
    CHECK(details(files.read_result().error()).code == ErrorCode::storage_damaged);
  }
}

TEST_CASE("Only one can hold an attempt", "[process]") {
  TemporaryDirectory parent;
  const TaskDirectory files(parent.path(), {JobId{1}, 0, 1});
  REQUIRE(!files.create());
  auto lock = files.try_lock();
  REQUIRE(lock);
  CHECK_FALSE(files.try_lock());
  lock.reset();
  CHECK(files.try_lock());
}
