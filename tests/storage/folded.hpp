// A ledger's state in memory, changed by one record after the other.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "storage/fold.hpp"
#include "tests/storage/support.hpp"

namespace fairwater::test {

/// A state in memory to which bodies are applied as records that follow each other.
class Folded {
 public:
  Folded() : state(nothing_) {
    for (JournalBody& body : founding()) must_apply(std::move(body));
  }
  caf::error try_apply(JournalBody body) {
    const JournalRecord record{
        state.meta.last_number + 1, {time_us += 1'000'000}, state.meta.last_hash, std::move(body)};
    caf::error error = apply(state, record);
    if (!error) state.meta.last_hash = hash_of(to_bytes(record));
    return error;
  }
  void must_apply(JournalBody body) {
    const caf::error error = try_apply(std::move(body));
    if (error) FAIL(details(error).message);
  }
  std::string refusal(JournalBody body) {
    const caf::error error = try_apply(std::move(body));
    if (!error) return "accepted";
    const std::string words = details(error).message;
    const std::size_t end = words.find(" is refused: ");
    return end == std::string::npos ? words : words.substr(end + 13);
  }
  void submit(std::uint64_t id, std::uint32_t tenant, std::uint32_t tasks,
              std::uint32_t retries = 0) {
    JobSpec spec = job_spec("a", tasks);
    spec.retries = retries;
    must_apply(JobSubmitted{JobId{id}, TenantId{tenant}, spec});
  }
  void grant(std::uint32_t tenant, const std::vector<TaskKey>& tasks) {
    must_apply(Cycle{{plain_deal(state.meta.position, TenantId{tenant}, tasks)}});
  }
  const JobRecord& job(std::uint64_t id) { return *state.jobs.find(key_of(JobId{id})); }
  const TaskRecord* task(std::uint64_t id, std::uint32_t index) {
    return state.tasks.find(task_key(JobId{id}, index));
  }
  bool lives(std::uint64_t id) { return state.live.find(key_of(JobId{id})); }

 private:
  EmptyView nothing_;

 public:
  State state;
  std::int64_t time_us = 0;
};

inline TaskKey key(std::uint64_t job, std::uint32_t index, std::uint32_t attempt = 1) {
  return {JobId{job}, index, attempt};
}

}  // namespace fairwater::test
