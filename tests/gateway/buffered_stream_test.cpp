// Messages over streams that count what is asked of them.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <capnp/serialize.h>
#include <catch2/catch.hpp>
#include <kj/async-io.h>
#include <kj/debug.h>

#include "rpc/message_guard.hpp"

using namespace fairwater;

namespace {

using capnp::word;

/// Passes everything on, counts it, and refuses writes when told to.
class CountingStream final : public kj::AsyncIoStream {
 public:
  explicit CountingStream(kj::AsyncIoStream& inner) : inner_(inner) {}
  int reads = 0;
  int writes = 0;
  bool is_broken = false;

  kj::Promise<std::size_t> tryRead(void* to, std::size_t least, std::size_t most) override {
    ++reads;
    return inner_.tryRead(to, least, most);
  }
  kj::Promise<void> write(const void* from, std::size_t size) override {
    ++writes;
    if (is_broken) return KJ_EXCEPTION(DISCONNECTED, "broken by the test");
    return inner_.write(from, size);
  }
  kj::Promise<void> write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) override {
    ++writes;
    return inner_.write(pieces);
  }
  kj::Promise<void> whenWriteDisconnected() override { return inner_.whenWriteDisconnected(); }
  void shutdownWrite() override { inner_.shutdownWrite(); }

 private:
  kj::AsyncIoStream& inner_;
};

struct CountedLine {
  kj::TwoWayPipe pipe = kj::newTwoWayPipe();
  CountingStream near{*pipe.ends[0]};
  CountingStream far{*pipe.ends[1]};
  ByteMeter meter;
  MessageGuard writer{near, 1u << 20, meter};
  MessageGuard reader{far, 1u << 20, meter};
};

using SentMessage = std::vector<std::vector<word>>;  ///< by segments

SentMessage message_with(const std::vector<std::size_t>& sizes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  SentMessage message;
  for (const std::size_t size : sizes) {
    std::vector<word> segment(size);
    for (auto& each : segment) {
      const std::uint64_t bits = random();
      std::copy_n(reinterpret_cast<const char*>(&bits), sizeof bits,
                  reinterpret_cast<char*>(&each));
    }
    message.push_back(std::move(segment));
  }
  return message;
}

std::vector<kj::ArrayPtr<const word>> segments_of(const SentMessage& message) {
  std::vector<kj::ArrayPtr<const word>> segments;
  for (const auto& segment : message)
    segments.push_back(kj::arrayPtr(segment.data(), segment.size()));
  return segments;
}

std::string stream_of(const SentMessage& message) {
  const auto segments = segments_of(message);
  const auto flat = capnp::messageToFlatArray(kj::arrayPtr(segments.data(), segments.size()));
  const auto bytes = flat.asBytes();
  return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
}

bool is_message(kj::Maybe<capnp::MessageReaderAndFds>& received, const SentMessage& sent) {
  auto& reader = *KJ_ASSERT_NONNULL(received).reader;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const auto segment = reader.getSegment(static_cast<capnp::uint>(i));
    const auto wanted = kj::arrayPtr(sent[i].data(), sent[i].size());
    if (segment.asBytes() != wanted.asBytes()) return false;
  }
  return reader.getSegment(static_cast<capnp::uint>(sent.size())) == nullptr;
}

auto receive(MessageGuard& guard) { return guard.tryReadMessage(nullptr, {}, nullptr); }

auto send(MessageGuard& guard, const SentMessage& message) {
  auto segments = kj::heap(segments_of(message));
  auto written = guard.writeMessage(nullptr, kj::arrayPtr(segments->data(), segments->size()));
  return written.attach(kj::mv(segments));
}

}  // namespace

TEST_CASE("small messages that have arrived together are read in one go", "[unit][guard]") {
  kj::EventLoop loop;
  kj::WaitScope scope(loop);
  CountedLine line;
  const std::vector<SentMessage> sent = {message_with({10}, 1), message_with({}, 2),
                                         message_with({3, 5}, 3)};
  std::string bytes;
  for (const auto& message : sent)
    bytes += message.empty() ? std::string(8, '\0') : stream_of(message);
  auto writing = line.near.write(bytes.data(), bytes.size()).eagerlyEvaluate(nullptr);
  for (const auto& message : sent) {
    auto received = receive(line.reader).wait(scope);
    REQUIRE(received != nullptr);
    CHECK(is_message(received, message.empty() ? SentMessage{{}} : message));
  }
  CHECK(line.far.reads == 1);
}

