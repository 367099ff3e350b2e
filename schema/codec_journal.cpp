// Deals, journal records, and the bytes of records on disk.
#include <algorithm>
#include <cstring>

#include "schema/codec_internal.hpp"

namespace fairwater {

using codec::checked_enum;
using codec::encode_vector;
using codec::hash_data;
using codec::read_vector;
using codec::stored_size;
using codec::wire_enum;

// -- deals

namespace {

GrantStep read_step(wire::GrantStep wire) {
  const auto step = checked_enum(wire, GrantStep::reserved, "step");
  if (wire == wire::GrantStep::UNKNOWN)
    throw MalformedRecord("step", "a grant does not say which step of the deal placed it");
  return step;
}

}  // namespace

void encode(const Grant& grant, wire::Grant::Builder builder) {
  encode(grant.task, builder.initTask());
  builder.setTenant(grant.tenant.value);
  builder.setCost(grant.cost);
  encode_vector(grant.demand, builder.initDemand(stored_size(grant.demand)));
  builder.setStep(wire_enum<wire::GrantStep>(grant.step));
  builder.setBeyondQuota(grant.beyond_quota);
}

Grant read(wire::Grant::Reader reader) {
  Grant grant;
  grant.task = read(reader.getTask());
  grant.tenant = TenantId{reader.getTenant()};
  grant.cost = reader.getCost();
  grant.demand = read_vector(reader.getDemand(), "demand");
  grant.step = read_step(reader.getStep());
  grant.beyond_quota = reader.getBeyondQuota();
  return grant;
}

void encode(const TenantLine& line, wire::TenantLine::Builder builder) {
  builder.setTenant(line.tenant.value);
  builder.setCarried(line.carried);
  builder.setGranted(line.granted);
  builder.setPassedOn(line.passed_on);
  builder.setPassedTo(line.passed_to);
  builder.setPaid(line.paid);
  builder.setReceived(line.received);
  builder.setPooled(line.pooled);
  builder.setAllowance(line.allowance);
  builder.setGuaranteed(line.guaranteed);
  builder.setPlaced(line.placed);
  builder.setRolledBack(line.rolled_back);
  builder.setCarry(line.carry);
  encode_vector(line.quota, builder.initQuota(stored_size(line.quota)));
  encode_vector(line.used, builder.initUsed(stored_size(line.used)));
}

TenantLine read(wire::TenantLine::Reader reader) {
  TenantLine line;
  line.tenant = TenantId{reader.getTenant()};
  line.carried = reader.getCarried();
  line.granted = reader.getGranted();
  line.passed_on = reader.getPassedOn();
  line.passed_to = reader.getPassedTo();
  line.paid = reader.getPaid();
  line.received = reader.getReceived();
  line.pooled = reader.getPooled();
  line.allowance = reader.getAllowance();
  line.guaranteed = reader.getGuaranteed();
  line.placed = reader.getPlaced();
  line.rolled_back = reader.getRolledBack();
  line.carry = reader.getCarry();
  line.quota = read_vector(reader.getQuota(), "quota");
  line.used = read_vector(reader.getUsed(), "used");
  return line;
}

void encode(const Repayment& repayment, wire::Repayment::Builder builder) {
  builder.setDebtor(repayment.debtor.value);
  builder.setCreditor(repayment.creditor.value);
  builder.setUnits(repayment.units);
}

Repayment read(wire::Repayment::Reader reader) {
  return {TenantId{reader.getDebtor()}, TenantId{reader.getCreditor()}, reader.getUnits()};
}

void encode(const Loan& loan, wire::Loan::Builder builder) {
  builder.setLender(loan.lender.value);
  builder.setBorrower(loan.borrower.value);
  builder.setUnits(loan.units);
}

Loan read(wire::Loan::Reader reader) {
  return {TenantId{reader.getLender()}, TenantId{reader.getBorrower()}, reader.getUnits()};
}

void encode(const Advance& advance, wire::Advance::Builder builder) {
  builder.setLender(advance.lender.value);
  builder.setUnits(advance.units);
}

Advance read(wire::Advance::Reader reader) {
  return {TenantId{reader.getLender()}, reader.getUnits()};
}

void encode(const Deal& deal, wire::Deal::Builder builder) {
  builder.setNode(deal.node.value);
  builder.setFreeUnits(deal.free_units);
  builder.setUnused(deal.unused);
  builder.setPositionBefore(deal.position_before);
  builder.setPositionAfter(deal.position_after);
  encode_list(deal.lines, builder.initLines(deal.lines.size()));
  encode_list(deal.grants, builder.initGrants(deal.grants.size()));
  encode_list(deal.repayments, builder.initRepayments(deal.repayments.size()));
  encode_list(deal.loans, builder.initLoans(deal.loans.size()));
}

Deal read(wire::Deal::Reader reader) {
  Deal deal;
  deal.node = NodeId{reader.getNode()};
  deal.free_units = reader.getFreeUnits();
  deal.unused = reader.getUnused();
  deal.position_before = reader.getPositionBefore();
  deal.position_after = reader.getPositionAfter();
  deal.lines = read_list(reader.getLines());
  deal.grants = read_list(reader.getGrants());
  deal.repayments = read_list(reader.getRepayments());
  deal.loans = read_list(reader.getLoans());
  return deal;
}

// -- journal records

void encode(const ResourceKind& kind, wire::ResourceKind::Builder builder) {
  builder.setName(to_text(kind.name));
  builder.setGranule(kind.granule);
  builder.setUnits(kind.units);
}

ResourceKind read(wire::ResourceKind::Reader reader) {
  return {to_std_string(reader.getName()), reader.getGranule(), reader.getUnits()};
}

void encode(const ClusterCreated& cluster, wire::ClusterCreated::Builder builder) {
  builder.setClusterId(to_text(cluster.cluster_id));
  encode_list(cluster.resources, builder.initResources(cluster.resources.size()));
  builder.setMode(wire_enum<wire::DealMode>(cluster.mode));
}

ClusterCreated read(wire::ClusterCreated::Reader reader) {
  return {to_std_string(reader.getClusterId()), read_list(reader.getResources()),
          checked_enum(reader.getMode(), DealMode::slots, "mode")};
}

void encode(const LeaseTerms& terms, wire::LeaseTerms::Builder builder) {
  builder.setLeaseMs(terms.lease_ms);
  builder.setGraceMs(terms.grace_ms);
  builder.setOlderUntil(terms.older_until.microseconds);
}

LeaseTerms read(wire::LeaseTerms::Reader reader) {
  return {reader.getLeaseMs(), reader.getGraceMs(), {reader.getOlderUntil()}};
}

void encode(const FailedLaunch& launch, wire::FailedLaunch::Builder builder) {
  encode(launch.result, builder.initResult());
  encode_list(launch.returned, builder.initReturned(launch.returned.size()));
}

FailedLaunch read(wire::FailedLaunch::Reader reader) {
  return {read(reader.getResult()), read_list(reader.getReturned())};
}

Role read(wire::Role role) { return checked_enum(role, Role::join, "role"); }

namespace {

/// Writes one body into its union member.
struct BodyEncoder {
  wire::JournalRecord::Body::Builder body;

