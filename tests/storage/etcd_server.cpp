#include "tests/storage/etcd_server.hpp"

#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "tests/storage/free_ports.hpp"

extern char** environ;

namespace fairwater::test {

std::unique_ptr<EtcdServer> EtcdServer::start(const std::optional<EtcdIdentity>& identity,
                                              std::size_t max_request_bytes,
                                              std::uint64_t quota_bytes) {
  std::unique_ptr<EtcdServer> server{new EtcdServer};
  const auto ports = free_ports(2);
  const std::string port = std::to_string(ports[0]);
  const std::string listens = (identity ? "https://127.0.0.1:" : "http://127.0.0.1:") + port;
  server->endpoint_ = identity ? "https://localhost:" + port : listens;
  const std::string peers = "http://127.0.0.1:" + std::to_string(ports[1]);
  std::vector<std::string> words{"etcd",
                                 "--name",
                                 "one",
                                 "--data-dir",
                                 server->directory_ / "data",
                                 "--listen-client-urls",
                                 listens,
                                 "--advertise-client-urls",
                                 server->endpoint_,
                                 "--listen-peer-urls",
                                 peers,
                                 "--initial-advertise-peer-urls",
                                 peers,
                                 "--initial-cluster",
                                 "one=" + peers,
                                 "--max-request-bytes",
                                 std::to_string(max_request_bytes),
                                 "--quota-backend-bytes",
                                 std::to_string(quota_bytes)};
  if (identity)
    words.insert(words.end(),
                 {"--cert-file", identity->own.certificate, "--key-file", identity->own.key,
                  "--trusted-ca-file", identity->authority, "--client-cert-auth"});
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  const std::string log = server->directory_ / "log";
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&files, descriptor, log.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                     0600);
  const int failed =
      ::posix_spawnp(&server->pid_, "etcd", &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (failed == ENOENT) return nullptr;
  if (failed != 0) throw std::runtime_error("etcd cannot be started");
  return server;
}

EtcdServer::~EtcdServer() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

}  // namespace fairwater::test
