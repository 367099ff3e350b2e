#include "process/task_user.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <functional>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fairwater::inline process {
namespace {

/// What the user database says of one user may take this much: a hundred thousand members of a
/// group.
constexpr std::size_t kDatabaseBytes = 1u << 20;
constexpr std::uint32_t kNoId = UINT32_MAX;  // (uid_t)-1 means "leave as it is"

caf::error refuse(const std::string& message) {
  return make_error(ErrorCode::invalid_input, message, "run_as");
}

std::optional<std::uint32_t> to_id(const std::string& text) {
  std::uint32_t id = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, id);
  if (error != std::errc{} || end != last || id == kNoId) return std::nullopt;
  return id;
}

/// A user with the groups of the database. A number that the database does not know is a user with
/// a group of the same number.
Expected<TaskUser> look_up_user(const std::string& user) {
  std::vector<char> buffer(kDatabaseBytes);
  passwd entry{};
  passwd* found = nullptr;
  const auto id = to_id(user);
  const int error = id ? ::getpwuid_r(*id, &entry, buffer.data(), buffer.size(), &found)
                       : ::getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) {
    if (id) return TaskUser{*id, *id, {}, {}};
    return refuse("this node has no user '" + user +
                  (error == 0 ? std::string("'") : "': " + std::string(std::strerror(error))));
  }
  TaskUser result{entry.pw_uid, entry.pw_gid, {}, entry.pw_name};
  int count = static_cast<int>(kMaxSupplementaryGroups);
  result.groups.resize(kMaxSupplementaryGroups);
  if (::getgrouplist(entry.pw_name, entry.pw_gid, result.groups.data(), &count) < 0)
    return refuse("user '" + user + "' is in " + std::to_string(count) + " groups, more than " +
                  std::to_string(kMaxSupplementaryGroups) + "; name those that it needs");
  result.groups.resize(static_cast<std::size_t>(count));
  return result;
}

Expected<gid_t> look_up_group(const std::string& name) {
  if (const auto id = to_id(name)) return gid_t{*id};
  std::vector<char> buffer(kDatabaseBytes);
  group entry{};
  group* found = nullptr;
  const int error = ::getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found != nullptr) return entry.gr_gid;
  return refuse("this node has no group '" + name +
                (error == 0 ? std::string("'") : "': " + std::string(std::strerror(error))));
}

Expected<TaskUser> look_up(const RunAs& run_as) {
  auto user = look_up_user(run_as.user);
  if (!user) return user;
  if (!run_as.group.empty()) {
    auto group = look_up_group(run_as.group);
    if (!group) return group.error();
    user->gid = *group;
  }
  if (!run_as.groups.empty()) user->groups.clear();
  for (const auto& name : run_as.groups) {
    auto group = look_up_group(name);
    if (!group) return group.error();
    user->groups.push_back(*group);
  }
  return user;
}

Expected<TaskUser> user_of_tenant(TenantId tenant, const TaskUserRules& rules) {
  if (tenant.value > rules.last_id - rules.first_id)
    return refuse("tenant number " + std::to_string(tenant.value) + " has no user id left from " +
                  std::to_string(rules.first_id) + " to " + std::to_string(rules.last_id));
  const std::uint32_t id = rules.first_id + tenant.value;
  return TaskUser{id, id, {}, {}};
}

bool has_root(const TaskUser& user) {
  bool root = user.uid == 0 || user.gid == 0;
  for (const gid_t group : user.groups) root = root || group == 0;
  return root;
}

/// Runs a function in a child; what it returned, or ECHILD when that cannot be known.
int in_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child < 0) return errno;
  if (child == 0) ::_exit(work() & 0xff);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return ECHILD;
  return WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
}

constexpr const char* kRootRefused =
    "tasks do not run as root or in its group here (allow_root_tasks is off)";

}  // namespace

Expected<std::optional<TaskUser>> choose_task_user(const RunAs& run_as, TenantId tenant,
                                                   const TaskUserRules& rules) {
  const uid_t own = ::geteuid();
  Expected<TaskUser> user = TaskUser{own, ::getegid(), {}, {}};
  if (!run_as.empty()) {
    user = look_up(run_as);
  } else if (rules.fallback == DefaultUser::per_tenant) {
    user = user_of_tenant(tenant, rules);
  } else if (rules.fallback == DefaultUser::named) {
    user = look_up(rules.named);
  } else {
    if (own == 0 && !rules.allow_root) return refuse(kRootRefused);
    return std::optional<TaskUser>();
  }
  if (!user) return user.error();
  if (has_root(*user) && !rules.allow_root) return refuse(kRootRefused);
  if (own != 0 && user->uid != own)
    return refuse("this node's agent runs as user " + std::to_string(own) +
                  " and cannot start a task as user " + std::to_string(user->uid));
  if (own != 0) return std::optional<TaskUser>();
  return std::optional<TaskUser>(std::move(*user));
}

caf::error check_default_user(const RunAs& run_as) {
  const auto user = look_up(run_as);
  if (user) return caf::none;
  return make_error(ErrorCode::invalid_input, details(user.error()).message, "run_as_default");
}

caf::error probe_task_users(const TaskUserRules& rules) {
  if (rules.fallback == DefaultUser::own) return caf::none;
  const auto user = choose_task_user({}, TenantId{1}, rules);
  if (!user)
    return make_error(ErrorCode::invalid_input, details(user.error()).message, "run_as_default");
  if (!*user) return caf::none;
  const int error = in_child([&] { return become_task_user(**user); });
  if (error == 0) return caf::none;
  return make_error(ErrorCode::invalid_input,
                    "cannot become user " + std::to_string((*user)->uid) + ": " +
                        std::strerror(error) +
                        "; give this agent a run_as_range that it may use, or run_as_default: "
                        "agent with allow_root_tasks: true",
                    "run_as_range");
}

int become_task_user(const TaskUser& user) {
  if (::setgroups(user.groups.size(), user.groups.data()) != 0) return errno;
  if (::setresgid(user.gid, user.gid, user.gid) != 0) return errno;
  if (::setresuid(user.uid, user.uid, user.uid) != 0) return errno;
  if (user.uid == 0) return 0;
  // The change of the user id has emptied all sets but the inheritable one.
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  if (::syscall(SYS_capset, &header, none.data()) != 0) return errno;
  return 0;
}

int hide_other_users_processes() {
  if (::unshare(CLONE_NEWNS) != 0) return errno;
  // What is mounted and taken away later on the machine happens here too, and not the other way.
  if (::mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return errno;
  if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=2") != 0)
    return errno;
  return 0;
}

bool can_hide_processes() { return in_child(hide_other_users_processes) == 0; }

}  // namespace fairwater::inline process
