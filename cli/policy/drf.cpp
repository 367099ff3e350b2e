#include "policy/dominant/drf.hpp"

#include "cli/policy/commands.hpp"
#include "cli/policy/input.hpp"
#include "cli/policy/resource_input.hpp"
#include "policy/dominant/share_order.hpp"

namespace fairwater::inline cli::inline policy_cli {
namespace {

struct UserInput {
  std::string name;
  ResourceInput::Amounts demand;
  std::optional<Field> weight;
  std::optional<std::uint64_t> tasks;
};

UserInput read_user(const Field& field, UniqueNames& names, ResourceInput& resources,
                    DecimalScale& weights) {
  const FieldMap fields = field.object();
  UserInput user;
  user.name = names.add(fields.at("name"));
  user.demand = resources.demand(fields.at("demand"));
  if (fields.has("weight")) {
    user.weight = fields.at("weight");
    weights.add(*user.weight);
    if (user.weight->number(0, 1e18) == 0) user.weight->fail("must be above 0");
  }
  user.tasks = read_task_limit(fields);
  fields.done();
  return user;
}

}  // namespace

Json run_drf(const Field& input) {
  const FieldMap fields = input.object();
  ResourceInput resources;
  const ResourceInput::Amounts capacity_input = resources.declare(fields.at("capacity"));
  UniqueNames names;
  DecimalScale weights;
  std::vector<UserInput> inputs;
  for (const Field& field : filled_list(fields.at("users")))
    inputs.push_back(read_user(field, names, resources, weights));
  DrfStop stop = DrfStop::fill;
  fields.read("stop", stop, [](const Field& field) {
    return field.choice({"fill", "first-misfit"});
  });
  fields.done();

  const ResourceVector capacity = resources.to_vector(capacity_input, kUnlimited);
  std::vector<DrfUser> users;
  users.reserve(inputs.size());
  for (const UserInput& user : inputs)
    users.push_back(
        {resources.to_vector(user.demand, kUnlimited),
         user.weight ? weights.to_steps(*user.weight, kMaxShareWeight) : weights.steps_of_one(),
         user.tasks});
  const DrfResult result = drf_by_level(capacity, users, stop);

  Json output = {{"tasks", Json::object()}, {"share", Json::object()}, {"used", Json::object()}};
  for (std::size_t i = 0; i < users.size(); ++i) {
    output["tasks"][inputs[i].name] = result.tasks[i];
    output["share"][inputs[i].name] = dominant_share(users[i].demand, result.tasks[i], capacity);
  }
  for (std::size_t r = 0; r < resources.names().size(); ++r)
    output["used"][resources.names()[r]] = resources.scale().to_json(result.used[r]);
  return output;
}

}  // namespace fairwater::inline cli::inline policy_cli
