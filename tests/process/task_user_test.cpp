// Who tasks run as, and what that keeps them from.
#include "process/task_user.hpp"

#include <sys/stat.h>

#include "task_host_fixture.hpp"

using namespace fairwater;

namespace {

constexpr TenantId kTenant{7};

std::string refusal(const RunAs& run_as, const TaskUserRules& rules, TenantId tenant = kTenant) {
  const auto user = choose_task_user(run_as, tenant, rules);
  if (user) return "was accepted";
  CHECK(details(user.error()).code == ErrorCode::invalid_input);
  CHECK(details(user.error()).field == "run_as");
  return details(user.error()).message;
}

bool is_root() {
  if (::geteuid() == 0) return true;
  WARN("becoming another user needs root");
  return false;
}

/// A host whose tasks run as a user per tenant, with private directories that those can reach.
class ApartFixture : public HostFixture {
 public:
  ApartFixture() {
    REQUIRE(::chmod(work_.path().c_str(), 0711) == 0);
    options().work_directory = work_ / "tasks";
    options().users = {.fallback = DefaultUser::per_tenant};
    options().hide_processes = can_hide_processes();
    reopen();
  }
  LaunchOrder shell_of(std::uint32_t tenant, const std::string& script) {
    LaunchOrder order = shell(script);
    order.tenant = TenantId{tenant};
    return order;
  }

 private:
  TemporaryDirectory work_;
};

}  // namespace

TEST_CASE("A task's user is the tenant's, the node's default, or a refusal", "[process]") {
  if (!is_root()) return;
  const TaskUserRules own{.allow_root = true};
  const TaskUserRules apart{.fallback = DefaultUser::per_tenant};
  CHECK_FALSE(choose_task_user({}, kTenant, own)->has_value());
  CHECK(choose_task_user({}, kTenant, apart)->value() ==
        TaskUser{kFirstTenantUserId + 7, kFirstTenantUserId + 7, {}, ""});
  const TaskUser daemon = choose_task_user({"daemon", "", {}}, kTenant, apart)->value();
  CHECK(daemon == TaskUser{1, 1, {1}, "daemon"});
  CHECK(choose_task_user({"1", "", {}}, kTenant, apart)->value() == daemon);
  CHECK(choose_task_user({"54321", "", {}}, kTenant, apart)->value() ==
        TaskUser{54321, 54321, {}, ""});
  CHECK(choose_task_user({"54321", "bin", {"8", "tty"}}, kTenant, apart)->value() ==
        TaskUser{54321, 2, {8, 5}, ""});
  const TaskUserRules named{.fallback = DefaultUser::named, .named = {"daemon", "", {}}};
  CHECK(choose_task_user({}, kTenant, named)->value() == daemon);

  CHECK_THAT(refusal({"no-such-user", "", {}}, apart), Catch::Contains("no user 'no-such-user'"));
  CHECK_THAT(refusal({"daemon", "no-such", {}}, apart), Catch::Contains("no group 'no-such'"));
  for (const RunAs& root : {RunAs{"root", "", {}}, RunAs{"0", "", {}}, RunAs{"daemon", "root", {}},
                            RunAs{"daemon", "", {"0"}}}) {
    CHECK_THAT(refusal(root, apart), Catch::Contains("do not run as root"));
    TaskUserRules allowing = apart;
    allowing.allow_root = true;
    CHECK(choose_task_user(root, kTenant, allowing));
  }
  CHECK_THAT(refusal({}, TaskUserRules{}), Catch::Contains("do not run as root"));
  CHECK_THAT(refusal({}, apart, TenantId{1'000'000}), Catch::Contains("has no user id left"));
  CHECK(choose_task_user({}, TenantId{}, apart)->value().uid == kFirstTenantUserId);
  CHECK(!probe_task_users(apart));
}

