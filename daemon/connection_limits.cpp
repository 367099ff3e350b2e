#include "daemon/connection_limits.hpp"

#include <algorithm>
#include <sys/resource.h>

#include "policy/core/check.hpp"

namespace fairwater::inline daemon {
namespace {

constexpr std::uint64_t kLeastForOperators = 8;
constexpr std::uint64_t kMostForOperators = 256;
/// One in so many is kept for operators.
constexpr std::uint64_t kOperatorsPart = 32;

rlimit read_limit() {
  rlimit limit{};
  FAIRWATER_CHECK(::getrlimit(RLIMIT_NOFILE, &limit) == 0, "a process can read its limits");
  return limit;
}

}  // namespace

void raise_descriptor_limit() {
  rlimit limit = read_limit();
  limit.rlim_cur = limit.rlim_max;
  FAIRWATER_CHECK(::setrlimit(RLIMIT_NOFILE, &limit) == 0,
                  "a soft limit can be raised to the hard");
}

std::uint64_t descriptor_limit() { return read_limit().rlim_cur; }

Expected<ConnectionLimits> connection_limits(const CoordinatorConfig& config,
                                             std::uint64_t descriptors) {
  const std::uint64_t usable = descriptors - std::min(kOwnDescriptors, descriptors / 2);
  const std::uint64_t for_operators =
      std::clamp(usable / kOperatorsPart, kLeastForOperators, kMostForOperators);
  const std::uint64_t most = usable - std::min(usable, for_operators);
  if (config.connections > most)
    return make_error(ErrorCode::invalid_input,
                      std::to_string(config.connections) + " connections are more than the " +
                          std::to_string(most) + " for which this process may open files (" +
                          std::to_string(descriptors) +
                          "; ulimit -n, or LimitNOFILE= of its systemd unit)",
                      "connections");
  ConnectionLimits limits;
  limits.for_operators = static_cast<std::uint32_t>(for_operators);
  limits.connections =
      config.connections > 0
          ? config.connections
          : static_cast<std::uint32_t>(std::clamp<std::uint64_t>(most, 1, kMaxDefaultConnections));
  limits.per_address = config.connections_per_address > 0
                           ? config.connections_per_address
                           : std::max<std::uint32_t>(limits.connections / 2, 1);
  return limits;
}

std::string text_of(const ConnectionLimits& limits) {
  return "at most " + std::to_string(limits.connections) + " connections (" +
         std::to_string(limits.per_address) + " from one address), and " +
         std::to_string(limits.for_operators) + " more for operators";
}

}  // namespace fairwater::inline daemon
