// What several coordinators agree on, as etcd holds it for them: never lost, but requests and
// answers are.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "storage/journal_store.hpp"
#include "tests/cluster_sim/world/stage.hpp"

namespace fairwater::cluster_sim {

class AgreedJournal final : public JournalStore {
 public:
  explicit AgreedJournal(Stage& stage) : stage_(stage) {}

  caf::error commit(const RecordGroup& group) override;
  /// The last commit was told to stop before it knew; its coordinator is to be killed.
  [[nodiscard]] bool gave_up() const { return gave_up_; }
  void another_life() { gave_up_ = false; }
  [[nodiscard]] const JournalHead& head() const { return head_; }
  /// The group that begins with this record; null when there is none.
  [[nodiscard]] const std::vector<std::string>* from(std::uint64_t number) const;

 private:
  Stage& stage_;
  JournalHead head_;
  std::map<std::uint64_t, std::vector<std::string>> groups_;  // by first number
  bool gave_up_ = false;
};

}  // namespace fairwater::cluster_sim
