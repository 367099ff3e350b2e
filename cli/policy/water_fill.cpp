#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "cli/policy/commands.hpp"
#include "input/policy_input.hpp"
#include "policy/quota/quota_tree.hpp"

namespace fairwater {
namespace {

class WaterFillRun {
 public:
  explicit WaterFillRun(const Field& capacity)
      : resources_(capacity.entries()), tree_(resources_.size()) {
    if (resources_.empty()) capacity.fail("must have a resource");
    for (std::size_t r = 0; r < resources_.size(); ++r)
      tree_.set_capacity(r, resources_[r].second.amount());
  }

  void add(const Field& field, QuotaTree::Group parent, const std::string& prefix) {
    Fields fields = field.object();
    const std::string path = prefix + fields.at("name").name();
    if (!paths_.insert(path).second)
      fields.at("name").fail("must be unique, not \"" + path + "\" again");
    const QuotaTree::Group group = tree_.add(parent, fields.at("weight").amount());
    order_.push_back(path);
    std::vector<std::optional<Amount>> mins(resources_.size());
    for_each_resource(fields, "min", [&](std::size_t r, const Field& amount) {
      mins[r] = amount.amount();
      tree_.set_min(group, r, mins[r]);
    });
    for_each_resource(fields, "max", [&](std::size_t r, const Field& amount) {
      const Amount max = amount.amount();
      if (mins[r].value_or(0) > max)
        amount.fail("must not be below min, which is " + std::to_string(*mins[r]));
      tree_.set_max(group, r, max);
    });
    for_each_resource(fields, "request", [&](std::size_t r, const Field& amount) {
      tree_.set_request(group, r, amount.amount());
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
  void for_each_resource(Fields& fields, std::string_view name, const Visit& visit) {
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
  std::set<std::string> paths_;
  std::vector<std::string> order_;  ///< paths of groups 1, 2, ..
};

}  // namespace

Json run_water_fill(const Json& input) {
  Fields fields(input);
  WaterFillRun run(fields.at("capacity"));
  for (const Field& group : filled_list(fields.at("groups"))) run.add(group, QuotaTree::kRoot, "");
  fields.done();
  return run.output();
}

}  // namespace fairwater
