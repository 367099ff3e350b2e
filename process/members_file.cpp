#include "process/members_file.hpp"

#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/file_descriptor.hpp"

namespace fairwater::inline process {
namespace {

constexpr std::string_view kPrefix = "members-";

/// A new file of that owner, with that content, takes the place of the one at `path`.
caf::error put(const std::filesystem::path& path, const std::string& content, uid_t uid,
               gid_t gid) {
  const std::filesystem::path fresh = path.string() + ".new";
  ::unlink(fresh.c_str());  // of a host that was killed meanwhile
  const FileDescriptor file(
      ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400));
  if (!file) return system_error("cannot make " + fresh.string(), errno);
  if (auto error = write_all(file.get(), content, fresh)) return error;
  if (uid != ::geteuid() && ::fchown(file.get(), uid, gid) != 0)
    return system_error("cannot give " + fresh.string() + " to its tasks' user", errno);
  if (::rename(fresh.c_str(), path.c_str()) != 0)
    return system_error("cannot replace " + path.string(), errno);
  return {};
}

}  // namespace

std::filesystem::path members_file(const std::filesystem::path& work, JobId job) {
  return work / (std::string(kPrefix) + std::to_string(job.value));
}

caf::error make_members_file(const std::filesystem::path& file,
                             const std::optional<TaskUser>& user) {
  struct stat known {};
  if (::lstat(file.c_str(), &known) == 0) return {};
  return put(file, "", user ? user->uid : ::geteuid(), user ? user->gid : ::getegid());
}

caf::error replace_members_file(const std::filesystem::path& file, const JobMembers& members) {
  struct stat known {};
  if (::lstat(file.c_str(), &known) != 0)
    return errno == ENOENT ? caf::error() : system_error("cannot look at " + file.string(), errno);
  std::string text;
  for (const JobMember& member : members.members)
    text += std::to_string(member.index) + " " + member.node + " " + member.address + "\n";
  return put(file, text, known.st_uid, known.st_gid);
}

std::optional<JobId> job_of_members_file(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  if (!name.starts_with(kPrefix)) return std::nullopt;
  JobId job;
  const char* end = name.data() + name.size();
  const auto [last, error] = std::from_chars(name.data() + kPrefix.size(), end, job.value);
  if (error != std::errc() || (last != end && std::string_view(last, end) != ".new"))
    return std::nullopt;
  return job;
}

}  // namespace fairwater::inline process
