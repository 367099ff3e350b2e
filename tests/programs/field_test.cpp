// What strict reading accepts, in YAML and in JSON, and the words with which it refuses.
#include <functional>
#include <string>

#include <catch2/catch.hpp>

#include "input/document.hpp"

namespace fairwater {
namespace {

using ReadFields = std::function<void(const FieldMap&)>;

/// `path: reason` with which the document is refused, or "accepted".
std::string said_against(const Expected<Document>& document, const ReadFields& read) {
  const auto outcome = document ? document->read([&](const Field& root) {
    const FieldMap fields = root.object();
    read(fields);
    fields.done();
    return true;
  })
                                : Expected<bool>{document.error()};
  if (outcome) return "accepted";
  const ErrorDetails said = details(outcome.error());
  return said.field + ": " + said.message;
}

std::string json_refusal(const std::string& text, const ReadFields& read) {
  return said_against(parse_json(text), read);
}

std::string yaml_refusal(const std::string& text, const ReadFields& read) {
  return said_against(parse_yaml(text, "f"), read);
}

void read_weight(const FieldMap& fields) { (void)fields.at("weight").integer(1, 10); }

void read_tenants_of(const FieldMap& fields) {
  UniqueNames names;
  for (const Field& item : fields.at("tenants").list()) {
    const FieldMap tenant = item.object();
    names.add(tenant.at("name"));
    if (const auto request = tenant.find("request"))
      for (const auto& [resource, amount] : request->entries()) (void)amount.count();
    tenant.done();
  }
}

TEST_CASE("A number out of range is refused with key, value and range", "[unit][field]") {
  const auto refused = [](const std::string& value) {
    return json_refusal("{\"weight\": " + value + "}", read_weight);
  };
  const std::string range = " is not a whole number from 1 to 10";
  CHECK(refused("5") == "accepted");
  CHECK(refused("5.0") == "accepted");
  CHECK(refused("1e1") == "accepted");
  CHECK(refused("0") == "weight: '0'" + range);
  CHECK(refused("-3") == "weight: '-3'" + range);
  CHECK(refused("1.5") == "weight: '1.5'" + range);
  CHECK(refused("18446744073709551615") == "weight: '18446744073709551615'" + range);
  CHECK(refused("99999999999999999999") == "weight: '99999999999999999999'" + range);
  CHECK(refused("\"5\"") == "weight: the text '5'" + range);
  CHECK(refused("[5]") == "weight: a list" + range);
  CHECK(refused("{}") == "weight: a mapping" + range);
  CHECK(refused("null") == "weight: null" + range);
  CHECK(refused("true") == "weight: 'true'" + range);
}

TEST_CASE("YAML is refused in the same words, and with the line", "[unit][field]") {
  const auto refused = [](const std::string& value) {
    return yaml_refusal("# a comment\nweight: " + value + "\n", read_weight);
  };
  const std::string range = " is not a whole number from 1 to 10 (line 2 of f)";
  CHECK(refused("5") == "accepted");
  CHECK(refused("5.0") == "weight: '5.0'" + range);
  CHECK(refused("11") == "weight: '11'" + range);
  CHECK(refused("99999999999999999999") == "weight: '99999999999999999999'" + range);
  CHECK(refused("'5'") == "weight: the text '5'" + range);
  CHECK(refused("[5]") == "weight: a list" + range);
  CHECK(refused("") == "weight: nothing" + range);
}

TEST_CASE("A whole number must fit its target, and no more is asked of it", "[unit][field]") {
  const auto refused = [](const std::string& value) {
    return json_refusal("{\"n\": " + value + "}", [](const FieldMap& fields) {
      std::uint32_t target = 0;
      fields.read("n", target);
    });
  };
  CHECK(refused("4294967295") == "accepted");
  CHECK(refused("4294967296") == "n: '4294967296' is more than 4294967295");
  CHECK(refused("-1") == "n: '-1' is not a whole number, 0 or more");
  CHECK(refused("0.5") == "n: '0.5' is not a whole number");
  const auto signed_refusal = [](const std::string& value) {
    return json_refusal("{\"n\": " + value + "}",
                        [](const FieldMap& fields) { (void)fields.at("n").whole<std::int32_t>(); });
  };
  CHECK(signed_refusal("-2147483648") == "accepted");
  CHECK(signed_refusal("-2147483649") == "n: '-2147483649' is less than -2147483648");
}

TEST_CASE("Missing, unknown and repeated keys are refused", "[unit][field]") {
  CHECK(json_refusal("{}", read_weight) == "weight: is missing");
  CHECK(json_refusal(R"({"weight": 5, "wieght": 6})", read_weight) ==
        "wieght: is not a key here; the keys are weight");
  CHECK(json_refusal(R"({"a": [1, {"weight": 5, "weight": 6}]})", read_weight) ==
        "a[1].weight: given twice");
  CHECK(json_refusal("[1]", read_weight) == ": a list is not a mapping of keys to values");
  CHECK(json_refusal(R"({"weight": 5, "wei\nght": 6})", read_weight) ==
        R"(wei\nght: is not a key here; the keys are weight)");
  CHECK(yaml_refusal("weight: 5\nwieght: 6\n", read_weight) ==
        "wieght: is not a key here; the keys are weight (line 2 of f)");
  CHECK(yaml_refusal("a:\n- 1\n- weight: 5\n  weight: 6\n", read_weight) ==
        "a[1].weight: given twice (line 4 of f)");
  CHECK(yaml_refusal("other: 5\n", read_weight) == "weight: is missing (in f)");
}

TEST_CASE("What is not JSON is refused on one line", "[unit][field]") {
  for (const std::string text :
       {"", "{", "{\"weight\": NaN}", "{\"weight\": 1e999}", "{\"weight\": 1} {}", "\"\n\""}) {
    const std::string message = json_refusal(text, read_weight);
    CHECK(message.rfind(": is not valid JSON: ", 0) == 0);
    CHECK(message.find('\n') == std::string::npos);
  }
}

TEST_CASE("Lists within lists are refused from a depth on", "[unit][field]") {
  std::string lists = "a:\n";
  for (int i = 0; i < 70; ++i) lists += "- ";
  CHECK(json_refusal(std::string(100'000, '['), read_weight) == ": is nested deeper than 64");
  CHECK(yaml_refusal("weight: 5\n" + lists + "x\n", read_weight) ==
        ": is nested deeper than 64 (line 3 of f)");
}

TEST_CASE("An alias may not stand in what it stands for", "[unit][field]") {
  const auto read = [](const FieldMap& fields) {
    (void)fields.at("a").texts();
    (void)fields.at("b").texts();
  };
  CHECK(yaml_refusal("a: &all [x]\nb: *all\n", read) == "accepted");
  CHECK(yaml_refusal("a: [x]\nb: &all [*all]\n", read) ==
        "b[0]: an alias of what it stands in (line 2 of f)");
}

TEST_CASE("Paths lead through lists and mappings", "[unit][field]") {
  CHECK(json_refusal(R"({"tenants": [{"name": "a", "request": {"cpu": 4611686018427387904}}]})",
                     read_tenants_of) == "accepted");
  CHECK(json_refusal(R"({"tenants": [{"name": "a"}, {"name": "b", "request": {"cpu": -1}}]})",
                     read_tenants_of) ==
        "tenants[1].request.cpu: '-1' is not a whole number from 0 to 4611686018427387904");
  CHECK(json_refusal(R"({"tenants": [{"name": "a"}, {"name": "a"}]})", read_tenants_of) ==
        "tenants[1].name: 'a' is given twice");
  CHECK(json_refusal(R"({"tenants": [{"name": ""}]})", read_tenants_of) ==
        "tenants[0].name: the text '' is not a name without control characters");
  CHECK(yaml_refusal("tenants:\n- name: a\n- name: b\n  request:\n    c.d: 1\n    c: -1\n",
                     read_tenants_of) ==
        "tenants[1].request.c: '-1' is not a whole number from 0 to 4611686018427387904 (line 6 "
        "of f)");
  CHECK(yaml_refusal("tenants:\n- name: b\n  request:\n    c: 1\n    c.d: -1\n", read_tenants_of) ==
        "tenants[0].request.c.d: '-1' is not a whole number from 0 to 4611686018427387904 (line "
        "5 of f)");
}

TEST_CASE("A choice is refused with all choices", "[unit][field]") {
  const auto read = [](const FieldMap& fields) {
    (void)fields.at("method").choice({"one", "two"});
  };
  CHECK(json_refusal(R"({"method": "two"})", read) == "accepted");
  CHECK(json_refusal(R"({"method": "three"})", read) == "method: 'three' is not one of one, two");
  CHECK(json_refusal(R"({"method": 2})", read) == "method: '2' is not one of one, two");
}

TEST_CASE("A long value is quoted by its beginning, on one line", "[unit][field]") {
  const std::string a(99, 'a');
  CHECK(json_refusal("{\"weight\": \"" + a + "\\n\u00e9\"}", read_weight) ==
        "weight: the text '" + a + "\\n..' is not a whole number from 1 to 10");
  CHECK(yaml_refusal("weight: \"\\e[2J\"\n", read_weight) ==
        "weight: the text '\\x1b[2J' is not a whole number from 1 to 10 (line 1 of f)");
}

}  // namespace
}  // namespace fairwater
