#include "daemon/daemon.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <caf/all.hpp>
#include <nlohmann/json.hpp>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "actors/agent/agent.hpp"
#include "cli/core/output.hpp"
#include "cli/core/version.hpp"
#include "daemon/accounting.hpp"
#include "daemon/replica.hpp"
#include "daemon/restore.hpp"
#include "policy/core/check.hpp"
#include "process/directory_place.hpp"
#include "process/process_identity.hpp"
#include "process/task_process.hpp"
#include "rpc/addresses.hpp"
#include "rpc/sockets.hpp"
#include "rpc/tokens.hpp"
#include "storage/backup.hpp"

namespace fairwater::inline daemon {

// -- logging and stopping -------------------------------------------------------------------------

void DaemonLog::write(std::string_view level, std::string_view message) const {
  const std::string time = iso_time(wall_time_now());
  const std::string line =
      format_ == LogFormat::json
          ? nlohmann::ordered_json{{"time", time}, {"level", level}, {"message", message}}.dump()
          : time + " " + std::string(level) + " " + std::string(message);
  std::fprintf(stderr, "%s\n", line.c_str());
}

StopSignal::StopSignal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  FAIRWATER_CHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0, "signals can be blocked");
  std::signal(SIGPIPE, SIG_IGN);
  signals_ = ::signalfd(-1, &set, SFD_CLOEXEC);
  requests_ = ::eventfd(0, EFD_CLOEXEC);
  FAIRWATER_CHECK(signals_ >= 0 && requests_ >= 0, "descriptors for stopping");
}

StopSignal::~StopSignal() {
  ::close(signals_);
  ::close(requests_);
}

void StopSignal::request() const {
  const std::uint64_t one = 1;
  FAIRWATER_CHECK(::write(requests_, &one, sizeof one) == sizeof one, "an event can be posted");
}

bool StopSignal::wait(int child_fd, int timeout_ms) const {
  std::array<pollfd, 3> events{
      {{signals_, POLLIN, 0}, {requests_, POLLIN, 0}, {child_fd, POLLIN, 0}}};
  while (::poll(events.data(), events.size(), timeout_ms) < 0)
    FAIRWATER_CHECK(errno == EINTR, "poll");
  if ((events[0].revents & POLLIN) == 0) return (events[1].revents & POLLIN) != 0;
  signalfd_siginfo info{};
  FAIRWATER_CHECK(::read(signals_, &info, sizeof info) == sizeof info, "a signal can be read");
  return true;
}

