// The first task of a gang: where the others meet, and whose command reaches them.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <unistd.h>

#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>

#include "cli/gang/programs.hpp"
#include "cli/gang/proof.hpp"
#include "cli/gang/tasks.hpp"
#include "schema/gang.capnp.h"

namespace fairwater::inline cli::inline gang {
namespace {

constexpr int kShellNotFound = 127;

std::string text_of(capnp::Data::Reader data) {
  return {reinterpret_cast<const char*>(data.begin()), data.size()};
}

capnp::Data::Reader data_of(const std::string& text) {
  return {reinterpret_cast<const kj::byte*>(text.data()), text.size()};
}

/// Who has joined, and when the command has ended.
class Hall {
 public:
  explicit Hall(std::uint32_t others)
      : others_(others),
        all_joined_(kj::newPromiseAndFulfiller<void>()),
        over_(kj::newPromiseAndFulfiller<void>()),
        over_for_all_(over_.promise.fork()) {
    if (others == 0) all_joined_.fulfiller->fulfill();
  }
  [[nodiscard]] kj::Promise<void> all_joined() { return kj::mv(all_joined_.promise); }
  [[nodiscard]] kj::Promise<void> join(std::uint32_t index, wire::GangMember::Client member) {
    members_.insert_or_assign(index, kj::mv(member));
    if (members_.size() == others_) all_joined_.fulfiller->fulfill();
    return over_for_all_.addBranch();
  }
  void close() { over_.fulfiller->fulfill(); }
  [[nodiscard]] wire::GangMember::Client* find(std::uint32_t index) {
    const auto member = members_.find(index);
    return member == members_.end() ? nullptr : &member->second;
  }

 private:
  std::uint32_t others_;
  std::map<std::uint32_t, wire::GangMember::Client> members_;
  kj::PromiseFulfillerPair<void> all_joined_;
  kj::PromiseFulfillerPair<void> over_;
  kj::ForkedPromise<void> over_for_all_;
};

/// For one that was greeted: it must show that it knows the key before it is let in.
class HallDoor final : public wire::GangHall::Server {
 public:
  HallDoor(Hall& hall, std::string key, std::uint32_t index, std::string nonce)
      : hall_(hall), key_(std::move(key)), index_(index), nonce_(std::move(nonce)) {}
  kj::Promise<void> join(JoinContext context) override {
    const auto parameters = context.getParams();
    KJ_REQUIRE(is_gang_proof(text_of(parameters.getProof()), key_, GangRole::other, index_, nonce_),
               "this is no task of the gang");
    return hall_.join(index_, parameters.getMember());
  }

 private:
  Hall& hall_;
  std::string key_;
  std::uint32_t index_;
  std::string nonce_;
};

class Entrance final : public wire::GangEntrance::Server {
 public:
  Entrance(Hall& hall, const GangPlace& place) : hall_(hall), place_(place) {}
  kj::Promise<void> greet(GreetContext context) override {
    const auto parameters = context.getParams();
    const std::uint32_t index = parameters.getIndex();
    KJ_REQUIRE(index > 0 && index < place_.tasks, "the gang has no such task");
    const std::string proof =
        gang_proof(place_.key, GangRole::first, index, text_of(parameters.getNonce()));
    const std::string nonce = make_gang_nonce();
    auto results = context.getResults();
    results.setProof(data_of(proof));
    results.setNonce(data_of(nonce));
    results.setHall(kj::heap<HallDoor>(hall_, place_.key, index, nonce));
    return kj::READY_NOW;
  }

 private:
  Hall& hall_;
  const GangPlace& place_;
};

class Switchboard final : public wire::GangSwitchboard::Server {
 public:
  Switchboard(Hall& hall, kj::UnixEventPort& port) : hall_(hall), port_(port) {}
  kj::Promise<void> run(RunContext context) override {
    const auto parameters = context.getParams();
    if (parameters.getIndex() == 0)
      return run_program(port_, {"/bin/sh", "-c", parameters.getCommand()})
          .then([context](int status) mutable { context.getResults().setStatus(status); });
    wire::GangMember::Client* member = hall_.find(parameters.getIndex());
    if (member == nullptr) {
      context.getResults().setStatus(kShellNotFound);
      return kj::READY_NOW;
    }
    auto request = member->runRequest();
    request.setCommand(parameters.getCommand());
    return request.send().then(
        [context](auto&& answer) mutable { context.getResults().setStatus(answer.getStatus()); });
  }

 private:
  Hall& hall_;
  kj::UnixEventPort& port_;
};

/// What only this task may enter, for the switchboard's socket; gone with this.
class PrivateDirectory {
 public:
  PrivateDirectory() {
    const char* parent = std::getenv("TMPDIR");
    path_ = std::string(parent == nullptr ? "/tmp" : parent) + "/gang-XXXXXX";
    KJ_REQUIRE(::mkdtemp(path_.data()) != nullptr, "cannot make a private directory", path_);
  }
  ~PrivateDirectory() {
    std::error_code gone_already;
    std::filesystem::remove_all(path_, gone_already);
  }
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;
  [[nodiscard]] std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// What makes Open MPI's mpirun take the gang's tasks for its machines, and reach them by this
/// program; other launchers find the list and the socket.
std::map<std::string, std::string> launcher_environment(const GangPlace& place,
                                                        const PrivateDirectory& directory,
                                                        const std::string& socket) {
  const std::string hosts = directory / "hosts";
  std::ofstream list(hosts);
  for (std::uint32_t index = 0; index < place.tasks; ++index)
    list << "task" << index << " slots=1\n";
  const std::string reach =
      std::filesystem::read_symlink("/proc/self/exe").string() + " gang reach --";
  return {{"FAIRWATER_GANG_SOCKET", socket}, {"FAIRWATER_GANG_HOSTFILE", hosts},
          {"FAIRWATER_GANG_REACH", reach},   {"OMPI_MCA_orte_default_hostfile", hosts},
          {"OMPI_MCA_plm_rsh_agent", reach}, {"OMPI_MCA_plm_rsh_no_tree_spawn", "1"}};
}

int lead(const GangPlace& place, const std::vector<std::string>& command) {
  kj::UnixEventPort::captureChildExit();
  auto io = kj::setupAsyncIo();
  auto& network = io.provider->getNetwork();
  Hall hall(place.tasks - 1);
  const PrivateDirectory directory;
  const std::string socket = directory / "reach";
  capnp::TwoPartyServer entrance(kj::heap<Entrance>(hall, place));
  capnp::TwoPartyServer switchboard(kj::heap<Switchboard>(hall, io.unixEventPort));
  auto met = network.parseAddress("*", place.port).wait(io.waitScope)->listen();
  auto asked = network.parseAddress("unix:" + socket).wait(io.waitScope)->listen();
  auto listening = entrance.listen(*met).eagerlyEvaluate(nullptr);
  auto answering = switchboard.listen(*asked).eagerlyEvaluate(nullptr);
  hall.all_joined().wait(io.waitScope);
  const int status =
      run_program(io.unixEventPort, command, launcher_environment(place, directory, socket))
          .wait(io.waitScope);
  hall.close();
  // Their answers leave before this task does: each ends its connection when it has heard.
  entrance.drain().wait(io.waitScope);
  return status;
}

}  // namespace

Expected<int> run_first_task(const GangPlace& place, const std::vector<std::string>& command) {
  try {
    return lead(place, command);
  } catch (const kj::Exception& fault) {
    return make_error(ErrorCode::unavailable, "the first task of the gang cannot lead it: " +
                                                  std::string(fault.getDescription().cStr()));
  }
}

}  // namespace fairwater::inline cli::inline gang
