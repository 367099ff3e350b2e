// Fewer system calls for small messages: what has arrived is read in one go, and what is written in
// one round of the event loop leaves in one go.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include <capnp/common.h>
#include <kj/async-io.h>

namespace fairwater::inline rpc {

/// Bytes of a stream that have been read and not been asked for yet.
class ReadAhead {
 public:
  /// Room for a few heartbeats; every connection holds it.
  static constexpr std::size_t kCapacity = 1024;

  explicit ReadAhead(kj::AsyncIoStream& stream) : stream_(stream) {}

  [[nodiscard]] kj::ArrayPtr<const kj::byte> here() const {
    return kj::arrayPtr(bytes_.data() + begin_, end_ - begin_);
  }
  /// So many of `here()` have been used.
  void skip(std::size_t bytes) { begin_ += bytes; }
  /// Reads what has come, at least one byte; false at the end of the stream. There is room:
  /// here().size() < kCapacity.
  [[nodiscard]] kj::Promise<bool> read_more();
  /// As AsyncIoStream::tryRead with one number for both bounds.
  [[nodiscard]] kj::Promise<std::size_t> read(void* to, std::size_t bytes);

 private:
  kj::AsyncIoStream& stream_;
  std::array<kj::byte, kCapacity> bytes_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

/// Messages on their way into a stream.
class WriteBehind {
 public:
  /// More than that is not gathered: whoever writes it waits for the stream.
  static constexpr std::size_t kMost = std::size_t{16} << 10;
  using Segments = kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>>;

  explicit WriteBehind(kj::AsyncIoStream& stream) : stream_(stream) {}

  /// Resolves when the message is with the stream or gathered; rejected when an earlier one could
  /// not be written. One call at a time; the segments live until it has resolved.
  [[nodiscard]] kj::Promise<void> write(Segments segments);
  /// Resolves when nothing is gathered.
  [[nodiscard]] kj::Promise<void> flushed();

 private:
  void flush_soon();
  [[nodiscard]] kj::Promise<void> flush();

  kj::AsyncIoStream& stream_;
  std::vector<kj::byte> gathered_;
  kj::Maybe<kj::Exception> failure_;
  bool flushing_ = false;
  kj::Maybe<kj::Own<kj::PromiseFulfiller<void>>> waiting_;  ///< for the end of the flush
  kj::Promise<void> flush_ = nullptr;                       ///< last: it refers to the rest
};

}  // namespace fairwater::inline rpc
