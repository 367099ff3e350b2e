// Values of the control protocol (schema/control.capnp) to and from the wire; what records.capnp
// defines is converted by schema/codec.hpp, whose rules hold here too: encode() fills a fresh
// builder, read() throws MalformedRecord, decode() turns that into `invalid_input`.
#pragma once

#include "model/backup.hpp"
#include "model/node.hpp"
#include "model/profile.hpp"
#include "model/requests.hpp"
#include "model/usage.hpp"
#include "rpc/identity.hpp"
#include "schema/control.capnp.h"
#include "schema/fields/convert.hpp"

namespace fairwater::inline rpc {

inline constexpr std::uint32_t kProtocolVersion = wire::PROTOCOL_VERSION;
inline constexpr std::uint32_t kOldestProtocolVersion = 1;
/// The longest that a call may ask to wait for an event.
inline constexpr std::int64_t kMaxWaitMs = 60'000;

}  // namespace fairwater::inline rpc

namespace fairwater::inline schema {

void encode(const caf::error& error, wire::Error::Builder builder);
[[nodiscard]] caf::error read(wire::Error::Reader reader);

FAIRWATER_CODEC_AS(IdentityProof, wire::Gateway::IdentifyResults);

FAIRWATER_CODEC(AgentReport);
FAIRWATER_CODEC(ReportReply);
FAIRWATER_CODEC(GangHost);
FAIRWATER_CODEC(LaunchOrder);
FAIRWATER_CODEC(StopOrder);
FAIRWATER_CODEC(ClusterStatus);
FAIRWATER_CODEC(TokenInfo);
FAIRWATER_CODEC(TenantInfo);
FAIRWATER_CODEC(TenantChange);
FAIRWATER_CODEC(NodeInfo);
FAIRWATER_CODEC(JobQuery);
FAIRWATER_CODEC(UsageQuery);
FAIRWATER_CODEC(UsageRow);
FAIRWATER_CODEC(TaskInfo);
FAIRWATER_CODEC(JobDetail);
FAIRWATER_CODEC(ClassProfile);
FAIRWATER_CODEC(LogChunk);
FAIRWATER_CODEC(LedgerView);
FAIRWATER_CODEC(LedgerStanding);
FAIRWATER_CODEC(JournalPage);
FAIRWATER_CODEC(Explanation);
FAIRWATER_CODEC(VerifyReport);
FAIRWATER_CODEC(LedgerBackup);
FAIRWATER_CODEC_AS(AgentOrders, wire::AgentControl::OrdersParams);
/// Without the cycle that was seen: agents have always sent it with the report.
FAIRWATER_CODEC(AgentIdentity);

}  // namespace fairwater::inline schema

namespace fairwater::inline rpc {}  // namespace fairwater::inline rpc
