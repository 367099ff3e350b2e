#include "actors/coordinator/gang_order.hpp"

#include <fmt/format.h>

#include "model/ledger_mark.hpp"
#include "storage/fold.hpp"

namespace fairwater::inline actors::inline coordinator {
namespace {

/// A hash of a secret and what it is for: BLAKE2b with a secret prefix is a message authentication
/// code (RFC 7693, section 2.9 has the same with a key block).
std::string key_of(const std::string& secret, const TaskKey& task) {
  return to_hex(hash_of(
      secret + fmt::format("gang {}.{}.{}", task.job.value, task.attempt, task.incarnation)));
}

}  // namespace

void tell_gang(LaunchOrder& order, const ClusterContext& context,
               const std::vector<GangPart>& parts, const TaskKey& task) {
  order.gang = context.names->hosts_of(parts);
  order.gang_key = key_of(context.settings.gang_secret, task);
}

}  // namespace fairwater::inline actors::inline coordinator
