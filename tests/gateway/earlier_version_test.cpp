// A peer of an earlier version: tests/earlier/README.md.
#include "rpc/wire.hpp"
#include "tests/values/earlier.hpp"
#include "tests/values/make_requests.hpp"

namespace fairwater::test {

TEST_CASE("an earlier version's types are still what they were", "[unit][earlier]") {
  const ParsedSchemas now(FAIRWATER_SOURCE_DIR "/schema");
  capnp::SchemaLoader loader;
  std::size_t compared = 0;
  for (const auto& [id, schema] : earlier_schemas().all()) {
    const auto proto = schema.getProto();
    INFO(proto.getDisplayName().cStr());
    const auto type = now.all().find(id);
    REQUIRE(type != now.all().end());
    loader.load(proto);
    // Throws where a reader of the one would misread what the other writes.
    CHECK_NOTHROW(loader.load(type->second.getProto()));
    ++compared;
  }
  CHECK(compared > 150);
}

TEST_CASE("what an earlier version says is understood, and what it is told", "[unit][earlier]") {
  auto said = earlier_bytes("wire.txt");
  each_wire_type([&]<class Value>(const char* name, Value*) {
    for (const char* kind : {".empty", ".sample"}) {
      INFO(name << kind);
      const auto found = said.find(std::string(name) + kind);
      if (found == said.end()) continue;  // a type that came since
      check_exchange<Value>(found->second);
      said.erase(found);
    }
  });
  CHECK(said.empty());
}

}  // namespace fairwater::test
