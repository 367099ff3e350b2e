// How long the logs of attempts stay whose results are durable elsewhere.
#include <atomic>

#include "task_host_fixture.hpp"

using namespace fairwater;

namespace {

class RetentionFixture : public HostFixture {
 public:
  explicit RetentionFixture(LogRetention retention) {
    options().log_retention = retention;
    reopen();
  }
  /// Runs a task of the tenant that writes this much, and has its result taken.
  TaskKey log(std::uint32_t tenant, int kibibytes) {
    LaunchOrder order = shell("head -c " + std::to_string(kibibytes) + "K /dev/zero");
    order.tenant = TenantId{tenant};
    run(order);
    host().forget(order.task);
    return order.task;
  }
  [[nodiscard]] bool kept(const TaskKey& task) {
    const auto log = host().read_log(task, false, 0, 10);
    if (!log) CHECK(details(log.error()).code == ErrorCode::not_found);
    return static_cast<bool>(log);
  }
};

constexpr std::int64_t kHour_ms = 3'600'000;

}  // namespace

TEST_CASE("A tenant's logs push out its own oldest ones, and nobody else's", "[process]") {
  RetentionFixture fixture({.age_ms = kHour_ms, .bytes = 200 << 10, .keep_free_bytes = 0});
  const TaskKey others = fixture.log(2, 60);
  std::vector<TaskKey> tasks;
  for (int i = 0; i < 5; ++i) tasks.push_back(fixture.log(1, 60));
  CHECK(eventually([&] { return !fixture.kept(tasks[1]); }));
  CHECK_FALSE(fixture.kept(tasks[0]));
  CHECK(fixture.kept(tasks[3]));
  CHECK(fixture.kept(tasks[4]));
  CHECK(fixture.kept(others));
  CHECK(fixture.host().scan()->empty());

  fixture.reopen();  // the next host knows whose they are
  CHECK(fixture.host().scan()->empty());
  for (int i = 0; i < 3; ++i) fixture.log(1, 60);
  CHECK(eventually([&] { return !fixture.kept(tasks[4]); }));
  CHECK(fixture.kept(others));
}

TEST_CASE("Logs are kept by age and bytes, not by their number", "[process]") {
  RetentionFixture fixture({.age_ms = kHour_ms, .bytes = 1 << 30, .keep_free_bytes = 0});
  // More than an earlier bound of 1,000: as an earlier host left them.
  std::vector<TaskKey> tasks;
  for (std::uint64_t job = 100'001; job <= 101'200; ++job) {
    const AttemptFile file(fixture.directory(), {JobId{job}, 0, 1});
    TaskOrder order;
    order.launch.task = file.task();
    order.launch.tenant = TenantId{1};
    REQUIRE(!file.create(order));
    REQUIRE(!file.append_forgotten());
    tasks.push_back(file.task());
  }
  fixture.reopen();
  fixture.log(1, 1);
  for (const TaskKey& task : tasks) REQUIRE(fixture.kept(task));
}

TEST_CASE("Logs go when they are too old, whether or not anything new comes", "[process]") {
  RetentionFixture fixture({.age_ms = 50, .bytes = 1 << 30, .keep_free_bytes = 0});
  const TaskKey task = fixture.log(1, 1);
  CHECK(eventually([&] {
    fixture.host().extend_lease({0});  // as with every heartbeat
    return !fixture.kept(task);
  }));
}

TEST_CASE("A clock that leaps ahead takes no logs with it", "[process]") {
  RetentionFixture fixture({.age_ms = kHour_ms, .bytes = 1 << 30, .keep_free_bytes = 0});
  std::atomic<std::int64_t> ahead_us = 0;
  fixture.options().wall_clock = [&] { return WallTime{wall_time_now().microseconds + ahead_us}; };
  fixture.reopen();
  const TaskKey task = fixture.log(1, 1);
  ahead_us = 87'600 * kHour_ms * 1000;
  fixture.host().extend_lease({0});
  const TaskKey later = fixture.log(1, 1);
  CHECK(fixture.kept(task));
  fixture.reopen();  // nor does an agent that starts with such a clock
  fixture.log(1, 1);
  CHECK(fixture.kept(task));
  CHECK(fixture.kept(later));
}

TEST_CASE("Logs of which nothing is kept here are not found", "[process]") {
  HostFixture fixture;
  CHECK(details(fixture.host().read_log({JobId{999}, 0, 1}, false, 0, 10).error()).code ==
        ErrorCode::not_found);
}
