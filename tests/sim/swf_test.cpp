#include "sim/traces/swf.hpp"

#include <cstdio>
#include <fstream>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <zlib.h>

#include "process/temporary_directory.hpp"

namespace fairwater {
namespace {

ErrorDetails swf_refusal(std::string_view text) {
  const auto log = parse_swf(text, 0);
  if (log) return {ErrorCode::internal, "was accepted", ""};
  return details(log.error());
}

constexpr const char* kLine = " 9185 10882306 0 24 4 -1 -1 4 600 -1 1 115 117 -1 2 -1 -1 -1";

void write_gzip(const std::string& path, const std::string& text) {
  gzFile file = gzopen(path.c_str(), "wb");
  REQUIRE(file != nullptr);
  REQUIRE(gzwrite(file, text.data(), static_cast<unsigned>(text.size())) ==
          static_cast<int>(text.size()));
  REQUIRE(gzclose(file) == Z_OK);
}

}  // namespace

TEST_CASE("a log's line is read column by column", "[unit][swf]") {
  const auto log = parse_swf("; Version: 2.2\n\n" + std::string{kLine} + "\r\n", 0);
  REQUIRE(log);
  REQUIRE(log->jobs.size() == 1);
  CHECK(log->jobs[0] == SwfJob{.number = 9185,
                               .submit_s = 10882306,
                               .run_s = 24,
                               .processors = 4,
                               .requested_s = 600,
                               .user = 115,
                               .group = 117,
                               .queue = 2,
                               .extra = {}});
}

TEST_CASE("the last of further columns is kept", "[unit][swf]") {
  const auto log = parse_swf(std::string{kLine} + " {1,1} q_1d 1:ppn=4 \r\n", 0);
  REQUIRE(log);
  CHECK(log->jobs.at(0).extra == "1:ppn=4");
}

TEST_CASE("requested processors stand in for unknown ones", "[unit][swf]") {
  const auto log = parse_swf(
      "1 0 0 5 -1 -1 -1 8 -1 -1 1 1 1 -1 -1 -1 -1 -1\n"
      "2 0 0 5 0 -1 -1 6 -1 -1 1 1 1 -1 -1 -1 -1 -1",
      0);
  REQUIRE(log);
  CHECK(log->jobs[0].processors == 8);
  CHECK(log->jobs[1].processors == 6);
}

TEST_CASE("jobs that never ran are skipped and counted", "[unit][swf]") {
  const auto log = parse_swf(
      "1 0 0 -1 4 -1 -1 4 -1 -1 5 1 1 -1 -1 -1 -1 -1\n"
      "2 0 0 10 -1 -1 -1 -1 -1 -1 5 1 1 -1 -1 -1 -1 -1\n"
      "4 0 0 -1359980917 1 -1 -1 1 -1 -1 1 1 1 -1 -1 -1 -1 -1\n"
      "3 0 0 0 1 -1 -1 1 -1 -1 0 1 1 -1 -1 -1 -1 -1\n",
      0);
  REQUIRE(log);
  CHECK(log->skipped == 3);
  REQUIRE(log->jobs.size() == 1);
  CHECK(log->jobs[0].run_s == 0);
}

TEST_CASE("jobs come in the order of submission, at most as many as asked", "[unit][swf]") {
  const std::string rest = " 0 5 1 -1 -1 1 -1 -1 1 1 1 -1 -1 -1 -1 -1\n";
  const std::string text = "1 30" + rest + "2 10" + rest + "3 20" + rest;
  CHECK(parse_swf(text, 0)->jobs[0].number == 2);
  const auto two = parse_swf(text, 2);
  REQUIRE(two->jobs.size() == 2);
  CHECK(two->jobs[0].number == 2);
  CHECK(two->jobs[1].number == 1);
}

TEST_CASE("columns that archives add are not looked at", "[unit][swf]") {
  CHECK(parse_swf(std::string{kLine} + " {1269,1269} q_1d 1:ppn=12:cl_zegox\n", 0)->jobs.size() ==
        1);
  CHECK(parse_swf("1 0.5 0 5 1 12.25 -1 1 -1 -1 1 1 1 -1 -1 -1 -1 -1\n", 0)->jobs.size() == 1);
}

TEST_CASE("a bad line is refused with its number and column", "[golden][swf]") {
  CHECK(swf_refusal("; head\n1 2 3\n").message == "line 2: 3 columns instead of 18");
  CHECK(swf_refusal("1 0 0 x 1 -1 -1 1 -1 -1 1 1 1 -1 -1 -1 -1 -1").message ==
        "line 1: column 4 (run time): 'x' is not a number up to 10^12");
  CHECK(swf_refusal("1 0 0 9999999999999999999999 1 -1 -1 1 -1 -1 1 1 1 -1 -1 -1 -1 -1").message ==
        "line 1: column 4 (run time): '9999999999999999999999' is not a number up to 10^12");
  CHECK(swf_refusal("1 -1 0 5 1 -1 -1 1 -1 -1 1 1 1 -1 -1 -1 -1 -1").message ==
        "line 1: column 2 (submit time): is not known");
  CHECK(swf_refusal("1 0 0 5. 1 -1 -1 1 -1 -1 1 1 1 -1 -1 -1 -1 -1").field == "trace");
}

TEST_CASE("a log is read plain and packed", "[unit][swf]") {
  const TemporaryDirectory directory;
  const std::string plain = directory / "log.swf";
  std::ofstream{plain} << kLine;
  const std::string packed = directory / "log.swf.gz";
  write_gzip(packed, kLine);
  CHECK(*read_maybe_gzip(plain, 1000) == kLine);
  CHECK(*read_maybe_gzip(packed, 1000) == kLine);
}

TEST_CASE("a byte order mark is no part of a log", "[unit][swf]") {
  const TemporaryDirectory directory;
  const std::string path = directory / "log.swf";
  std::ofstream{path} << "\xef\xbb\xbf" << kLine;
  CHECK(*read_maybe_gzip(path, 1000) == kLine);
}

TEST_CASE("a log that is missing, damaged or too large is refused", "[unit][swf]") {
  const TemporaryDirectory directory;
  const std::string path = directory / "log.swf.gz";
  CHECK_THAT(details(read_maybe_gzip(path, 1000).error()).message, Catch::Contains("No such file"));
  write_gzip(path, std::string(100'000, 'x'));
  CHECK_THAT(details(read_maybe_gzip(path, 1000).error()).message,
             Catch::Contains("unpacks to more than 1000 bytes"));
  REQUIRE(truncate(path.c_str(), 60) == 0);
  CHECK(details(read_maybe_gzip(path, 1'000'000).error()).message ==
        "is damaged: unexpected end of file");
  CHECK_FALSE(read_maybe_gzip(directory.path(), 1000));
}

}  // namespace fairwater
