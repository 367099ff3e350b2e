#include "rpc/message_guard.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <kj/debug.h>

namespace fairwater::inline rpc {
namespace {

using capnp::word;

/// The first piece of a body's buffer; it doubles as bytes arrive. As much is read whatever the
/// meter says, so that small messages pass while others' large ones are refused.
constexpr std::size_t kFirstWords = 1024;
/// A message of more is not read by the short way.
constexpr std::uint64_t kFewSegments = 8;

std::uint32_t little_endian(const kj::byte* bytes) {
  return std::uint32_t{bytes[0]} | std::uint32_t{bytes[1]} << 8 | std::uint32_t{bytes[2]} << 16 |
         std::uint32_t{bytes[3]} << 24;
}

kj::Exception cut_short() {
  return KJ_EXCEPTION(DISCONNECTED, "the peer closed the connection within a message");
}

/// Of a header that has so many segments: their number, their sizes, and padding to a whole word.
constexpr std::uint64_t header_bytes(std::uint64_t segments) {
  return 8 + (segments & ~std::uint64_t{1}) * 4;
}

/// Of the message that begins with what has arrived.
enum class Front {
  whole,    ///< all of it has arrived
  partial,  ///< the rest will fit beside it
  large,
};

Front front_of(kj::ArrayPtr<const kj::byte> here, std::uint64_t max_bytes) {
  if (here.size() < 8) return Front::partial;
  const std::uint64_t segments = std::uint64_t{little_endian(here.begin())} + 1;
  if (segments > kFewSegments) return Front::large;
  if (here.size() < header_bytes(segments)) return Front::partial;
  std::uint64_t body_bytes = 0;
  for (std::uint64_t i = 0; i < segments; ++i)
    body_bytes += sizeof(word) * std::uint64_t{little_endian(here.begin() + 4 + 4 * i)};
  const std::uint64_t bytes = header_bytes(segments) + body_bytes;
  if (body_bytes > max_bytes || bytes > ReadAhead::kCapacity) return Front::large;
  return here.size() < bytes ? Front::partial : Front::whole;
}

/// Bytes that count on a meter while this lives.
class MeteredBytes {
 public:
  explicit MeteredBytes(ByteMeter& meter) : meter_(&meter) {}
  MeteredBytes(MeteredBytes&& other) noexcept
      : meter_(other.meter_), bytes_(std::exchange(other.bytes_, 0)) {}
  MeteredBytes& operator=(MeteredBytes&&) = delete;
  ~MeteredBytes() { set(0); }

  [[nodiscard]] bool has_room_for(std::uint64_t bytes) const {
    for (const ByteMeter* meter = meter_; meter != nullptr; meter = meter->whole)
      if (meter->held - bytes_ + bytes > meter->limit) return false;
    return true;
  }
  void set(std::uint64_t bytes) {
    for (ByteMeter* meter = meter_; meter != nullptr; meter = meter->whole)
      meter->held += bytes - bytes_;
    bytes_ = bytes;
  }

 private:
  ByteMeter* meter_;
  std::uint64_t bytes_ = 0;
};

/// A message's bytes as they arrive.
class Frame {
 public:
  explicit Frame(ByteMeter& meter) : metered_(meter) {}

  /// The message at the front, which is whole.
  void take(ReadAhead& arrived) {
    const auto* const bytes = arrived.here().begin();
    const std::uint64_t segments = std::uint64_t{little_endian(bytes)} + 1;
    for (std::uint64_t i = 0; i < segments; ++i)
      segment_words.push_back(little_endian(bytes + 4 + 4 * i));
    for (const std::uint32_t words : segment_words) total_words += words;
    const std::uint64_t body_bytes = total_words * sizeof(word);
    metered_.set(body_bytes);
    body = kj::heapArray<word>(total_words);
    if (body_bytes > 0) std::memcpy(body.begin(), bytes + header_bytes(segments), body_bytes);
    arrived.skip(header_bytes(segments) + body_bytes);
  }

