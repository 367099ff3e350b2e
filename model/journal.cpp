#include "model/journal.hpp"

#include <algorithm>

namespace fairwater::inline model {
namespace {

struct ApproximateBytes {
  std::size_t operator()(const JobSubmitted& submitted) const { return spec_bytes(submitted.spec); }
  std::size_t operator()(const TasksFinished& finished) const { return of(finished.results); }
  std::size_t operator()(const TasksDisowned& disowned) const { return of(disowned.results); }
  std::size_t operator()(const LaunchesFailed& failed) const {
    std::size_t bytes = 0;
    for (const auto& launch : failed.launches)
      bytes += kResultBytes + launch.result.message.size() + launch.returned.size() * kKeyBytes;
    return bytes;
  }
  std::size_t operator()(const TasksRequeued& requeued) const {
    return requeued.tasks.size() * kKeyBytes;
  }
  std::size_t operator()(const Cycle& cycle) const {
    std::size_t bytes = 0;
    for (const auto& deal : cycle.deals) bytes += deal.entries() * kDealEntryBytes;
    return bytes;
  }
  std::size_t operator()(const TimeSettled& settled) const {
    return settled.settlement.lines.size() * kTimeLineBytes;
  }
  std::size_t operator()(const TasksReclaimed& reclaimed) const {
    return reclaimed.tasks.size() * (kKeyBytes + kKeyBytes);
  }
  std::size_t operator()(const CreditsSettled& settled) const {
    return settled.settlement.lines.size() * kTimeLineBytes;
  }
  std::size_t operator()(const DebtForgiven& forgiven) const {
    return kSmallRecordBytes + forgiven.reason.size() + forgiven.debts.size() * kKeyBytes;
  }
  template <class Small>
  std::size_t operator()(const Small&) const {
    return kSmallRecordBytes;
  }

  static std::size_t of(const std::vector<TaskResult>& results) {
    std::size_t bytes = 0;
    for (const auto& result : results) bytes += kResultBytes + result.message.size();
    return bytes;
  }

  static constexpr std::size_t kResultBytes = 128;
  static constexpr std::size_t kKeyBytes = 24;
  static constexpr std::size_t kDealEntryBytes = 256;
  static constexpr std::size_t kTimeLineBytes = 80;
  static constexpr std::size_t kSmallRecordBytes = 512;
};

}  // namespace

std::size_t approximate_bytes(const JournalBody& body) {
  return std::visit(ApproximateBytes{}, body);
}

caf::error validate_request_id(std::string_view id) {
  constexpr std::size_t kMaxBytes = 64;
  const auto is_visible = [](char letter) { return letter > ' ' && letter <= '~'; };
  if (!id.empty() && id.size() <= kMaxBytes && std::all_of(id.begin(), id.end(), is_visible))
    return {};
  return make_error(ErrorCode::invalid_input,
                    "a request id has 1 to 64 letters, digits or signs, no spaces; not " +
                        std::to_string(id.size()) + " bytes of '" +
                        cut_text(std::string(id), kMaxBytes) + "'",
                    "request_id");
}

std::string_view to_string(Role role) {
  switch (role) {
    case Role::operator_role:
      return "operator";
    case Role::tenant:
      return "tenant";
    case Role::join:
      break;
  }
  return "join";
}

std::string_view kind_of(const JournalBody& body) {
  return std::visit([](const auto& kind) { return kind.kName; }, body);
}

}  // namespace fairwater::inline model
