#include "gateway/loop_thread.hpp"

#include <future>

#include <spdlog/spdlog.h>

namespace fairwater {

LoopThread::LoopThread(std::function<void(Loop&)> main) : outbox_(std::make_shared<Outbox>()) {
  std::promise<void> ready;
  thread_ = std::thread([this, &ready, main = std::move(main)] {
    auto io = kj::setupAsyncIo();
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

}  // namespace fairwater
