#include "policy/allocator/sized.hpp"

#include <cmath>

#include "cli/policy/commands.hpp"
#include "cli/policy/input.hpp"

namespace fairwater::inline cli::inline policy_cli {
namespace {

SizedSettings sized_settings(const FieldMap& fields) {
  constexpr double kMillion = 1'000'000;
  SizedSettings settings;
  fields.read("granule", settings.granule, integer_from(1, kMaxSlots));
  fields.read("backups", settings.backups, integer_from(0, 1'000'000));
  if (fields.has("mu")) {
    const double mu = fields.at("mu").number(0, 1);
    settings.repay_millionths = static_cast<std::uint32_t>(std::lround(mu * kMillion));
    if (settings.repay_millionths == 0) fields.at("mu").fail("must be at least a millionth");
  }
  return settings;
}

Json sized_output(const SizedHeartbeat& heartbeat, const TenantNames& names) {
  Json output = {{"units", heartbeat.units}};
  const auto by_tenant = [&](const char* title, const auto& value_of) {
    Json& object = output[title] = Json::object();
    for (std::uint32_t i = 0; i < names.size(); ++i)
      append(object, names.name(i), value_of(heartbeat.lines[i]));
  };
  by_tenant("granted", [](const SizedLine& line) { return line.granted; });
  by_tenant("allowance", [](const SizedLine& line) { return line.allowance; });
  by_tenant("placed", [](const SizedLine& line) { return line.placed; });
  output["unused"] = heartbeat.unused;
  by_tenant("entitled", [](const SizedLine& line) { return line.entitled; });
  by_tenant("balance", [](const SizedLine& line) { return line.balance; });
  output["position"] = heartbeat.position;
  by_tenant("total", [](const SizedLine& line) { return line.total; });
  return output;
}

}  // namespace

Json run_sized(const Field& input) {
  const FieldMap fields = input.object();
  const SizedSettings settings = sized_settings(fields);
  TenantNames names;
  std::vector<SizedTenant> tenants;
  for (const Field& field : filled_list(fields.at("tenants"))) {
    const FieldMap tenant = field.object();
    names.add(tenant.at("name"));
    SizedTenant& added = tenants.emplace_back();
    added.weight = tenant.at("weight").integer(1, kMaxTenantWeight);
    for (const Field& size : tenant.at("tasks").list())
      added.tasks.push_back(size.integer(1, kMaxSlots));
    tenant.done();
  }
  SizedDeal deal(settings, tenants);
  Json output = {{"heartbeats", Json::array()}, {"ious", Json::array()}};
  for (const Field& units : fields.at("heartbeats").list())
    output["heartbeats"].push_back(
        sized_output(deal.heartbeat(units.integer(0, kMaxSlots)), names));
  for (const IouBook::Iou& iou : deal.book().ious())
    output["ious"].push_back({{"debtor", names.name(iou.debtor)},
                              {"creditor", names.name(iou.creditor)},
                              {"units", iou.units}});
  fields.done();
  return output;
}

}  // namespace fairwater::inline cli::inline policy_cli
