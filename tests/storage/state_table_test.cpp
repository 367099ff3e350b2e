// What a table of changes reads, writes and keeps.
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "storage/state.hpp"

using namespace fairwater;

namespace {

class CountingView final : public StateView {
 public:
  std::map<std::string, std::string> records;
  mutable int reads = 0;

  std::optional<std::string> get(Family, const std::string& key) const override {
    ++reads;
    const auto found = records.find(key);
    return found == records.end() ? std::nullopt : std::optional(found->second);
  }
  void scan(Family,
            const std::function<void(std::string_view, std::string_view)>& visit) const override {
    for (const auto& [key, bytes] : records) visit(key, bytes);
  }
  void scan_prefix(
      Family, const std::string& prefix,
      const std::function<void(std::string_view, std::string_view)>& visit) const override {
    for (const auto& [key, bytes] : records)
      if (key.starts_with(prefix)) visit(key, bytes);
  }
};

struct Stored {
  CountingView view;
  StateTable<IouRecord> table{view, Family::balances};

  /// The keys that were written.
  std::vector<std::string> store() {
    std::vector<std::string> keys;
    table.write_changes(
        [&](Family, const std::string& key, const std::optional<std::string>& bytes) {
          keys.push_back(key);
          if (bytes)
            view.records[key] = *bytes;
          else
            view.records.erase(key);
        });
    table.stored();
    return keys;
  }
};

using Keys = std::vector<std::string>;

}  // namespace

TEST_CASE("a record that changes with every commit is read once", "[unit][state]") {
  Stored stored;
  auto& table = stored.table;
  table.put("b", {1, 1, 0});
  table.put("a", {2, 1, 0});
  CHECK(stored.store() == Keys{"a", "b"});
  CHECK(stored.store().empty());
  for (Units units = 3; units < 10; ++units) {
    table.edit("a")->units = units;
    table.edit("a")->age = 7;
    CHECK(stored.store() == Keys{"a"});
  }
  CHECK(table.find("a")->units == 9);
  CHECK(table.find("c") == nullptr);
  CHECK(table.find("c") == nullptr);
  CHECK(stored.view.reads == 1);  // of the one that is not there

  table.erase("a");
  CHECK(table.find("a") == nullptr);
  CHECK(table.all().size() == 1);
  CHECK(stored.store() == Keys{"a"});
  CHECK(stored.view.records.size() == 1);
  CHECK(table.find("a") == nullptr);
  CHECK(stored.view.reads == 2);
}

TEST_CASE("what a table keeps is bounded", "[unit][state]") {
  CountingView view;
  StateTable<TokenGrant> table(view, Family::tokens);
  const std::string long_key(1000, 'k');
  const int count = static_cast<int>(table.kMostKeptBytes / long_key.size()) + 2;
  for (int i = 0; i < count; ++i) CHECK(table.find(long_key + std::to_string(i)) == nullptr);
  const int reads = view.reads;
  CHECK(table.find(long_key + "0") == nullptr);
  CHECK(view.reads == reads);  // within a commit nothing is dropped
  table.stored();
  CHECK(table.find(long_key + "0") == nullptr);
  CHECK(view.reads == reads + 1);
}

TEST_CASE("what is stored later stays in the table until then", "[unit][state]") {
  Stored stored;
  auto& table = stored.table;
  table.put("a", {1, 1, 0});
  table.put("b", {1, 1, 0});
  CHECK(stored.store() == Keys{"a", "b"});
  std::vector<std::map<std::string, std::optional<std::string>>> later;
  const auto hold = [&] {
    later.emplace_back();
    table.write_changes(
        [&](Family, const std::string& key, const auto& bytes) { later.back()[key] = bytes; });
    table.hold();
  };
  const auto store_oldest = [&] {
    for (const auto& [key, bytes] : later.front())
      bytes ? void(stored.view.records[key] = *bytes) : void(stored.view.records.erase(key));
    later.erase(later.begin());
    table.stored();
  };

  table.erase("a");
  table.edit("b")->units = 2;
  hold();
  table.put("c", {3, 1, 0});
  table.edit("b")->units = 3;
  hold();
  CHECK(later.front().size() == 2);
  CHECK(later.back().size() == 2);
  // Below is still what was before both.
  CHECK(stored.view.records.contains("a"));
  CHECK(table.find("a") == nullptr);
  CHECK(table.find("b")->units == 3);
  CHECK(table.all().size() == 2);
  table.put("a", {4, 1, 0});
  store_oldest();
  CHECK(table.find("a")->units == 4);
  CHECK(table.find("c")->units == 3);
  table.erase("c");
  hold();
  store_oldest();
  CHECK(stored.view.records.size() == 2);
  CHECK(table.find("c") == nullptr);  // though it is below
  store_oldest();
  CHECK(later.empty());
  CHECK(table.all().size() == 2);
  CHECK(stored.view.records.size() == 2);
  CHECK(stored.store().empty());
}

TEST_CASE("what is not stored yet is kept, however much it is", "[unit][state]") {
  CountingView view;
  StateTable<TokenGrant> table(view, Family::tokens);
  const std::string long_key(1000, 'k');
  const int count = static_cast<int>(table.kMostKeptBytes / long_key.size()) + 2;
  const auto hold = [&] {
    table.write_changes([](Family, const std::string&, const auto&) {});
    table.hold();
  };
  table.put("first", {});
  hold();
  for (int i = 0; i < count; ++i) table.put(long_key + std::to_string(i), {});
  hold();
  table.stored();
  const int reads = view.reads;
  CHECK(table.find(long_key + "0") != nullptr);
  CHECK(view.reads == reads);
  CHECK(table.find("first") == nullptr);  // this view never has it
  CHECK(view.reads == reads + 1);
  table.stored();
  CHECK(table.find(long_key + "0") == nullptr);
  CHECK(view.reads == reads + 2);
}
