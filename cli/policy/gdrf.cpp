#include "policy/dominant/gdrf.hpp"

#include <algorithm>

#include "cli/policy/commands.hpp"
#include "cli/policy/input.hpp"
#include "cli/policy/resource_input.hpp"
#include "policy/dominant/drf.hpp"

namespace fairwater::inline cli::inline policy_cli {
namespace {

/// Tasks are placed one by one: a bound keeps a run within minutes.
constexpr std::uint64_t kMaxTasks = 5'000'000;

struct MachineInput {
  ResourceInput::Amounts capacity;
  std::uint64_t count = 1;
};

std::vector<MachineInput> read_machines(const Field& list, ResourceInput& resources) {
  UniqueNames names;
  std::vector<MachineInput> machines;
  std::uint64_t count = 0;
  for (const Field& field : filled_list(list)) {
    const FieldMap fields = field.object();
    names.add(fields.at("name"));
    MachineInput machine{resources.declare(fields.at("capacity")), 1};
    fields.read("count", machine.count, integer_from(1, static_cast<std::int64_t>(kMaxMachines)));
    fields.done();
    count += machine.count;
    if (count > kMaxMachines)
      list.fail("must be at most " + std::to_string(kMaxMachines) + " machines in all");
    machines.push_back(std::move(machine));
  }
  return machines;
}

std::vector<MachineClass> to_classes(const std::vector<MachineInput>& inputs,
                                     const ResourceInput& resources) {
  std::vector<MachineClass> machines;
  ResourceVector totals;
  for (const MachineInput& input : inputs) {
    machines.push_back({resources.to_vector(input.capacity, kMaxClusterAmount), input.count});
    for (const auto& [resource, amount] : input.capacity) {
      const Wide total = totals[resource] + Wide{machines.back().capacity[resource]} * input.count;
      if (total > kMaxClusterAmount)
        amount.fail("brings the total of all machines above " +
                    resources.scale().to_json(kMaxClusterAmount).dump());
      totals[resource] = static_cast<Amount>(total);
    }
  }
  return machines;
}

/// More tasks than this user can get, whatever the others do.
std::uint64_t most_tasks(const ClusterUser& user, const ResourceVector& totals) {
  Amount most = kUnlimited;
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (user.demand[r] > 0) most = std::min(most, totals[r] / user.demand[r]);
  return std::min(static_cast<std::uint64_t>(most), user.tasks.value_or(kUnlimited));
}

}  // namespace

Json run_gdrf(const Field& input) {
  const FieldMap fields = input.object();
  ResourceInput resources;
  ClusterPolicy policy = ClusterPolicy::gdrf;
  fields.read("policy", policy, [](const Field& field) {
    return field.choice({"gdrf", "drfh-best-fit", "drfh-first-fit"});
  });
  const std::vector<MachineInput> machine_inputs = read_machines(fields.at("machines"), resources);
  UniqueNames unique;
  std::vector<std::string> names;
  std::vector<ResourceInput::Amounts> demands;
  std::vector<ClusterUser> users;
  for (const Field& field : filled_list(fields.at("users"))) {
    const FieldMap user = field.object();
    names.push_back(unique.add(user.at("name")));
    demands.push_back(resources.demand(user.at("demand")));
    users.push_back({{}, read_task_limit(user)});
    user.done();
  }
  fields.done();

  const std::vector<MachineClass> machines = to_classes(machine_inputs, resources);
  const ResourceVector totals = total_capacity(machines);
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < users.size(); ++i) {
    users[i].demand = resources.to_vector(demands[i], kMaxClusterAmount);
    most += most_tasks(users[i], totals);
    if (most > kMaxTasks)
      fields.at("users").fail("could get more than " + std::to_string(kMaxTasks) +
                              " tasks; give larger demands, fewer machines or a limit in tasks");
  }
  const ClusterFilling filling = fill_cluster(policy, machines, users);

  Json output = {{"placed", Json::object()}};
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < users.size(); ++i) {
    output["placed"][names[i]] = filling.placed[i];
    total += filling.placed[i];
  }
  output["total"] = total;
  for (std::size_t r = 0; r < resources.names().size(); ++r)
    output["utilization"][resources.names()[r]] =
        totals[r] == 0 ? 0 : static_cast<double>(filling.used[r]) / static_cast<double>(totals[r]);
  for (std::size_t i = 0; i < users.size(); ++i)
    output["share"][names[i]] = dominant_share(users[i].demand, filling.placed[i], totals);
  output["f"] = filling.f;
  return output;
}

}  // namespace fairwater::inline cli::inline policy_cli
