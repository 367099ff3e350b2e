// Any other task of a gang, and the launcher's way to it.
#include <iostream>

#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>

#include "cli/gang/programs.hpp"
#include "cli/gang/proof.hpp"
#include "cli/gang/tasks.hpp"
#include "schema/gang.capnp.h"

namespace fairwater::inline cli::inline gang {
namespace {

/// The first task may be started later, or not listen yet; if it never does, this one is stopped
/// with its gang.
constexpr auto kBetweenTries = 100 * kj::MILLISECONDS;

class Member final : public wire::GangMember::Server {
 public:
  explicit Member(kj::UnixEventPort& port) : port_(port) {}
  kj::Promise<void> run(RunContext context) override {
    return run_program(port_, {"/bin/sh", "-c", context.getParams().getCommand()})
        .then([context](int status) mutable { context.getResults().setStatus(status); });
  }

 private:
  kj::UnixEventPort& port_;
};

kj::Own<kj::AsyncIoStream> connect_to_first(kj::AsyncIoContext& io, const GangPlace& place) {
  const std::string address = place.address + ":" + std::to_string(place.port);
  while (true) {
    try {
      auto parsed = io.provider->getNetwork().parseAddress(address).wait(io.waitScope);
      return parsed->connect().wait(io.waitScope);
    } catch (const kj::Exception& fault) {
      if (fault.getType() != kj::Exception::Type::DISCONNECTED &&
          fault.getType() != kj::Exception::Type::FAILED)
        throw;
    }
    io.provider->getTimer().afterDelay(kBetweenTries).wait(io.waitScope);
  }
}

void follow(const GangPlace& place) {
  kj::UnixEventPort::captureChildExit();
  auto io = kj::setupAsyncIo();
  auto stream = connect_to_first(io, place);
  capnp::TwoPartyClient connection(*stream);
  auto greeting = connection.bootstrap().castAs<wire::GangEntrance>().greetRequest();
  const std::string nonce = make_gang_nonce();
  greeting.setIndex(place.index);
  greeting.setNonce({reinterpret_cast<const kj::byte*>(nonce.data()), nonce.size()});
  auto greeted = greeting.send().wait(io.waitScope);
  const auto shown = greeted.getProof();
  KJ_REQUIRE(is_gang_proof({reinterpret_cast<const char*>(shown.begin()), shown.size()}, place.key,
                           GangRole::first, place.index, nonce),
             "what listens there is not the first task of the gang");
  const auto asked = greeted.getNonce();
  const std::string proof =
      gang_proof(place.key, GangRole::other, place.index,
                 {reinterpret_cast<const char*>(asked.begin()), asked.size()});
  auto joining = greeted.getHall().joinRequest();
  joining.setProof({reinterpret_cast<const kj::byte*>(proof.data()), proof.size()});
  joining.setMember(kj::heap<Member>(io.unixEventPort));
  joining.send().wait(io.waitScope);
}

}  // namespace

Expected<int> run_other_task(const GangPlace& place) {
  try {
    follow(place);
    return 0;
  } catch (const kj::Exception& fault) {
    return make_error(ErrorCode::unavailable, "lost the first task of the gang at " +
                                                  place.address + ":" + std::to_string(place.port) +
                                                  ": " + fault.getDescription().cStr());
  }
}

Expected<int> reach_task(const std::string& socket, std::uint32_t index, const std::string& words) {
  try {
    auto io = kj::setupAsyncIo();
    auto address = io.provider->getNetwork().parseAddress("unix:" + socket).wait(io.waitScope);
    auto stream = address->connect().wait(io.waitScope);
    capnp::TwoPartyClient connection(*stream);
    auto request = connection.bootstrap().castAs<wire::GangSwitchboard>().runRequest();
    request.setIndex(index);
    request.setCommand(words);
    return request.send().wait(io.waitScope).getStatus();
  } catch (const kj::Exception& fault) {
    return make_error(ErrorCode::unavailable,
                      "task " + std::to_string(index) +
                          " of the gang is not reached: " + fault.getDescription().cStr());
  }
}

}  // namespace fairwater::inline cli::inline gang
