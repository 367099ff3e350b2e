// How several coordinators share one ledger: the file of --replicas, the same for all of them, or
// `replicas` in coordinator.yaml.
#pragma once

#include <string>
#include <string_view>

#include "daemon/replication/members.hpp"
#include "model/errors.hpp"

namespace fairwater::inline daemon {

/// Of a file's content; `name` is how errors call it.
[[nodiscard]] Expected<ReplicaConfig> read_replicas(std::string_view text, const std::string& name);
/// Errors name fields below `path`, such as `replicas.`.
[[nodiscard]] caf::error validate(const ReplicaConfig& config, const std::string& path);
/// Whether the files that it names can be used, too; errors as validate().
[[nodiscard]] caf::error check_files(const ReplicaConfig& config, const std::string& path);
/// `member` is this coordinator's name in it.
[[nodiscard]] caf::error check_member(const ReplicaConfig& config, const std::string& member);

}  // namespace fairwater::inline daemon
