// Reads Cap'n Proto messages from a peer that is not trusted. The frame's header is checked before
// the library sees it (a segment count of 2^32 overflows in there), and memory follows the bytes
// that came, not the size that the header announces.
#pragma once

#include <cstdint>

#include <capnp/serialize-async.h>

namespace fairwater {

inline constexpr std::uint32_t kMaxSegments = 512;

class MessageGuard final : public capnp::MessageStream {
 public:
  /// Borrows the stream. Messages above `max_message_bytes` (body, without the header) end it with
  /// an exception.
  MessageGuard(kj::AsyncIoStream& stream, std::uint64_t max_message_bytes)
      : stream_(stream), writer_(stream), max_message_bytes_(max_message_bytes) {}

  /// Counts from the next message on.
  void set_max_message_bytes(std::uint64_t bytes) { max_message_bytes_ = bytes; }

  kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> tryReadMessage(
      kj::ArrayPtr<kj::AutoCloseFd> fd_space, capnp::ReaderOptions options,
      kj::ArrayPtr<capnp::word> scratch_space) override;
  kj::Promise<void> writeMessage(
      kj::ArrayPtr<const int> fds,
      kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments) override {
    return writer_.writeMessage(fds, segments);
  }
  kj::Promise<void> writeMessages(
      kj::ArrayPtr<kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>>> messages) override {
    return writer_.writeMessages(messages);
  }
  kj::Maybe<int> getSendBufferSize() override { return writer_.getSendBufferSize(); }
  kj::Promise<void> end() override { return writer_.end(); }

 private:
  kj::AsyncIoStream& stream_;
  capnp::AsyncIoMessageStream writer_;
  std::uint64_t max_message_bytes_;
};

}  // namespace fairwater
