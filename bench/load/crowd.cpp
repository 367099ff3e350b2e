#include "bench/load/crowd.hpp"

#include <random>

#include <kj/debug.h>

#include "bench/load/loopback.hpp"
#include "rpc/faults.hpp"
#include "rpc/loop_thread.hpp"

namespace fairwater::load {
namespace {

/// Far from those of nodes.
constexpr std::uint32_t kFirstNumber = 1'000'000;
constexpr std::uint32_t kPage = 1000;  ///< of the journal, as `fairwater events` asks for it
constexpr std::int64_t kWaitMs = 30'000;
constexpr auto kPauseWhenRefused = 20 * kj::MILLISECONDS;

template <class Response>
void require_answer(const Response& response) {
  KJ_REQUIRE(!response.hasError(), response.getError().getMessage());
}

kj::Promise<kj::Own<Member>> log_in(Loop& loop, const std::string& address,
                                    const std::string& token, std::uint32_t number) {
  return connect_numbered(loop.io, address, kFirstNumber + number)
      .then([&token, number](kj::Own<kj::AsyncIoStream> stream) {
        auto member = kj::heap<Member>();
        member->number = number;
        member->rpc = kj::heap<RpcClient>(kj::mv(stream));
        auto request = member->rpc->gateway().loginRequest();
        request.setToken(to_text(token));
        request.setProtocolVersion(kProtocolVersion);
        return response_of(request).then([member = kj::mv(member)](auto&& response) mutable {
          require_answer(response);
          member->session = kj::heap<wire::OperatorSession::Client>(
              response.getSession().template castAs<wire::OperatorSession>());
          return kj::mv(member);
        });
      });
}

}  // namespace

// -- turns ----------------------------------------------------------------------------------------

Turn ask_status() {
  return [](Member& member) {
    auto request = member.session->getStatusRequest();
    return response_of(request).then([](auto&& response) { require_answer(response); });
  };
}

Turn list_jobs(JobState state) {
  JobQuery query;
  query.state = state;
  return [query](Member& member) {
    auto request = member.session->listJobsRequest();
    encode(query, request.initQuery());
    return response_of(request).then([](auto&& response) { require_answer(response); });
  };
}

Turn follow_journal(std::uint64_t since) {
  return [since](Member& member) {
    member.next_record = std::max(member.next_record, since);
    auto request = member.session->readJournalRequest();
    request.setSince(member.next_record);
    request.setLimit(kPage);
    request.setWaitMs(kWaitMs);
    return response_of(request).then([&member](auto&& response) {
      require_answer(response);
      const auto records = response.getPage().getRecords();
      if (records.size() > 0) member.next_record = records[records.size() - 1].getNumber() + 1;
    });
  };
}

Turn submit_and_wait(JobSpec spec) {
  return [spec = std::move(spec)](Member& member) {
    auto request = member.session->submitJobRequest();
    encode(spec, request.initSpec());
    return response_of(request).then([&member](auto&& accepted) {
      require_answer(accepted);
      auto wait = member.session->waitJobRequest();
      wait.setId(accepted.getId());
      wait.setTimeoutMs(kWaitMs);
      return response_of(wait).then([](auto&& ended) { require_answer(ended); });
    });
  };
}

Turn submit_and_maybe_cancel(std::function<JobSpec(const Member&)> spec,
                             std::function<bool(const Member&)> cancels) {
  return [spec = std::move(spec), cancels = std::move(cancels)](Member& member) {
    auto request = member.session->submitJobRequest();
    encode(spec(member), request.initSpec());
    return response_of(request).then([&member, &cancels](auto&& accepted) -> kj::Promise<void> {
      require_answer(accepted);
      member.submitted = JobId{accepted.getId()};
      if (!cancels(member)) return kj::READY_NOW;
      auto cancel = member.session->cancelJobRequest();
      cancel.setId(accepted.getId());
      cancel.setReason("part of the load");
      return response_of(cancel).then([](auto&& cancelled) { require_answer(cancelled); });
    });
  };
}

// -- the crowd ------------------------------------------------------------------------------------

class Crowd::Impl final : private kj::TaskSet::ErrorHandler {
 public:
  Impl(std::string address, std::vector<std::string> tokens)
      : address_(std::move(address)), tokens_(std::move(tokens)), thread_([this](Loop& loop) {
          loop_ = &loop;
          loop.stopped.wait(loop.io.waitScope);
          turns_ = nullptr;
          members_.clear();
          loop.settle();
        }) {
    for (std::uint32_t number = 0; number < tokens_.size(); ++number)
      thread_.run([this, number] {
        return log_in(*loop_, address_, tokens_[number], number)
            .then([this](kj::Own<Member> member) { members_.push_back(kj::mv(member)); });
      });
  }

