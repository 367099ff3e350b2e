#include "tests/actors/cluster_fixture.hpp"

#include <algorithm>
#include <atomic>

#include <rocksdb/env.h>

#include "actors/coordinator/coordinator.hpp"
#include "tests/storage/memory_disk.hpp"

namespace fairwater {

/// Files in memory, on a disk that is full when the test says so.
class DiskInMemory : public rocksdb::EnvWrapper {
 public:
  using EnvWrapper::EnvWrapper;
  rocksdb::Status GetFreeSpace(const std::string&, std::uint64_t* free) override {
    *free = full ? 0 : std::uint64_t{1} << 40;
    return rocksdb::Status::OK();
  }
  std::atomic<bool> full = false;  ///< the ledger's housekeeper looks, too
};

namespace {

AgentLink::behavior_type fake_agent_link(AgentLink::pointer,
                                         std::shared_ptr<std::vector<AgentOrders>> orders) {
  return {
      [orders](const AgentOrders& order) {
        orders->push_back(order);
        return OrdersTaken{};
      },
      [orders](const ReadAgentLog& request) -> caf::result<LogChunk> {
        const auto is_asked_for = [&](const LaunchOrder& launch) {
          return launch.task == request.task;
        };
        for (const AgentOrders& order : *orders)
          if (std::any_of(order.launches.begin(), order.launches.end(), is_asked_for))
            return LogChunk{"log of task " + std::to_string(request.task.index), true};
        return make_error(ErrorCode::not_found, "the logs are not kept here");
      },
  };
}

constexpr const char* kDirectory = "/ledger";
/// A connection that ends on orders instead of delivering them.
AgentLink::behavior_type breaking_agent_link(AgentLink::pointer self) {
  const auto end = [self] {
    self->quit(caf::exit_reason::user_shutdown);
    return make_error(ErrorCode::unavailable, "the connection closed before the answer came");
  };
  return {
      [end](const AgentOrders&) -> caf::result<OrdersTaken> { return end(); },
      [end](const ReadAgentLog&) -> caf::result<LogChunk> { return end(); },
  };
}

constexpr std::size_t kMaxSteps = 100'000;  // a self-sustaining exchange would never end

/// Another file system with the same ledger.
std::unique_ptr<rocksdb::Env> copied_disk(rocksdb::Env* from) {
  auto to = test::memory_disk();
  for (const std::string directory : {"/ledger", "/ledger/db"}) {
    REQUIRE(to->CreateDirIfMissing(directory).ok());
    std::vector<std::string> names;
    REQUIRE(from->GetChildren(directory, &names).ok());
    for (const auto& name : names) {
      const std::string path = directory + "/" + name;
      std::string content;
      if (name == "db" || name == "LOCK" || !rocksdb::ReadFileToString(from, path, &content).ok())
        continue;
      REQUIRE(rocksdb::WriteStringToFile(to.get(), content, path).ok());
    }
  }
  return to;
}

NodeSpec node_spec(const std::string& name, Amount cpu) {
  NodeSpec spec;
  spec.traits = {name, "here", {}};
  spec.capacity = {{"cpu", cpu * 1000}, {"memory", 1 << 20}};
  spec.instance = "instance of " + name;
  spec.limits = "none";
  return spec;
}

}  // namespace

std::vector<LaunchOrder> FakeAgent::launches() const {
  std::vector<LaunchOrder> all;
  for (const auto& order : *orders)
    all.insert(all.end(), order.launches.begin(), order.launches.end());
  return all;
}

std::vector<TaskKey> FakeAgent::stops() const {
  std::vector<TaskKey> all;
  for (const auto& order : *orders)
    for (const auto& stop : order.stops) all.push_back(stop.task);
  return all;
}

ClusterSettings ClusterFixture::default_settings() {
  ClusterSettings settings;
  settings.lease_ms = 10'000;
  settings.grace_ms = 5'000;
  settings.ledger_threads = false;
  return settings;
}

ClusterFixture::ClusterFixture(ClusterSettings settings, Accounting accounting, JournalStore* store)
    : memory_(test::memory_disk()),
      env_(std::make_unique<DiskInMemory>(memory_.get())),
      settings_(std::move(settings)),
      accounting_(accounting),
      store_(store) {
  config_.set("scheduler.policy", caf::atom("testing"));
  start();
}

ClusterFixture::~ClusterFixture() {
  stop();
  CHECK(fatal_.empty());
}

void ClusterFixture::start(bool copied) {
  settings_.copied = copied;
  system_ = std::make_unique<caf::actor_system>(config_);
  LedgerOptions options;
  options.directory = kDirectory;
  options.create = true;
  options.env = env_.get();
  options.min_free_bytes = 1 << 20;
  options.store = store_;
  options.clock = settings_.wall_clock;
  auto ledger = Ledger::open(options);
  if (!ledger) FAIL(details(ledger.error()).message);
  if ((*ledger)->last_number() == 0) {
    auto created = (*ledger)->append({ClusterCreated{"test", resource_kinds(), {}, accounting_},
                                      TokenIssued{Role::join, {}, join_hash()}});
    REQUIRE(created.engaged());
  }
  auto cluster = start_cluster(*system_, std::move(*ledger), settings_, [this](const auto& error) {
    fatal_.push_back(details(error).message);
  });
  REQUIRE(cluster.engaged());
  cluster_ = std::move(*cluster);
  run();
}

void ClusterFixture::stop() {
  for (auto& link : links_) caf::anon_send_exit(link, caf::exit_reason::user_shutdown);
  links_.clear();
  if (cluster_) stop_cluster(*cluster_);
  cluster_.reset();
  run();
  auto& scheduler = dynamic_cast<caf::scheduler::test_coordinator&>(system_->scheduler());
  scheduler.trigger_timeouts();
  run();
  system_.reset();
}

void ClusterFixture::restart(
    const std::function<void(rocksdb::Env*, const std::string&)>& meanwhile) {
  stop();
  if (meanwhile) meanwhile(env_.get(), kDirectory);
  start();
}

void ClusterFixture::step() {
  auto& scheduler = dynamic_cast<caf::scheduler::test_coordinator&>(system_->scheduler());
  (void)scheduler.try_run_once();
}

void ClusterFixture::restart(ClusterSettings settings) {
  settings_ = std::move(settings);
  restart();
}

void ClusterFixture::fill_disk(bool full) { env_->full = full; }

void ClusterFixture::copy_ledger() {
  stop();
  backup_ = copied_disk(memory_.get());
  start();
}

void ClusterFixture::restore_ledger() {
  stop();
  env_.reset();
  memory_ = copied_disk(backup_.get());
  env_ = std::make_unique<DiskInMemory>(memory_.get());
  start(true);
}

void ClusterFixture::run() {
  auto& scheduler = dynamic_cast<caf::scheduler::test_coordinator&>(system_->scheduler());
  const auto has_turn = [&](const auto& actor) {
    return scheduler.jobs.front() ==
           dynamic_cast<caf::resumable*>(caf::actor_cast<caf::abstract_actor*>(actor));
  };
  std::size_t steps = 0;
  while (!scheduler.jobs.empty() && steps < kMaxSteps) {
    if (ledger_waits_ && cluster_ && scheduler.jobs.size() > 1 &&
        has_turn(cluster_->context->ledger))
      std::rotate(scheduler.jobs.begin(), scheduler.jobs.begin() + 1, scheduler.jobs.end());
    (void)scheduler.try_run_once();
    ++steps;
  }
  REQUIRE(steps < kMaxSteps);
}

void ClusterFixture::advance(std::int64_t milliseconds) {
  auto& scheduler = dynamic_cast<caf::scheduler::test_coordinator&>(system_->scheduler());
  scheduler.advance_time(std::chrono::milliseconds(milliseconds));
  run();
}

LedgerMark ClusterFixture::ledger_end() { return cluster_->context->ledger_end().mark; }

Caller ClusterFixture::tenant_caller(const std::string& name) {
  auto tenant = ask_actor<TenantAddress>(cluster_->coordinator, FindTenant{name, {}});
  REQUIRE(tenant.engaged());
  return {Role::tenant, tenant->id, name};
}

void ClusterFixture::apply(std::vector<TenantSpec> tenants) {
  auto applied = ask<TenantsApplied>(ApplyTenants{operator_caller(), std::move(tenants), false});
  if (!applied) FAIL(details(applied.error()).message);
}

FakeAgent ClusterFixture::join(const std::string& name, Amount cpu) {
  return join(node_spec(name, cpu));
}

FakeAgent ClusterFixture::join(const NodeSpec& spec, const AgentIdentity& identity) {
  FakeAgent agent;
  agent.name = spec.traits.name;
  agent.credential.fill(static_cast<std::uint8_t>(agent.name.back()));
  agent.orders = std::make_shared<std::vector<AgentOrders>>();
  agent.link = system_->spawn(fake_agent_link, agent.orders);
  links_.push_back(agent.link);
  RegisterNode request;
  request.spec = spec;
  request.credential_hash = agent.credential;
  request.identity = identity;
  request.joining = true;
  request.join_hash = join_hash();
  request.link = agent.link;
  auto registered = ask<NodeRegistered>(request);
  if (!registered) FAIL(details(registered.error()).message);
  agent.port = registered->port;
  agent.session = registered->session;
  agent.identity.memory = {registered->cluster_id, registered->reply.committed};
  run();
  return agent;
}

caf::error ClusterFixture::reattach(FakeAgent& agent, std::vector<TaskResult> finished) {
  agent.orders->clear();
  agent.link = agent.breaks ? system_->spawn(breaking_agent_link)
                            : system_->spawn(fake_agent_link, agent.orders);
  links_.push_back(agent.link);
  RegisterNode request;
  request.spec.traits.name = agent.name;
  const auto nodes = ask<NodeList>(ListNodes{operator_caller()});
  for (const auto& node : nodes->nodes)
    if (node.record.spec.traits.name == agent.name) request.spec = node.record.spec;
  request.report.running = agent.running;
  request.report.finished = std::move(finished);
  request.identity = agent.identity;
  request.credential_hash = agent.credential;
  request.link = agent.link;
  auto registered = ask<NodeRegistered>(request);
  if (!registered) return registered.error();
  agent.port = registered->port;
  agent.session = registered->session;
  agent.identity.memory = {registered->cluster_id, registered->reply.committed};
  run();
  return {};
}

Expected<ReportReply> ClusterFixture::report(FakeAgent& agent, std::vector<TaskResult> finished) {
  AgentReport report;
  report.running = agent.running;
  report.finished = std::move(finished);
  report.session = agent.session;
  auto reply = ask_actor<ReportReply>(agent.port, report);
  if (reply) agent.identity.memory.seen = reply->committed;
  run();
  return reply;
}

JobId ClusterFixture::submit(const std::string& tenant, std::uint32_t tasks,
                             std::uint32_t retries) {
  JobSpec spec;
  spec.tenant = tenant;
  spec.command = {"true"};
  spec.tasks_min = spec.tasks_max = tasks;
  spec.resources = {{"cpu", 1000}};
  spec.retries = retries;
  auto accepted = ask<JobAccepted>(SubmitJob{operator_caller(), spec});
  if (!accepted) FAIL(details(accepted.error()).message);
  run();
  return accepted->id;
}

JobDetail ClusterFixture::show(JobId job) {
  auto detail = ask<JobDetail>(ShowJob{operator_caller(), job});
  REQUIRE(detail.engaged());
  return std::move(*detail);
}

std::vector<TenantInfo> ClusterFixture::tenants() {
  auto list = ask<TenantList>(ListTenants{operator_caller()});
  REQUIRE(list.engaged());
  return std::move(list->tenants);
}

NodeInfo ClusterFixture::node(const std::string& name) {
  auto list = ask<NodeList>(ListNodes{operator_caller()});
  REQUIRE(list.engaged());
  for (auto& node : list->nodes)
    if (node.record.spec.traits.name == name) return std::move(node);
  FAIL("there is no node " << name);
  return {};
}

std::vector<JournalRecord> ClusterFixture::journal() {
  auto page = ask<JournalPage>(ReadJournal{operator_caller(), 1, 1000, 0});
  REQUIRE(page.engaged());
  return std::move(page->records);
}

VerifyReport ClusterFixture::verify() {
  auto report = ask<VerifyReport>(VerifyLedger{operator_caller()});
  REQUIRE(report.engaged());
  return std::move(*report);
}

std::vector<ResourceKind> resource_kinds() {
  std::vector<ResourceKind> kinds = ResourceCatalog{}.kinds();
  kinds.push_back({"gpu_milli", 100, 1});
  return kinds;
}

Hash join_hash() {
  Hash hash{};
  hash.fill(7);
  return hash;
}

TaskResult succeeded(const TaskKey& task) {
  TaskResult result;
  result.task = task;
  return result;
}

TaskResult ended(const TaskKey& task, EndReason reason) {
  TaskResult result;
  result.task = task;
  result.reason = reason;
  result.message = "so the test says";
  return result;
}

TaskResult failed(const TaskKey& task) {
  TaskResult result;
  result.task = task;
  result.exit_code = 3;
  return result;
}

TenantSpec tenant_spec(const std::string& name, Weight weight) {
  TenantSpec spec;
  spec.name = name;
  spec.weight = weight;
  return spec;
}

}  // namespace fairwater
