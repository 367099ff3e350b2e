// Records to bytes and back; and bytes that are no record.
#include <catch2/catch.hpp>
#include <rapidcheck.h>

#include "storage/records.hpp"
#include "tests/storage/support.hpp"

namespace fairwater::test {
namespace {

template <class T>
T any() {
  return *rc::gen::arbitrary<T>();
}
/// Small sizes keep the many parts of a journal record readable when one fails.
template <class Make>
auto few(Make make) {
  std::vector<decltype(make())> values;
  for (int left = *rc::gen::inRange(0, 4); left > 0; --left) values.push_back(make());
  return values;
}
template <class Enum>
Enum up_to(Enum last, int first = 0) {
  return static_cast<Enum>(*rc::gen::inRange(first, static_cast<int>(last) + 1));
}

ResourceVector any_vector() {
  ResourceVector vector;
  for (int left = *rc::gen::inRange<int>(0, kMaxResources + 1); left > 0; --left)
    vector[static_cast<std::size_t>(left - 1)] = any<Amount>();
  return vector;
}
Hash any_hash() {
  Hash hash;
  for (auto& byte : hash) byte = any<std::uint8_t>();
  return hash;
}
TaskKey any_task() {
  return {JobId{any<std::uint64_t>()}, any<std::uint32_t>(), any<std::uint32_t>(),
          any<std::uint32_t>()};
}
TenantId any_tenant() { return TenantId{any<std::uint32_t>()}; }

JobSpec any_spec() {
  JobSpec spec;
  spec.tenant = any<std::string>();
  spec.name = any<std::string>();
  spec.job_class = any<std::string>();
  spec.command = any<Texts>();
  spec.environment = any<TextMap>();
  spec.directory = any<std::string>();
  spec.tasks_min = any<std::uint32_t>();
  spec.tasks_max = any<std::uint32_t>();
  spec.resources = any<NamedAmounts>();
  spec.kind = up_to(JobKind::service);
  spec.priority = any<std::int32_t>();
  spec.gang = any<bool>();
  spec.labels = any<std::string>();
  spec.sites = any<Texts>();
  spec.devices = any<Texts>();
  spec.time_limit_ms = any<std::int64_t>();
  spec.grace_ms = any<std::int64_t>();
  spec.retries = any<std::uint32_t>();
  spec.after = few([] { return JobId{any<std::uint64_t>()}; });
  spec.preemptible = any<bool>();
  return spec;
}

TaskResult any_result() {
  return {any_task(),          up_to(kLastEndReason), any<std::int32_t>(),
          any<std::int32_t>(), {any<std::int64_t>()}, {any<std::int64_t>()},
          any<std::int64_t>(), any<std::int64_t>(),   any<std::string>()};
}

TaskRecord any_task_record() {
  TaskRecord task;
  task.state = up_to(TaskState::cancelled);
  task.attempt = any<std::uint32_t>();
  task.failures = any<std::uint32_t>();
  task.node = NodeId{any<std::uint32_t>()};
  task.cost = any<Units>();
  task.step = up_to(GrantStep::reserved, 1);
  task.beyond_quota = any<bool>();
  task.grant_cycle = any<std::uint64_t>();
  task.granted_at = {any<std::int64_t>()};
  if (any<bool>()) task.result = any_result();
  task.launch_failures = any<std::uint32_t>();
  task.losses = any<std::uint32_t>();
  task.waits_until = {any<std::int64_t>()};
  task.incarnation = any<std::uint32_t>();
  return task;
}

JobRecord any_job() {
  JobRecord job;
  job.id = JobId{any<std::uint64_t>()};
  job.tenant = any_tenant();
  job.spec = any_spec();
  job.submitted_at = {any<std::int64_t>()};
  job.started_at = {any<std::int64_t>()};
  job.finished_at = {any<std::int64_t>()};
  job.tasks = {any<std::uint32_t>(), any<std::uint32_t>(), any<std::uint32_t>(),
               any<std::uint32_t>(), any<std::uint32_t>()};
  job.cancelled = any<bool>();
  job.cancel_reason = any<std::string>();
  return job;
}

RunAs any_run_as() { return {any<std::string>(), any<std::string>(), any<Texts>()}; }

TenantRecord any_tenant_record() {
  TenantRecord tenant;
  tenant.id = any_tenant();
  tenant.spec = {any<std::string>(),   any<std::string>(),  any<Weight>(),
                 any<NamedAmounts>(),  any<NamedAmounts>(), up_to(QueuePolicy::priority),
                 any<std::uint32_t>(), any<bool>(),         any<bool>(),
                 any_run_as()};
  tenant.granted_units_total = any<Units>();
  tenant.borrowed_total = any<Units>();
  tenant.lent_total = any<Units>();
  tenant.carry = any<Units>();
  return tenant;
}

NodeRecord any_node() {
  NodeRecord node;
  node.id = NodeId{any<std::uint32_t>()};
  node.spec.traits = {any<std::string>(), any<std::string>(), any<TextMap>()};
  node.spec.capacity = any<NamedAmounts>();
  node.spec.instance = any<std::string>();
  node.spec.limits = any<std::string>();
  node.spec.isolation = any<std::string>();
  node.draining = any<bool>();
  node.drain_reason = any<std::string>();
  node.lost = any<bool>();
  node.credential_hash = any_hash();
  node.run = {any<std::uint64_t>(), any<std::string>()};
  return node;
}

TenantLine any_line() {
  const TenantBalance balance{any<Units>(), any<Units>(), any<Units>(), any<Units>(),
                              any<Units>(), any<Units>(), any<Units>(), any<Units>(),
                              any<Units>(), any<Units>(), any<Units>(), any<Units>()};
  return {balance, any_tenant(), any_vector(), any_vector()};
}

Deal any_deal() {
  Deal deal;
  deal.node = NodeId{any<std::uint32_t>()};
  deal.free_units = any<Units>();
  deal.unused = any<Units>();
  deal.position_before = any<std::uint64_t>();
  deal.position_after = any<std::uint64_t>();
  deal.lines = few(any_line);
  deal.grants = few([] {
    return Grant{
        any_task(), any_tenant(), any<Units>(), any_vector(), up_to(GrantStep::backfill, 1),
        any<bool>()};
  });
  deal.repayments = few([] { return Repayment{any_tenant(), any_tenant(), any<Units>()}; });
  deal.loans = few([] { return Loan{any_tenant(), any_tenant(), any<Units>()}; });
  return deal;
}

JournalBody any_body() {
  switch (*rc::gen::inRange<std::size_t>(0, std::variant_size_v<JournalBody>)) {
    case 0:
      return ClusterCreated{any<std::string>(), few([] {
                              return ResourceKind{any<std::string>(), any<Amount>()};
                            }),
                            up_to(DealMode::slots)};
    case 1:
      return CoordinatorStarted{any<std::uint64_t>(),
                                any<std::string>(),
                                {any<std::int64_t>(), any<std::int64_t>(), {any<std::int64_t>()}}};
    case 2:
      return TenantsChanged{few(any_tenant_record), any<std::uint64_t>()};
    case 3:
      return TenantRemoved{any_tenant(), any<std::uint64_t>(), any<Units>()};
    case 4:
      return TokenIssued{up_to(Role::join),  any_tenant(),          any_hash(),
                         any<std::string>(), {any<std::int64_t>()}, {any<std::int64_t>()}};
    case 5:
      return JobSubmitted{JobId{any<std::uint64_t>()}, any_tenant(), any_spec()};
    case 6:
      return JobCancelled{JobId{any<std::uint64_t>()}, any<std::string>()};
    case 7:
      return NodeChanged{any_node()};
    case 8:
      return TasksFinished{NodeId{any<std::uint32_t>()}, few(any_result)};
    case 9:
      return TasksRequeued{NodeId{any<std::uint32_t>()}, few(any_task), any<std::string>(),
                           any<bool>()};
    case 10:
      return LaunchesFailed{NodeId{any<std::uint32_t>()}, few([] {
                              return FailedLaunch{any_result(), few([] {
                                                    return Advance{any_tenant(), any<Units>()};
                                                  })};
                            })};
    case 11:
      return LedgerTrusted{any<std::uint32_t>(), any<std::uint64_t>(), any<std::uint64_t>(),
                           any<std::string>()};
    case 12:
      return TokenRevoked{any_hash()};
    case 13:
      return NodeRemoved{NodeId{any<std::uint32_t>()}};
    default:
      return Cycle{few(any_deal)};
  }
}

JournalRecord any_record() {
  return {any<std::uint64_t>(), {any<std::int64_t>()}, any_hash(), any_body()};
}

/// Reads back equal, and equal values have equal bytes.
template <class Value>
void round_trip(const Value& value) {
  const std::string bytes = to_bytes(value);
  const Expected<Value> read_back = from_bytes<Value>(bytes);
  RC_ASSERT(read_back.engaged());
  RC_ASSERT(*read_back == value);
  RC_ASSERT(to_bytes(*read_back) == bytes);
}

TEST_CASE("a token without a name has the bytes that older versions wrote", "[unit][codec]") {
  const std::string bytes = to_bytes(TokenGrant{Role::tenant, TenantId{2}, {}, {}, {}});
  CHECK(bytes == std::string("\0\0\0\0\1\0\0\0\1\0\0\0\2\0\0\0", 16));
}

TEST_CASE("records survive the way to bytes and back", "[property][codec]") {
  CHECK(rc::check("journal records", [] { round_trip(any_record()); }));
  CHECK(rc::check("jobs", [] { round_trip(any_job()); }));
  CHECK(rc::check("tasks", [] { round_trip(any_task_record()); }));
  CHECK(rc::check("tenants", [] { round_trip(any_tenant_record()); }));
  CHECK(rc::check("nodes", [] { round_trip(any_node()); }));
  CHECK(rc::check("tokens", [] {
    round_trip(TokenGrant{up_to(Role::join),
                          any_tenant(),
                          any<std::string>(),
                          {any<std::int64_t>()},
                          {any<std::int64_t>()}});
  }));
  CHECK(rc::check("live jobs", [] { round_trip(LiveJob{any_tenant()}); }));
  CHECK(rc::check("IOUs", [] { round_trip(IouRecord{any<Units>(), any<std::uint64_t>()}); }));
  CHECK(rc::check("class history", [] {
    round_trip(ClassHistory{any<std::uint64_t>(), any<std::int64_t>(), any<std::int64_t>(),
                            any<std::int64_t>(), any<std::int64_t>()});
  }));
}

TEST_CASE("damaged bytes are an error or another record, never harm", "[property][codec]") {
  CHECK(rc::check("flipped and cut", [] {
    std::string bytes = to_bytes(any_record());
    for (int left = *rc::gen::inRange(1, 5); left > 0; --left) {
      const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
      bytes[at] = static_cast<char>(any<std::uint8_t>());
    }
    bytes.resize(*rc::gen::inRange<std::size_t>(0, bytes.size() + 1));
    const Expected<JournalRecord> record = from_bytes<JournalRecord>(bytes);
    if (!record) RC_ASSERT(code_of(record.error()) == ErrorCode::storage_damaged);
  }));
}

TEST_CASE("unknown enumerants and members of a newer version are refused", "[unit][codec]") {
  capnp::MallocMessageBuilder message;
  SECTION("a state of a task") {
    auto task = message.initRoot<wire::TaskRecord>();
    task.setState(static_cast<wire::TaskState>(5));
    const auto read_back = decode(task.asReader());
    REQUIRE_FALSE(read_back);
    CHECK(details(read_back.error()).field == "state");
    CHECK(details(read_back.error()).message == "state has the unknown value 5");
  }
  SECTION("a kind of record") {
    auto record = message.initRoot<wire::JournalRecord>();
    const Hash zero{};
    record.setPrevious({zero.data(), zero.size()});
    const auto read_back = decode(record.asReader());
    REQUIRE_FALSE(read_back);
    CHECK_THAT(details(read_back.error()).message, Catch::Matchers::Contains("unknown kind"));
  }
  SECTION("a hash of the wrong length") {
    message.initRoot<wire::JournalRecord>().initPrevious(31);
    const auto read_back = decode(message.getRoot<wire::JournalRecord>().asReader());
    REQUIRE_FALSE(read_back);
    CHECK(details(read_back.error()).message == "previous has 31 bytes instead of 32");
  }
  SECTION("a resource named twice") {
    auto amounts = message.initRoot<wire::JobSpec>().initResources(2);
    amounts[0].setName("cpu");
    amounts[1].setName("cpu");
    const auto read_back = decode(message.getRoot<wire::JobSpec>().asReader());
    REQUIRE_FALSE(read_back);
    CHECK(details(read_back.error()).message == "resource 'cpu' is given twice");
  }
}

TEST_CASE("a spec left empty on the wire means the defaults", "[unit][codec]") {
  capnp::MallocMessageBuilder message;
  CHECK(*decode(message.initRoot<wire::JobSpec>().asReader()) == JobSpec{});
  CHECK(*decode(message.initRoot<wire::TenantSpec>().asReader()) == TenantSpec{});
  CHECK(*decode(message.initRoot<wire::TaskKey>().asReader()) == TaskKey{});
}

}  // namespace
}  // namespace fairwater::test
