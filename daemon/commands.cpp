// The verbs of fairwaterd: flags over file over defaults, then run until told to stop.
#include <algorithm>
#include <iostream>

#include <CLI/CLI.hpp>

#include "cli/core/context.hpp"
#include "cli/core/usage_error.hpp"
#include "cli/core/verbs.hpp"
#include "cli/core/version.hpp"
#include "daemon/daemon.hpp"
#include "daemon/dev_command.hpp"
#include "daemon/replica.hpp"
#include "daemon/restore.hpp"
#include "daemon/verb_failures.hpp"
#include "input/document.hpp"
#include "process/device_access.hpp"
#include "process/devices.hpp"
#include "process/task_user.hpp"

namespace fairwater::inline daemon {
namespace {

struct CommonFlags {
  std::string config_file;
  std::string log_format;
  bool check = false;
};

struct CoordinatorFlags {
  CommonFlags common;
  std::string listen;
  std::string data;
  std::string join_token_expires;
  std::string restore;
  std::string replicas;  ///< a file
  std::string member;
  std::string join;
  bool init = false;
  bool accept_loss = false;
  bool found = false;
};

struct AgentFlags {
  CommonFlags common;
  std::string coordinator;
  std::string name;
  std::string site;
  std::string data;
  std::string join_token_file;
  std::vector<std::string> labels;
  std::vector<std::string> resources;
};

int refuse_usage(const caf::error& error) {
  refuse(error);
  return kExitUsage;
}

template <class Config>
caf::error load_file(const std::string& path, Config& config) {
  if (path.empty()) return {};
  const auto text = read_input(path, kMaxYamlBytes);
  if (!text) return text.error();
  return read_config(*text, path, config);
}

void override_with(const std::string& flag, std::string& target) {
  if (!flag.empty()) target = flag;
}

caf::error apply_log_format(const std::string& flag, LogFormat& format) {
  if (flag.empty()) return {};
  auto parsed = parse_log_format(flag);
  if (!parsed) return parsed.error();
  format = *parsed;
  return {};
}

caf::error apply_lifetime(const std::string& flag, std::int64_t& lifetime_ms) {
  if (flag.empty()) return {};
  auto parsed = parse_lifetime_ms(flag);
  if (!parsed)
    return make_error(ErrorCode::invalid_input, details(parsed.error()).message,
                      "join-token-expires");
  lifetime_ms = *parsed;
  return {};
}

Expected<CoordinatorConfig> coordinator_config(const CoordinatorFlags& flags) {
  CoordinatorConfig config;
  if (auto wrong = load_file(flags.common.config_file, config)) return wrong;
  if (!flags.listen.empty()) config.listen = flags.listen;
  override_with(flags.data, config.data);
  override_with(flags.member, config.member);
  if (!flags.replicas.empty()) {
    const auto text = read_input(flags.replicas, kMaxYamlBytes);
    if (!text) return text.error();
    auto replicas = read_replicas(*text, flags.replicas);
    if (!replicas) return replicas.error();
    config.replicas = std::move(*replicas);
  }
  if (config.replicas)
    if (auto wrong = check_member(*config.replicas, config.member)) return wrong;
  if (auto wrong = apply_lifetime(flags.join_token_expires, config.join_token_lifetime_ms))
    return wrong;
  if (auto wrong = apply_log_format(flags.common.log_format, config.log_format)) return wrong;
  if (auto wrong = validate(config)) return wrong;
  if (config.replicas)
    if (auto wrong = check_files(*config.replicas, flags.replicas.empty() ? "replicas." : ""))
      return wrong;
  return config;
}

/// What is configured of devices against this machine's.
caf::error check_devices(const AgentConfig& config) {
  const auto node = node_resources(config, find_gpus());
  if (!node) return node.error();
  const auto files = find_device_files(node->devices, config.device_files);
  return files ? caf::error{} : files.error();
}

/// Likewise of the user whom tasks run as.
caf::error check_default_user(const AgentConfig& config) {
  const std::string& wanted = config.run_as_default;
  if (wanted.empty() || wanted == "per_tenant" || wanted == "agent") return {};
  return process::check_default_user(run_as_from(wanted));
}

Expected<AgentConfig> agent_config(const AgentFlags& flags) {
  AgentConfig config;
  if (auto wrong = load_file(flags.common.config_file, config)) return wrong;
  override_with(flags.coordinator, config.coordinator);
  override_with(flags.name, config.name);
  override_with(flags.site, config.site);
  override_with(flags.data, config.data);
  override_with(flags.join_token_file, config.join_token_file);
  for (const auto& label : flags.labels) {
    const auto equals = label.find('=');
    if (equals == std::string::npos || equals == 0)
      return make_error(ErrorCode::invalid_input, "'" + label + "' is not KEY=VALUE", "label");
    config.labels[label.substr(0, equals)] = label.substr(equals + 1);
  }
  for (const auto& text : flags.resources) {
    auto amounts = parse_amounts(text);
    if (!amounts) return amounts.error();
    for (const auto& [name, amount] : *amounts) config.resources[name] = amount;
  }
  if (auto wrong = apply_log_format(flags.common.log_format, config.log_format)) return wrong;
  if (auto wrong = validate(config)) return wrong;
  if (auto wrong = check_devices(config)) return wrong;
  if (auto wrong = check_default_user(config)) return wrong;
  return config;
}

// -- running --------------------------------------------------------------------------------------

/// A service from its configuration to its orderly end. `start(system, config, log)` gives what
/// runs and `announce(process, config, log)` says that it does.
template <class Config, class Start, class Announce>
int run_service(const Expected<Config>& config, bool check_only, Start start, Announce announce,
                const std::string& farewell) {
  if (!config) return refuse_usage(config.error());
  if (check_only) {
    std::cout << "the configuration is good\n";
    return kExitDone;
  }
  use_standard_error(config->log_format);
  const StopSignal stop;
  const DaemonLog log{config->log_format};
  DaemonActorConfig actor_config;
  caf::actor_system system{actor_config};
  auto process = start(system, *config, log);
  if (!process) return refuse(process.error());
  announce(**process, *config, log);
  stop.wait();
  log.info(farewell);
  stop.arm_second_signal();
  process->reset();
  return kExitDone;
}

caf::error check_replica_flags(const CoordinatorFlags& flags, const CoordinatorConfig& config) {
  const auto belongs = [](const char* field, const char* message) {
    return make_error(ErrorCode::invalid_input, message, field);
  };
  if (config.replicas) {
    if (!flags.restore.empty())
      return belongs("restore",
                     "begins another life of a ledger; --join makes a replica of a backup");
    if (flags.init && !flags.found)
      return belongs("init", "makes a new cluster; with replicas that is --init --found");
    if (!flags.join.empty() && flags.found)
      return belongs("join", "--found begins with a ledger that is here");
    return {};
  }
  if (flags.found) return belongs("found", "belongs to --replicas FILE");
  if (!flags.join.empty()) return belongs("join", "belongs to --replicas FILE");
  return config.member.empty() ? caf::error{} : belongs("member", "belongs to --replicas FILE");
}

int run_replicated(const CoordinatorFlags& flags, const CoordinatorConfig& config) {
  use_standard_error(config.log_format);
  const StopSignal stop;
  const DaemonLog log{config.log_format};
  const caf::error failed = run_replica(config, {flags.init, flags.found, flags.join}, stop, log);
  return failed ? refuse(failed) : kExitDone;
}

caf::error check_restore(const CoordinatorFlags& flags) {
  if (!flags.restore.empty() && flags.init)
    return make_error(ErrorCode::invalid_input,
                      "makes a cluster of a backup; --init would make another", "restore");
  if (flags.restore.empty() && flags.accept_loss)
    return make_error(ErrorCode::invalid_input, "belongs to --restore DIR", "accept-loss");
  return {};
}

int run_coordinator(const CoordinatorFlags& flags) {
  if (auto wrong = check_restore(flags)) return refuse_usage(wrong);
  raise_descriptor_limit();
  const auto config = coordinator_config(flags);
  if (config) {
    if (auto wrong = check_replica_flags(flags, *config)) return refuse_usage(wrong);
    if (config->replicas && !flags.common.check) return run_replicated(flags, *config);
  }
  using Started = Expected<std::unique_ptr<CoordinatorProcess>>;
  return run_service(
      config, flags.common.check,
      [&](auto& system, const CoordinatorConfig& config, const DaemonLog& log) -> Started {
        if (!flags.restore.empty())
          if (auto failed = restore_cluster(config, flags.restore, flags.accept_loss))
            return failed;
        return CoordinatorProcess::start(system, config, flags.init, stop_at_once(log));
      },
      [](const auto& process, const CoordinatorConfig& config, const DaemonLog& log) {
        std::cout << "listening on " << process.address() << std::endl;
        log.info("coordinator " + std::string(kVersion) + " on " + process.address() +
                 ", data in " + config.data + ", " + text_of(process.connections()));
      },
      "stopping");
}

int run_agent(const AgentFlags& flags) {
  return run_service(
      agent_config(flags), flags.common.check,
      [](auto& system, const AgentConfig& config, const DaemonLog& log) {
        return AgentProcess::start(system, config, stop_at_once(log));
      },
      [](const auto& process, const AgentConfig& config, const DaemonLog& log) {
        log.info("agent for " + config.coordinator + ", limits by " + process.limits());
        if (!process.devices().empty()) log.info("devices: " + process.devices());
        log_isolation(log, process.isolation());
      },
      "stopping; tasks go on");
}

// -- the command line -----------------------------------------------------------------------------

void add_common(CLI::App& verb, CommonFlags& flags) {
  verb.add_option("--config", flags.config_file, "YAML file; flags win over it");
  verb.add_option("--log-format", flags.log_format, "text or json, on standard error");
  verb.add_flag("--check", flags.check, "validate the configuration and exit");
}

void add_coordinator(CLI::App& app, CoordinatorFlags& flags, int& status) {
  auto* verb = app.add_subcommand("coordinator", "run the coordinator of a cluster");
  add_common(*verb, flags.common);
  verb->add_option("--listen", flags.listen,
                   "HOST:PORT; port 0 picks a free one (default: 127.0.0.1:7400, or the address of "
                   "the member)");
  verb->add_option("--data", flags.data, "the ledger's directory");
  verb->add_flag("--init", flags.init, "create the data directory, with its tokens");
  verb->add_option("--restore", flags.restore,
                   "begin with this backup (fairwater ledger backup), in an empty data directory");
  verb->add_flag("--accept-loss", flags.accept_loss,
                 "give up all that happened after the backup was made");
  verb->add_option("--replicas", flags.replicas,
                   "YAML file: this is one of several coordinators of a cluster");
  verb->add_option("--member", flags.member, "which of them it is");
  verb->add_flag("--found", flags.found,
                 "the first one: begin the journal in etcd with its ledger");
  verb->add_option("--join", flags.join,
                   "another one: begin with this backup (fairwater ledger backup)");
  verb->add_option("--join-token-expires", flags.join_token_expires,
                   "how long the first join token is good: a duration (default 24h), or never");
  verb->footer(
      "Examples:\n  fairwaterd coordinator --init --data /var/lib/fairwater/coordinator\n"
      "  fairwaterd coordinator --config /etc/fairwater/coordinator.yaml\n"
      "  fairwaterd coordinator --restore /var/backups/fairwater/monday --accept-loss\n"
      "  fairwaterd coordinator --replicas /etc/fairwater/replicas.yaml --member head1");
  verb->callback([&] { status = run_coordinator(flags); });
}

void add_agent(CLI::App& app, AgentFlags& flags, int& status) {
  auto* verb = app.add_subcommand("agent", "run the agent of one machine");
  add_common(*verb, flags.common);
  verb->add_option("--coordinator", flags.coordinator,
                   "HOST:PORT of the coordinator; of several with commas between them");
  verb->add_option("--name", flags.name, "the node's name; default: the host's");
  verb->add_option("--site", flags.site, "the node's site");
  verb->add_option("--label", flags.labels, "KEY=VALUE, may be given again");
  verb->add_option("--resource", flags.resources, "cpu=8,memory=16GiB,gpu=2");
  verb->add_option("--data", flags.data, "running tasks, logs, the credential");
  verb->add_option("--join-token-file", flags.join_token_file, "needed once, to join");
  verb->footer(
      "Examples:\n  fairwaterd agent --coordinator head:7400 --join-token-file join.token\n"
      "  fairwaterd agent --config /etc/fairwater/agent.yaml");
  verb->callback([&] { status = run_agent(flags); });
}

}  // namespace

int run_fairwaterd(int argc, char** argv) {
  std::vector<std::string> words{argv + 1, argv + argc};
  DevFlags dev;
  // What follows --exec is another program's command line: no option parser may touch it.
  if (const auto exec = std::find(words.begin(), words.end(), "--exec"); exec != words.end()) {
    dev.command.assign(exec + 1, words.end());
    words.erase(exec + 1, words.end());
    if (dev.command.empty())
      return refuse_usage(make_error(ErrorCode::invalid_input, "names no command", "--exec"));
  }
  int status = kExitDone;
  CLI::App app{"The daemon of Fairwater, a fair-share scheduling runtime.", "fairwaterd"};
  app.set_version_flag("--version", "fairwaterd " + std::string(kVersion));
  app.require_subcommand(1);
  CoordinatorFlags coordinator;
  AgentFlags agent;
  add_coordinator(app, coordinator, status);
  add_agent(app, agent, status);
  add_dev(app, dev, status);
  std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
  try {
    app.parse(words);
  } catch (const CLI::ParseError& problem) {
    // Help and version are no failures.
    if (problem.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success))
      return app.exit(problem);
    return refuse_usage(usage_error(app, problem));
  }
  return status;
}

}  // namespace fairwater::inline daemon
