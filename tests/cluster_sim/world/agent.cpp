#include "tests/cluster_sim/world/agent.hpp"

#include <algorithm>
#include <utility>

#include "tests/cluster_sim/world/fake_host.hpp"

namespace fairwater::cluster_sim {
namespace {

constexpr std::size_t kMaxGhosts = 20;
constexpr std::size_t kMaxDeposed = 4;
/// See kDeposedAnswersMs.
constexpr std::int64_t kDeposedAnswers_us = kSecond;

Term term_of(const LinkUp& up) { return {up.reply.committed.incarnation, up.epoch}; }

}  // namespace

Agent::Agent(Stage& stage, Checker& checker, Coordinators& coordinators, const std::string& name,
             Amount cpu, bool is_fixed)
    : machine(stage, checker, name, cpu, is_fixed),
      paths(coordinators.count()),
      stage_(stage),
      coordinators_(coordinators) {}

Agent::~Agent() = default;

void Agent::start() {
  if (is_up()) return;
  ++machine.starts;
  stage_.log.line("start agent {} for the {}. time", name(), machine.starts);
  process_ = std::make_unique<ActorProcess>(stage_.time, machine.clock());
  const auto host = spawn_fake_host(*process_, stage_, machine);
  AgentSettings settings;
  settings.spec = machine.spec;
  settings.identity.memory = machine.memory;
  settings.identity.run = {machine.starts, name() + " " + std::to_string(machine.starts)};
  settings.boottime_ms = [this] { return machine.boottime_ms(); };
  settings.wall_clock = [this] { return stage_.time.wall_time(); };
  settings.heartbeat_interval_ms = kHeartbeat_ms;
  settings.report_timeout_ms = kCallTimeout_us / kMs;
  port_ = spawn_agent(process_->system(), std::move(settings), host);
  process_->own(port_, [this](const caf::error& reason) {
    stage_.broken("the agent of {} ended: {}", name(), details(reason).message);
  });
  failures_ = 0;
  connect_later();
}

void Agent::kill() {
  if (!is_up()) return;
  stage_.log.line("kill agent {}", name());
  machine.on_end = nullptr;
  const auto connection = connection_;
  port_ = nullptr;
  process_.reset();
  if (connection) connection->close_at_agent();
  connection_.reset();
}

// -- connecting -----------------------------------------------------------------------------------

void Agent::connect_later() {
  const auto delay_ms = std::min<std::int64_t>(2'000, 100 << std::min<std::int64_t>(failures_, 5));
  ++failures_;
  stage_.time.in(stage_.chance.between(delay_ms / 2, delay_ms) * kMs,
                 [this, start = machine.starts] {
                   if (is_up() && start == machine.starts && !connection_) connect();
                 });
}

void Agent::connect() {
  connection_ =
      std::make_shared<Connection>(stage_, *this, coordinators_.at(target_), paths[target_]);
  process_->ask<NodeDescription>(
      port_, DescribeNode{},
      [this, connection = connection_](const Expected<NodeDescription>& node) {
        RegisterNode request;
        request.spec = node->spec;
        request.report = node->report;
        request.identity = node->identity;
        request.credential_hash = machine.credential;
        request.joining = !machine.has_joined;
        request.join_hash = join_hash();
        check_report(node->report);
        stage_.time.in(0, [this, connection, request] {
          if (connection != connection_) return;
          if (const LinkUp* deposed = pick_deposed())
            connection->register_with_deposed(*deposed);
          else
            connection->register_node(request);
        });
      });
}

const LinkUp* Agent::pick_deposed() {
  if (!coordinators_.lone() || let_in_by_.empty() || !stage_.chance.percent(15)) return nullptr;
  const LinkUp& one = let_in_by_[stage_.chance.below(let_in_by_.size())];
  return may_answer(one) ? &one : nullptr;
}

bool Agent::may_answer(const LinkUp& deposed) const {
  const Term term = term_of(deposed);
  if (machine.newest_term() > term) return true;
  const LoneCoordinator& coordinator = *coordinators_.lone();
  return coordinator.newest_term() > term &&
         stage_.time.now_us() <= coordinator.started_at_us() + kDeposedAnswers_us;
}

void Agent::on_registered(const LinkUp& up) {
  stage_.log.line("agent {} is registered in epoch {}", name(), up.epoch);
  failures_ = 0;
  machine.has_joined = true;
  if (let_in_by_.empty() || term_of(let_in_by_.back()) != term_of(up)) {
    let_in_by_.push_back(up);
    let_in_by_.back().link = nullptr;
    if (let_in_by_.size() > kMaxDeposed) let_in_by_.erase(let_in_by_.begin());
  }
  caf::anon_send(port_, up);
  haunt(up.epoch);
}

void Agent::on_refused(Connection& connection, const caf::error& error) {
  const auto why = details(error);
  stage_.log.line("agent {} is refused: {}", name(), why.message);
  if (why.code == ErrorCode::already_exists) caf::anon_send(port_, FoundDuplicate{why.message});
  if (why.code == ErrorCode::unauthenticated) join_anew_later();
  connection.close_at_agent();
  if (const auto leader = coordinators_.index_of(why.leader)) target_ = *leader;
}

/// The node was removed, or joined in a life of the ledger that was lost. Sooner or later somebody
/// gives the agent an empty data directory, once nothing runs there.
void Agent::join_anew_later() {
  stage_.time.in(stage_.chance.spread(100 * kMs, 20 * kSecond), [this, start = machine.starts] {
    if (!is_up() || start != machine.starts || !machine.alive().empty()) return;
    kill();
    machine.empty_directory();
    this->start();
  });
}

void Agent::on_closed(Connection& connection) {
  if (connection_.get() != &connection) return;
  stage_.log.line("agent {} has lost its connection", name());
  if (!connection.is_registered()) target_ = (target_ + 1) % coordinators_.count();
  connection_.reset();
  if (!is_up()) return;
  caf::anon_send(port_, LinkDown{});
  connect_later();
}

void Agent::take_orders(const AgentOrders& orders) { caf::anon_send(port_, orders); }

void Agent::check_report(const AgentReport& report) {
  // What waits in mailboxes takes no time: a report may be from just before a start.
  for (const auto& task : machine.alive_before_now())
    if (std::find(report.running.begin(), report.running.end(), task) == report.running.end())
      stage_.broken("task {} runs on {}, and its agent does not report it", text_of(task), name());
}

// -- ghosts ---------------------------------------------------------------------------------------

void Agent::keep_ghost(AgentOrders orders) {
  if (ghosts_.size() < kMaxGhosts) ghosts_.push_back(std::move(orders));
}

/// Late copies of what earlier coordinators ordered, now that the agent knows a newer one.
void Agent::haunt(std::uint64_t epoch) {
  for (auto& ghost : std::exchange(ghosts_, {})) {
    if (ghost.launches.front().epoch >= epoch) {
      ghosts_.push_back(std::move(ghost));
      continue;
    }
    if (!stage_.chance.percent(10)) continue;
    stage_.time.in(stage_.chance.spread(kMs, 10 * kSecond), [this, ghost, start = machine.starts] {
      if (is_up() && start == machine.starts) take_orders(ghost);
    });
  }
}

}  // namespace fairwater::cluster_sim
