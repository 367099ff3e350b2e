// What strict reading of JSON input accepts, and the words with which it refuses.
#include "input/json_fields.hpp"

#include <functional>
#include <string>

#include <catch2/catch.hpp>

namespace fairwater {
namespace {

/// The message with which `read` refuses `text`, or "accepted".
std::string field_refusal(const std::string& text, const std::function<void(Fields&)>& read) {
  try {
    const Json document = parse_json(text);
    Fields fields(document);
    read(fields);
    fields.done();
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

std::string refused_weight(const std::string& text) {
  return field_refusal(text, [](Fields& fields) { (void)fields.at("weight").integer(1, 10); });
}

TEST_CASE("Numbers out of range are refused with field, value and range", "[unit][programs]") {
  const std::string range = "weight: must be a whole number from 1 to 10, not ";
  CHECK(refused_weight(R"({"weight": 5})") == "accepted");
  CHECK(refused_weight(R"({"weight": 5.0})") == "accepted");
  CHECK(refused_weight(R"({"weight": 0})") == range + "0");
  CHECK(refused_weight(R"({"weight": -3})") == range + "-3");
  CHECK(refused_weight(R"({"weight": 1.5})") == range + "1.5");
  CHECK(refused_weight(R"({"weight": 18446744073709551615})") == range + "18446744073709551615");
  CHECK(refused_weight(R"({"weight": 99999999999999999999})") == range + "1e+20");
  CHECK(refused_weight(R"({"weight": "5"})") == range + "\"5\"");
  CHECK(refused_weight(R"({"weight": [5]})") == range + "a list");
  CHECK(refused_weight(R"({"weight": null})") == range + "null");
}

TEST_CASE("Missing, unknown and repeated fields are refused", "[unit][programs]") {
  CHECK(refused_weight("{}") == "weight: is missing");
  CHECK(refused_weight(R"({"weight": 5, "wieght": 6})") ==
        "wieght: is not a known field; known here: weight");
  CHECK(refused_weight(R"({"weight": 5, "weight": 6})") ==
        "input: has the field \"weight\" twice in one object");
  CHECK(refused_weight("[1]") == "input: must be an object, not a list");
  CHECK(refused_weight(R"({"weight": 5, "wei\nght": 6})") ==
        R"("wei\nght": is not a known field; known here: weight)");
}

TEST_CASE("What is not JSON is refused on one line", "[unit][programs]") {
  for (const std::string text :
       {"", "{", "{\"weight\": NaN}", "{\"weight\": 1e999}", "{\"weight\": 1} {}", "\"\n\""}) {
    const std::string message = refused_weight(text);
    CHECK(message.rfind("input: is not valid JSON: ", 0) == 0);
    CHECK(message.find('\n') == std::string::npos);
  }
  CHECK(refused_weight(std::string(100'000, '[')) == "input: is nested too deeply");
}

TEST_CASE("Paths lead through lists and objects", "[unit][programs]") {
  const auto read = [](Fields& fields) {
    UniqueNames names;
    for (const Field& item : fields.at("tenants").list()) {
      Fields tenant = item.object();
      names.add(tenant.at("name"));
      if (tenant.has("request"))
        for (const auto& [resource, amount] : tenant.at("request").entries()) (void)amount.amount();
      tenant.done();
    }
  };
  CHECK(field_refusal(R"({"tenants": [{"name": "a", "request": {"cpu": 4611686018427387904}}]})",
                      read) == "accepted");
  CHECK(field_refusal(R"({"tenants": [{"name": "a"}, {"name": "b", "request": {"cpu": -1}}]})",
                      read) ==
        "tenants[1].request.cpu: must be a whole number from 0 to 4611686018427387904, not -1");
  CHECK(field_refusal(R"({"tenants": [{"name": "a"}, {"name": "a"}]})", read) ==
        "tenants[1].name: must be unique, but \"a\" is there twice");
  CHECK(field_refusal(R"({"tenants": [{"name": ""}]})", read) ==
        "tenants[0].name: must be a name without control characters, not \"\"");
}

TEST_CASE("A choice is refused with all choices", "[unit][programs]") {
  const auto read = [](Fields& fields) { (void)fields.at("method").choice({"one", "two"}); };
  CHECK(field_refusal(R"({"method": "two"})", read) == "accepted");
  CHECK(field_refusal(R"({"method": "three"})", read) ==
        "method: must be one of one, two, not \"three\"");
}

}  // namespace
}  // namespace fairwater