  void operator()(const ClusterCreated& value) { encode(value, body.initClusterCreated()); }
  void operator()(const CoordinatorStarted& value) {
    auto builder = body.initCoordinatorStarted();
    builder.setEpoch(value.epoch);
    builder.setVersion(to_text(value.version));
    if (value.lease != LeaseTerms{}) encode(value.lease, builder.initLease());
  }
  void operator()(const TenantsChanged& value) {
    auto builder = body.initTenantsChanged();
    encode_list(value.tenants, builder.initTenants(value.tenants.size()));
    builder.setPosition(value.position);
  }
  void operator()(const TenantRemoved& value) {
    auto builder = body.initTenantRemoved();
    builder.setTenant(value.tenant.value);
    builder.setPosition(value.position);
    builder.setForgiven(value.forgiven);
  }
  void operator()(const TokenIssued& value) {
    auto builder = body.initTokenIssued();
    builder.setRole(to_wire(value.role));
    builder.setTenant(value.tenant.value);
    builder.setTokenHash(hash_data(value.token_hash));
    if (!value.name.empty()) builder.setName(to_text(value.name));
    builder.setCreatedAt(value.created_at.microseconds);
    builder.setExpiresAt(value.expires_at.microseconds);
  }
  void operator()(const TokenRevoked& value) {
    body.initTokenRevoked().setTokenHash(hash_data(value.token_hash));
  }
  void operator()(const JobSubmitted& value) {
    auto builder = body.initJobSubmitted();
    builder.setId(value.id.value);
    builder.setTenant(value.tenant.value);
    encode(value.spec, builder.initSpec());
  }
  void operator()(const JobCancelled& value) {
    auto builder = body.initJobCancelled();
    builder.setId(value.id.value);
    builder.setReason(to_text(value.reason));
  }
  void operator()(const NodeChanged& value) {
    encode(value.node, body.initNodeChanged().initNode());
  }
  void operator()(const NodeRemoved& value) { body.initNodeRemoved().setNode(value.node.value); }
  void operator()(const TasksFinished& value) {
    auto builder = body.initTasksFinished();
    builder.setNode(value.node.value);
    encode_list(value.results, builder.initResults(value.results.size()));
  }
  void operator()(const TasksRequeued& value) {
    auto builder = body.initTasksRequeued();
    builder.setNode(value.node.value);
    encode_list(value.tasks, builder.initTasks(value.tasks.size()));
    builder.setReason(to_text(value.reason));
    builder.setNodeLost(value.node_lost);
  }
  void operator()(const Cycle& value) {
    encode_list(value.deals, body.initCycle().initDeals(value.deals.size()));
  }
  void operator()(const LaunchesFailed& value) {
    auto builder = body.initLaunchesFailed();
    builder.setNode(value.node.value);
    encode_list(value.launches, builder.initLaunches(value.launches.size()));
  }
  void operator()(const LedgerTrusted& value) {
    auto builder = body.initLedgerTrusted();
    builder.setIncarnation(value.incarnation);
    builder.setGivenUp(value.given_up);
    builder.setSkippedJobs(value.skipped_jobs);
    builder.setReason(to_text(value.reason));
  }
};

TenantsChanged read_body(wire::TenantsChanged::Reader reader) {
  return {read_list(reader.getTenants()), reader.getPosition()};
}
TenantRemoved read_body(wire::TenantRemoved::Reader reader) {
  return {TenantId{reader.getTenant()}, reader.getPosition(), reader.getForgiven()};
}
TokenIssued read_body(wire::TokenIssued::Reader reader) {
  return {read(reader.getRole()),
          TenantId{reader.getTenant()},
          read_hash(reader.getTokenHash(), "tokenHash"),
          to_std_string(reader.getName()),
          {reader.getCreatedAt()},
          {reader.getExpiresAt()}};
}
JobSubmitted read_body(wire::JobSubmitted::Reader reader) {
  return {JobId{reader.getId()}, TenantId{reader.getTenant()}, read(reader.getSpec())};
}
TasksFinished read_body(wire::TasksFinished::Reader reader) {
  return {NodeId{reader.getNode()}, read_list(reader.getResults())};
}
TasksRequeued read_body(wire::TasksRequeued::Reader reader) {
  return {NodeId{reader.getNode()}, read_list(reader.getTasks()), to_std_string(reader.getReason()),
          reader.getNodeLost()};
}
LaunchesFailed read_body(wire::LaunchesFailed::Reader reader) {
  return {NodeId{reader.getNode()}, read_list(reader.getLaunches())};
}

JournalBody read_body(wire::JournalRecord::Body::Reader body) {
  using Body = wire::JournalRecord::Body;
  switch (body.which()) {
    case Body::CLUSTER_CREATED:
      return read(body.getClusterCreated());
    case Body::COORDINATOR_STARTED: {
      auto reader = body.getCoordinatorStarted();
      return CoordinatorStarted{reader.getEpoch(), to_std_string(reader.getVersion()),
                                read(reader.getLease())};
    }
    case Body::TENANTS_CHANGED:
      return read_body(body.getTenantsChanged());
    case Body::TENANT_REMOVED:
      return read_body(body.getTenantRemoved());
    case Body::TOKEN_ISSUED:
      return read_body(body.getTokenIssued());
    case Body::JOB_SUBMITTED:
      return read_body(body.getJobSubmitted());
    case Body::JOB_CANCELLED: {
      auto reader = body.getJobCancelled();
      return JobCancelled{JobId{reader.getId()}, to_std_string(reader.getReason())};
    }
    case Body::NODE_CHANGED:
      return NodeChanged{read(body.getNodeChanged().getNode())};
    case Body::TASKS_FINISHED:
      return read_body(body.getTasksFinished());
    case Body::TASKS_REQUEUED:
      return read_body(body.getTasksRequeued());
    case Body::CYCLE:
      return Cycle{read_list(body.getCycle().getDeals())};
    case Body::LAUNCHES_FAILED:
      return read_body(body.getLaunchesFailed());
    case Body::LEDGER_TRUSTED: {
      auto reader = body.getLedgerTrusted();
      return LedgerTrusted{reader.getIncarnation(), reader.getGivenUp(), reader.getSkippedJobs(),
                           to_std_string(reader.getReason())};
    }
    case Body::TOKEN_REVOKED:
      return TokenRevoked{read_hash(body.getTokenRevoked().getTokenHash(), "tokenHash")};
    case Body::NODE_REMOVED:
      return NodeRemoved{NodeId{body.getNodeRemoved().getNode()}};
    case Body::UNSET:
      break;
  }
  throw MalformedRecord("body", "journal record of the unknown kind " +
                                    std::to_string(static_cast<std::uint16_t>(body.which())) +
                                    ": written by a newer version, or damaged");
}

}  // namespace

void encode(const JournalRecord& record, wire::JournalRecord::Builder builder) {
  builder.setNumber(record.number);
  builder.setTime(record.time.microseconds);
  builder.setPrevious(hash_data(record.previous));
  std::visit(BodyEncoder{builder.getBody()}, record.body);
}

JournalRecord read(wire::JournalRecord::Reader reader) {
  return {reader.getNumber(),
          {reader.getTime()},
          read_hash(reader.getPrevious(), "previous"),
          read_body(reader.getBody())};
}

// -- bytes

Hash read_hash(capnp::Data::Reader data, std::string_view field) {
  Hash hash{};
  if (data.size() != hash.size())
    throw MalformedRecord(
        std::string(field),
        std::string(field) + " has " + std::to_string(data.size()) + " bytes instead of 32");
  std::copy(data.begin(), data.end(), hash.begin());
  return hash;
}

namespace {

constexpr std::size_t kMaxRecordBytes = std::size_t{256} << 20;

kj::Array<capnp::word> aligned_copy(std::string_view bytes) {
  if (bytes.empty() || bytes.size() % sizeof(capnp::word) != 0 || bytes.size() > kMaxRecordBytes)
    throw MalformedRecord(
        "", "a record of " + std::to_string(bytes.size()) + " bytes is not a whole message");
  auto words = kj::heapArray<capnp::word>(bytes.size() / sizeof(capnp::word));
  std::memcpy(words.begin(), bytes.data(), bytes.size());
  return words;
}

/// Every part of a canonical message is read about once; a message that points at one part many
/// times over hits the limit.
capnp::ReaderOptions limits_for(std::size_t words) {
  capnp::ReaderOptions options;
  options.traversalLimitInWords = 4 * words + 1024;
  options.nestingLimit = 16;
  return options;
}

}  // namespace

RecordReader::RecordReader(std::string_view bytes)
    : words_(aligned_copy(bytes)),
      segment_(words_.asPtr()),
      reader_(kj::arrayPtr(&segment_, 1), limits_for(words_.size())) {}

}  // namespace fairwater
