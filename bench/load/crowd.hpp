// Many clients on one thread, each with a connection of its own, that make a call over and over.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <kj/async-io.h>

#include "bench/load/fleet.hpp"
#include "model/job.hpp"
#include "rpc/rpc_client.hpp"

namespace fairwater::load {

/// A client that is logged in. On its crowd's loop.
struct Member {
  std::uint32_t number = 0;
  kj::Own<RpcClient> rpc;
  kj::Own<wire::OperatorSession::Client> session;
  std::uint64_t next_record = 1;        ///< of the journal
  std::optional<JobId> submitted = {};  ///< the newest
};

/// One call, or several in a row; an exception counts as a failure.
using Turn = std::function<kj::Promise<void>(Member&)>;

[[nodiscard]] Turn ask_status();
/// The newest thousand jobs in the state.
[[nodiscard]] Turn list_jobs(JobState state);
/// What has come to the journal, as `events --follow` asks for it, from record `since` on.
[[nodiscard]] Turn follow_journal(std::uint64_t since);
/// Submits the job and waits for its end.
[[nodiscard]] Turn submit_and_wait(JobSpec spec);

/// Submits a job, and cancels it where `cancels`.
[[nodiscard]] Turn submit_and_maybe_cancel(std::function<JobSpec(const Member&)> spec,
                                           std::function<bool(const Member&)> cancels);

struct CrowdSeen {
  std::vector<double> turn_ms;
  std::uint64_t failures = 0;
  std::string first_failure;
};

class Crowd {
 public:
  /// One member for each token; returns when all are logged in. Throws when one is not.
  Crowd(const std::string& address, std::vector<std::string> tokens);
  ~Crowd();
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  /// Each member takes its turn, again and again, with a pause between and `lanes` at once, until
  /// stop() or finish().
  void repeat(const Turn& turn, std::chrono::milliseconds pause, std::uint32_t lanes = 1);
  /// Turns that were taken since repeat().
  [[nodiscard]] std::size_t taken();
  /// Drops the calls that are under way.
  CrowdSeen stop();
  /// Lets them be answered.
  CrowdSeen finish();
  /// `count` jobs for each member, `lanes` submissions at once; returns when all are durable.
  /// Throws when one is refused for good.
  void submit(const std::function<JobSpec(std::uint32_t member, std::uint32_t number)>& spec,
              std::uint32_t count, std::uint32_t lanes);
  /// So many fresh connections log in, one after the other: how long each took.
  [[nodiscard]] std::vector<double> log_in_ms(std::uint32_t count);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fairwater::load
