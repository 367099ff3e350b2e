// The members file: made for its tasks' user, replaced whole, and gone with the last task.
#include "process/members_file.hpp"

#include <fstream>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "process/file_descriptor.hpp"
#include "process/temporary_directory.hpp"
#include "task_host_fixture.hpp"

namespace fairwater {
namespace {

JobMembers two_members() {
  return {JobId{7}, 1, {{0, "north", "10.0.0.1"}, {4, "south", "10.0.0.2"}}, 0};
}

}  // namespace

TEST_CASE("a members file lists who runs, for its tasks' user alone", "[unit][members]") {
  const TemporaryDirectory work;
  const auto file = members_file(work.path(), JobId{7});
  CHECK(file.filename() == "members-7");
  CHECK_FALSE(replace_members_file(file, two_members()));
  CHECK_FALSE(std::filesystem::exists(file));  // no task of it was started here

  std::optional<TaskUser> user;
  if (::geteuid() == 0) user = TaskUser{kFirstTenantUserId, kFirstTenantUserId, {}, ""};
  REQUIRE_FALSE(make_members_file(file, user));
  REQUIRE_FALSE(replace_members_file(file, two_members()));
  CHECK(*read_file(file) == "0 north 10.0.0.1\n4 south 10.0.0.2\n");
  struct stat known {};
  REQUIRE(::stat(file.c_str(), &known) == 0);
  CHECK((known.st_mode & 07777) == 0400);
  if (user) CHECK(known.st_uid == user->uid);
  // Another task of the job finds it as it is.
  REQUIRE_FALSE(make_members_file(file, user));
  CHECK(*read_file(file) == "0 north 10.0.0.1\n4 south 10.0.0.2\n");
}

TEST_CASE("a word on a job's members that is late does not undo a newer one", "[members]") {
  HostFixture fixture;
  fixture.options().work_directory = fixture.directory() / "work";
  fixture.reopen();
  JobMembers first{JobId{7}, 1, {{0, "north", "10.0.0.1"}}};
  JobMembers second{JobId{7}, 1, {{0, "north", "10.0.0.1"}, {1, "north", "10.0.0.1"}}};
  std::vector<LaunchOrder> orders;
  for (std::uint32_t index = 0; index < 2; ++index) {
    orders.push_back(fixture.shell("until [ -e " + fixture.directory().string() +
                                   "/enough ]; do sleep 0.01; done"));
    orders.back().task = {JobId{7}, index, 1};
    orders.back().follows_members = true;
    REQUIRE_FALSE(fixture.host().launch(orders.back()));
  }
  const auto file = members_file(fixture.options().work_directory, JobId{7});
  REQUIRE_FALSE(fixture.host().tell_members(orders[0].task, first, 1));
  CHECK(*read_file(file) == "0 north 10.0.0.1\n");
  REQUIRE_FALSE(fixture.host().tell_members(orders[0].task, second, 2));
  REQUIRE_FALSE(fixture.host().tell_members(orders[1].task, first, 1));
  CHECK(*read_file(file) == "0 north 10.0.0.1\n1 north 10.0.0.1\n");
  std::ofstream(fixture.directory() / "enough") << "now\n";
  for (const LaunchOrder& order : orders) CHECK(fixture.wait_for(order.task).exit_code == 0);
  CHECK_FALSE(std::filesystem::exists(file));
}

TEST_CASE("a word with a signal that is none stops nobody", "[members]") {
  HostFixture fixture;
  const LaunchOrder order = fixture.shell("until [ -e " + fixture.directory().string() +
                                          "/enough ]; do sleep 0.01; done");
  REQUIRE_FALSE(fixture.host().launch(order));
  JobMembers members{order.task.job, 1, {{0, "north", "10.0.0.1"}}};
  // Below zero it is, to a supervisor, a reason to stop.
  for (const std::int32_t signal : {-256, -9, SIGRTMAX, 100'000}) {
    members.notify_signal = signal;
    const auto error = fixture.host().tell_members(order.task, members, 1);
    CHECK(details(error).code == ErrorCode::invalid_input);
    CHECK_THAT(details(error).message, Catch::Matchers::Contains(std::to_string(signal)));
  }
  std::ofstream(fixture.directory() / "enough") << "now\n";
  CHECK(fixture.wait_for(order.task).reason == EndReason::exited);
}

TEST_CASE("an order to stop is not lost to a word on members before it", "[members]") {
  HostFixture fixture;
  fixture.options().work_directory = fixture.directory() / "work";
  fixture.reopen();
  LaunchOrder order = fixture.shell("trap : USR1; echo ready >" + fixture.directory().string() +
                                    "/ready; while :; do sleep 0.05; done");
  order.follows_members = true;
  REQUIRE_FALSE(fixture.host().launch(order));
  REQUIRE(eventually([&] { return std::filesystem::exists(fixture.directory() / "ready"); }));
  const pid_t supervisor =
      AttemptFile(fixture.directory(), order.task).read()->started->supervisor.pid;
  // Both wait for it together.
  REQUIRE(::kill(supervisor, SIGSTOP) == 0);
  JobMembers members{order.task.job, 1, {{0, "north", "10.0.0.1"}}};
  members.notify_signal = SIGUSR1;
  REQUIRE_FALSE(fixture.host().tell_members(order.task, members, 1));
  REQUIRE_FALSE(fixture.host().stop(order.task, EndReason::cancelled));
  REQUIRE(::kill(supervisor, SIGCONT) == 0);
  CHECK(fixture.wait_for(order.task).reason == EndReason::cancelled);
}

TEST_CASE("a link that somebody left there is not followed", "[unit][members]") {
  const TemporaryDirectory work;
  const auto target = std::filesystem::path(work.path()) / "target";
  std::ofstream(target) << "mine";
  const auto file = members_file(work.path(), JobId{7});
  std::filesystem::create_symlink(target, file.string() + ".new");
  REQUIRE_FALSE(make_members_file(file, std::nullopt));
  REQUIRE_FALSE(replace_members_file(file, two_members()));
  CHECK(*read_file(target) == "mine");
}

TEST_CASE("members files are told from whatever else is there", "[unit][members]") {
  CHECK(job_of_members_file("/w/members-12") == JobId{12});
  CHECK(job_of_members_file("/w/members-12.new") == JobId{12});
  CHECK_FALSE(job_of_members_file("/w/members-"));
  CHECK_FALSE(job_of_members_file("/w/members-12x"));
  CHECK_FALSE(job_of_members_file("/w/12.0.1"));
}

}  // namespace fairwater
