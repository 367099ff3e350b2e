#include "cli/cluster/usage_output.hpp"

#include <limits>
#include <set>

#include <fmt/format.h>

#include "cli/core/output.hpp"
#include "model/resources.hpp"

namespace fairwater::inline cli::inline cluster {
namespace {

constexpr double kMsPerHour = 3'600'000;
constexpr double kMiBPerGiB = 1024;

/// `2026-11`, without the day.
std::string month_text(DayNumber day) { return iso_date(day).substr(0, 7); }

/// A tenant that was removed has no name any more.
std::string tenant_name(const UsageRow& row) {
  return row.tenant.empty() ? fmt::format("tenant-{}", row.group.tenant.value) : row.tenant;
}

// -- the table

std::set<std::string> resources_in(const std::vector<UsageRow>& rows) {
  std::set<std::string> names;
  for (const UsageRow& row : rows)
    for (const UsedResource& resource : row.usage.used) names.insert(resource.name);
  return names;
}

/// Cpu and memory stand first, whether or not they were used.
std::vector<std::string> columns_of(const std::vector<UsageRow>& rows) {
  std::vector<std::string> names{"cpu", "memory"};
  for (const std::string& name : resources_in(rows))
    if (name != "cpu" && name != "memory") names.push_back(name);
  return names;
}

std::string title_of(const std::string& resource) {
  if (resource == "cpu") return "CORE-HOURS";
  if (resource == "memory") return "GIB-HOURS";
  std::string title = resource;
  for (char& letter : title)
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  return title + "-HOURS";
}

std::string hours_of(const UsageRecord& usage, const std::string& resource) {
  for (const UsedResource& used : usage.used) {
    if (used.name != resource) continue;
    double hours = static_cast<double>(used.total()) / kMsPerHour;
    if (resource == "cpu") hours /= static_cast<double>(kMillicoresPerCpu);
    if (resource == "memory") hours /= kMiBPerGiB;
    return fmt::format("{:.3f}", hours);
  }
  return "0.000";
}

std::string mean_wait(const UsageRecord& usage) {
  if (usage.first_starts == 0) return "-";
  return format_duration_ms(static_cast<std::int64_t>(usage.waited_ms / usage.first_starts));
}

void append_sums(std::vector<std::string>& cells, const std::vector<std::string>& resources,
                 const UsageRecord& usage) {
  for (const std::string& resource : resources) cells.push_back(hours_of(usage, resource));
  for (const std::uint64_t count :
       {usage.submitted, usage.succeeded, usage.failed, usage.cancelled, usage.lost})
    cells.push_back(std::to_string(count));
  cells.push_back(mean_wait(usage));
}

std::vector<Column> titles(const UsageQuery& query, const std::vector<std::string>& resources) {
  std::vector<Column> columns;
  if (query.period == UsagePeriod::day) columns.push_back({"DAY"});
  if (query.period == UsagePeriod::month) columns.push_back({"MONTH"});
  if (query.by_tenant) columns.push_back({"TENANT"});
  if (query.by_user) columns.push_back({"USER"});
  for (const std::string& resource : resources)
    columns.push_back({title_of(resource), Align::right});
  for (const char* title : {"JOBS", "OK", "FAILED", "CANCELLED", "LOST", "MEAN WAIT"})
    columns.push_back({title, Align::right});
  return columns;
}

std::vector<std::string> group_cells(const UsageQuery& query, const UsageRow& row) {
  std::vector<std::string> cells;
  if (query.period == UsagePeriod::day) cells.push_back(iso_date(row.group.day));
  if (query.period == UsagePeriod::month) cells.push_back(month_text(row.group.day));
  if (query.by_tenant) cells.push_back(tenant_name(row));
  if (query.by_user) cells.push_back(row.group.user.empty() ? "-" : row.group.user);
  return cells;
}

// -- JSON

/// Exact as long as it is a number of 64 bits.
Json json_amount_ms(AmountMs amount) {
  if (amount <= std::numeric_limits<std::uint64_t>::max())
    return static_cast<std::uint64_t>(amount);
  return static_cast<double>(amount);
}

double seconds(std::uint64_t ms) { return static_cast<double>(ms) / 1000; }

Json row_json(const UsageQuery& query, const UsageRow& row) {
  const UsageRecord& usage = row.usage;
  Json used = Json::object();
  for (const UsedResource& resource : usage.used)
    used[resource.name] = json_amount_ms(resource.total());
  const auto only_if = [](bool told, const std::string& text) {
    return told ? Json(text) : Json(nullptr);
  };
  const bool has_waited = usage.first_starts > 0;
  return Json{{"day", only_if(query.period == UsagePeriod::day, iso_date(row.group.day))},
              {"month", only_if(query.period == UsagePeriod::month, month_text(row.group.day))},
              {"tenant", only_if(query.by_tenant, tenant_name(row))},
              {"user", only_if(!row.group.user.empty(), row.group.user)},
              {"used_ms", used},
              {"jobs_submitted", usage.submitted},
              {"attempts", Json{{"succeeded", usage.succeeded},
                                {"failed", usage.failed},
                                {"cancelled", usage.cancelled},
                                {"lost", usage.lost}}},
              {"first_starts", usage.first_starts},
              {"waited", seconds(usage.waited_ms)},
              {"mean_wait",
               has_waited ? Json(seconds(usage.waited_ms) / static_cast<double>(usage.first_starts))
                          : Json(nullptr)}};
}

Json by_json(const UsageQuery& query) {
  Json by = Json::array();
  if (query.period == UsagePeriod::day) by.push_back("day");
  if (query.period == UsagePeriod::month) by.push_back("month");
  if (query.by_tenant) by.push_back("tenant");
  if (query.by_user) by.push_back("user");
  return by;
}

}  // namespace

std::string usage_text(const UsageQuery& query, const std::vector<UsageRow>& rows) {
  const std::vector<std::string> resources = columns_of(rows);
  Table table(titles(query, resources));
  UsageRecord all;
  for (const UsageRow& row : rows) {
    auto cells = group_cells(query, row);
    append_sums(cells, resources, row.usage);
    table.add_row(std::move(cells));
    add(all, row.usage);
  }
  if (rows.size() != 1) {
    std::vector<std::string> cells(group_cells(query, {}).size());
    if (!cells.empty()) cells.front() = "all";
    append_sums(cells, resources, all);
    table.add_row(std::move(cells));
  }
  return fmt::format("{} to {}, UTC; what runs counts once it has ended\n",
                     iso_date(query.first_day), iso_date(query.last_day)) +
         table.str();
}

Json usage_json(const UsageQuery& query, const std::vector<UsageRow>& rows) {
  Json list = Json::array();
  for (const UsageRow& row : rows) list.push_back(row_json(query, row));
  return Json{{"since", iso_date(query.first_day)},
              {"until", iso_date(query.last_day)},
              {"by", by_json(query)},
              {"usage", std::move(list)}};
}

}  // namespace fairwater::inline cli::inline cluster
