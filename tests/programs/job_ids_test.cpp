#include "cli/core/job_ids.hpp"

#include <catch2/catch.hpp>

namespace fairwater {
namespace {

/// A cluster that has the jobs `1..newest`; job 7 is called `wanted`, the others have no name.
JobPages cluster_of(std::uint64_t newest, std::size_t& asked) {
  return [newest, &asked](const JobQuery& query) -> Expected<std::vector<JobRecord>> {
    ++asked;
    std::vector<JobRecord> page;
    std::uint64_t id = query.before.value == 0 ? newest : query.before.value - 1;
    for (; id > 0 && page.size() < query.limit; --id) {
      page.emplace_back().id = JobId{id};
      if (id == 7) page.back().spec.name = "wanted";
    }
    return page;
  };
}

}  // namespace

TEST_CASE("visiting jobs reads pages until enough were seen", "[unit][job_ids]") {
  std::size_t asked = 0;
  JobQuery query;
  query.limit = 1500;
  std::vector<std::uint64_t> seen;
  REQUIRE_FALSE(visit_jobs(cluster_of(10'000, asked), query, [&](const JobRecord& job) {
    seen.push_back(job.id.value);
    return true;
  }));
  CHECK(asked == 2);
  REQUIRE(seen.size() == 1500);
  CHECK(seen.front() == 10'000);
  CHECK(seen.back() == 8501);
}

TEST_CASE("jobs newer than another are found behind more than a million", "[unit][job_ids]") {
  std::size_t asked = 0;
  const auto ids = jobs_newer_than(JobId{6}, cluster_of(1'001'000, asked));
  REQUIRE(ids);
  CHECK(ids->at("wanted") == JobId{7});
  CHECK(asked == 1001);
  const auto newer = jobs_newer_than(JobId{7}, cluster_of(2000, asked));
  REQUIRE(newer);
  CHECK_FALSE(newer->contains("wanted"));
}

TEST_CASE("a page that cannot be read is an error of the visit", "[unit][job_ids]") {
  const JobPages pages = [](const JobQuery&) -> Expected<std::vector<JobRecord>> {
    return make_error(ErrorCode::unavailable, "gone");
  };
  const auto ids = jobs_newer_than(JobId{}, pages);
  REQUIRE_FALSE(ids);
  CHECK(details(ids.error()).code == ErrorCode::unavailable);
}

}  // namespace fairwater
