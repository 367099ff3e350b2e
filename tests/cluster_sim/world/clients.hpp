// What operators and tenants do: jobs come and are cancelled, tenants come, change and go, nodes
// drain and are removed; over a network that loses questions and answers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/cluster_sim/world/agent.hpp"
#include "tests/cluster_sim/world/coordinators.hpp"

namespace fairwater::cluster_sim {

using Agents = std::vector<std::unique_ptr<Agent>>;

class Clients {
 public:
  Clients(Stage& stage, Coordinators& coordinators, const Agents& agents);

  void begin();
  /// Nothing new is asked for; nodes that drain take work again, also those that drain themselves
  /// when they tell later of launches that had failed.
  void stop();
  /// All that live, until that is durable.
  void cancel_services();

 private:
  void act_later();
  void act();
  struct Submission {
    SubmitJob request;
    std::uint64_t number = 0;
    int tries_left = 3;
  };
  void submit();
  /// Once more, where it was not answered, or with an error that asks for that.
  void try_submission(const std::shared_ptr<Submission>& submission);
  void try_again_later(const std::shared_ptr<Submission>& submission, std::uint64_t number);
  void cancel();
  void apply_tenants();
  void remove_tenant();
  void forgive();
  void drain(bool drains);
  void undrain(const std::string& node);
  void look_after_nodes();
  void remove_node();
  void look();
  [[nodiscard]] JobSpec some_job();
  void may_take_shares(JobSpec& spec, Amount most_milli);
  void draw_placement(JobSpec& spec);
  [[nodiscard]] JobSpec some_gang();
  [[nodiscard]] JobSpec some_elastic_job();
  void follow_profile(JobSpec& spec);
  [[nodiscard]] JobSpec some_service();
  [[nodiscard]] std::vector<JobId> live_services() const;
  [[nodiscard]] TenantSpec some_tenant();
  [[nodiscard]] TenantSpec some_group(std::uint64_t number);
  void draw_terms_by_time(TenantSpec& spec);
  [[nodiscard]] std::string some_node();
  [[nodiscard]] std::string some_tenant_name();
  [[nodiscard]] static std::string group_name(std::uint64_t number);
  [[nodiscard]] JobId some_job_id();
  /// `told`: the answer leaves this coordinator. `answered`: it has arrived; never, if it or the
  /// question is lost.
  template <class Result, class Request>
  void call(Request request, std::function<void(Coordinator&, const Result&)> told = {},
            std::function<void(const Expected<Result>&)> answered = {});

  Stage& stage_;
  Coordinators& coordinators_;
  const Agents& agents_;
  bool stopped_ = false;
  std::uint64_t tenants_ = 0;
  std::uint64_t groups_ = 0;  ///< tenants for others to be in
  std::uint64_t max_tasks_ = 0;
  std::size_t enough_jobs_ = 0;  ///< that are not done: longer queues show nothing new
  std::int64_t mean_pause_us_ = 0;
  bool has_users_ = false;  ///< several share a tenant
  std::vector<JobId> jobs_;
  std::uint64_t submissions_ = 0;
};

}  // namespace fairwater::cluster_sim
