#include "policy/sequence/sequence.hpp"

#include <numeric>
#include <utility>

#include "cli/policy/commands.hpp"
#include "cli/policy/input.hpp"

namespace fairwater::inline cli::inline policy_cli {
namespace {

class SequenceRun {
 public:
  explicit SequenceRun(Sequence::Method method) : sequence_(method) {}

  Sequence::Change join(FieldMap tenant) {
    const std::uint32_t number = names_.add(tenant.at("name"));
    totals_.push_back(0);
    const Weight weight = tenant.at("weight").integer(1, kMaxTenantWeight);
    tenant.done();
    return sequence_.join(number, weight);
  }

  /// One period of the order from its start, unless it is longer than anybody would read.
  void print_order(Json& output) const {
    constexpr std::uint64_t kMaxPrinted = 1000;
    Weight divisor = 0;
    for (std::uint32_t i = 0; i < names_.size(); ++i)
      divisor = std::gcd(divisor, sequence_.weight(i));
    const std::uint64_t period = sequence_.cycle() / static_cast<std::uint64_t>(divisor);
    output["period"] = period;
    if (period > kMaxPrinted) return;
    Sequence from_start = sequence_;
    from_start.set_position(0);
    Json order = Json::array();
    for (std::uint64_t i = 0; i < period; ++i) order.push_back(names_.name(from_start.next()));
    output["order"] = std::move(order);
  }

  void restore_position(const Field& position) {
    const auto last = static_cast<std::int64_t>(sequence_.cycle()) - 1;
    sequence_.set_position(static_cast<std::uint64_t>(position.integer(0, last)));
  }

  Json event(const Field& field) {
    const FieldMap event = field.object();
    Json result;
    if (event.has("slots")) {
      result = deal(event.at("slots"));
    } else if (event.has("join")) {
      result = change(join(event.at("join").object()));
    } else if (event.has("leave")) {
      const std::uint32_t leaver = names_.number(event.at("leave"));
      if (!sequence_.contains(leaver)) event.at("leave").fail("names a tenant that has left");
      result = change(sequence_.leave(leaver));
    } else {
      event.fail("must have one of slots, join, leave");
    }
    event.done();
    return result;
  }

 private:
  Json deal(const Field& slots) {
    const std::int64_t wanted = slots.integer(0, kMaxSlots);
    if (wanted > 0 && sequence_.size() == 0) slots.fail("must be 0 when no tenant is left");
    std::vector<std::uint64_t> granted(names_.size());
    for (const auto& [member, count] : sequence_.advance(static_cast<std::uint64_t>(wanted))) {
      granted[member] = count;
      totals_[member] += count;
    }
    Json result = {{"granted", Json::object()}, {"total", Json::object()}};
    for (std::uint32_t i = 0; i < names_.size(); ++i) {
      if (!sequence_.contains(i)) continue;
      append(result["granted"], names_.name(i), granted[i]);
      append(result["total"], names_.name(i), totals_[i]);
    }
    result["position"] = sequence_.position();
    result["cycle"] = sequence_.cycle();
    return result;
  }

  static Json change(const Sequence::Change& change) {
    return {{"position", change.position}, {"cycle", change.cycle}, {"used", change.used}};
  }

  Sequence sequence_;
  TenantNames names_;
  std::vector<std::uint64_t> totals_;
};

}  // namespace

Json run_sequence(const Field& input) {
  const FieldMap fields = input.object();
  const bool min_ratio =
      fields.has("method") && fields.at("method").choice({"max-deficit", "min-ratio"}) == 1;
  SequenceRun run(min_ratio ? Sequence::Method::min_ratio : Sequence::Method::max_deficit);
  for (const Field& tenant : filled_list(fields.at("tenants"))) run.join(tenant.object());
  if (fields.has("position")) run.restore_position(fields.at("position"));
  Json output;
  run.print_order(output);
  output["events"] = Json::array();
  for (const Field& event : fields.at("events").list())
    output["events"].push_back(run.event(event));
  fields.done();
  return output;
}

}  // namespace fairwater::inline cli::inline policy_cli