void StopSignal::arm_second_signal() const {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void use_standard_error(LogFormat format) {
  auto logger = spdlog::stderr_logger_mt("fairwaterd");
  // The lines of DaemonLog; messages of the actors and the gateway hold no quotes.
  logger->set_pattern(format == LogFormat::json
                          ? R"({"time":"%Y-%m-%dT%H:%M:%S.%fZ","level":"%l","message":"%v"})"
                          : "%Y-%m-%dT%H:%M:%S.%fZ %l %v",
                      spdlog::pattern_time_type::utc);
  spdlog::set_default_logger(std::move(logger));
}

std::size_t actor_threads(std::size_t processors) {
  return std::clamp<std::size_t>(processors / 2, 1, 4);
}

DaemonActorConfig::DaemonActorConfig() {
  set("scheduler.max-threads", actor_threads(std::thread::hardware_concurrency()));
  // Idle workers wait on a condition variable. Those that steal poll for 25 ms after every message,
  // which was nearly all of what a heartbeat cost the coordinator.
  set("scheduler.policy", caf::atom("sharing"));
}

// -- the coordinator ------------------------------------------------------------------------------

namespace {

/// The ledger names every secret hash and every command: it is nobody else's to read.
caf::error prepare_directory(const CoordinatorConfig& config, bool init) {
  if (init && ::mkdir(config.data.c_str(), 0700) != 0 && errno != EEXIST)
    return make_error(ErrorCode::invalid_input,
                      "cannot make " + config.data + ": " + std::strerror(errno), "data");
  struct stat status {};
  if (::stat(config.data.c_str(), &status) == 0 && (status.st_mode & 077) != 0)
    spdlog::warn("others can read or change {} (mode {:o}); run: chmod 700 {}", config.data,
                 status.st_mode & 07777, config.data);
  return {};
}

/// The join token with the coordinator's key, in a file that is made first where it is missing.
Expected<JoinToken> ensure_join_token(const std::string& path, const CoordinatorKey& key) {
  auto text =
      ensure_secret(path, [&] { return join_token_text(make_token("fw_jn_"), key.public_key()); });
  if (!text) return text.error();
  return parse_join_token(*text);
}

/// A crash in between leaves secrets that the next start takes up.
caf::error create_cluster(Ledger& ledger, const CoordinatorConfig& config,
                          const CoordinatorKey& key) {
  auto operator_token =
      ensure_secret(config.data + "/" + kOperatorTokenFile, [] { return make_token("fw_op_"); });
  if (!operator_token) return operator_token.error();
  auto join_token = ensure_join_token(config.data + "/" + kJoinTokenFile, key);
  if (!join_token) return join_token.error();
  const WallTime now = wall_time_now();
  WallTime join_until;
  if (config.join_token_lifetime_ms > 0)
    join_until = {now.microseconds + config.join_token_lifetime_ms * 1000};
  auto created = ledger.append(
      {new_cluster(make_token("cluster_").substr(0, 24), config),
       TokenIssued{Role::operator_role, {}, hash_token(*operator_token), "operator", now, {}},
       TokenIssued{Role::join, {}, hash_token(join_token->token), "join", now, join_until}});
  return created ? caf::error{} : created.error();
}

/// Calls `on_end` when the actor ends while nobody is stopping the process.
template <class Actor>
void watch(const Actor& actor, const std::string& what, std::shared_ptr<bool> stopping,
           const std::function<void(const std::string&)>& on_end) {
  caf::actor_cast<caf::actor>(actor)->attach_functor(
      [what, stopping, on_end](const caf::error& reason) {
        if (!*stopping) on_end("the " + what + " has ended: " + details(reason).message);
      });
}

}  // namespace

namespace {

std::shared_ptr<PatientClock> record_clock() {
  const auto tell = [](Milliseconds ahead) {
    spdlog::warn(
        "the clock was set ahead by {}: nothing that is kept follows it before it has stood so "
        "for an hour",
        format_duration_ms(ahead.count()));
  };
  return std::make_shared<PatientClock>(PatientClock::Sources{wall_time_now, boottime_ms, tell},
                                        kRecordPatience);
}

/// The clock, or one that was followed before, is wrong where it is behind the ledger.
void follow_on(WallTime newest, PatientClock& clock) {
  constexpr std::int64_t kTold_ms = 60'000;
  const std::int64_t behind_ms = (newest.microseconds - clock.now().microseconds) / 1000;
  if (behind_ms > kTold_ms)
    spdlog::warn(
        "the ledger's newest record is of {}, and this machine's clock is {} behind that: "
        "until then the ledger's times stand still, and usage counts nothing",
        utc_text(shown_time(newest)), format_duration_ms(behind_ms));
  clock.is_past(newest);
}

}  // namespace

Expected<OpenedLedger> open_ledger(const CoordinatorConfig& config, bool init,
                                   JournalStore* store) {
  // Before anything is made that another try would find.
  if (init)
    if (auto taken = check_can_listen(listens_at(config))) return taken;
  if (auto failed = prepare_directory(config, init)) return failed;
  LedgerOptions options;
  options.directory = config.data;
  options.create = init;
  options.store = store;
  options.version = std::string(kVersion);
  const auto clock = record_clock();
  options.clock = [clock] { return clock->now(); };
  options.running_ms = boottime_ms;
  auto ledger = Ledger::open(options);
  if (!ledger) return ledger.error();
  const std::string key_file = config.data + "/" + kCoordinatorKeyFile;
  if (!init && !std::filesystem::exists(key_file))
    spdlog::warn(
        "making the key {}: agents that have pinned another refuse this coordinator; if "
        "there was one, restore it",
        key_file);
  auto key = CoordinatorKey::load_or_make(key_file);
  if (!key) return key.error();
  spdlog::info("this coordinator's key is {}", key_text(key->public_key()));
  if ((*ledger)->last_number() == 0) {
    if (!init)
      return make_error(ErrorCode::invalid_input,
                        config.data + " holds a ledger that was never used; start with --init");
    if (auto failed = create_cluster(**ledger, config, *key)) return failed;
    if (auto failed = mark_place(config.data)) return failed;
  }
  if (auto wrong = check_against((*ledger)->cluster(), (*ledger)->tenants(), config)) return wrong;
  return OpenedLedger{std::move(*ledger), std::make_shared<const CoordinatorKey>(*key), clock};
}

ServerOptions server_options(const CoordinatorConfig& config, const ConnectionLimits& limits,
                             const OpenedLedger& opened) {
  ServerOptions options;
  options.listen = listens_at(config);
  options.max_connections = limits.connections;
  options.max_connections_per_peer = limits.per_address;
  options.operator_connections = limits.for_operators;
  options.key = opened.key;
  options.cluster_id = opened.ledger->cluster().cluster_id;
  return options;
}

namespace {

Expected<ClusterSettings> cluster_settings(const CoordinatorConfig& config,
                                           const OpenedLedger& opened) {
  ClusterSettings settings;
  settings.on_trusted = [data = config.data] {
    auto failed = mark_place(data);
    if (!failed) failed = forget_restore(data);
    if (failed)
      spdlog::error("the ledger is taken for a copy at the next start again: {}",
                    details(failed).message);
  };
  settings.add_to_backup = [data = config.data](const std::string& backup) {
    return copy_secrets(data, backup);
  };
  settings.lease_ms = config.lease_ms;
  settings.longest_lease_ms = longest_lease_ms(config);
  settings.class_leases_ms = config.class_leases_ms;
  settings.grace_ms = config.grace_ms;
  settings.heartbeat_interval_ms = config.heartbeat_interval_ms;
  settings.version = std::string(kVersion);
  settings.wall_clock = [clock = opened.clock] { return clock->now(); };
  settings.gang_secret = opened.key->secret_for("gangs");
  const auto debts = terms_of(config.debts, measure_of(opened.ledger->cluster()));
  if (!debts) return debts.error();
  settings.debts = *debts;
  settings.predict = config.predict.value_or(Predict::limits);
  settings.allocation = config.allocation;
  settings.growth = config.elastic;
  settings.preempt_after_ms = config.preempt_after_ms;
  settings.preempts_for_min = config.preempts_for_min;
  settings.history = config.history;
  return settings;
}

}  // namespace

Expected<std::unique_ptr<CoordinatorProcess>> CoordinatorProcess::start(
    caf::actor_system& system, const CoordinatorConfig& config, bool init,
    std::function<void(const std::string&)> on_fatal) {
  const auto opened = open_ledger(config, init, nullptr);
  if (!opened) return opened.error();
  if (auto refused = refuse_replica_alone(config)) return refused;
  const auto place = place_of(config.data);
  if (!place) return place.error();
  Standing standing;
  standing.copied = *place != Place::same;
  standing.restored = standing.copied && is_restored(config.data);
  return start_on(system, config, *opened, standing,
                  [on_fatal](const caf::error& error) { on_fatal(details(error).message); });
}

Expected<std::unique_ptr<CoordinatorProcess>> CoordinatorProcess::start_on(
    caf::actor_system& system, const CoordinatorConfig& config, const OpenedLedger& opened,
    const Standing& standing, std::function<void(const caf::error&)> on_fatal) {
  const auto limits = connection_limits(config, descriptor_limit());
  if (!limits) return limits.error();
  if (const auto newest = opened.ledger->record(opened.ledger->last_number()))
    follow_on(newest->time, *opened.clock);
  if (auto failed = change_accounting(*opened.ledger, config)) return failed;
  auto settings = cluster_settings(config, opened);
  if (!settings) return settings.error();
  settings->copied = standing.copied;
  settings->restored = standing.restored;
  settings->leadership = standing.leadership;
  auto cluster = start_cluster(system, opened.ledger, *settings, on_fatal);
  if (!cluster) return cluster.error();
  std::unique_ptr<CoordinatorProcess> process{new CoordinatorProcess};
  process->cluster_ = std::move(*cluster);
  process->connections_ = *limits;
  const auto& running = process->cluster_;
  const auto on_end = [on_fatal](const std::string& what) {
    on_fatal(make_error(ErrorCode::internal, what));
  };
  watch(running.coordinator, "coordinator", process->stopping_, on_end);
  watch(running.frontend, "frontend", process->stopping_, on_end);
  watch(running.context->ledger, "ledger", process->stopping_, on_end);
  watch(running.context->reader, "ledger's reader", process->stopping_, on_end);
  watch(running.context->scanner, "ledger's scanner", process->stopping_, on_end);
  watch(running.context->historian, "historian", process->stopping_, on_end);
  auto server = Server::start(system, running.frontend, server_options(config, *limits, opened));
  if (!server) return server.error();
  process->server_ = std::move(*server);
  return process;
}

CoordinatorProcess::~CoordinatorProcess() {
  *stopping_ = true;
  server_.reset();
  if (cluster_.context) stop_cluster(cluster_);
}

// -- the agent ------------------------------------------------------------------------------------

namespace {

/// Where this program was started from; the other programs are beside it.
std::filesystem::path own_directory() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

/// By which this machine reaches the first coordinator that it can.
std::string own_address_towards_any(const std::string& coordinators) {
  auto addresses = AddressList::parse(coordinators);
  if (!addresses) return {};
  for (std::size_t i = 0; i < addresses->size(); ++i, addresses->advance())
    if (auto own = own_address_towards(addresses->current()); !own.empty()) return own;
  return {};
}

Expected<TaskHostActor> start_host(caf::actor_system& system, const AgentConfig& config,
                                   LimitMethod limits, const TaskIsolation& isolation,
                                   const NamedDevices& devices, AgentSettings& settings) {
  auto directory = AgentDirectory::open(
      config.data, config.join_token_file.empty() ? IfEmpty::refuse : IfEmpty::create);
  if (!directory) return directory.error();
  settings.spec.instance = directory->instance();
  settings.identity = directory->identity();
  TaskHostOptions options;
  options.directory = config.data;
  options.supervisor = own_directory() / "fairwater-supervisor";
  options.log_limit_bytes = config.log_limit_mib << 20;
  options.log_retention = config.log_retention;
  options.work_directory = work_directory(config);
  options.users = isolation.users;
  options.hide_processes = isolation.hide_processes;
  options.limits = limits;
  options.devices = devices;
  options.cpusets = isolation.cpusets;
  options.device_files = isolation.device_files;
  auto host = TaskHost::open(options);
  if (!host) return host.error();
  return spawn_task_host(system, std::move(*host), std::move(*directory));
}

}  // namespace

Expected<std::unique_ptr<AgentProcess>> AgentProcess::start(
    caf::actor_system& system, const AgentConfig& config,
    std::function<void(const std::string&)> on_fatal) {
  auto resources = node_resources(config, find_gpus());
  if (!resources) return resources.error();
  const auto probe = probe_limits();
  auto isolation = task_isolation(config, resources->devices, probe.method);
  if (!isolation) return isolation.error();
  AgentSettings settings;
  settings.spec.traits = {config.name.empty() ? default_node_name() : config.name, config.site,
                          config.labels, told_devices(resources->devices)};
  settings.spec.capacity = std::move(resources->capacity);
  settings.spec.limits = std::string(to_string(probe.method));
  settings.spec.isolation = isolation->words;
  settings.spec.address =
      config.address.empty() ? own_address_towards_any(config.coordinator) : config.address;
  auto host = start_host(system, config, probe.method, *isolation, resources->devices, settings);
  if (!host) return host.error();

  AgentClientOptions options;
  options.coordinator = config.coordinator;
  options.credential_file = config.data + "/credential";
  options.coordinator_key_file = config.data + "/coordinator.pub";
  if (!config.join_token_file.empty() && !std::filesystem::exists(options.credential_file)) {
    auto text = read_secret_file(config.join_token_file);
    if (!text) return text.error();
    auto token = parse_join_token(*text);
    if (!token) return token.error();
    options.join_token = token->token;
    options.coordinator_key = token->coordinator;
  }
  std::unique_ptr<AgentProcess> process{new AgentProcess};
  process->limits_ = settings.spec.limits + (probe.why.empty() ? "" : " (" + probe.why + ")");
  process->isolation_ = std::move(*isolation);
  process->devices_ = device_names(resources->devices);
  process->agent_ = spawn_agent(system, std::move(settings), *host);
  caf::actor_cast<caf::actor>(process->agent_)
      ->attach_functor([on_fatal](const caf::error& reason) {
        if (reason != caf::exit_reason::user_shutdown)
          on_fatal("the agent has ended: " + details(reason).message);
      });
  auto client = AgentClient::start(system, process->agent_, options);
  if (!client) return client.error();
  process->client_ = std::move(*client);
  return process;
}

void log_isolation(const DaemonLog& log, const TaskIsolation& isolation) {
  const std::string line = "tasks run as " + isolation.words;
  if (isolation.apart)
    log.info(line);
  else
    log.warn(line);
}

AgentProcess::~AgentProcess() {
  client_.reset();
  caf::anon_send_exit(caf::actor_cast<caf::actor>(agent_), caf::exit_reason::user_shutdown);
}

}  // namespace fairwater::inline daemon