TEST_CASE("however a stream is cut, its messages are read as they were sent", "[unit][guard]") {
  std::mt19937_64 random(11);
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
  for (int round = 0; round < 200; ++round) {
    kj::EventLoop loop;
    kj::WaitScope scope(loop);
    CountedLine line;
    std::vector<SentMessage> sent;
    std::string bytes;
    for (std::size_t i = 0, count = 1 + below(8); i < count; ++i) {
      std::vector<std::size_t> sizes(1 + below(below(2) == 0 ? 2 : 12));
      for (auto& size : sizes) size = below(below(4) == 0 ? 3000 : 40);
      sent.push_back(message_with(sizes, random()));
      bytes += stream_of(sent.back());
    }
    const std::size_t most = 1 + below(below(2) == 0 ? 16 : 3000);
    kj::Promise<void> writing = kj::READY_NOW;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t size = std::min(bytes.size() - at, 1 + below(most));
      writing = writing.then(
          [&line, &bytes, at, size] { return line.near.write(bytes.data() + at, size); });
      at += size;
    }
    writing = writing.then([&line] { line.near.shutdownWrite(); }).eagerlyEvaluate(nullptr);
    for (const auto& message : sent) {
      auto received = receive(line.reader).wait(scope);
      REQUIRE(received != nullptr);
      REQUIRE(is_message(received, message));
    }
    CHECK(receive(line.reader).wait(scope) == nullptr);
  }
}

TEST_CASE("an end within a message is an error, between two it is none", "[unit][guard]") {
  const std::string bytes = stream_of(message_with({4, 4}, 1));
  for (const std::size_t size : {std::size_t{4}, std::size_t{10}, bytes.size() - 1}) {
    kj::EventLoop loop;
    kj::WaitScope scope(loop);
    CountedLine line;
    auto writing = line.near.write(bytes.data(), size)
                       .then([&] { line.near.shutdownWrite(); })
                       .eagerlyEvaluate(nullptr);
    CHECK_THROWS_AS(receive(line.reader).wait(scope), kj::Exception);
  }
}

TEST_CASE("what is written in one turn leaves in one write, in its order", "[unit][guard]") {
  kj::EventLoop loop;
  kj::WaitScope scope(loop);
  CountedLine line;
  std::vector<SentMessage> sent;
  for (std::uint64_t i = 0; i < 5; ++i) sent.push_back(message_with({10 + i}, i));
  sent.push_back(message_with({5000}, 5));  // too large to be gathered
  sent.push_back(message_with({1, 2, 3}, 6));
  auto writing = kj::heapArrayBuilder<kj::Promise<void>>(5);
  for (int i = 0; i < 5; ++i) writing.add(send(line.writer, sent[i]));
  kj::Promise<void> rest = send(line.writer, sent[5])
                               .then([&] { return send(line.writer, sent[6]); })
                               .then([&] { return line.writer.end(); })
                               .eagerlyEvaluate(nullptr);
  for (const auto& message : sent) {
    auto received = receive(line.reader).wait(scope);
    REQUIRE(received != nullptr);
    CHECK(is_message(received, message));
  }
  rest.wait(scope);
  CHECK(receive(line.reader).wait(scope) == nullptr);
  CHECK(line.near.writes == 3);
}

TEST_CASE("what is written at any turn after another message leaves", "[unit][guard]") {
  for (int turns = 0; turns < 12; ++turns) {
    kj::EventLoop loop;
    kj::WaitScope scope(loop);
    CountedLine line;
    const auto first = message_with({10}, 1);
    const auto second = message_with({20}, 2);
    auto writing = send(line.writer, first);
    for (int turn = 0; turn < turns; ++turn)
      writing = writing.then([] { return kj::evalLater([] {}); });
    writing = writing.then([&] { return send(line.writer, second); }).eagerlyEvaluate(nullptr);
    for (const auto* message : {&first, &second}) {
      auto reading = receive(line.reader);
      REQUIRE(reading.poll(scope));
      auto received = reading.wait(scope);
      CHECK(is_message(received, *message));
    }
  }
}

TEST_CASE("who writes to a peer that does not read waits when little is gathered",
          "[unit][guard]") {
  kj::EventLoop loop;
  kj::WaitScope scope(loop);
  CountedLine line;
  const auto message = message_with({127}, 1);  // 1 KiB with its header
  int gathered = 0;
  kj::Promise<void> writing = send(line.writer, message);
  while (writing.poll(scope) && gathered < 100) {
    ++gathered;
    writing = send(line.writer, message);
  }
  // What the stream was given, and what waits behind it.
  CHECK(gathered >= 16);
  CHECK(gathered <= 2 * 16 + 1);
  for (int i = 0; i <= gathered; ++i) REQUIRE(receive(line.reader).wait(scope) != nullptr);
  writing.wait(scope);
}

TEST_CASE("a write that failed is told to whoever writes next", "[unit][guard]") {
  kj::EventLoop loop;
  kj::WaitScope scope(loop);
  CountedLine line;
  line.near.is_broken = true;
  const auto message = message_with({10}, 1);
  send(line.writer, message).wait(scope);
  scope.poll();
  CHECK_THROWS_AS(send(line.writer, message).wait(scope), kj::Exception);
  CHECK_THROWS_AS(line.writer.end().wait(scope), kj::Exception);
}