TEST_CASE("A task runs as its user, with no privilege left", "[process]") {
  if (!is_root()) return;
  ApartFixture fixture;
  const LaunchOrder order = fixture.shell_of(
      3,
      "id -u; id -g; id -G; grep -E '^(Cap|NoNewPrivs)' /proc/self/status; echo > /dev/stdout; "
      "echo $PWD > own; stat -c %u own $TMPDIR");
  const TaskResult result = fixture.run(order);
  INFO(result.message << fixture.output(order.task, true));
  CHECK(result.exit_code == 0);
  const std::string id = std::to_string(kFirstTenantUserId + 3);
  const std::string none = "0000000000000000\n";
  const std::string output = fixture.output(order.task);
  CHECK_THAT(output, Catch::StartsWith(id + "\n" + id + "\n" + id + "\nCapInh:\t" + none +
                                       "CapPrm:\t" + none + "CapEff:\t" + none));
  CHECK_THAT(output, Catch::Contains("CapAmb:\t" + none + "NoNewPrivs:\t1\n\n") &&
                         Catch::EndsWith(id + "\n" + id + "\n"));
}

TEST_CASE("An order for a user that cannot be is refused before anything is used up", "[process]") {
  if (!is_root()) return;
  ApartFixture fixture;
  LaunchOrder order = fixture.shell_of(1, "echo ran");
  order.run_as.user = "no-such-user";
  CHECK(details(fixture.host().launch(order)).code == ErrorCode::invalid_input);
  order.run_as.user.clear();
  CHECK(fixture.run(order).exit_code == 0);
}

TEST_CASE("A task reaches neither other tenants, nor its supervisor, nor the host", "[process]") {
  if (!is_root()) return;
  ApartFixture fixture;
  LaunchOrder victim = fixture.shell_of(1, "echo secret; touch secret; echo $PWD; sleep 60");
  victim.environment = {{"PASSWORD", "hidden"}};
  REQUIRE(!fixture.host().launch(victim));
  REQUIRE(eventually([&] { return fixture.output(victim.task).ends_with("1\n"); }));
  const pid_t supervisor =
      AttemptFile(fixture.directory(), victim.task).read()->started->supervisor.pid;
  const std::string pid = std::to_string(processes_with_argument(fixture.marker()).front());
  const std::string directory = fixture.directory();
  LaunchOrder attacker = fixture.shell_of(2, "");
  attacker.environment = {
      {"VICTIM", pid}, {"DATA", directory}, {"SUPERVISOR", std::to_string(supervisor)}};
  attacker.command.change()[2] = R"(
    try() { if "$@" >/dev/null 2>&1; then echo "could: $*"; fi; }
    try cat /proc/$VICTIM/environ
    try kill -0 $VICTIM
    try kill -9 $VICTIM
    try kill -9 $SUPERVISOR
    try kill -9 $PPID
    try ls $DATA
    try cat $DATA/logs/1.0.1.stdout
    try cat $DATA/tasks/1.0.1
    try sh -c 'echo garbage >> $FAIRWATER_ATTEMPT'
    try ls ../1.0.1
    try ls ..
    try touch ../mine
    for file in $(cut -d: -f2,3 /proc/self/cgroup | sed -n 's|^\(.*\):\(/.*\)|/sys/fs/cgroup/\1\2|p'); do
      try sh -c "echo 0 > $file/../tasks"
      try sh -c "echo 0 > $file/../cgroup.procs"
      try sh -c "echo 1 > $file/memory.limit_in_bytes"
    done
    echo done)";
  const TaskResult result = fixture.run(attacker);
  CHECK(fixture.output(attacker.task) == "done\n");
  CHECK(result.reason == EndReason::exited);
  CHECK(fixture.host().runs(victim.task));
  if (fixture.options().hide_processes) {
    LaunchOrder looker = fixture.shell_of(2,
                                          "ls /proc/$VICTIM; cat /proc/$VICTIM/cmdline; "
                                          "ls /proc/1; ls -d /proc/$$");
    looker.environment = {{"VICTIM", pid}};
    fixture.run(looker);
    const std::string seen = fixture.output(looker.task);
    CHECK(std::count(seen.begin(), seen.end(), '\n') == 1);
  }
  REQUIRE(!fixture.host().stop(victim.task, EndReason::cancelled));
  CHECK(fixture.wait_for(victim.task).reason == EndReason::cancelled);
}
