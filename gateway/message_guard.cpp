#include "gateway/message_guard.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include <kj/debug.h>

namespace fairwater {
namespace {

using capnp::word;

/// The first piece of a body's buffer; it doubles as bytes arrive.
constexpr std::size_t kFirstWords = 1024;

std::uint32_t little_endian(const kj::byte* bytes) {
  return std::uint32_t{bytes[0]} | std::uint32_t{bytes[1]} << 8 | std::uint32_t{bytes[2]} << 16 |
         std::uint32_t{bytes[3]} << 24;
}

/// A message with its bytes. While it is read, `body` grows; afterwards the segments view it.
class ReceivedMessage final : public capnp::MessageReader {
 public:
  explicit ReceivedMessage(capnp::ReaderOptions options) : MessageReader(options) {}

  kj::ArrayPtr<const word> getSegment(capnp::uint id) override {
    if (id >= segment_words_.size()) return nullptr;
    std::size_t start = 0;
    for (capnp::uint i = 0; i < id; ++i) start += segment_words_[i];
    return body_.slice(start, start + segment_words_[id]);
  }

  /// False at the end of the stream.
  kj::Promise<bool> read(kj::AsyncIoStream& stream, std::uint64_t max_bytes) {
    return stream.tryRead(head_, sizeof head_, sizeof head_)
        .then([this, &stream, max_bytes](std::size_t size) -> kj::Promise<bool> {
          if (size == 0) return false;
          if (size < sizeof head_) return cut_short();
          return read_table(stream, max_bytes);
        });
  }

 private:
  static kj::Exception cut_short() {
    return KJ_EXCEPTION(DISCONNECTED, "the peer closed the connection within a message");
  }

  kj::Promise<bool> read_table(kj::AsyncIoStream& stream, std::uint64_t max_bytes) {
    const std::uint64_t segments = std::uint64_t{little_endian(head_)} + 1;
    if (segments > kMaxSegments)
      return KJ_EXCEPTION(FAILED, "a message announces too many segments", segments);
    segment_words_.push_back(little_endian(head_ + 4));
    // Sizes 1..n-1 follow, padded to whole words.
    table_.resize((segments & ~std::uint64_t{1}) * 4);
    if (table_.empty()) return read_body(stream, max_bytes);
    return stream.tryRead(table_.data(), table_.size(), table_.size())
        .then([this, &stream, max_bytes, segments](std::size_t size) -> kj::Promise<bool> {
          if (size < table_.size()) return cut_short();
          for (std::size_t i = 0; i + 1 < segments; ++i)
            segment_words_.push_back(little_endian(table_.data() + 4 * i));
          return read_body(stream, max_bytes);
        });
  }

  kj::Promise<bool> read_body(kj::AsyncIoStream& stream, std::uint64_t max_bytes) {
    for (const std::uint32_t words : segment_words_) total_words_ += words;
    if (total_words_ * sizeof(word) > max_bytes)
      return KJ_EXCEPTION(FAILED, "a message announces more bytes than the limit",
                          total_words_ * sizeof(word), max_bytes);
    return read_piece(stream, 0);
  }

  kj::Promise<bool> read_piece(kj::AsyncIoStream& stream, std::size_t filled_words) {
    if (filled_words == total_words_) return true;
    const std::size_t size =
        std::min<std::size_t>(total_words_, std::max<std::size_t>(kFirstWords, 2 * filled_words));
    auto grown = kj::heapArray<word>(size);
    if (filled_words > 0) std::memcpy(grown.begin(), body_.begin(), filled_words * sizeof(word));
    body_ = kj::mv(grown);
    const std::size_t bytes = (size - filled_words) * sizeof(word);
    return stream.tryRead(body_.begin() + filled_words, bytes, bytes)
        .then([this, &stream, size, bytes](std::size_t received) -> kj::Promise<bool> {
          if (received < bytes) return cut_short();
          return read_piece(stream, size);
        });
  }

  kj::byte head_[8] = {};
  std::vector<kj::byte> table_;
  std::vector<std::uint32_t> segment_words_;
  std::uint64_t total_words_ = 0;
  kj::Array<word> body_;
};

}  // namespace

kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> MessageGuard::tryReadMessage(
    kj::ArrayPtr<kj::AutoCloseFd>, capnp::ReaderOptions options, kj::ArrayPtr<word>) {
  auto message = kj::heap<ReceivedMessage>(options);
  auto reading = message->read(stream_, max_message_bytes_);
  return reading.then(
      [message = kj::mv(message)](bool received) mutable -> kj::Maybe<capnp::MessageReaderAndFds> {
        if (!received) return nullptr;
        return capnp::MessageReaderAndFds{kj::mv(message), nullptr};
      });
}

}  // namespace fairwater