  void repeat(const Turn& turn, std::chrono::milliseconds pause, std::uint32_t lanes) {
    thread_.run([&] {
      seen_ = {};
      finishing_ = false;
      turn_ = turn;
      pause_ = pause;
      turns_ = kj::heap<kj::TaskSet>(static_cast<kj::TaskSet::ErrorHandler&>(*this));
      for (auto& member : members_)
        for (std::uint32_t lane = 0; lane < lanes; ++lane) {
          const auto first = std::uniform_int_distribution<std::int64_t>(0, pause.count())(random_);
          turns_->add(loop_->timer().afterDelay(first * kj::MILLISECONDS).then([this, &member] {
            return take_turns(*member);
          }));
        }
    });
  }

  std::size_t taken() {
    return thread_.run([this] { return seen_.turn_ms.size(); });
  }

  CrowdSeen stop() {
    return thread_.run([this] {
      turns_ = nullptr;
      return std::exchange(seen_, {});
    });
  }

  CrowdSeen finish() {
    thread_.run([this] {
      finishing_ = true;
      return turns_->onEmpty();
    });
    return stop();
  }

  void submit(const std::function<JobSpec(std::uint32_t, std::uint32_t)>& spec, std::uint32_t count,
              std::uint32_t lanes) {
    thread_.run([&] {
      next_.assign(members_.size(), 0);
      auto all = kj::heapArrayBuilder<kj::Promise<void>>(members_.size() * lanes);
      for (auto& member : members_)
        for (std::uint32_t lane = 0; lane < lanes; ++lane)
          all.add(submit_next(*member, spec, count));
      return kj::joinPromises(all.finish());
    });
  }

  std::vector<double> log_in_ms(std::uint32_t count) {
    std::vector<double> took;
    for (std::uint32_t i = 0; i < count; ++i)
      thread_.run([&] {
        const auto start = Clock::now();
        return log_in(*loop_, address_, tokens_.front(), 0).then([&took, start](kj::Own<Member>) {
          took.push_back(ms_since(start));
        });
      });
    return took;
  }

 private:
  kj::Promise<void> take_turns(Member& member) {
    if (finishing_) return kj::READY_NOW;
    const auto start = Clock::now();
    return kj::evalNow([&] { return turn_(member); })
        .then(
            [this, start]() -> kj::Promise<void> {
              seen_.turn_ms.push_back(ms_since(start));
              return kj::READY_NOW;
            },
            [this](kj::Exception&& fault) -> kj::Promise<void> {
              if (seen_.failures++ == 0) seen_.first_failure = fault.getDescription().cStr();
              return loop_->timer().afterDelay(kPauseWhenRefused);
            })
        .then([this] { return loop_->timer().afterDelay(pause_.count() * kj::MILLISECONDS); })
        .then([this, &member] { return take_turns(member); });
  }

  kj::Promise<void> submit_next(Member& member,
                                const std::function<JobSpec(std::uint32_t, std::uint32_t)>& spec,
                                std::uint32_t count) {
    if (next_[member.number] == count) return kj::READY_NOW;
    const auto number = next_[member.number]++;
    return submit_one(member, spec(member.number, number)).then([this, &member, &spec, count] {
      return submit_next(member, spec, count);
    });
  }

  /// Until it is taken: whoever floods is refused at times.
  kj::Promise<void> submit_one(Member& member, JobSpec spec) {
    auto request = member.session->submitJobRequest();
    encode(spec, request.initSpec());
    return response_of(request).then(
        [this, &member, spec = std::move(spec)](auto&& response) mutable -> kj::Promise<void> {
          if (!response.hasError()) return kj::READY_NOW;
          KJ_REQUIRE(response.getError().getRetryable(), response.getError().getMessage());
          return loop_->timer()
              .afterDelay(kPauseWhenRefused)
              .then([this, &member, spec = std::move(spec)]() mutable {
                return submit_one(member, std::move(spec));
              });
        });
  }

  void taskFailed(kj::Exception&&) override { ++seen_.failures; }

  const std::string address_;
  const std::vector<std::string> tokens_;
  Loop* loop_ = nullptr;
  std::vector<kj::Own<Member>> members_;
  Turn turn_;
  std::chrono::milliseconds pause_{0};
  CrowdSeen seen_;
  bool finishing_ = false;
  std::vector<std::uint32_t> next_;
  std::mt19937_64 random_{1};
  kj::Own<kj::TaskSet> turns_;
  LoopThread thread_;  ///< last: it uses what stands above
};

Crowd::Crowd(const std::string& address, std::vector<std::string> tokens)
    : impl_(std::make_unique<Impl>(address, std::move(tokens))) {}
Crowd::~Crowd() = default;

void Crowd::repeat(const Turn& turn, std::chrono::milliseconds pause, std::uint32_t lanes) {
  impl_->repeat(turn, pause, lanes);
}
std::size_t Crowd::taken() { return impl_->taken(); }
CrowdSeen Crowd::stop() { return impl_->stop(); }
CrowdSeen Crowd::finish() { return impl_->finish(); }
void Crowd::submit(const std::function<JobSpec(std::uint32_t member, std::uint32_t number)>& spec,
                   std::uint32_t count, std::uint32_t lanes) {
  impl_->submit(spec, count, lanes);
}
std::vector<double> Crowd::log_in_ms(std::uint32_t count) { return impl_->log_in_ms(count); }

}  // namespace fairwater::load
