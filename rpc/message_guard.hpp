// Reads Cap'n Proto messages from a peer that is not trusted. The frame's header is checked before
// the library sees it (a segment count of 2^32 overflows in there), memory follows the bytes that
// came, not the size that the header announces, and what may be read out of a message follows its
// size: a list of elements without bytes would be as long as it says, for nothing.
#pragma once

#include <cstdint>
#include <limits>

#include <capnp/serialize-async.h>
#include <kj/timer.h>

#include "rpc/buffered_stream.hpp"

namespace fairwater::inline rpc {

inline constexpr std::uint32_t kMaxSegments = 512;
/// A message is read once or twice (its size is asked for); one that refers to itself is read more
/// often. So many times its words, and some for the headers of a small one.
inline constexpr std::uint64_t kReadsPerWord = 4;
inline constexpr std::uint64_t kReadsPerMessage = 1024;

/// Bytes of messages that some connections hold together: arriving ones, and those whose calls are
/// not answered yet.
struct ByteMeter {
  std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t held = 0;
  ByteMeter* whole = nullptr;  ///< of which these are a part: they count there, too
};

class MessageGuard final : public capnp::MessageStream {
 public:
  /// Borrows the stream and the meter. Messages above `max_message_bytes` (body, without the
  /// header), and those for which the meter has no room, end it with an exception.
  MessageGuard(kj::AsyncIoStream& stream, std::uint64_t max_message_bytes, ByteMeter& meter)
      : stream_(stream),
        arrived_(stream),
        leaving_(stream),
        meter_(&meter),
        max_message_bytes_(max_message_bytes) {}

  /// Both count from the next message on.
  void set_limits(std::uint64_t max_message_bytes, ByteMeter& meter);
  /// From the next message on one above ReadAhead::kCapacity that has not arrived in that time ends
  /// the connection.
  void set_patience(kj::Timer& timer, kj::Duration patience);
  /// After so many more messages it reads no further. Without a limit at first.
  void set_messages_left(std::uint64_t count);
  /// Stops reading, after the message that is being read, until resume().
  void pause() { paused_ = true; }
  void resume();

  kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> tryReadMessage(
      kj::ArrayPtr<kj::AutoCloseFd> fd_space, capnp::ReaderOptions options,
      kj::ArrayPtr<capnp::word> scratch_space) override;
  kj::Promise<void> writeMessage(
      kj::ArrayPtr<const int> fds,
      kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments) override;
  kj::Promise<void> writeMessages(
      kj::ArrayPtr<kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>>> messages) override;
  kj::Maybe<int> getSendBufferSize() override;
  kj::Promise<void> end() override;

 private:
  [[nodiscard]] bool may_read() const { return !paused_ && messages_left_ > 0; }
  void go_on();
  [[nodiscard]] kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> read_message(
      capnp::ReaderOptions options);

  kj::AsyncIoStream& stream_;
  ReadAhead arrived_;
  WriteBehind leaving_;
  ByteMeter* meter_;
  std::uint64_t max_message_bytes_;
  std::uint64_t messages_left_ = std::numeric_limits<std::uint64_t>::max();
  bool paused_ = false;
  kj::Timer* timer_ = nullptr;
  kj::Duration patience_{};
  kj::Maybe<kj::Own<kj::PromiseFulfiller<void>>> waiting_;
};

}  // namespace fairwater::inline rpc
