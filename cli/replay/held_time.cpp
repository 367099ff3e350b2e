#include "cli/replay/held_time.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cli/cluster/journal_lines.hpp"

namespace fairwater::inline cli::inline replay {
namespace {

/// The nearest whole unit-millisecond.
std::int64_t whole(Wide micro) {
  const Wide half = micro < 0 ? -kMicroUnitsPerUnit / 2 : kMicroUnitsPerUnit / 2;
  return static_cast<std::int64_t>((micro + half) / kMicroUnitsPerUnit);
}

/// Exact, in unit-milliseconds.
std::string decimal(Wide micro) {
  const Wide magnitude = micro < 0 ? -micro : micro;
  return fmt::format("{}{}.{:06}", micro < 0 ? "-" : "",
                     static_cast<std::int64_t>(magnitude / kMicroUnitsPerUnit),
                     static_cast<std::int64_t>(magnitude % kMicroUnitsPerUnit));
}

/// Unit-milliseconds in core-seconds (or in unit-seconds, without processors), with all the
/// decimals that a unit-millisecond takes.
class Seconds {
 public:
  explicit Seconds(const LedgerMeasure& measure)
      : millionths_(measure.millicores_per_unit > 0 ? measure.millicores_per_unit : 1000) {
    for (std::int64_t left = millionths_; decimals_ > 0 && left % 10 == 0; left /= 10) --decimals_;
  }
  [[nodiscard]] std::string text(std::int64_t unit_ms) const {
    static constexpr std::array<std::int64_t, 7> kPowers{1,      10,      100,      1000,
                                                         10'000, 100'000, 1'000'000};
    const std::int64_t scale = kPowers.at(static_cast<std::size_t>(decimals_));
    const Wide scaled = Wide{unit_ms} * millionths_ / (kPowers.back() / scale);
    const Wide magnitude = scaled < 0 ? -scaled : scaled;
    std::string digits =
        fmt::format("{}{}", scaled < 0 ? "-" : "", static_cast<std::int64_t>(magnitude / scale));
    if (decimals_ == 0) return digits;
    return fmt::format("{}.{:0{}}", digits, static_cast<std::int64_t>(magnitude % scale),
                       decimals_);
  }

 private:
  std::int64_t millionths_;  ///< of a core-second in a unit-millisecond
  int decimals_ = 6;
};

/// Every row's figures add up as they stand: what rounding takes off is in the part.
std::string table_of(const HeldTimes& times, const Seconds& seconds) {
  Table table{{{"TENANT"},
               {"HELD", Align::right},
               {"PART", Align::right},
               {"HELD - PART", Align::right},
               {"NET", Align::right},
               {"UNUSED", Align::right}}};
  for (const auto& [name, tenant] : times.tenants) {
    const std::int64_t held = whole(tenant.held), net = whole(tenant.exact_net()),
                       unused = whole(tenant.unused());
    table.add_row({name, seconds.text(held), seconds.text(held + net + unused),
                   seconds.text(-net - unused), seconds.text(net), seconds.text(unused)});
  }
  return table.str();
}

std::string stretch_text(const HeldTimes& times) {
  return fmt::format("{:.3f} s", static_cast<double>(times.stretch_ms) / 1000);
}

Json times_json(const HeldTimes& times) {
  Json tenants = Json::array();
  for (const auto& [name, tenant] : times.tenants)
    tenants.push_back(Json{{"name", name},
                           {"held_unit_ms", decimal(tenant.held)},
                           {"part_unit_ms", decimal(tenant.part)},
                           {"lent_unit_ms", tenant.lent},
                           {"borrowed_unit_ms", tenant.borrowed},
                           {"net_unit_ms", tenant.net()},
                           {"rest_unit_ms", decimal(tenant.rest)},
                           {"unused_unit_ms", decimal(tenant.unused())}});
  return Json{{"seconds", static_cast<double>(times.stretch_ms) / 1000},
              {"agrees", times.agrees()},
              {"tenants", tenants}};
}

}  // namespace

void HeldTimes::add(const TimeSettlement& settlement,
                    const std::map<TenantId, std::int64_t>& rests_before, const NameTable& names) {
  stretch_ms += settlement.until_ms - settlement.from_ms;
  for (const TimeLine& line : settlement.lines) {
    HeldTime& tenant = tenants[tenant_name(names, line.tenant)];
    tenant.held += line.held.micro();
    tenant.part += line.part.micro();
    (line.position > 0 ? tenant.lent : tenant.borrowed) +=
        line.position > 0 ? line.position : -line.position;
    const auto before = rests_before.find(line.tenant);
    tenant.rest += line.rest - (before == rests_before.end() ? 0 : before->second);
  }
}

bool HeldTimes::agrees() const {
  return std::all_of(tenants.begin(), tenants.end(), [](const auto& entry) {
    const Wide unused = entry.second.unused();
    return unused < kMicroUnitsPerUnit && -unused < kMicroUnitsPerUnit;
  });
}

void SettledTimes::add(const TimeSettlement& settlement, const NameTable& names) {
  all.add(settlement, rests_, names);
  Wide held = 0, part = 0;
  for (const TimeLine& line : settlement.lines) {
    held += line.held.micro();
    part += line.part.micro();
  }
  if (held == part) full.add(settlement, rests_, names);
  for (const TimeLine& line : settlement.lines) rests_[line.tenant] = line.rest;
}

std::string held_text(const SettledTimes& times, const LedgerMeasure& measure) {
  const Seconds seconds(measure);
  const char* what = measure.millicores_per_unit > 0 ? "core-seconds" : "unit-seconds";
  std::string text = fmt::format(
      "{} of what was held beside each part, in the {} in which somebody borrowed:\n"
      "held - part = -net - unused; unused is what nobody borrowed of a part not held\n\n{}",
      what, stretch_text(times.all), table_of(times.all, seconds));
  if (times.full.stretch_ms > 0)
    text += fmt::format(
        "\nthe same in the {} of it while the cluster was full: held - part = -net, "
        "{}\n\n{}",
        stretch_text(times.full),
        times.full.agrees() ? "to the unit-millisecond for everybody"
                            : "but for what is UNUSED: caps on debts, and tenants that may not "
                              "lend or borrow, keep it out of the book",
        table_of(times.full, seconds));
  return text +
         "\nThe ledger's time stands still while no coordinator runs: what was held then is in "
         "nobody's account.\n";
}

Json held_json(const SettledTimes& times) {
  return Json{{"settled", times_json(times.all)}, {"settled_while_full", times_json(times.full)}};
}

}  // namespace fairwater::inline cli::inline replay
