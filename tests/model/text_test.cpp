#include "model/text.hpp"

#include <string>

#include <catch2/catch.hpp>

#include "model/job_validation.hpp"

namespace fairwater {

TEST_CASE("only UTF-8 is taken for UTF-8", "[unit][text]") {
  for (const char* good : {"", "a", "caf\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                           "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf", "\xef\xbf\xbd"})
    CHECK(is_utf8(good));
  for (const char* bad :
       {"\xff", "caf\xe9", "\xc3", "\xe2\x82", "\xa9", "\xc0\xaf", "\xe0\x80\xaf",
        "\xf0\x80\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xc3\xc3"})
    CHECK_FALSE(is_utf8(bad));
}

TEST_CASE("what a text is refused for is said with the text", "[unit][text]") {
  CHECK(fault_of_text("caf\xc3\xa9").empty());
  CHECK(fault_of_text("caf\xe9") == "'caf\\xe9' is not UTF-8; write it in UTF-8");
  CHECK(fault_of_text(std::string("a\0b", 3)) ==
        "'a\\x00b' has control characters; leave them out");
  CHECK(fault_of_text("\xc2\x9b"
                      "2J") == "'\\xc2\\x9b2J' has control characters; leave them out");
  const std::string fault = fault_of_text(std::string(500, '\n'));
  CHECK(fault.size() < 500);
  CHECK(fault.find("..' has control characters") != std::string::npos);
}

TEST_CASE("a message quotes what can be shown as it is", "[unit][text]") {
  CHECK(fairwater::quoted("") == "''");
  CHECK(fairwater::quoted("caf\xc3\xa9 \xe9\x1b") == "'caf\xc3\xa9 \\xe9\\x1b'");
  CHECK(fairwater::quoted(std::string(99, 'a') + "\xc3\xa9").size() == 103);
}

TEST_CASE("a text in one line has neither control characters nor broken ones", "[unit][text]") {
  CHECK(one_line("caf\xc3\xa9 \\", 100) == "caf\xc3\xa9 \\");
  CHECK(one_line("a\n[2K\x1b\xff\xc2\x9b", 100) == "a\\x0a[2K\\x1b\\xff\\xc2\\x9b");
  CHECK(one_line(std::string("a\0b", 3), 100) == "a\\x00b");
  CHECK(one_line("abc\xc3\xa9", 4) == "abc");  // as much as fits, whole
  CHECK(one_line("abc\xc3\xa9", 5) == "abc\xc3\xa9");
  CHECK(one_line("ab\x1b", 5) == "ab");
  CHECK(one_line("ab\x1b", 6) == "ab\\x1b");
  CHECK(one_line("abc", 0).empty());
}

TEST_CASE("reasons are UTF-8, of several lines where somebody writes so", "[unit][text]") {
  CHECK_FALSE(validate_reason("two\nlines"));
  const ErrorDetails refused = details(validate_reason("\xff"));
  CHECK(refused.field == "reason");
  CHECK(refused.message == "'\\xff' is not UTF-8; write it in UTF-8");
}

}  // namespace fairwater
