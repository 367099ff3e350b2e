#include "daemon/restore.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sys/stat.h>

#include <spdlog/spdlog.h>

#include "actors/coordinator/ledger_trust.hpp"
#include "cli/core/output.hpp"
#include "daemon/daemon.hpp"
#include "rpc/tokens.hpp"
#include "storage/backup.hpp"

namespace fairwater::inline daemon {
namespace {

std::string end_text(const BackupManifest& manifest) {
  return "cycle " + std::to_string(manifest.end.number) + " of " + iso_time(manifest.recorded);
}

caf::error refuse_loss(const std::string& backup, const BackupManifest& manifest) {
  return make_error(ErrorCode::invalid_input,
                    backup + " ends at " + end_text(manifest) + " (made " +
                        iso_time(manifest.made) +
                        "). Everything after that is lost: jobs, results, debts, tenants, nodes "
                        "and tokens that came or changed since; tokens that were revoked since "
                        "are good again, and tasks that ended since run again. Add --accept-loss "
                        "to go on from there",
                    "restore");
}

}  // namespace

caf::error copy_secrets(const std::string& from, const std::string& to) {
  for (const char* name : {kCoordinatorKeyFile, kOperatorTokenFile, kJoinTokenFile}) {
    const std::string path = from + "/" + name;
    if (!std::filesystem::exists(path)) continue;  // an operator may keep a token elsewhere
    const auto secret = read_secret_file(path);
    if (!secret) return secret.error();
    if (auto failed = write_secret_file(to + "/" + name, *secret)) return failed;
  }
  return {};
}

namespace {

/// The ledger names every secret hash and every command: it is nobody else's to read.
caf::error make_data_directory(const CoordinatorConfig& config) {
  if (::mkdir(config.data.c_str(), S_IRWXU) == 0 || errno == EEXIST) return {};
  return make_error(ErrorCode::invalid_input,
                    "cannot make " + config.data + ": " + std::strerror(errno), "data");
}

RestoreOptions options_for(const CoordinatorConfig& config, const std::string& backup) {
  RestoreOptions options;
  options.backup = backup;
  options.directory = config.data;
  options.add_files = [backup](const std::string& directory) {
    return copy_secrets(backup, directory);
  };
  return options;
}

}  // namespace

caf::error copy_replica(const CoordinatorConfig& config, const std::string& backup) {
  if (caf::error failed = make_data_directory(config)) return failed;
  spdlog::info("copying {} into {}", backup, config.data);
  const auto copied = restore_backup(options_for(config, backup));
  return copied ? caf::error{} : copied.error();
}

caf::error restore_cluster(const CoordinatorConfig& config, const std::string& backup,
                           bool accept_loss) {
  const auto manifest = read_manifest(backup);
  if (!manifest) return manifest.error();
  if (!accept_loss) return refuse_loss(backup, *manifest);
  if (caf::error failed = make_data_directory(config)) return failed;
  spdlog::info("restoring {} into {}", backup, config.data);
  RestoreOptions options = options_for(config, backup);
  options.beginning = [&](const BackupManifest& verified) {
    return restoring(verified.end, verified.recorded, wall_time_now(),
                     "restored from " + backup + ", which ends at " + end_text(verified));
  };
  const auto restored = restore_backup(options);
  if (!restored) return restored.error();
  spdlog::warn(
      "the ledger ends at {}: what followed is given up. What nodes still have of it will be in "
      "fairwater ledger restored",
      end_text(*restored));
  return {};
}

}  // namespace fairwater::inline daemon
