// Records to bytes and back; and bytes that are no record.
#include <catch2/catch.hpp>
#include <rapidcheck.h>

#include "storage/record_fields.hpp"
#include "tests/storage/support.hpp"
#include "tests/values/any.hpp"
#include "tests/values/coverage.hpp"

namespace fairwater::test {
namespace {

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
  CHECK(rc::check("journal records", [] { round_trip(any<JournalRecord>()); }));
  CHECK(rc::check("jobs", [] { round_trip(any<JobRecord>()); }));
  CHECK(rc::check("tasks", [] { round_trip(any<TaskRecord>()); }));
  CHECK(rc::check("tenants", [] { round_trip(any<TenantRecord>()); }));
  CHECK(rc::check("nodes", [] { round_trip(any<NodeRecord>()); }));
  CHECK(rc::check("tokens", [] { round_trip(any<TokenGrant>()); }));
  CHECK(rc::check("live jobs", [] { round_trip(any<LiveJob>()); }));
  CHECK(rc::check("tenants' jobs", [] { round_trip(any<TenantJob>()); }));
  CHECK(rc::check("requests", [] { round_trip(any<RequestRecord>()); }));
  CHECK(rc::check("tenants' users", [] { round_trip(any<TenantUser>()); }));
  CHECK(rc::check("usage", [] { round_trip(any<UsageRecord>()); }));
  CHECK(rc::check("IOUs", [] { round_trip(any<IouRecord>()); }));
  CHECK(rc::check("reservations", [] { round_trip(any<Reservation>()); }));
  CHECK(rc::check("class history", [] { round_trip(any<ClassHistory>()); }));
  CHECK(rc::check("the ledger's own", [] { round_trip(any<LedgerMeta>()); }));
}

/// As unlisted_fields(), for types that are called as their wire struct is.
#define CHECK_LISTED(Value) CHECK(unlisted_fields<Value, wire::Value>().empty())

TEST_CASE("every field of the schema's records is in a list", "[unit][codec]") {
  CHECK_LISTED(TaskKey);
  CHECK_LISTED(JobSpec);
  CHECK_LISTED(TaskResult);
  CHECK_LISTED(TaskRecord);
  CHECK_LISTED(TaskCounts);
  CHECK_LISTED(JobRecord);
  CHECK_LISTED(RunAs);
  CHECK_LISTED(TenantSpec);
  CHECK_LISTED(TenantRecord);
  CHECK_LISTED(NodeTraits);
  CHECK_LISTED(NodeSpec);
  CHECK_LISTED(NodeRecord);
  CHECK_LISTED(Grant);
  CHECK_LISTED(TenantLine);
  CHECK_LISTED(Repayment);
  CHECK_LISTED(Loan);
  CHECK_LISTED(Advance);
  CHECK_LISTED(Deal);
  CHECK_LISTED(ResourceKind);
  CHECK_LISTED(LeaseTerms);
  CHECK_LISTED(FailedLaunch);
  CHECK(unlisted_fields<TokenGrant, wire::TokenRecord>().empty());
  CHECK(unlisted_fields<LiveJob, wire::LiveRecord>().empty());
  CHECK(unlisted_fields<TenantJob, wire::TenantJobRecord>().empty());
  CHECK_LISTED(RequestRecord);
  CHECK(unlisted_fields<TenantUser, wire::UserRecord>().empty());
  CHECK_LISTED(UsageRecord);
  CHECK_LISTED(IouRecord);
  CHECK_LISTED(Reservation);
  CHECK(unlisted_fields<ClassHistory, wire::ClassRecord>().empty());
  CHECK(unlisted_fields<LedgerMeta, wire::MetaRecord>().empty());
  CHECK(unlisted_fields<JournalRecord, wire::JournalRecord>() == std::vector<std::string>{"body"});
}

TEST_CASE("every kind of journal record is known by the schema, with its fields", "[unit][codec]") {
  std::size_t kinds = 0;
  each_body([&](const auto& kind) {
    using Body = typename std::decay_t<decltype(kind)>::Value;
    using Wire = typename decltype(kind.get(wire::JournalRecord::Body::Reader()))::Reads;
    CHECK(unlisted_fields<Body, Wire>().empty());
    ++kinds;
  });
  CHECK(kinds == std::variant_size_v<JournalBody>);
  CHECK(capnp::Schema::from<wire::JournalRecord::Body>().getFields().size() == kinds + 1);  // unset
}

TEST_CASE("every enumerant of the schema's records is known", "[unit][codec]") {
  CHECK(unknown_enumerants<JobKind, wire::JobKind>() == 0);
  CHECK(unknown_enumerants<TaskState, wire::TaskState>() == 0);
  CHECK(unknown_enumerants<JobState, wire::JobState>() == 0);
  CHECK(unknown_enumerants<EndReason, wire::EndReason>() == 0);
  CHECK(unknown_enumerants<GrantStep, wire::GrantStep>() == 0);
  CHECK(unknown_enumerants<Placement, wire::Placement>() == 0);
  CHECK(unknown_enumerants<QueuePolicy, wire::QueuePolicy>() == 0);
  CHECK(unknown_enumerants<DealMode, wire::DealMode>() == 0);
  CHECK(unknown_enumerants<Role, wire::Role>() == 0);
}

TEST_CASE("damaged bytes are an error or another record, never harm", "[property][codec]") {
  CHECK(rc::check("flipped and cut", [] {
    std::string bytes = to_bytes(any<JournalRecord>());
    for (int left = *rc::gen::inRange(1, 5); left > 0; --left) {
      const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
      bytes[at] = static_cast<char>(*rc::gen::arbitrary<std::uint8_t>());
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
    CHECK(details(read_back.error()).message == "resource 'cpu' is given twice; write it once");
    CHECK(details(read_back.error()).field == "resources.cpu");
  }
  SECTION("what a node has, named twice") {
    auto amounts = message.initRoot<wire::NodeSpec>().initCapacity(2);
    amounts[0].setName("cpu");
    amounts[1].setName("cpu");
    const auto read_back = decode(message.getRoot<wire::NodeSpec>().asReader());
    REQUIRE_FALSE(read_back);
    CHECK(details(read_back.error()).field == "resources.cpu");
  }
  SECTION("a variable and a label given twice") {
    auto variables = message.initRoot<wire::JobSpec>().initEnvironment(2);
    variables[0].setKey("A");
    variables[1].setKey("A");
    const auto job = decode(message.getRoot<wire::JobSpec>().asReader());
    REQUIRE_FALSE(job);
    CHECK(details(job.error()).field == "environment.A");
    CHECK(details(job.error()).message == "'A' is given twice; write it once");
    auto labels = message.initRoot<wire::NodeTraits>().initLabels(2);
    labels[0].setKey("a");
    labels[1].setKey("a");
    const auto traits = decode(message.getRoot<wire::NodeTraits>().asReader());
    REQUIRE_FALSE(traits);
    CHECK(details(traits.error()).field == "labels.a");
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
