// Deals and journal records.
#include "schema/fields/journal.hpp"

#include "schema/fields/convert.hpp"
#include "schema/fields/deal.hpp"
#include "schema/fields/job.hpp"

namespace fairwater::inline schema {

FAIRWATER_DEFINE_CODEC(Grant)
FAIRWATER_DEFINE_CODEC(TenantLine)
FAIRWATER_DEFINE_CODEC(Repayment)
FAIRWATER_DEFINE_CODEC(Loan)
FAIRWATER_DEFINE_CODEC(Advance)
FAIRWATER_DEFINE_CODEC(FailedLaunch)
FAIRWATER_DEFINE_CODEC(LeaseTerms)
FAIRWATER_DEFINE_CODEC(DebtTerms)
FAIRWATER_DEFINE_CODEC(Reservation)
FAIRWATER_DEFINE_CODEC(Deal)
FAIRWATER_DEFINE_CODEC(ResourceKind)
FAIRWATER_DEFINE_CODEC(ClusterCreated)
FAIRWATER_DEFINE_CODEC(JournalRecord)

Role read(wire::Role role) {
  if (!fields::is_known<Role>(role))
    fields::refuse_enumerant("role", static_cast<std::uint16_t>(role));
  return static_cast<Role>(role);
}

void Fields<JournalRecord>::put_rest(const JournalRecord& record,
                                     wire::JournalRecord::Builder builder) {
  auto body = builder.getBody();
  each_body([&](const auto& kind) {
    using Kind = typename std::decay_t<decltype(kind)>::Value;
    if (const auto* value = std::get_if<Kind>(&record.body)) encode(*value, kind.init(body));
  });
}

void Fields<JournalRecord>::take_rest(JournalRecord& record, wire::JournalRecord::Reader reader) {
  const auto body = reader.getBody();
  bool known = false;
  each_body([&](const auto& kind) {
    using Kind = typename std::decay_t<decltype(kind)>::Value;
    if (!kind.is(body)) return;
    record.body = read_fields<Kind>(kind.get(body));
    known = true;
  });
  if (!known)
    throw MalformedRecord("body", "journal record of the unknown kind " +
                                      std::to_string(static_cast<std::uint16_t>(body.which())) +
                                      ": written by a newer version, or damaged");
}

std::optional<std::uint16_t> unknown_kind_in(std::string_view bytes) {
  const auto kind = guard_decoding([&]() -> std::optional<std::uint16_t> {
    RecordReader message(bytes);
    const auto body = message.root<wire::JournalRecord>().getBody();
    bool known = body.isUnset();
    each_body([&](const auto& candidate) { known = known || candidate.is(body); });
    if (known) return std::nullopt;
    return static_cast<std::uint16_t>(body.which());
  });
  return kind ? *kind : std::nullopt;
}

}  // namespace fairwater::inline schema
