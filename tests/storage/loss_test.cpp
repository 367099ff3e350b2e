// Ledgers whose end is lost: the write-ahead log cut or damaged, the mark torn, another database.
#include <fstream>

#include <catch2/catch.hpp>

#include "storage/high_water.hpp"
#include "tests/storage/support.hpp"

namespace fairwater::test {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;

std::string newest_log(const std::string& directory) {
  std::string newest;
  for (const auto& entry : fs::directory_iterator(directory + "/db"))
    if (entry.path().extension() == ".log" && entry.path().string() > newest) newest = entry.path();
  return newest;
}

/// Where the records of a RocksDB log end. Blocks of 32 KiB hold fragments: checksum (4 bytes),
/// length (2, little-endian), type (1: whole record, 4: last fragment), payload; recyclable types
/// add 4 bytes.
std::vector<std::uintmax_t> record_ends(const std::string& log) {
  std::ifstream file(log, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  constexpr std::size_t kBlock = 32768;
  constexpr std::size_t kHeader = 7;
  std::vector<std::uintmax_t> ends;
  for (std::size_t at = 0; at + kHeader <= bytes.size();) {
    const std::size_t left = kBlock - at % kBlock;
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[at + i]); };
    if (left < kHeader || byte(6) == 0) {
      at += left;
      continue;
    }
    const std::uint8_t type = byte(6);
    at += kHeader + byte(4) + 256u * byte(5);
    if (type == 1 || type == 4) ends.push_back(at);
  }
  return ends;
}

TEST_CASE("a log cut at a record's boundary puts the ledger behind its mark", "[unit][damage]") {
  const TemporaryDirectory directory;
  make_ledger(directory.path());
  const std::string log = newest_log(directory.path());
  const auto ends = record_ends(log);
  REQUIRE(ends.size() > 40);
  SECTION("cut in the middle") { fs::resize_file(log, ends[ends.size() / 2]); }
  SECTION("cut by one record") { fs::resize_file(log, ends[ends.size() - 2]); }
  SECTION("cut within the last record") { fs::resize_file(log, ends.back() - 3); }
  SECTION("deleted") { fs::remove(log); }
  const auto verified = Ledger::verify_directory(directory.path());
  REQUIRE_FALSE(verified);
  CHECK(code_of(verified.error()) == ErrorCode::storage_behind);
  const ErrorDetails error = open_error(options_for(directory.path()));
  CHECK(error.code == ErrorCode::storage_behind);
  CHECK_THAT(error.message, Contains(directory.path()) && Contains("ends at record ") &&
                                Contains("was durable before"));
}

TEST_CASE("a flipped bit in the middle of the log is refused", "[unit][damage]") {
  const TemporaryDirectory directory;
  make_ledger(directory.path());
  const std::string log = newest_log(directory.path());
  const auto ends = record_ends(log);
  std::fstream file(log, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(ends[ends.size() / 2] + 20));
  file.put('\x55');
  file.close();
  const ErrorDetails error = open_error(existing(directory.path()));
  CHECK(error.code == ErrorCode::storage_damaged);
  CHECK_THAT(error.message, Contains(directory.path()));
}

std::optional<HighWater> mark_of(const std::string& directory) {
  return must(HighWaterFile::read(directory, rocksdb::Env::Default()));
}

/// What a power cut would leave of a ledger that is open.
void copy_as_it_is(const std::string& from, const std::string& to) {
  fs::copy(from, to, fs::copy_options::recursive);
}

TEST_CASE("every record that was acknowledged is missed when it is lost", "[unit][damage]") {
  const TemporaryDirectory directory;
  auto ledger = must(Ledger::open(options_for(directory / "ledger")));
  must(ledger->append(founding()));
  for (int i = 0; i < 3; ++i) {
    const auto acknowledged =
        must(ledger->append({JobSubmitted{{}, TenantId{1}, job_spec("a", 1)}}));
    const std::string copy = directory / ("copy" + std::to_string(i));
    copy_as_it_is(directory / "ledger", copy);
    CHECK(mark_of(copy)->number == acknowledged[0].number);
    const std::string log = newest_log(copy);
    const auto ends = record_ends(log);
    fs::resize_file(log, ends[ends.size() - 2]);
    CHECK(open_error(existing(copy)).code == ErrorCode::storage_behind);
    CHECK(code_of(Ledger::verify_directory(copy).error()) == ErrorCode::storage_behind);
  }
}

TEST_CASE("a mark that was torn leaves the one before", "[unit][damage]") {
  const TemporaryDirectory directory;
  make_ledger(directory.path(), 3);
  {
    auto ledger = must(Ledger::open(existing(directory.path())));  // writes both slots
    must(ledger->append({JobSubmitted{{}, TenantId{1}, job_spec("a", 1)}}));
  }
  const auto newest = *mark_of(directory.path());
  const auto tear = [&](std::streamoff at) {
    std::fstream file(directory / "high-water", std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(at);
    file << "torn";
  };
  tear(30);
  CHECK(mark_of(directory.path())->number == newest.number - 1);
  CHECK(Ledger::open(existing(directory.path())));
  CHECK(*mark_of(directory.path()) == newest);
  tear(30);
  tear(4096 + 60);
  CHECK(open_error(existing(directory.path())).code == ErrorCode::storage_damaged);
}

TEST_CASE("a database of another history is not taken for the marked one", "[unit][damage]") {
  const TemporaryDirectory directory;
  make_ledger(directory / "ours", 3);
  make_ledger(directory / "other", 60);  // has a record of that number as well
  fs::remove_all(directory / "ours/db");
  copy_as_it_is(directory / "other/db", directory / "ours/db");
  const ErrorDetails error = open_error(existing(directory / "ours"));
  CHECK(error.code == ErrorCode::storage_damaged);
  CHECK_THAT(error.message, Contains("another history"));
}

TEST_CASE("the high-water mark guards a lost database", "[unit][damage]") {
  const TemporaryDirectory directory;
  make_ledger(directory.path(), 3);
  const auto mark = mark_of(directory.path());
  REQUIRE(mark);
  CHECK(must(Ledger::open(existing(directory.path())))->last_number() == mark->number);
  SECTION("damaged") {
    std::ofstream(directory / "high-water") << "fairwater high-water 1\n12x\n";
    CHECK(open_error(existing(directory.path())).code == ErrorCode::storage_damaged);
  }
  SECTION("of an older version, which knew no hash") {
    std::ofstream(directory / "high-water") << "fairwater high-water 1\n"
                                            << mark->number + 1 << "\n";
    CHECK(open_error(existing(directory.path())).code == ErrorCode::storage_behind);
    std::ofstream(directory / "high-water") << "fairwater high-water 1\n" << mark->number << "\n";
    CHECK(Ledger::open(existing(directory.path())));
    CHECK(mark_of(directory.path()) == mark);
  }
  SECTION("removed by an operator who accepts the loss") {
    fs::remove(directory / "high-water");
    CHECK(Ledger::open(existing(directory.path())));
  }
  SECTION("database gone") {
    fs::remove_all(directory / "db");
    const ErrorDetails error = open_error(existing(directory.path()));
    CHECK(error.code == ErrorCode::storage_damaged);
    CHECK_THAT(error.message, Contains("has lost its database"));
    CHECK(open_error(options_for(directory.path())).code == ErrorCode::storage_behind);
  }
}

}  // namespace
}  // namespace fairwater::test
