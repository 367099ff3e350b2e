// Values of the control protocol to the wire and back. Their bytes, in canonical form, against
// tests/gateway/golden/wire.txt: what a peer of the previous version reads and writes.
// FAIRWATER_BLESS=1 rewrites the file, for a struct that has got a field more.
#include "rpc/wire.hpp"

#include <cstdlib>
#include <fstream>
#include <map>

#include <catch2/catch.hpp>

#include "rpc/calls.hpp"
#include "tests/values/coverage.hpp"
#include "tests/values/make_requests.hpp"

namespace fairwater::test {
namespace {

using Lines = std::map<std::string, std::string>;

const std::string kFile = FAIRWATER_SOURCE_DIR "/tests/gateway/golden/wire.txt";

Lines golden() {
  Lines lines;
  std::ifstream file(kFile);
  for (std::string name, bytes; file >> name >> bytes;) lines[name] = bytes;
  return lines;
}

template <class Value>
std::string hex_of(const Value& value) {
  const std::string bytes = to_bytes(value);
  return to_hex({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

Lines written_now() {
  Lines lines;
  each_wire_type([&]<class Value>(const char* name, Value*) {
    lines[std::string(name) + ".sample"] = hex_of(sample<Value>());
    lines[std::string(name) + ".empty"] = hex_of(Value{});
  });
  return lines;
}

/// The number of the record that an agent has seen travels beside its identity.
template <class Value>
Value expected() {
  Value value = sample<Value>();
  if constexpr (std::is_same_v<Value, AgentIdentity>) value.memory.seen.number = 0;
  return value;
}

/// Results that no answer has; an error stands beside each.
template <class Request, class Results>
std::vector<std::string> unlisted_results() {
  const auto fields = capnp::Schema::from<Results>().getFields();
  std::vector<std::string> missing;
  if constexpr (requires { sizeof(AnswerField<Request>); }) {
    if (fields.size() != 2) missing.emplace_back("one result and an error");
  } else if constexpr (std::is_same_v<ShownOf<Request>, Done>) {
    if (fields.size() != 1) missing.emplace_back("an error alone");
  } else {
    missing = unlisted_fields<ShownOf<Request>, Results>();
    std::erase(missing, "error");
  }
  return missing;
}

}  // namespace

TEST_CASE("what the protocol says has the bytes that it always had", "[golden][codec]") {
  const Lines now = written_now();
  if (std::getenv("FAIRWATER_BLESS") != nullptr) {
    std::ofstream file(kFile);
    for (const auto& [name, bytes] : now) file << name << ' ' << bytes << '\n';
  }
  Lines known = golden();
  for (const auto& [name, bytes] : now) {
    INFO(name);
    CHECK(known[name] == bytes);
  }
}

TEST_CASE("what the protocol says arrives as it was sent", "[unit][codec]") {
  each_wire_type([]<class Value>(const char* name, Value*) {
    INFO(name);
    const auto back = from_bytes<Value>(to_bytes(sample<Value>()));
    REQUIRE(back);
    CHECK(*back == expected<Value>());
  });
}

TEST_CASE("what comes twice is named with the list that it is in", "[unit][codec]") {
  const auto field_of_error = [](auto root) {
    auto amounts = root.initCapacity(2);
    amounts[0].setName("cpu");
    amounts[1].setName("cpu");
    try {
      (void)read(root.asReader());
    } catch (const MalformedRecord& malformed) {
      return malformed.field();
    }
    return std::string("was read");
  };
  capnp::MallocMessageBuilder message;
  CHECK(field_of_error(message.initRoot<wire::ClusterStatus>()) == "capacity.cpu");
  // What an agent has is called so by all that is said against it.
  CHECK(field_of_error(message.initRoot<wire::NodeSpec>()) == "resources.cpu");
}

TEST_CASE("every field of the protocol's values is in a list", "[unit][codec]") {
  each_wire_type([]<class Value>(const char* name, Value*) {
    INFO(name);
    const auto missing = unlisted_fields<Value, typename WireOf<Value>::type>();
    if constexpr (std::is_same_v<Value, AgentReport>)  // read into the AgentIdentity
      CHECK(missing == std::vector<std::string>{"highWaterCycle"});
    else if constexpr (std::is_same_v<Value, JobQuery>)
      CHECK(missing == std::vector<std::string>{"state"});
    else
      CHECK(missing.empty());
  });
  CHECK(unknown_enumerants<NodeState, wire::NodeState>() == 0);
  CHECK(unknown_enumerants<ChangeKind, wire::ChangeKind>() == 0);
}

TEST_CASE("a result's message is cut where an agent sends it too long", "[unit][codec]") {
  auto report = sample<AgentReport>();
  report.finished.front().message.assign(10 * kMaxResultMessageBytes, 'x');
  const auto back = from_bytes<AgentReport>(to_bytes(report));
  REQUIRE(back);
  CHECK(back->finished.front().message.size() == kMaxResultMessageBytes);
}

TEST_CASE("a result's message is one line that can be shown, whatever an agent sends",
          "[unit][codec]") {
  auto report = sample<AgentReport>();
  report.finished[0].message = "done\n[info] node east joined\x1b[2J";
  report.finished[1].message = "\xff" + std::string(kMaxResultMessageBytes, '\0');
  const auto back = from_bytes<AgentReport>(to_bytes(report));
  REQUIRE(back);
  CHECK(back->finished[0].message == "done\\x0a[info] node east joined\\x1b[2J");
  const std::string& zeros = back->finished[1].message;
  CHECK(zeros.size() == kMaxResultMessageBytes);
  CHECK(zeros.starts_with("\\xff\\x00\\x00"));
}

TEST_CASE("an error leaves in one line that can be shown, whatever it quotes", "[unit][codec]") {
  const auto sent = [](const caf::error& error) {
    capnp::MallocMessageBuilder message;
    auto builder = message.initRoot<wire::Error>();
    encode(error, builder);
    return details(read(builder.asReader()));
  };
  const ErrorDetails quoting = sent(
      make_error(ErrorCode::invalid_input, "no node 'a\n\x1b[2J\xff'", "resources.caf\xc3\xa9\r"));
  CHECK(quoting.code == ErrorCode::invalid_input);
  CHECK(quoting.message == "no node 'a\\x0a\\x1b[2J\\xff'");
  CHECK(quoting.field == "resources.caf\xc3\xa9\\x0d");
  const ErrorDetails zero = sent(make_error(ErrorCode::not_found, std::string("a\0b", 3)));
  CHECK(zero.message == "a\\x00b");
  CHECK(sent(make_error(ErrorCode::internal, std::string(9000, '\n'))).message.size() == 4096);
  CHECK(sent(make_not_leader("go there", "head\n:7070")).leader == "head\\x0a:7070");
}

/// The schema's parameters and results of a call, by name.
#define CHECK_CALL(Session, method, Request)                                 \
  CHECK(unlisted_fields<Request, wire::Session::Request##Params>().empty()); \
  CHECK(unlisted_results<Request, wire::Session::Request##Results>().empty())
#define CHECK_TENANT_CALL(method, Request) CHECK_CALL(TenantSession, method, Request);
#define CHECK_OPERATOR_CALL(method, Request) CHECK_CALL(OperatorSession, method, Request);

TEST_CASE("every parameter and result of a call is in a list", "[unit][codec]") {
  FAIRWATER_TENANT_CALLS(CHECK_TENANT_CALL)
  FAIRWATER_OPERATOR_CALLS(CHECK_OPERATOR_CALL)
}

}  // namespace fairwater::test
