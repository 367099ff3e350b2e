// Values of the control protocol (schema/control.capnp) to and from the wire; what records.capnp
// defines is converted by schema/codec.hpp, whose rules hold here too: encode() fills a fresh
// builder, read() throws MalformedRecord, decode() turns that into `invalid_input`.
#pragma once

#include <capnp/any.h>

#include "model/node.hpp"
#include "model/requests.hpp"
#include "rpc/identity.hpp"
#include "schema/codec.hpp"
#include "schema/control.capnp.h"

namespace fairwater {

inline constexpr std::uint32_t kProtocolVersion = wire::PROTOCOL_VERSION;
inline constexpr std::uint32_t kOldestProtocolVersion = 1;
/// The longest that a call may ask to wait for an event.
inline constexpr std::int64_t kMaxWaitMs = 60'000;

void encode(const caf::error& error, wire::Error::Builder builder);
[[nodiscard]] caf::error read(wire::Error::Reader reader);

void encode(const IdentityProof& proof, wire::Gateway::IdentifyResults::Builder builder);
[[nodiscard]] IdentityProof read(wire::Gateway::IdentifyResults::Reader reader);

void encode(const AgentReport& report, wire::AgentReport::Builder builder);
[[nodiscard]] AgentReport read(wire::AgentReport::Reader reader);
void encode(const ReportReply& reply, wire::ReportReply::Builder builder);
[[nodiscard]] ReportReply read(wire::ReportReply::Reader reader);
void encode(const LaunchOrder& order, wire::LaunchOrder::Builder builder);
void encode(const StopOrder& order, wire::StopOrder::Builder builder);
void encode(const AgentIdentity& identity, wire::AgentIdentity::Builder builder);
/// `seen_cycle` came with the report, where agents have always sent it.
[[nodiscard]] AgentIdentity read(wire::AgentIdentity::Reader reader, std::uint64_t seen_cycle);
void encode(const AgentOrders& orders, wire::AgentControl::OrdersParams::Builder builder);
[[nodiscard]] AgentOrders read(wire::AgentControl::OrdersParams::Reader reader);

void encode(const ClusterStatus& status, wire::ClusterStatus::Builder builder);
[[nodiscard]] ClusterStatus read(wire::ClusterStatus::Reader reader);
void encode(const TokenInfo& token, wire::TokenInfo::Builder builder);
[[nodiscard]] TokenInfo read(wire::TokenInfo::Reader reader);
void encode(const TenantInfo& tenant, wire::TenantInfo::Builder builder);
[[nodiscard]] TenantInfo read(wire::TenantInfo::Reader reader);
void encode(const TenantChange& change, wire::TenantChange::Builder builder);
[[nodiscard]] TenantChange read(wire::TenantChange::Reader reader);
void encode(const NodeInfo& node, wire::NodeInfo::Builder builder);
[[nodiscard]] NodeInfo read(wire::NodeInfo::Reader reader);
void encode(const JobQuery& query, wire::JobQuery::Builder builder);
[[nodiscard]] JobQuery read(wire::JobQuery::Reader reader);
void encode(const TaskInfo& task, wire::TaskInfo::Builder builder);
void encode(const JobDetail& detail, wire::JobDetail::Builder builder);
[[nodiscard]] JobDetail read(wire::JobDetail::Reader reader);
void encode(const LogChunk& chunk, wire::LogChunk::Builder builder);
[[nodiscard]] LogChunk read(wire::LogChunk::Reader reader);
void encode(const LedgerView& ledger, wire::LedgerView::Builder builder);
[[nodiscard]] LedgerView read(wire::LedgerView::Reader reader);
void encode(const IouBook::Iou& iou, wire::Iou::Builder builder);
void encode(const LedgerStanding& standing, wire::LedgerStanding::Builder builder);
[[nodiscard]] LedgerStanding read(wire::LedgerStanding::Reader reader);
void encode(const JournalPage& page, wire::JournalPage::Builder builder);
[[nodiscard]] JournalPage read(wire::JournalPage::Reader reader);
void encode(const Explanation& explanation, wire::Explanation::Builder builder);
[[nodiscard]] Explanation read(wire::Explanation::Reader reader);
void encode(const VerifyReport& report, wire::VerifyReport::Builder builder);
[[nodiscard]] VerifyReport read(wire::VerifyReport::Reader reader);

/// Throws when elements have fewer words than `min_words`: a list may announce any number of them,
/// and each becomes a value of its full size.
template <class List>
void require_words(List list, std::size_t min_words) {
  if (list.size() == 0) return;
  const capnp::AnyStruct::Reader first(list[0]);
  const auto words =
      first.getDataSection().size() / sizeof(capnp::word) + first.getPointerSection().size();
  if (words < min_words)
    throw MalformedRecord("", "a list announces " + std::to_string(list.size()) + " elements of " +
                                  std::to_string(words) + " words; each has at least " +
                                  std::to_string(min_words));
}

/// As read_list of schema/codec.hpp, for this header's types too, from a peer that is not trusted.
template <class List>
[[nodiscard]] auto read_elements(List list, std::size_t min_words = 1) {
  require_words(list, min_words);
  std::vector<decltype(read(list[0]))> values;
  values.reserve(list.size());
  for (auto element : list) values.push_back(read(element));
  return values;
}

}  // namespace fairwater
