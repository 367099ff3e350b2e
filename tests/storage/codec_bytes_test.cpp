// The bytes of records on disk do not change: samples and empty values of each kind against
// tests/storage/golden/records.txt. FAIRWATER_BLESS=1 rewrites the file, for a struct that has got
// a field more; review it like code: what was ever written must stay readable.
#include <cstdlib>
#include <fstream>
#include <map>

#include <catch2/catch.hpp>

#include "storage/record_fields.hpp"
#include "tests/values/make.hpp"

namespace fairwater::test {
namespace {

using Lines = std::map<std::string, std::string>;

const std::string kFile = FAIRWATER_SOURCE_DIR "/tests/storage/golden/records.txt";

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

template <class Value>
void add(Lines& lines, const std::string& name) {
  lines[name + ".sample"] = hex_of(sample<Value>());
  lines[name + ".empty"] = hex_of(Value{});
}

Lines written_now() {
  Lines lines;
  add<JobRecord>(lines, "job");
  add<TaskRecord>(lines, "task");
  add<TenantRecord>(lines, "tenant");
  add<NodeRecord>(lines, "node");
  add<TokenGrant>(lines, "token");
  add<LiveJob>(lines, "live_job");
  add<TenantJob>(lines, "tenant_job");
  add<RequestRecord>(lines, "request");
  add<TenantUser>(lines, "tenant_user");
  add<UsageRecord>(lines, "usage");
  add<IouRecord>(lines, "iou");
  add<Reservation>(lines, "reservation");
  add<ClassHistory>(lines, "class_history");
  add<LedgerMeta>(lines, "meta");
  each_body([&](const auto& kind) {
    using Body = typename std::decay_t<decltype(kind)>::Value;
    JournalRecord record = sample<JournalRecord>();
    record.body = sample<Body>();
    const std::string name{kind_of(record.body)};
    lines[name + ".sample"] = hex_of(record);
    record.body = Body{};
    lines[name + ".empty"] = hex_of(record);
  });
  return lines;
}

TEST_CASE("records have the bytes that were always written", "[golden][codec]") {
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

}  // namespace
}  // namespace fairwater::test
