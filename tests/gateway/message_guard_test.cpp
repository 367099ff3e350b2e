// What is read of a peer, and how much of it is held.
#include "rpc/message_guard.hpp"

#include <string>

#include <capnp/message.h>
#include <catch2/catch.hpp>
#include <kj/async-io.h>

using namespace fairwater;

namespace {

struct Line {
  explicit Line(ByteMeter& meter) : guard(*pipe.ends[0], 1u << 20, meter) {}
  void send(std::string bytes) {
    sent = std::move(bytes);
    writing = pipe.ends[1]->write(sent.data(), sent.size()).eagerlyEvaluate(nullptr);
  }
  kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> read() {
    return guard.tryReadMessage(nullptr, {}, nullptr);
  }

  kj::TwoWayPipe pipe = kj::newTwoWayPipe();
  MessageGuard guard;
  std::string sent;
  kj::Promise<void> writing = nullptr;
};

/// A message of one segment whose header announces so many bytes, and the first of them.
std::string message(std::uint32_t announced_bytes, std::size_t sent_bytes) {
  const std::uint32_t head[] = {0, announced_bytes / 8};
  return std::string(reinterpret_cast<const char*>(head), sizeof head) +
         std::string(sent_bytes, '\0');
}

constexpr std::size_t kKiB = 1024;

}  // namespace

TEST_CASE("connections hold bounded bytes together, and small messages pass", "[unit][guard]") {
  kj::EventLoop loop;
  kj::WaitScope scope(loop);
  ByteMeter meter{160 * kKiB};
  {
    Line slow(meter);
    slow.send(message(256 * kKiB, 80 * kKiB));
    auto arriving = slow.read();
    CHECK_FALSE(arriving.poll(scope));
    CHECK(meter.held == 128 * kKiB);  // twice what came, no more

    Line large(meter);
    large.send(message(256 * kKiB, 256 * kKiB));
    CHECK_THROWS_AS(large.read().wait(scope), kj::Exception);
    CHECK(meter.held == 128 * kKiB);

    Line small(meter);
    small.send(message(8 * kKiB, 8 * kKiB));
    auto whole = small.read().wait(scope);
    REQUIRE(whole != nullptr);
    CHECK(meter.held == 136 * kKiB);
    whole = nullptr;
    CHECK(meter.held == 128 * kKiB);
  }
  CHECK(meter.held == 0);
}

TEST_CASE("what one part of connections holds is bounded, and counts among all", "[unit][guard]") {
  kj::EventLoop loop;
  kj::WaitScope scope(loop);
  ByteMeter all{400 * kKiB};
  ByteMeter one{160 * kKiB, 0, &all};
  ByteMeter other{160 * kKiB, 0, &all};
  {
    Line slow(one);
    slow.send(message(256 * kKiB, 80 * kKiB));
    auto arriving = slow.read();
    CHECK_FALSE(arriving.poll(scope));
    Line large(one);
    large.send(message(128 * kKiB, 128 * kKiB));
    CHECK_THROWS_AS(large.read().wait(scope), kj::Exception);
    Line others(other);
    others.send(message(128 * kKiB, 128 * kKiB));
    const auto whole = others.read().wait(scope);
    CHECK(whole != nullptr);
    CHECK(all.held == 256 * kKiB);
    Line third(all);
    third.send(message(256 * kKiB, 256 * kKiB));
    CHECK_THROWS_AS(third.read().wait(scope), kj::Exception);
  }
  CHECK(one.held == 0);
  CHECK(other.held == 0);
  CHECK(all.held == 0);
}

TEST_CASE("a large message that does not arrive in time ends its connection", "[unit][guard]") {
  kj::EventLoop loop;
  kj::WaitScope scope(loop);
  kj::TimerImpl timer(kj::origin<kj::TimePoint>());
  ByteMeter meter;
  {
    Line slow(meter);
    slow.guard.set_patience(timer, 10 * kj::SECONDS);
    slow.send(message(256 * kKiB, 80 * kKiB));
    auto arriving = slow.read();
    timer.advanceTo(kj::origin<kj::TimePoint>() + 9 * kj::SECONDS);
    CHECK_FALSE(arriving.poll(scope));
    timer.advanceTo(kj::origin<kj::TimePoint>() + 10 * kj::SECONDS);
    CHECK_THROWS_AS(arriving.wait(scope), kj::Exception);
  }
  CHECK(meter.held == 0);
}

TEST_CASE("a paused peer is not read, nor one that has used its messages up", "[unit][guard]") {
  kj::EventLoop loop;
  kj::WaitScope scope(loop);
  ByteMeter meter;
  Line line(meter);
  line.send(message(8, 8) + message(8, 8) + message(8, 8));
  line.guard.set_messages_left(1);
  REQUIRE(line.read().wait(scope) != nullptr);
  auto second = line.read();
  CHECK_FALSE(second.poll(scope));
  line.guard.pause();
  line.guard.set_messages_left(10);
  CHECK_FALSE(second.poll(scope));
  line.guard.resume();
  REQUIRE(second.wait(scope) != nullptr);
  REQUIRE(line.read().wait(scope) != nullptr);
}

TEST_CASE("a message is read out a few times its size at most", "[unit][guard]") {
  kj::EventLoop loop;
  kj::WaitScope scope(loop);
  ByteMeter meter;
  Line line(meter);
  // A list of 100,000 structs without bytes: its pointer is all that there is.
  capnp::MallocMessageBuilder builder;
  builder.initRoot<capnp::AnyPointer>().initAsListOfAnyStruct(0, 0, 100'000);
  const auto words = builder.getSegmentsForOutput()[0].asBytes();
  std::string bytes = message(static_cast<std::uint32_t>(words.size()), 0);
  bytes.append(reinterpret_cast<const char*>(words.begin()), words.size());
  line.send(bytes);
  auto received = line.read().wait(scope);
  auto& reader = *KJ_ASSERT_NONNULL(received).reader;
  CHECK_THROWS_AS(reader.getRoot<capnp::AnyPointer>().getAs<capnp::AnyList>(), kj::Exception);
}
