#include "rpc/buffered_stream.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <capnp/serialize-async.h>
#include <capnp/serialize.h>

#include "policy/core/check.hpp"

namespace fairwater::inline rpc {

kj::Promise<bool> ReadAhead::read_more() {
  if (begin_ > 0) {
    std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  FAIRWATER_CHECK(end_ < kCapacity, "nothing more fits what is read ahead");
  return stream_.tryRead(bytes_.data() + end_, 1, kCapacity - end_).then([this](std::size_t size) {
    end_ += size;
    return size > 0;
  });
}

kj::Promise<std::size_t> ReadAhead::read(void* to, std::size_t bytes) {
  const std::size_t taken = std::min(bytes, here().size());
  std::memcpy(to, here().begin(), taken);
  skip(taken);
  if (taken == bytes) return taken;
  return stream_.tryRead(static_cast<kj::byte*>(to) + taken, bytes - taken, bytes - taken)
      .then([taken](std::size_t size) { return taken + size; });
}

kj::Promise<void> WriteBehind::write(Segments segments) {
  KJ_IF_MAYBE (failure, failure_) return kj::cp(*failure);
  const std::size_t bytes = capnp::computeSerializedSizeInWords(segments) * sizeof(capnp::word);
  if (gathered_.size() + bytes > kMost)
    return flushed().then([this, segments] { return capnp::writeMessage(stream_, segments); });
  const std::size_t before = gathered_.size();
  gathered_.resize(before + bytes);
  kj::ArrayOutputStream end(kj::arrayPtr(gathered_.data() + before, bytes));
  capnp::writeMessage(end, segments);
  flush_soon();
  return kj::READY_NOW;
}

kj::Promise<void> WriteBehind::flushed() {
  KJ_IF_MAYBE (failure, failure_) return kj::cp(*failure);
  if (!flushing_) return kj::READY_NOW;
  auto pair = kj::newPromiseAndFulfiller<void>();
  waiting_ = kj::mv(pair.fulfiller);
  return kj::mv(pair.promise);
}

void WriteBehind::flush_soon() {
  if (std::exchange(flushing_, true)) return;
  flush_ = kj::evalLater([this] { return flush(); }).eagerlyEvaluate([this](kj::Exception&& fault) {
    failure_ = kj::cp(fault);
    KJ_IF_MAYBE (fulfiller, waiting_) (*fulfiller)->reject(kj::mv(fault));
    waiting_ = nullptr;
  });
}

kj::Promise<void> WriteBehind::flush() {
  if (gathered_.empty()) {
    // Here, not when the promise has come to its end: what is written until then is to be flushed.
    flushing_ = false;
    KJ_IF_MAYBE (fulfiller, waiting_) (*fulfiller)->fulfill();
    waiting_ = nullptr;
    return kj::READY_NOW;
  }
  auto leaving = kj::heap(std::exchange(gathered_, {}));
  auto written = stream_.write(leaving->data(), leaving->size());
  return written.attach(kj::mv(leaving)).then([this] { return flush(); });
}

}  // namespace fairwater::inline rpc
