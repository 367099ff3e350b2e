// What a program of an earlier version would make of the bytes of this one, and what it wrote:
// tests/earlier/README.md.
#pragma once

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <capnp/dynamic.h>
#include <capnp/pretty-print.h>
#include <capnp/schema-loader.h>
#include <capnp/schema-parser.h>
#include <capnp/serialize.h>
#include <catch2/catch.hpp>
#include <kj/filesystem.h>

#include "schema/codec.hpp"

namespace fairwater::test {

/// All types of the schema files in a folder, by id.
class ParsedSchemas {
 public:
  explicit ParsedSchemas(const std::string& folder) {
    const auto disk = kj::newDiskFilesystem();
    const auto directory = disk->getRoot().openSubdir(kj::Path::parse(folder.substr(1).c_str()));
    const auto system = disk->getRoot().openSubdir(kj::Path({"usr", "include"}));
    const kj::ReadableDirectory* const imports[] = {system.get()};
    for (const char* file : {"records.capnp", "control.capnp", "gang.capnp"})
      add(parser_.parseFromDirectory(*directory, kj::Path(file), imports));
  }
  [[nodiscard]] const std::map<std::uint64_t, capnp::Schema>& all() const { return types_; }

  /// What a struct's canonical `bytes` say, by the names of these files.
  [[nodiscard]] std::string text(std::uint64_t type, const std::string& bytes) const {
    auto words = kj::heapArray<capnp::word>(bytes.size() / sizeof(capnp::word));
    std::copy(bytes.begin(), bytes.end(), words.asBytes().begin());
    const kj::ArrayPtr<const capnp::word> segment = words;
    capnp::SegmentArrayMessageReader message({&segment, 1});
    const auto root = message.getRoot<capnp::DynamicStruct>(types_.at(type).asStruct());
    return capnp::prettyPrint(root).flatten().cStr();
  }

 private:
  void add(const capnp::ParsedSchema& schema) {
    const auto proto = schema.getProto();
    types_.emplace(proto.getId(), schema);
    if (proto.isInterface())
      for (const auto method : schema.asInterface().getMethods())
        for (const capnp::Schema type :
             {capnp::Schema(method.getParamType()), capnp::Schema(method.getResultType())})
          types_.emplace(type.getProto().getId(), type);
    for (const auto& nested : schema.getAllNested()) add(nested);
  }

  capnp::SchemaParser parser_;
  std::map<std::uint64_t, capnp::Schema> types_;
};

inline const ParsedSchemas& earlier_schemas() {
  static const ParsedSchemas schemas(FAIRWATER_SOURCE_DIR "/tests/earlier/schema");
  return schemas;
}

/// Lines of `name bytes` as the earlier version wrote them.
inline std::map<std::string, std::string> earlier_bytes(const std::string& file) {
  std::map<std::string, std::string> lines;
  std::ifstream in(FAIRWATER_SOURCE_DIR "/tests/earlier/" + file);
  for (std::string name, hex; in >> name >> hex;)
    for (std::size_t at = 0; at < hex.size(); at += 2)
      lines[name] += static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16));
  return lines;
}

/// That `bytes` of the earlier version are read, and that what is written of them says the same
/// to that version. Fields that came since are absent in both.
template <class Value>
void check_exchange(const std::string& bytes) {
  const auto type = capnp::Schema::from<typename WireOf<Value>::type>().getProto().getId();
  const auto value = from_bytes<Value>(bytes);
  REQUIRE(value);
  CHECK(earlier_schemas().text(type, to_bytes(*value)) == earlier_schemas().text(type, bytes));
}

}  // namespace fairwater::test
