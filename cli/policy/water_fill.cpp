#include <algorithm>
#include <optional>
#include <utility>

#include "cli/policy/commands.hpp"
#include "cli/policy/input.hpp"
#include "policy/quota/quota_tree.hpp"

namespace fairwater::inline cli::inline policy_cli {
namespace {

class WaterFillRun {
 public:
  explicit WaterFillRun(const Field& capacity)
      : resources_(capacity.entries()), tree_(resources_.size()) {
    if (resources_.empty()) capacity.fail("must have a resource");
    for (std::size_t r = 0; r < resources_.size(); ++r)
      tree_.set_capacity(r, resources_[r].second.count());
  }

  void add(const Field& field, QuotaTree::Group parent, const std::string& prefix) {
    const FieldMap fields = field.object();
    const Field name = fields.at("name");
    const std::string path = paths_.add(prefix + name.name(), name);
    const QuotaTree::Group group = tree_.add(parent, fields.at("weight").count());
    order_.push_back(path);
    std::vector<std::optional<Amount>> mins(resources_.size());
    for_each_resource(fields, "min", [&](std::size_t r, const Field& amount) {
      mins[r] = amount.count();
      tree_.set_min(group, r, mins[r]);
    });
    for_each_resource(fields, "max", [&](std::size_t r, const Field& amount) {
      const Amount max = amount.count();
      if (mins[r].value_or(0) > max)
        amount.fail("must not be below min, which is " + std::to_string(*mins[r]));
      tree_.set_max(group, r, max);
    });
    for_each_resource(fields, "request", [&](std::size_t r, const Field& amount) {
      tree_.set_request(group, r, amount.count());
    });
    if (fields.has("groups"))
      for (const Field& child : filled_list(fields.at("groups"))) add(child, group, path + "/");
    fields.done();
  }

  Json output() {
    Json output = {{"level", Json::object()}, {"runtime", Json::object()}};
    for (std::size_t r = 0; r < resources_.size(); ++r) {
      const std::optional<WaterMark> level = tree_.level(QuotaTree::kRoot, r);
      Json& height = output["level"][resources_[r].first];
      if (level) height = static_cast<double>(level->poured) / static_cast<double>(level->weight);
    }
    for (std::size_t i = 0; i < order_.size(); ++i) {
      Json runtime = Json::object();
      for (std::size_t r = 0; r < resources_.size(); ++r)
        runtime[resources_[r].first] = tree_.runtime(static_cast<QuotaTree::Group>(i + 1), r);
      append(output["runtime"], order_[i], std::move(runtime));
    }
    return output;
  }

 private:
  template <class Visit>
  void for_each_resource(const FieldMap& fields, std::string_view name, const Visit& visit) {
    if (!fields.has(name)) return;
    for (const auto& [resource, amount] : fields.at(name).entries()) {
      const auto found = std::find_if(
          resources_.begin(), resources_.end(),
          [&, &wanted = resource](const auto& known) { return known.first == wanted; });
      if (found == resources_.end()) amount.fail("is a resource without a capacity");
      visit(static_cast<std::size_t>(found - resources_.begin()), amount);
    }
  }

  std::vector<std::pair<std::string, Field>> resources_;
  QuotaTree tree_;
  UniqueNames paths_;
  std::vector<std::string> order_;  ///< paths of groups 1, 2, ..
};

}  // namespace

Json run_water_fill(const Field& input) {
  const FieldMap fields = input.object();
  WaterFillRun run(fields.at("capacity"));
  for (const Field& group : filled_list(fields.at("groups"))) run.add(group, QuotaTree::kRoot, "");
  fields.done();
  return run.output();
}

}  // namespace fairwater::inline cli::inline policy_cli
