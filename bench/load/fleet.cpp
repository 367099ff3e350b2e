#include "bench/load/fleet.hpp"

#include "bench/load/node.hpp"
#include "rpc/tokens.hpp"

namespace fairwater::load {
namespace {

/// How exactly a task ends and a heartbeat leaves.
constexpr auto kTick = 1 * kj::MILLISECONDS;

double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

FleetLoop::FleetLoop(Loop& loop, const FleetOptions& options, FleetSeen& seen,
                     FleetSamples& samples)
    : loop(loop), options(options), seen(seen), samples(samples) {}

kj::Promise<void> FleetLoop::run_for_ever() {
  const auto now = Clock::now();
  while (!due_.empty() && due_.top().at <= now) {
    const Due due = due_.top();
    due_.pop();
    if (due.ends)
      due.node->end_task(*due.ends);
    else
      due.node->beat();
  }
  return loop.timer().afterDelay(kTick).then([this] { return run_for_ever(); });
}

kj::Promise<void> FleetLoop::turn_to_join() {
  if (joining_ < options.joining_at_once) {
    ++joining_;
    return kj::READY_NOW;
  }
  auto turn = kj::newPromiseAndFulfiller<void>();
  waiting_to_join_.push_back(kj::mv(turn.fulfiller));
  return kj::mv(turn.promise);
}

void FleetLoop::joined() {
  if (waiting_to_join_.empty()) {
    --joining_;
    return;
  }
  waiting_to_join_.front()->fulfill();
  waiting_to_join_.pop_front();
}

void FleetLoop::count_running(std::int64_t more) {
  const auto now = Clock::now();
  seen.busy_slot_seconds += static_cast<double>(seen.running) * seconds(now - counted_at_);
  counted_at_ = now;
  seen.running += static_cast<std::uint64_t>(more);
}

class Fleet::Impl {
 public:
  explicit Impl(FleetOptions given)
      : options(std::move(given)), thread_([this](Loop& loop) { serve(loop); }) {}

  FleetSeen seen() {
    return thread_.run([this] {
      fleet_->count_running(0);
      return seen_;
    });
  }
  FleetSamples take_samples() {
    return thread_.run([this] { return std::exchange(samples_, {}); });
  }

  const FleetOptions options;

 private:
  void serve(Loop& loop) {
    FleetLoop fleet{loop, options, seen_, samples_};
    fleet_ = &fleet;
    std::vector<std::unique_ptr<Node>> nodes;
    {
      auto lives = kj::heapArrayBuilder<kj::Promise<void>>(options.nodes + 1);
      lives.add(fleet.run_for_ever());
      for (std::uint32_t number = 0; number < options.nodes; ++number) {
        nodes.push_back(std::make_unique<Node>(fleet, number));
        lives.add(nodes.back()->live_for_ever());
      }
      kj::joinPromises(lives.finish()).exclusiveJoin(kj::mv(loop.stopped)).wait(loop.io.waitScope);
    }
    // An order that has arrived is carried out even when its connection has gone.
    for (auto& node : nodes) node->disconnect();
    loop.settle();
  }

  FleetSeen seen_;
  FleetSamples samples_;
  FleetLoop* fleet_ = nullptr;
  LoopThread thread_;  ///< last: it uses what stands above
};

Fleet::Fleet(FleetOptions options) {
  ensure_sodium();
  impl_ = std::make_unique<Impl>(std::move(options));
}
Fleet::~Fleet() = default;

const FleetOptions& Fleet::options() const { return impl_->options; }
FleetSeen Fleet::seen() const { return impl_->seen(); }
FleetSamples Fleet::take_samples() { return impl_->take_samples(); }

}  // namespace fairwater::load
