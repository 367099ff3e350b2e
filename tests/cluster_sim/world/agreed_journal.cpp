#include "tests/cluster_sim/world/agreed_journal.hpp"

namespace fairwater::cluster_sim {

caf::error AgreedJournal::commit(const RecordGroup& group) {
  for (;;) {
    const auto trouble = stage_.chance.below(400);
    if (trouble == 0) continue;  // the request is lost
    const bool taken = head_ == group.before;
    if (trouble != 1 && taken) {
      groups_.emplace(group.before.number + 1, group.records);
      head_ = group.after;
    }
    if (trouble <= 2) {  // no answer, and no time to ask again
      stage_.log.line("nobody knows whether records up to {} are agreed", group.after.number);
      gave_up_ = true;
      return make_error(ErrorCode::unavailable, "no majority answers");
    }
    if (trouble == 3) continue;  // the answer is lost
    if (head_ == group.after) return {};
    return make_error(ErrorCode::not_leader, "another coordinator leads");
  }
}

const std::vector<std::string>* AgreedJournal::from(std::uint64_t number) const {
  const auto found = groups_.find(number);
  return found == groups_.end() ? nullptr : &found->second;
}

}  // namespace fairwater::cluster_sim
