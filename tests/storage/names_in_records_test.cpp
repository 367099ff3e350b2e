// The names that come with a page of the journal, against all numbers in its records.
#include <string>
#include <type_traits>

#include <catch2/catch.hpp>

#include "model/requests.hpp"
#include "tests/values/make.hpp"

namespace fairwater::test {
namespace {

/// Every tenant and node whose number is in the value, each with a name.
template <class Value>
void collect_numbers(const Value& value, NameTable& found) {
  if constexpr (std::is_same_v<Value, TenantId>)
    found.tenants[value] = "tenant" + std::to_string(value.value);
  else if constexpr (std::is_same_v<Value, NodeId>)
    found.nodes[value] = "node" + std::to_string(value.value);
  else if constexpr (fields::is_vector<Value> || fields::is_shared<Value>)
    for (const auto& element : value) collect_numbers(element, found);
  else if constexpr (fields::is_optional<Value>) {
    if (value) collect_numbers(*value, found);
  } else if constexpr (requires { sizeof(Fields<Value>); })
    Fields<Value>::each([&](const auto& field) { collect_numbers(field.of(value), found); });
}

template <class Body>
constexpr bool carries_names =
    std::is_same_v<Body, TenantsChanged> || std::is_same_v<Body, NodeChanged> ||
    std::is_same_v<Body, NodeAdmitted>;

}  // namespace

TEST_CASE("every kind of record comes with the names of those whose numbers it has",
          "[unit][journal]") {
  std::size_t named = 0;
  each_body([&](const auto& kind) {
    using Body = typename std::decay_t<decltype(kind)>::Value;
    const auto body = sample<Body>();
    NameTable all;
    collect_numbers(body, all);
    JournalRecord record;
    record.body = body;
    INFO(Body::kName);
    CHECK(names_in({record}, all) == (carries_names<Body> ? NameTable{} : all));
    if (all != NameTable{}) ++named;
  });
  CHECK(named > 15);  // of all kinds
}

}  // namespace fairwater::test
