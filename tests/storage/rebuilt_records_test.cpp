// What a journal gives, kept in memory as it is or in a database there.
#include "storage/rebuilt_records.hpp"

#include <map>
#include <string>

#include <catch2/catch.hpp>

#include "storage/fold.hpp"
#include "tests/storage/support.hpp"

using namespace fairwater;
using namespace fairwater::test;

TEST_CASE("what a journal gives is the same wherever it is kept", "[unit][verify]") {
  const TemporaryDirectory directory;
  auto ledger = must(Ledger::open(options_for(directory.path())));
  must(ledger->append(founding()));
  Traffic traffic(*ledger, 5);
  for (int i = 0; i < 100; ++i) must(ledger->append(traffic.next_batch(4)));

  using Given = std::map<std::string, std::string>;
  std::map<std::size_t, Given> given;
  for (const std::size_t plain_bytes : {std::size_t{0}, std::size_t{5000}, std::size_t{1} << 30}) {
    RebuiltRecords records(plain_bytes);
    State state(records);
    int count = 0;
    ledger->visit_journal(1, [&](const JournalRecord& record) {
      REQUIRE_FALSE(apply(state, record));
      state.meta.last_hash = hash_of(to_bytes(record));
      if (++count % 7 == 0) records.take_changes(state);
      return true;
    });
    records.take_changes(state);
    CHECK(records.is_plain() == (plain_bytes > 5000));
    for (std::size_t i = 0; i < kFamilyCount; ++i) {
      const auto family = static_cast<Family>(i);
      records.scan(family, [&](std::string_view key, std::string_view bytes) {
        given[plain_bytes].emplace(name_of(family) + std::string(key), bytes);
        CHECK(records.get(family, std::string(key)) == std::string(bytes));
      });
    }
    CHECK_FALSE(records.get(Family::jobs, "no such key"));
  }
  CHECK(given[0].size() > 100);
  CHECK(given[0] == given[std::size_t{1} << 30]);
  CHECK(given[5000] == given[std::size_t{1} << 30]);
}