  /// False at the end of the stream.
  kj::Promise<bool> read(ReadAhead& arrived, std::uint64_t max_bytes) {
    return arrived.read(head_, sizeof head_)
        .then([this, &arrived, max_bytes](std::size_t size) -> kj::Promise<bool> {
          if (size == 0) return false;
          if (size < sizeof head_) return cut_short();
          return read_table(arrived, max_bytes);
        });
  }

  std::vector<std::uint32_t> segment_words;
  std::uint64_t total_words = 0;
  kj::Array<word> body;

  [[nodiscard]] MeteredBytes take_metered() { return std::move(metered_); }

 private:
  kj::Promise<bool> read_table(ReadAhead& arrived, std::uint64_t max_bytes) {
    const std::uint64_t segments = std::uint64_t{little_endian(head_)} + 1;
    if (segments > kMaxSegments)
      return KJ_EXCEPTION(FAILED, "a message announces too many segments", segments);
    segment_words.push_back(little_endian(head_ + 4));
    // Sizes 1..n-1 follow, padded to whole words.
    table_.resize(header_bytes(segments) - sizeof head_);
    if (table_.empty()) return read_body(arrived, max_bytes);
    return arrived.read(table_.data(), table_.size())
        .then([this, &arrived, max_bytes, segments](std::size_t size) -> kj::Promise<bool> {
          if (size < table_.size()) return cut_short();
          for (std::size_t i = 0; i + 1 < segments; ++i)
            segment_words.push_back(little_endian(table_.data() + 4 * i));
          return read_body(arrived, max_bytes);
        });
  }

  kj::Promise<bool> read_body(ReadAhead& arrived, std::uint64_t max_bytes) {
    for (const std::uint32_t words : segment_words) total_words += words;
    if (total_words * sizeof(word) > max_bytes)
      return KJ_EXCEPTION(FAILED, "a message announces more bytes than the limit",
                          total_words * sizeof(word), max_bytes);
    return read_piece(arrived, 0);
  }

  kj::Promise<bool> read_piece(ReadAhead& arrived, std::size_t filled_words) {
    if (filled_words == total_words) return true;
    const std::size_t size =
        std::min<std::size_t>(total_words, std::max<std::size_t>(kFirstWords, 2 * filled_words));
    if (size > kFirstWords && !metered_.has_room_for(size * sizeof(word)))
      return KJ_EXCEPTION(OVERLOADED, "messages of too many bytes are open already");
    metered_.set(size * sizeof(word));
    auto grown = kj::heapArray<word>(size);
    if (filled_words > 0) std::memcpy(grown.begin(), body.begin(), filled_words * sizeof(word));
    body = kj::mv(grown);
    const std::size_t bytes = (size - filled_words) * sizeof(word);
    return arrived.read(body.begin() + filled_words, bytes)
        .then([this, &arrived, size, bytes](std::size_t received) -> kj::Promise<bool> {
          if (received < bytes) return cut_short();
          return read_piece(arrived, size);
        });
  }

  kj::byte head_[8] = {};
  std::vector<kj::byte> table_;
  MeteredBytes metered_;
};

capnp::ReaderOptions by_size(capnp::ReaderOptions options, std::uint64_t words) {
  options.traversalLimitInWords = std::min<std::uint64_t>(options.traversalLimitInWords,
                                                          kReadsPerWord * words + kReadsPerMessage);
  return options;
}

/// A whole message, with its bytes.
class ReceivedMessage final : public capnp::MessageReader {
 public:
  ReceivedMessage(capnp::ReaderOptions options, Frame&& frame)
      : MessageReader(by_size(options, frame.total_words)),
        segment_words_(std::move(frame.segment_words)),
        body_(kj::mv(frame.body)),
        metered_(frame.take_metered()) {}

