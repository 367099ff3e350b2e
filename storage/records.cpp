#include "storage/records.hpp"

#include "schema/codec_internal.hpp"

namespace fairwater {

void encode(const TokenGrant& token, wire::TokenRecord::Builder builder) {
  builder.setRole(to_wire(token.role));
  builder.setTenant(token.tenant.value);
  // Without a name the bytes are those of before there were names: verify compares them.
  if (!token.name.empty()) builder.setName(to_text(token.name));
  builder.setCreatedAt(token.created_at.microseconds);
  builder.setExpiresAt(token.expires_at.microseconds);
}

TokenGrant read(wire::TokenRecord::Reader reader) {
  return {read(reader.getRole()),
          TenantId{reader.getTenant()},
          to_std_string(reader.getName()),
          {reader.getCreatedAt()},
          {reader.getExpiresAt()}};
}

void encode(const LiveJob& live, wire::LiveRecord::Builder builder) {
  builder.setTenant(live.tenant.value);
}

LiveJob read(wire::LiveRecord::Reader reader) { return {TenantId{reader.getTenant()}}; }

void encode(const TenantJob& job, wire::TenantJobRecord::Builder builder) {
  builder.setState(codec::wire_enum<wire::JobState>(job.state));
}

TenantJob read(wire::TenantJobRecord::Reader reader) {
  return {codec::checked_enum(reader.getState(), JobState::cancelled, "state")};
}

void encode(const IouRecord& iou, wire::IouRecord::Builder builder) {
  builder.setUnits(iou.units);
  builder.setAge(iou.age);
}

IouRecord read(wire::IouRecord::Reader reader) { return {reader.getUnits(), reader.getAge()}; }

void encode(const ClassHistory& history, wire::ClassRecord::Builder builder) {
  builder.setCount(history.count);
  builder.setWallTotalMs(history.wall_total_ms);
  builder.setWallMinMs(history.wall_min_ms);
  builder.setWallMaxMs(history.wall_max_ms);
  builder.setWallLastMs(history.wall_last_ms);
}

ClassHistory read(wire::ClassRecord::Reader reader) {
  return {reader.getCount(), reader.getWallTotalMs(), reader.getWallMinMs(), reader.getWallMaxMs(),
          reader.getWallLastMs()};
}

void encode(const LedgerMeta& meta, wire::MetaRecord::Builder builder) {
  builder.setLastNumber(meta.last_number);
  builder.setLastHash({meta.last_hash.data(), meta.last_hash.size()});
  encode(meta.cluster, builder.initCluster());
  builder.setEpoch(meta.epoch);
  builder.setPosition(meta.position);
  builder.setNextJob(meta.next_job.value);
  builder.setNextTenant(meta.next_tenant.value);
  builder.setNextNode(meta.next_node.value);
  builder.setNextIouAge(meta.next_iou_age);
  if (meta.lease != LeaseTerms{}) encode(meta.lease, builder.initLease());
  builder.setIncarnation(meta.incarnation);
  builder.setGivenUp(meta.given_up);
}

LedgerMeta read(wire::MetaRecord::Reader reader) {
  LedgerMeta meta;
  meta.last_number = reader.getLastNumber();
  meta.last_hash = read_hash(reader.getLastHash(), "lastHash");
  meta.cluster = read(reader.getCluster());
  meta.epoch = reader.getEpoch();
  meta.position = reader.getPosition();
  meta.next_job = JobId{reader.getNextJob()};
  meta.next_tenant = TenantId{reader.getNextTenant()};
  meta.next_node = NodeId{reader.getNextNode()};
  meta.next_iou_age = reader.getNextIouAge();
  meta.lease = read(reader.getLease());
  meta.incarnation = reader.getIncarnation();
  meta.given_up = reader.getGivenUp();
  return meta;
}

}  // namespace fairwater
