#include "tests/storage/etcd_server.hpp"

#include <array>
#include <csignal>
#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern char** environ;

namespace fairwater::test {
namespace {

/// Two that were nobody's a moment ago: of clients and peers.
std::array<std::string, 2> free_ports() {
  std::array<std::string, 2> ports;
  std::array<int, 2> listeners{};  // open together, so that the ports are two
  for (std::size_t i = 0; i < ports.size(); ++i) {
    listeners[i] = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (::bind(listeners[i], reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        ::getsockname(listeners[i], reinterpret_cast<sockaddr*>(&address), &length) != 0)
      throw std::runtime_error("no free port");
    ports[i] = std::to_string(ntohs(address.sin_port));
  }
  for (const int listener : listeners) ::close(listener);
  return ports;
}

}  // namespace

std::unique_ptr<EtcdServer> EtcdServer::start(const std::optional<EtcdIdentity>& identity,
                                              std::size_t max_request_bytes,
                                              std::uint64_t quota_bytes) {
  std::unique_ptr<EtcdServer> server{new EtcdServer};
  const auto [port, peer_port] = free_ports();
  const std::string listens = (identity ? "https://127.0.0.1:" : "http://127.0.0.1:") + port;
  server->endpoint_ = identity ? "https://localhost:" + port : listens;
  const std::string peers = "http://127.0.0.1:" + peer_port;
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
