// How long a submission's request id is remembered, and what it keeps out.
#include <rocksdb/env.h>

#include "tests/storage/folded.hpp"
#include "tests/storage/memory_disk.hpp"
#include "tests/storage/support.hpp"

using namespace fairwater;
using namespace fairwater::test;

namespace {

constexpr std::int64_t kDay_us = std::int64_t{24} * 3600 * 1'000'000;

JobSubmitted submission(std::uint64_t job, const std::string& request_id,
                        std::uint32_t tenant = 1) {
  JobSubmitted submitted{JobId{job}, TenantId{tenant}, job_spec("a", 1)};
  submitted.request.id = request_id;
  if (!request_id.empty()) submitted.request.hash.emplace().fill(static_cast<std::uint8_t>(job));
  return submitted;
}

std::vector<std::string> remembered(Folded& folded) {
  std::vector<std::string> ids;
  for (const auto& [key, request] : folded.state.requests.all()) ids.push_back(key.substr(4));
  return ids;
}

using Ids = std::vector<std::string>;

}  // namespace

TEST_CASE("a tenant's request id is that of one job", "[unit][fold]") {
  Folded folded;
  folded.must_apply(submission(1, "r1"));
  folded.must_apply(submission(2, "r1", 2));
  folded.must_apply(submission(3, ""));
  folded.must_apply(submission(4, ""));
  CHECK(folded.state.requests.find(request_key(TenantId{1}, "r1"))->job == JobId{1});
  CHECK(folded.state.requests.find(request_key(TenantId{2}, "r1"))->job == JobId{2});
  CHECK(folded.refusal(submission(5, "r1")) == "the request id 'r1' is that of job 1");
}

TEST_CASE("a request id is forgotten by the first submissions after seven days", "[unit][fold]") {
  Folded folded;
  for (std::uint64_t job = 1; job <= 6; ++job)
    folded.must_apply(submission(job, "r" + std::to_string(job)));
  folded.time_us += 7 * kDay_us - 10'000'000;
  folded.must_apply(submission(7, "r7"));
  CHECK(remembered(folded).size() == 7);
  folded.time_us += 9'000'000;
  folded.must_apply(submission(8, ""));  // a few at a time
  CHECK(remembered(folded) == Ids{"r5", "r6", "r7"});
  folded.must_apply(submission(9, "r1"));
  CHECK(remembered(folded) == Ids{"r1", "r7"});
  folded.time_us += 8 * kDay_us;
  folded.must_apply(submission(10, ""));
  CHECK(remembered(folded).empty());
  CHECK(folded.state.meta.oldest_request == RequestKey{});
  CHECK(folded.state.meta.newest_request == RequestKey{});
  folded.must_apply(submission(11, "r1"));
  CHECK(remembered(folded) == Ids{"r1"});
}

TEST_CASE("request ids read the same after opening again, and verify", "[unit][ledger]") {
  const auto env = memory_disk();
  std::int64_t now_us = kDay_us;
  auto options = options_for("/ledger", env.get());
  options.clock = [&now_us] { return WallTime{now_us}; };
  const auto ids_of = [](const Ledger& ledger) {
    Ids ids;
    for (int i = 0; i < 40; ++i)
      if (ledger.request(TenantId{1}, "r" + std::to_string(i)))
        ids.push_back("r" + std::to_string(i));
    return ids;
  };
  Ids before;
  {
    auto ledger = must(Ledger::open(options));
    must(ledger->append(founding()));
    for (int i = 0; i < 40; ++i) {
      now_us += kDay_us / 3;
      must(ledger->append({submission(0, "r" + std::to_string(i))}));
    }
    before = ids_of(*ledger);
    CHECK(before.size() == 21);
    CHECK(ledger->request(TenantId{1}, "r39")->job == JobId{40});
    CHECK(ledger->verify().differences == Ids{});
  }
  const auto again = must(Ledger::open(options));
  CHECK(ids_of(*again) == before);
  must(again->append({submission(0, "r0")}));
  CHECK(again->verify().differences == Ids{});
}
