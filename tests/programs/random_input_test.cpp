// Whatever bytes come in, a parser says yes or no; it neither crashes nor throws.
#include <random>

#include <catch2/catch.hpp>

#include "input/id_list.hpp"
#include "input/job_file.hpp"
#include "input/tenants.hpp"
#include "model/job_validation.hpp"
#include "sim/traces/swf.hpp"

namespace fairwater {
namespace {

constexpr int kRounds = 3000;

constexpr std::string_view kJobFile = R"yaml(tenant: physics
command: [sleep, "10"]
environment: {SEED: "7"}
tasks: {min: 2, max: 2}
resources: &r {cpu: 1, memory: 512MiB}
after: [41]
time_limit: 1h30m
labels: "ssd && zone in (a, b)"
)yaml";
constexpr std::string_view kTenantFile = R"(tenants:
  - name: physics
    weight: 5
    min: {cpu: 4}
    repay: 0.5
    tenants: [{name: a}]
)";
constexpr std::string_view kLog =
    "; c\n1 0 0 5 1 -1 -1 1 -1 -1 1 1 1 -1 -1 -1 -1 -1\n2 9 0 5 1 -1 -1 1 -1 -1 1 1 1 -1 1 1 1 1\n";

using Random = std::mt19937_64;  // seeded: a failure is found again

/// `text` with some bytes changed, cut out, doubled, or made of signs that parsers care about.
std::string mutated(std::string_view text, Random& random) {
  static constexpr std::string_view signs = "[]{}:,-&*!|>'\"%@#\n\t \\0?~;.\xff\x01";
  std::string result{text};
  for (std::uint64_t edits = 1 + random() % 8; edits > 0 && !result.empty(); --edits) {
    const std::size_t at = random() % result.size();
    switch (random() % 5) {
      case 0:
        result[at] = static_cast<char>(random());
        break;
      case 1:
        result[at] = signs[random() % signs.size()];
        break;
      case 2:
        result.erase(at, random() % 20);
        break;
      case 3:
        result.insert(at, result.substr(random() % result.size(), random() % 40));
        break;
      default:
        result.insert(at, 1, signs[random() % signs.size()]);
    }
  }
  return result;
}

std::string noise(Random& random) {
  std::string result(random() % 200, '\0');
  for (char& c : result) c = static_cast<char>(random());
  return result;
}

/// An input that is taken must be valid; one that is refused must say why.
template <class Parsed>
void check_answer(const Parsed& parsed) {
  if (!parsed) CHECK_FALSE(details(parsed.error()).message.empty());
}

void feed_all(const std::string& text) {
  INFO(text);
  const auto job = parse_job_file(text, "f");
  check_answer(job);
  if (job) CHECK(validate(job->spec));
  check_answer(parse_tenant_file(text, "f"));
  const auto log = parse_swf(text, 0);
  check_answer(log);
  if (log)
    for (const auto& entry : log->jobs) CHECK((entry.run_s >= 0 && entry.processors >= 1));
  check_answer(parse_id_list(text));
}

}  // namespace

TEST_CASE("random bytes are refused", "[property][fuzz]") {
  Random random{1};
  for (int i = 0; i < kRounds; ++i) feed_all(noise(random));
}

TEST_CASE("files with random damage are taken or refused", "[property][fuzz]") {
  Random random{2};
  for (int i = 0; i < kRounds; ++i)
    for (const auto text : {kJobFile, kTenantFile, kLog}) feed_all(mutated(text, random));
}

TEST_CASE("deep nesting is refused", "[fuzz]") {
  for (const char* opening : {"[", "{a: ", "- ", "? ", "!a &b "}) {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += opening;
    check_answer(parse_job_file(text, "f"));
    check_answer(parse_tenant_file("tenants: " + text, "f"));
  }
}

}  // namespace fairwater
