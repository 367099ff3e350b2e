// Several coordinators of one cluster, and the members of etcd by which they agree, on this machine
// or each pair on a host of a network of its own.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "process/temporary_directory.hpp"
#include "tests/harness/child_process.hpp"
#include "tests/harness/network.hpp"
#include "tests/storage/certificates.hpp"

namespace fairwater::harness {

/// Whether there is an etcd to be started.
[[nodiscard]] bool has_etcd();

/// Where the coordinators and members of etcd run that are not to share this machine.
struct ReplicasSetup {
  std::string configuration = {};  ///< more lines of coordinator.yaml
  /// Has hosts `one`, `two` and `three`, and `desk` where the command line is; null: this machine.
  const Network* network = nullptr;
  /// Of coordinators whose data are not below the replicas' own directory.
  std::map<std::string, std::filesystem::path> data = {};
  /// Of etcd's members; they beat ten times in it.
  int etcd_election_ms = 300;
  /// Certifies etcd's members and coordinators to each other, on this machine; null: no TLS.
  const test::Authority* authority = nullptr;
};

class Replicas {
 public:
  /// Starts nothing.
  explicit Replicas(ReplicasSetup setup);
  ~Replicas();
  Replicas(const Replicas&) = delete;
  Replicas& operator=(const Replicas&) = delete;

  /// All members of etcd; a new cluster led by `one`; `two` and `three` from a backup of it.
  void start();
  void start_etcd(const std::string& name);
  void start_coordinator(const std::string& name, const std::vector<std::string>& flags = {});
  [[nodiscard]] ChildProcess& etcd(const std::string& name) { return *etcd_.at(name); }
  [[nodiscard]] ChildProcess& coordinator(const std::string& name) {
    return *coordinators_.at(name);
  }
  /// Sends the signal and waits for the end; returns the exit status.
  int stop_coordinator(const std::string& name, int signal);
  int stop_etcd(const std::string& name, int signal);

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] std::string addresses() const;  ///< of all, with commas
  [[nodiscard]] std::string address(const std::string& name) const;
  [[nodiscard]] std::string data(const std::string& name) const;
  /// The namespace of one of the network's hosts; empty: there is none.
  [[nodiscard]] std::string network_namespace(const std::string& host) const;
  [[nodiscard]] std::string log_of(const std::string& name) const;
  /// The command that starts a coordinator, for tests that expect it to fail.
  [[nodiscard]] CommandOptions command(const std::string& name,
                                       const std::vector<std::string>& flags) const;
  /// Runs `fairwater ARGUMENTS` as the operator, at these addresses or at all.
  [[nodiscard]] Completed fairwater(std::vector<std::string> arguments,
                                    const std::string& addresses = {}) const;
  /// By which its clients reach a member of etcd.
  [[nodiscard]] std::string etcd_url(const std::string& name) const;
  /// The member that leads etcd; empty when none does.
  [[nodiscard]] std::string etcd_leader() const;
  /// Has this member lead etcd, and returns once it does.
  void lead_etcd(const std::string& name, Duration limit = Duration(60'000)) const;
  /// Who leads and grants; empty when nobody does.
  [[nodiscard]] std::string leader() const;
  /// Returns its name once somebody leads that is not `other`.
  [[nodiscard]] std::string wait_for_leader(const std::string& other = {},
                                            Duration limit = Duration(60'000)) const;
  /// Returns once all members of etcd that run follow one leader and hold about what it holds: one
  /// that was cut off comes back seconds after its machine.
  void wait_for_etcd(Duration limit = Duration(60'000)) const;
  /// Returns once all coordinators lack at most so many records.
  void wait_for_all(std::uint64_t most_behind, Duration limit = Duration(60'000)) const;

 private:
  /// Null when it does not answer.
  [[nodiscard]] nlohmann::json etcd_status(const std::string& name) const;
  struct Ports {
    std::uint16_t coordinator = 0;
    std::uint16_t etcd_clients = 0;
    std::uint16_t etcd_peers = 0;
  };

  /// As whoever leads and grants says; null when nobody does. One that was cut off says for a
  /// moment that it leads, but not that it grants.
  [[nodiscard]] nlohmann::json cluster() const;
  [[nodiscard]] std::string host(const std::string& name) const;
  /// By which others reach a member of etcd.
  [[nodiscard]] std::string url(const std::string& name, std::uint16_t port) const;
  /// On which it listens.
  [[nodiscard]] std::string listening_url(const std::string& name, std::uint16_t port) const;
  /// Asks a member of etcd.
  [[nodiscard]] Completed ask_etcd(const std::string& name, const std::string& path,
                                   const nlohmann::json& request) const;

  ReplicasSetup setup_;
  TemporaryDirectory directory_;
  test::KeyFiles member_keys_;  ///< of etcd's members; empty without an authority
  test::KeyFiles client_keys_;
  std::vector<std::string> names_{"one", "three", "two"};
  std::map<std::string, Ports> ports_;
  std::map<std::string, std::unique_ptr<ChildProcess>> etcd_;
  std::map<std::string, std::unique_ptr<ChildProcess>> coordinators_;
};

}  // namespace fairwater::harness
