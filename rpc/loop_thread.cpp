#include "rpc/loop_thread.hpp"

#include <future>

#include <spdlog/spdlog.h>

namespace fairwater::inline rpc {
namespace {

/// A poll costs about as much as one event, and an event some 20 us: what arrives waits less than a
/// millisecond for being read, whatever else there is to do.
constexpr kj::uint kEventsBetweenPolls = 20;

}  // namespace

LoopThread::LoopThread(std::function<void(Loop&)> main) : outbox_(std::make_shared<Outbox>()) {
  std::promise<void> ready;
  thread_ = std::thread([this, &ready, main = std::move(main)] {
    auto io = kj::setupAsyncIo();
    // KJ looks for input only when no event is left, unless told to: a peer whose answers make it
    // ask again would keep it from ever reading anybody else.
    io.waitScope.setBusyPollInterval(kEventsBetweenPolls);
    auto stop = kj::newPromiseAndFulfiller<void>();
    executor_ = kj::getCurrentThreadExecutor().addRef();
    stop_ = [fulfiller = stop.fulfiller.get()] { fulfiller->fulfill(); };
    Loop loop{io, outbox_, kj::mv(stop.promise)};
    auto draining = outbox_->drain(io.unixEventPort).eagerlyEvaluate([](kj::Exception&& fault) {
      spdlog::critical("gateway: the event loop lost its outbox: {}",
                       fault.getDescription().cStr());
    });
    ready.set_value();
    main(loop);
  });
  ready.get_future().wait();
}

LoopThread::~LoopThread() {
  outbox_->post(stop_);
  thread_.join();
  outbox_->close();
}

}  // namespace fairwater::inline rpc
