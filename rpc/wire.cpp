#include "rpc/wire.hpp"

#include "model/text.hpp"
#include "schema/fields/agent.hpp"
#include "schema/fields/cluster.hpp"
#include "schema/fields/deal.hpp"
#include "schema/fields/job.hpp"
#include "schema/fields/journal.hpp"
#include "schema/fields/requests.hpp"

namespace fairwater::inline schema {
namespace {

/// Errors quote what they refuse, of any bytes: what leaves is one line that can be shown.
constexpr std::size_t kMaxErrorBytes = 4096;

}  // namespace

template <>
struct Fields<IdentityProof> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(cluster_id, ClusterId);
    FAIRWATER_FIELD(key, PublicKey);
    FAIRWATER_FIELD(signature, Signature);
  }
};

FAIRWATER_DEFINE_CODEC_AS(IdentityProof, wire::Gateway::IdentifyResults)
FAIRWATER_DEFINE_CODEC(AgentReport)
FAIRWATER_DEFINE_CODEC(ReportReply)
FAIRWATER_DEFINE_CODEC(GangHost)
FAIRWATER_DEFINE_CODEC(LaunchOrder)
FAIRWATER_DEFINE_CODEC(StopOrder)
FAIRWATER_DEFINE_CODEC(ClusterStatus)
FAIRWATER_DEFINE_CODEC(TokenInfo)
FAIRWATER_DEFINE_CODEC(TenantInfo)
FAIRWATER_DEFINE_CODEC(TenantChange)
FAIRWATER_DEFINE_CODEC(NodeInfo)
FAIRWATER_DEFINE_CODEC(JobQuery)
FAIRWATER_DEFINE_CODEC(UsageQuery)
FAIRWATER_DEFINE_CODEC(UsageRow)
FAIRWATER_DEFINE_CODEC(TaskInfo)
FAIRWATER_DEFINE_CODEC(JobDetail)
FAIRWATER_DEFINE_CODEC(ClassProfile)
FAIRWATER_DEFINE_CODEC(LogChunk)
FAIRWATER_DEFINE_CODEC(LedgerView)
FAIRWATER_DEFINE_CODEC(LedgerStanding)
FAIRWATER_DEFINE_CODEC(JournalPage)
FAIRWATER_DEFINE_CODEC(Explanation)
FAIRWATER_DEFINE_CODEC(VerifyReport)
FAIRWATER_DEFINE_CODEC(LedgerBackup)
FAIRWATER_DEFINE_CODEC_AS(AgentOrders, wire::AgentControl::OrdersParams)
FAIRWATER_DEFINE_CODEC(AgentIdentity)

void encode(const caf::error& error, wire::Error::Builder builder) {
  const ErrorDetails parts = details(error);
  const std::string code{to_string(parts.code)};
  builder.setCode(to_text(code));
  builder.setMessage(to_text(one_line(parts.message, kMaxErrorBytes)));
  builder.setField(to_text(one_line(parts.field, kMaxErrorBytes)));
  builder.setRetryable(is_retryable(parts.code));
  if (!parts.leader.empty()) builder.setLeader(to_text(one_line(parts.leader, kMaxErrorBytes)));
}

caf::error read(wire::Error::Reader reader) {
  const ErrorCode code = error_code_from(to_std_string(reader.getCode()));
  if (code == ErrorCode::not_leader)
    return make_not_leader(to_std_string(reader.getMessage()), to_std_string(reader.getLeader()));
  return make_error(code, to_std_string(reader.getMessage()), to_std_string(reader.getField()));
}

void Fields<JobQuery>::put_rest(const JobQuery& query, wire::JobQuery::Builder builder) {
  auto state = builder.getState();
  if (query.state)
    state.setOnly(fields::to_raw<wire::JobState>(*query.state));
  else
    state.setAny();
}

void Fields<JobQuery>::take_rest(JobQuery& query, wire::JobQuery::Reader reader) {
  const auto state = reader.getState();
  if (state.isAny()) return;
  if (!state.isOnly())
    throw MalformedRecord("state", "state is chosen in a way that this version does not know");
  if (!fields::is_known<JobState>(state.getOnly()))
    fields::refuse_enumerant("state", static_cast<std::uint16_t>(state.getOnly()));
  query.state = static_cast<JobState>(state.getOnly());
}

}  // namespace fairwater::inline schema
