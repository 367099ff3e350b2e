// What the policy commands refuse, in which words, and how the runner prints.
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "cli/policy/commands.hpp"

namespace fairwater {
namespace {

struct Printed {
  int status;
  std::string out;
  std::string err;
};

Printed run_policy(std::string_view policy, const std::string& input, bool pretty = false) {
  std::ostringstream out;
  std::ostringstream err;
  const int status = policy_command(policy, input, pretty, out, err);
  return {status, out.str(), err.str()};
}

/// The reason without the program's name; empty when the input was taken.
std::string policy_refusal(std::string_view policy, const std::string& input) {
  const Printed printed = run_policy(policy, input);
  if (printed.status == 0) return "";
  CHECK(printed.status == 2);
  CHECK(printed.out.empty());
  const std::string prefix = "fairwater policy " + std::string(policy) + ": ";
  REQUIRE(printed.err.rfind(prefix, 0) == 0);
  REQUIRE(printed.err.find('\n') == printed.err.size() - 1);
  return printed.err.substr(prefix.size(), printed.err.size() - prefix.size() - 1);
}

TEST_CASE("The sequence refuses bad tenants and events", "[unit][programs]") {
  const auto with_tenants = [](const std::string& tenants, const std::string& rest) {
    return policy_refusal("sequence",
                          R"({"tenants": [)" + tenants + R"(], "events": [)" + rest + "]}");
  };
  const std::string a = R"({"name": "A", "weight": 5})";
  CHECK(with_tenants(a, R"({"slots": 1000000000000})").empty());
  CHECK(with_tenants("", "") == "tenants: must not be empty");
  CHECK(with_tenants(R"({"name": "A"})", "") == "tenants[0].weight: is missing");
  CHECK(with_tenants(a + "," + a, "") == "tenants[1].name: 'A' is given twice");
  CHECK(with_tenants(R"({"name": "A", "weight": 1000000001})", "") ==
        "tenants[0].weight: '1000000001' is not a whole number from 1 to 1000000000");
  CHECK(with_tenants(a, R"({"slots": -1})") ==
        "events[0].slots: '-1' is not a whole number from 0 to 1000000000000");
  CHECK(with_tenants(a, R"({"slots": 1, "join": {"name": "B", "weight": 1}})") ==
        "events[0].join: is not a key here; the keys are slots");
  CHECK(with_tenants(a, "{}") == "events[0]: must have one of slots, join, leave");
  CHECK(with_tenants(a, R"({"leave": "B"})") == "events[0].leave: names no tenant that was given");
  CHECK(with_tenants(a, R"({"leave": "A"}, {"leave": "A"})") ==
        "events[1].leave: names a tenant that has left");
  CHECK(with_tenants(a, R"({"leave": "A"}, {"slots": 1})") ==
        "events[1].slots: must be 0 when no tenant is left");
  CHECK(policy_refusal("sequence", R"({"position": 5, "tenants": [{"name": "A", "weight": 5}],
                                "events": []})") ==
        "position: '5' is not a whole number from 0 to 4");
  CHECK(policy_refusal("sequence", "{}") == "tenants: is missing");
}

TEST_CASE("The ledger refuses what its rules forbid", "[unit][programs]") {
  const auto with = [](const std::string& ious, const std::string& operations) {
    return policy_refusal("ledger",
                          R"({"tenants": [{"name": "a", "weight": 1}, {"name": "b", "weight": 1},
        {"name": "c", "weight": 1}], "ious": [)" +
                              ious + R"(], "operations": [)" + operations + "]}");
  };
  const std::string a_owes_b = R"({"debtor": "a", "creditor": "b", "units": 5})";
  CHECK(with(a_owes_b, R"({"repay": {"debtor": "a", "creditor": "b", "units": 5}})").empty());
  CHECK(with(a_owes_b, R"({"repay": {"debtor": "a", "creditor": "b", "units": 6}})") ==
        "operations[0].repay.units: must not be more than the 5 that is owed");
  CHECK(with(a_owes_b, R"({"leave": "a"})") ==
        "operations[0].leave: names a tenant that still owes, so it may not leave");
  CHECK(with(a_owes_b, R"({"lend": {"from": "a", "to": "a", "units": 6}})") ==
        "operations[0].lend.to: must be another tenant than from");
  CHECK(with(a_owes_b, R"({"leave": "b"}, {"lend": {"from": "b", "to": "a", "units": 6}})") ==
        "operations[1].lend.from: names a tenant that has left");
  CHECK(with(a_owes_b + "," + a_owes_b, "") == "ious[1]: must not come twice");
  CHECK(with(a_owes_b + R"(, {"debtor": "b", "creditor": "c", "units": 1})", "") ==
        "ious[1]: must not make a tenant a debtor and a creditor at once");
  CHECK(with(a_owes_b, R"({"lend": {"from": "c", "to": "a", "units": 4611686018427387904}})") ==
        "operations[0].lend.units: makes the sum of all units more than 2^62");
}

