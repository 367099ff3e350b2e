// What `fairwater` does by itself, and what it leaves to `fairwater-local`.
#include "cli/front/front.hpp"

#include <set>
#include <sstream>

#include <catch2/catch.hpp>

#include "cli/commands.hpp"

namespace fairwater::test {
namespace {

using Words = std::vector<std::string>;

Expected<VerifyReport> verify_nothing(const std::string&, bool) { return VerifyReport{}; }

TEST_CASE("the front does every noun that it knows", "[unit][cli][front]") {
  std::ostringstream out;
  Context context{out, out};
  CLI::App app;
  add_front_commands(app, context, verify_nothing);
  for (const CLI::App* noun : app.get_subcommands([](const CLI::App*) { return true; })) {
    CAPTURE(noun->get_name());
    CHECK(is_for_front({noun->get_name()}));
  }
}

TEST_CASE("the front leaves to the whole command line what needs more", "[unit][cli][front]") {
  for (const Words& words :
       {Words{"job", "list"}, Words{"--json", "job", "list"}, Words{"--address", "sim", "status"},
        Words{"--address=sim", "--token", "--json", "status"}, Words{"--version"},
        Words{"ledger", "verify"}, Words{"job", "run", "--", "cat", "--help"},
        Words{"job", "run", "--tenant", "a", "--", "sh", "--data", "x"}}) {
    CAPTURE(words);
    CHECK(is_for_front(words));
  }
  for (const Words& words :
       {Words{}, Words{"--help"}, Words{"job", "--help"}, Words{"job", "list", "-h"},
        Words{"sim", "run", "x"}, Words{"policy", "x"}, Words{"replay"}, Words{"completion"},
        Words{"ledger", "verify", "--data", "x"}, Words{"ledger", "verify", "--data=x"},
        Words{"--json"}, Words{"--address"}, Words{"--address", "job"}, Words{"jobs"},
        Words{"--", "job"}, Words{"--version", "--json"}}) {
    CAPTURE(words);
    CHECK_FALSE(is_for_front(words));
  }
}

TEST_CASE("the front says what the whole command line says", "[unit][cli][front]") {
  // Nobody listens at port 1.
  for (const Words& words :
       {Words{"--version"}, Words{"version"}, Words{"job", "lst"}, Words{"job"},
        Words{"job", "list", "--what"}, Words{"--json", "job", "run", "--tasks", "many"},
        Words{"job", "run", "true"}, Words{"status", "--", "true"}, Words{"ledger", "verify", "x"},
        Words{"--address", "127.0.0.1:1", "--token", "x", "job", "list"},
        Words{"--address", "127.0.0.1:1", "--token", "x", "--json", "ledger", "verify"},
        Words{"--address", "nowhere", "status"}, Words{"coordinator", "hand"}, Words{"gang", "run"},
        Words{"profile", "show"}, Words{"usage", "--by", "hour"}}) {
    CAPTURE(words);
    REQUIRE(is_for_front(words));
    std::ostringstream out;
    std::ostringstream err;
    std::ostringstream whole_out;
    std::ostringstream whole_err;
    CHECK(run_front(words, out, err) == run_fairwater(words, whole_out, whole_err));
    CHECK(out.str() == whole_out.str());
    CHECK(err.str() == whole_err.str());
    CHECK(out.str() + err.str() != "");
  }
}

}  // namespace
}  // namespace fairwater::test