  kj::ArrayPtr<const word> getSegment(capnp::uint id) override {
    if (id >= segment_words_.size()) return nullptr;
    std::size_t start = 0;
    for (capnp::uint i = 0; i < id; ++i) start += segment_words_[i];
    return body_.slice(start, start + segment_words_[id]);
  }

 private:
  std::vector<std::uint32_t> segment_words_;
  kj::Array<word> body_;
  MeteredBytes metered_;
};

}  // namespace

void MessageGuard::set_limits(std::uint64_t max_message_bytes, ByteMeter& meter) {
  max_message_bytes_ = max_message_bytes;
  meter_ = &meter;
}

void MessageGuard::set_patience(kj::Timer& timer, kj::Duration patience) {
  timer_ = &timer;
  patience_ = patience;
}

void MessageGuard::set_messages_left(std::uint64_t count) {
  messages_left_ = count;
  go_on();
}

void MessageGuard::resume() {
  paused_ = false;
  go_on();
}

void MessageGuard::go_on() {
  if (!may_read()) return;
  KJ_IF_MAYBE (fulfiller, waiting_) (*fulfiller)->fulfill();
  waiting_ = nullptr;
}

kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> MessageGuard::tryReadMessage(
    kj::ArrayPtr<kj::AutoCloseFd> fd_space, capnp::ReaderOptions options,
    kj::ArrayPtr<word> scratch_space) {
  if (!may_read()) {
    auto pair = kj::newPromiseAndFulfiller<void>();
    waiting_ = kj::mv(pair.fulfiller);
    return pair.promise.then([this, fd_space, options, scratch_space] {
      return tryReadMessage(fd_space, options, scratch_space);
    });
  }
  --messages_left_;
  return read_message(options);
}

kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> MessageGuard::read_message(
    capnp::ReaderOptions options) {
  using Received = kj::Maybe<capnp::MessageReaderAndFds>;
  switch (front_of(arrived_.here(), max_message_bytes_)) {
    case Front::whole: {
      Frame frame(*meter_);
      frame.take(arrived_);
      return Received(
          capnp::MessageReaderAndFds{kj::heap<ReceivedMessage>(options, kj::mv(frame)), nullptr});
    }
    case Front::partial:
      return arrived_.read_more().then([this, options](bool more) -> kj::Promise<Received> {
        if (more) return read_message(options);
        if (arrived_.here().size() > 0) return cut_short();
        return Received(nullptr);
      });
    case Front::large:
      break;
  }
  auto frame = kj::heap<Frame>(*meter_);
  auto reading = frame->read(arrived_, max_message_bytes_);
  if (timer_ != nullptr) reading = timer_->timeoutAfter(patience_, kj::mv(reading));
  return reading.then([frame = kj::mv(frame), options](bool received) mutable -> Received {
    if (!received) return nullptr;
    return capnp::MessageReaderAndFds{kj::heap<ReceivedMessage>(options, kj::mv(*frame)), nullptr};
  });
}

kj::Promise<void> MessageGuard::writeMessage(
    kj::ArrayPtr<const int>, kj::ArrayPtr<const kj::ArrayPtr<const word>> segments) {
  return leaving_.write(segments);
}

kj::Promise<void> MessageGuard::writeMessages(
    kj::ArrayPtr<kj::ArrayPtr<const kj::ArrayPtr<const word>>> messages) {
  if (messages.size() == 0) return kj::READY_NOW;
  return leaving_.write(messages.front()).then([this, rest = messages.slice(1, messages.size())] {
    return writeMessages(rest);
  });
}

kj::Maybe<int> MessageGuard::getSendBufferSize() {
  return capnp::AsyncIoMessageStream(stream_).getSendBufferSize();
}

kj::Promise<void> MessageGuard::end() {
  return leaving_.flushed().then([this] { stream_.shutdownWrite(); });
}

}  // namespace fairwater::inline rpc
