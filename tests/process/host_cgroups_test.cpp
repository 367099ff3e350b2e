// Whose control groups are whose, and what a killed host leaves.
#include "process/host_cgroups.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <unistd.h>

#include "task_host_fixture.hpp"

using namespace fairwater;

namespace {

/// Empty where this machine has no control groups that take a mark.
CgroupPaths groups_named(const std::string& name) {
  auto groups = make_cgroup_parent(probe_limits().method, name + std::to_string(::getpid()));
  REQUIRE(groups);
  const auto claims = claim_cgroups(*groups, "/");
  REQUIRE(claims);
  if (!claims->empty()) return *groups;
  WARN("skipped: control groups take no mark here");
  TaskCgroup(*groups).remove();
  return {};
}

bool exist(const CgroupPaths& groups) {
  return std::any_of(groups.begin(), groups.end(),
                     [](const auto& group) { return std::filesystem::exists(group.second); });
}

}  // namespace

TEST_CASE("What a killed host left is removed by the next one, what lives is not",
          "[process][cgroups]") {
  const auto own = groups_named("fairwater-test-own-");
  if (own.empty()) return;
  const auto own_claims = claim_cgroups(own, "/here");  // hosts of other tests may start, too
  const auto dead = groups_named("fairwater-test-dead-");
  const auto alive = groups_named("fairwater-test-alive-");
  const auto claims = claim_cgroups(alive, "/somewhere");
  const auto full = groups_named("fairwater-test-full-");
  TaskCgroup member(cgroup_member(full, "1.0.1"));
  REQUIRE_FALSE(member.create({}));
  const auto unmarked = make_cgroup_parent(probe_limits().method,
                                           "fairwater-test-unmarked-" + std::to_string(::getpid()));
  REQUIRE(unmarked);

  remove_unclaimed_cgroups(own);
  CHECK(exist(own));
  CHECK_FALSE(exist(dead));
  CHECK(exist(alive));
  CHECK(exist(full));
  CHECK(exist(*unmarked));
  CHECK_FALSE(claim_cgroups(dead, "/"));  // they are to be made again

  member.remove();
  remove_unclaimed_cgroups(own);
  CHECK_FALSE(exist(full));
  for (const auto& groups : {own, alive, *unmarked}) TaskCgroup(groups).remove();
}

TEST_CASE("A host removes what was left beside it, and keeps its own", "[process][cgroups]") {
  const auto dead = groups_named("fairwater-test-left-");
  if (dead.empty()) return;
  HostFixture first;
  CHECK_FALSE(exist(dead));
  HostFixture second;
  CHECK(first.run("exit 3").exit_code == 3);
  CHECK(second.run("exit 4").exit_code == 4);
}