TEST_CASE("Water-fill refuses a max below min and resources without capacity", "[unit][programs]") {
  const auto with = [](const std::string& group) {
    return policy_refusal("water-fill", R"({"capacity": {"cpu": 10}, "groups": [)" + group + "]}");
  };
  CHECK(with(R"({"name": "A", "weight": 4611686018427387904, "request": {"cpu": 5}})").empty());
  CHECK(with("") == "groups: must not be empty");
  CHECK(with(R"({"name": "A", "weight": 1, "min": {"cpu": 5}, "max": {"cpu": 4}})") ==
        "groups[0].max.cpu: must not be below min, which is 5");
  CHECK(with(R"({"name": "A", "weight": 1, "request": {"gpu": 5}})") ==
        "groups[0].request.gpu: is a resource without a capacity");
  CHECK(with(R"({"name": "A", "weight": -1})") ==
        "groups[0].weight: '-1' is not a whole number from 0 to 4611686018427387904");
  CHECK(with(R"({"name": "A", "weight": 1, "groups": [{"name": "x", "weight": 1},
                 {"name": "x", "weight": 1}]})") ==
        "groups[0].groups[1].name: 'A/x' is given twice");
  CHECK(policy_refusal("water-fill", R"({"capacity": {}, "groups": []})") ==
        "capacity: must have a resource");
}

TEST_CASE("The sized mode refuses bad settings", "[unit][programs]") {
  const auto with = [](const std::string& settings) {
    return policy_refusal("sized", "{" + settings + R"("tenants": [{"name": "A", "weight": 1,
        "tasks": [3]}], "heartbeats": [5]})");
  };
  CHECK(with("").empty());
  CHECK(with(R"("mu": 0, )") == "mu: must be at least a millionth");
  CHECK(with(R"("mu": 1.5, )") == "mu: '1.5' is not a number from 0 to 1");
  CHECK(with(R"("granule": 0, )") == "granule: '0' is not a whole number from 1 to 1000000000000");
  CHECK(with(R"("heartbeat": 0, )") ==
        "heartbeat: is not a key here; the keys are backups, granule, heartbeats, mu, tenants");
}

TEST_CASE("The runner prints one object, indented when asked", "[unit][programs]") {
  const std::string input = R"({"tenants": [{"name": "A", "weight": 2}], "events": []})";
  CHECK(run_policy("sequence", input).out == R"({"period":1,"order":["A"],"events":[]})"
                                             "\n");
  CHECK(run_policy("sequence", input, true).out ==
        "{\n  \"period\": 1,\n  \"order\": [\n    \"A\"\n  ],\n  \"events\": []\n}\n");
  const Printed unknown = run_policy("sequenze", input);
  CHECK(unknown.status == 2);
  CHECK(unknown.out.empty());
  CHECK(unknown.err.rfind("fairwater policy: no policy is called \"sequenze\"; there are ", 0) ==
        0);
}

}  // namespace
}  // namespace fairwater
