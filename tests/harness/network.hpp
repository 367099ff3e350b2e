// Hosts as network namespaces on one switch, itself a namespace: nothing touches the machine's own
// network. Needs root.
#pragma once

#include <string>
#include <vector>

namespace fairwater::harness {

/// `ip netns add` makes the folder of namespaces a mount point for good. This takes it away again
/// where there was none before; while somebody else has a namespace in it, it is busy and stays.
class NamespaceFolder {
 public:
  NamespaceFolder();
  ~NamespaceFolder();
  NamespaceFolder(const NamespaceFolder&) = delete;
  NamespaceFolder& operator=(const NamespaceFolder&) = delete;

 private:
  bool was_mounted_;
};

class Network {
 public:
  explicit Network(std::vector<std::string> hosts);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// The host's namespace, as `ip netns` names it.
  [[nodiscard]] static std::string name(const std::string& host);
  [[nodiscard]] std::string address(const std::string& host) const;
  /// Pulls the host's cable, or plugs it in again.
  void cut(const std::string& host) const;
  void join(const std::string& host) const;
  /// Loses what the host sends, though it hears the others; or lets it through again.
  void mute(const std::string& host) const;
  void unmute(const std::string& host) const;

  /// Empty when namespaces can be made here, else why not.
  [[nodiscard]] static std::string obstacle();
  /// The same for mute().
  [[nodiscard]] static std::string obstacle_to_muting();

 private:
  // The destructor runs once this one is done, so that a failure on the way leaves no namespace
  // behind.
  struct NothingYet {};
  Network(std::vector<std::string> hosts, NothingYet) : hosts_(std::move(hosts)) {}

  NamespaceFolder folder_;  ///< goes last: after the namespaces in it
  std::vector<std::string> hosts_;
};

}  // namespace fairwater::harness
